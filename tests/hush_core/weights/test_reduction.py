"""The reductions keep an optimum: against plain GLOP on hundreds of random programs, and step by step by hand."""

import numpy as np
import polars as pl
import pytest
from frames import edges_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.weights import solve, solve_weights
from hush_core.weights.program import build_program, reduce_program
from hush_core.weights.solvers import solve_glop

programs = st.tuples(
    st.integers(1, 40),
    st.integers(1, 12),
    st.floats(0.02, 0.6),
    st.floats(0.05, 1.2),
    st.integers(0, 2**32 - 1),
)


def random_program(shape):
    """Random edges with many equal and many single sets; capacities as shares of the secrets' sizes, 0 at times."""
    n, m, density, tightness, seed = shape
    rng = np.random.default_rng(seed)
    sets = rng.random((max(n // 2, 1), m)) < density
    held = sets[rng.integers(0, len(sets), n)]
    held[np.arange(n), rng.integers(0, m, n)] |= rng.random(n) < 0.5
    example, secret = np.nonzero(held)
    edges = pl.DataFrame({"example_id": example.astype(np.uint32), "secret_id": secret.astype(np.uint32)})
    capacities = held.sum(axis=0) * rng.uniform(0, 2 * tightness, m) * (rng.random(m) > 0.1)
    return n, edges, capacities


@settings(max_examples=examples(400), deadline=None, derandomize=True)
@given(programs)
def test_the_objective_is_that_of_plain_glop_and_the_dual_proves_it(shape):
    n, edges, capacities = random_program(shape)
    if not edges.height:
        return
    program = build_program(edges, n, capacities)
    plain, _ = solve_glop(program.incidence, capacities, np.ones(n), np.ones(n))
    solved = solve_weights(edges, n_examples=n, capacities=capacities)
    assert solved.objective == pytest.approx(plain.sum(), rel=1e-9, abs=1e-9)
    assert solved.gap <= 1e-9 or solved.upper_bound - solved.objective <= 1e-9
    assert np.all(program.incidence @ solved.weights <= capacities)
    assert np.all((solved.weights >= 0) & (solved.weights <= 1))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(programs)
def test_pdlp_and_repair_reach_the_same_within_the_certified_gap(shape):
    n, edges, capacities = random_program(shape)
    if not edges.height:
        return
    exact = solve_weights(edges, n_examples=n, capacities=capacities)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "SIMPLEX_EDGES", 0)
        large = solve_weights(edges, n_examples=n, capacities=capacities)
    assert large.objective <= exact.objective * (1 + 1e-9) + 1e-9 <= large.upper_bound * (1 + 2e-9) + 2e-9
    assert large.upper_bound - large.objective <= 2e-3 * max(exact.objective, 1.0)
    assert np.all(build_program(edges, n, capacities).incidence @ large.weights <= capacities)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(programs)
def test_merged_examples_have_equal_sets_and_decided_ones_are_left_out(shape):
    n, edges, capacities = random_program(shape)
    program = build_program(edges, n, capacities)
    reduced = reduce_program(program)
    open_ = reduced.group >= 0
    assert np.array_equal(np.isnan(reduced.weights), open_)
    assert np.array_equal(np.bincount(reduced.group[open_], minlength=len(reduced.upper)), reduced.upper)
    columns, core = program.incidence.tocsc(), reduced.matrix.tocsc()
    for example in np.flatnonzero(open_):
        held = columns[:, [example]].indices
        members = reduced.secrets[core[:, [reduced.group[example]]].indices]
        assert set(members) <= set(held) and len(members) >= 2  # singles are all decided


def test_singles_that_exhaust_a_secret_share_it_and_free_the_others():
    # secret 0: examples 0-2 alone, 3 with secret 1; secret 1 then has one open example and cannot bind
    edges = edges_of([(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (4, 1)])
    reduced = reduce_program(build_program(edges, 5, np.array([1.5, 1.2])))
    assert reduced.weights.tolist() == [0.5, 0.5, 0.5, 0.0, 1.0]
    assert reduced.dual.tolist() == [1.0, 0.0] and not reduced.matrix.nnz


def test_equal_sets_are_one_variable_even_where_hashes_collide(monkeypatch):
    edges = edges_of([(i, j) for i in range(6) for j in ((0, 1) if i < 3 else (1, 2))])
    program = build_program(edges, 6, np.array([1.0, 2.0, 1.0]))
    assert sorted(reduce_program(program).upper) == [3, 3]

    class Zeros:
        def integers(self, *_, **__):
            return np.zeros((2, 3), dtype=np.uint64)

    monkeypatch.setattr(np.random, "default_rng", lambda *_: Zeros())
    collided = reduce_program(program)
    assert collided.upper.sum() == 6 and len(collided.upper) >= 2
    assert solve_weights(edges, n_examples=6, capacities=program.capacities).objective == pytest.approx(2.0)


def test_a_reduction_that_forgets_the_shared_capacity_would_be_noticed(monkeypatch):
    """Singles at 1 without a smaller capacity overshoot; the last check scales down, and the gap says so."""
    edges = edges_of([(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 1)])
    capacities = np.array([1.5, 1.5])
    good = solve_weights(edges, n_examples=4, capacities=capacities)
    assert good.objective == pytest.approx(2.5) and good.gap < 1e-9

    def wrong(program):
        reduced = reduce_program(program)
        return type(reduced)(**{**vars(reduced), "capacities": capacities[reduced.secrets]})

    monkeypatch.setattr(solve, "reduce_program", wrong)
    bad = solve_weights(edges, n_examples=4, capacities=capacities)
    assert np.all(build_program(edges, 4, capacities).incidence @ bad.weights <= capacities)
    assert bad.gap > 1e-3
