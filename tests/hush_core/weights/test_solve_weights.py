"""The weights are feasible in exact floats, optimal to a certified gap, and as independent solvers find them."""

import math

import numpy as np
import polars as pl
import pytest
from frames import edges_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sizes import examples, seeds

from hush_core.errors import InputError
from hush_core.weights import largest_useful_c, solve, solve_weights, unit_capacities
from hush_core.weights.program import build_program, reduce_program
from hush_core.weights.solve import _dual_bound
from hush_core.weights.solvers import repair, scale_down, solve_glop

programs = st.integers(1, 12).flatmap(
    lambda n: st.integers(1, 6).flatmap(
        lambda m: st.tuples(
            st.just(n),
            st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), min_size=1),
            st.lists(st.floats(0, 5, allow_subnormal=False), min_size=m, max_size=m),
        )
    )
)


@settings(max_examples=examples(150), deadline=None)
@given(programs)
def test_agrees_with_highs_and_certifies_its_gap(program):
    n, pairs, caps = program
    edges, caps = edges_of(pairs), np.array(caps)
    solved = solve_weights(edges, n_examples=n, capacities=caps)
    incidence = build_program(edges, n, caps).incidence
    peer = linprog(-np.ones(n), A_ub=incidence.toarray(), b_ub=caps, bounds=(0, 1), method="highs")
    assert solved.objective == pytest.approx(-peer.fun, abs=1e-7)
    assert np.all((solved.weights >= 0) & (solved.weights <= 1))
    assert np.all(incidence @ solved.weights <= caps)
    assert solved.objective <= solved.upper_bound <= -peer.fun + 1e-7


@settings(max_examples=examples(60), deadline=None)
@given(programs, st.integers(0, 2**32 - 1))
def test_dual_bound_holds_for_any_dual_and_repair_mends_any_weights(program, seed):
    n, pairs, caps = program
    edges, caps, random = edges_of(pairs), np.array(caps), np.random.default_rng(seed)
    built = build_program(edges, n, caps)
    best = solve_weights(edges, n_examples=n, capacities=caps).objective
    assert _dual_bound(built, random.uniform(0, 1, len(caps))) >= best - 1e-9
    mended = repair(built.incidence, caps, random.normal(0.5, 1, n))
    assert np.all(built.incidence @ mended <= caps) and np.all((mended >= 0) & (mended <= 1))


def test_c_max_is_where_nothing_binds():
    edges = edges_of([(i, i % 2) for i in range(9)])
    secrets = pl.DataFrame({"prior": [1e-10, 1e-6], "posterior": [2e-4, 1e-3]})
    kappa = unit_capacities(secrets, "normal_quantiles")
    c_max = largest_useful_c(edges, kappa)
    assert solve_weights(edges, n_examples=9, capacities=c_max * kappa).objective == pytest.approx(9)
    assert solve_weights(edges, n_examples=9, capacities=0.9 * c_max * kappa).objective < 9 - 0.1


@pytest.mark.parametrize("capacity", [np.nan, -1.0, np.inf])
def test_bad_capacity_names_the_secret(capacity):
    with pytest.raises(InputError, match="secret 1"):
        solve_weights(edges_of([(0, 0), (0, 1)]), n_examples=1, capacities=np.array([1.0, capacity]))


def test_bad_edges_are_refused():
    with pytest.raises(InputError, match="example 3 of 2"):
        solve_weights(edges_of([(3, 0)]), n_examples=2, capacities=np.ones(1))
    twice = pl.concat([edges_of([(0, 0)])] * 2)
    with pytest.raises(InputError, match="twice"):
        solve_weights(twice, n_examples=1, capacities=np.ones(1))


def test_capacities_hold_in_whatever_order_the_loads_are_summed():
    """Loads are held a hair below the capacity: exact sums, and sums in other orders, keep it too. Held to the
    capacity itself, about every second exact sum would exceed it by a rounding."""
    rng = np.random.default_rng(0)
    n, m = 1200, 60
    pairs = {(int(i), j) for j in range(m) for i in rng.choice(n, 400, replace=False)}
    edges, caps = edges_of(pairs), rng.uniform(5, 60, m)
    incidence = build_program(edges, n, caps).incidence
    w = scale_down(incidence, caps, rng.uniform(0.1, 1, n))
    rows = incidence.tocsr()
    for j in range(m):
        own = w[rows.indices[rows.indptr[j] : rows.indptr[j + 1]]]
        assert math.fsum(own) <= caps[j]
        for order in (own[::-1], np.sort(own), np.sort(own)[::-1], rng.permutation(own)):
            assert sum(order.tolist()) <= caps[j]


@pytest.mark.timeout(60)
def test_scaling_down_ends_where_products_round_to_what_they_were():
    """Four of the least positive number against a capacity of three of them: ¾ of the least rounds to the least."""
    tiny = 5e-324
    incidence = build_program(edges_of({(i, 0) for i in range(4)}), 4, np.array([1.0])).incidence
    w = scale_down(incidence, np.array([3 * tiny]), np.full(4, tiny))
    assert float((incidence @ w)[0]) <= 3 * tiny


def directories(files=4000, seed=0):
    """Nested and crossing folders of a code base: intervals at random, most small, some of nearly all files."""
    rng = np.random.default_rng(seed)
    pairs = set()
    for j in range(90):
        size = int(min(files * 0.7, 5 + files / rng.integers(1, 400)))
        first = int(rng.integers(0, files - size))
        pairs |= {(i, j) for i in range(first, first + size)}
    return edges_of(pairs)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_no_weight_is_dust(seed, share):
    """Planted mistake: slack of 1e-16, round-off of a sum, filled up: thousands of weights of 1e-18, all "kept"."""
    edges = directories(seed=seed)
    caps = np.bincount(edges["secret_id"].to_numpy()) * share / 3
    found = solve_weights(edges, n_examples=4000, capacities=caps)
    assert not np.any((found.weights > 0) & (found.weights < 1e-9)) and found.gap < 1e-9
    assert 0.1 < (found.weights > 0).mean() < 1


def test_a_repair_leaves_no_dust_and_fills_none():
    """Two secrets that leave each other a slack of 1e-17 through their common example."""
    incidence = build_program(edges_of([(0, 0), (1, 0), (1, 1), (2, 1)]), 3, np.ones(2)).incidence
    start = np.array([1 - 1e-17, 1e-17, 1 - 2e-12])
    mended = repair(incidence, np.ones(2), start)
    assert mended[1] == 0 and mended[0] > 1 - 1e-9


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("edges_for_simplex", [0, 12_000])
def test_capacities_over_eleven_decades_lose_nothing(seed, edges_for_simplex, monkeypatch):
    """A first-order method that stops at an absolute tolerance overshoots the small capacities a thousandfold, and
    a repair then takes nearly all weight. Rows and variables in units of their own: the gap stays small."""
    monkeypatch.setattr(solve, "SIMPLEX_EDGES", edges_for_simplex)
    rng = np.random.default_rng(seed)
    n, m = 3000, 60
    pairs = {(int(i), j) for j in range(m) for i in rng.choice(n, int(rng.integers(20, 400)), replace=False)}
    caps = 10.0 ** rng.uniform(-6, 5, m)
    found = solve_weights(edges_of(pairs), n_examples=n, capacities=caps)
    assert found.gap < 2e-3
    assert np.all(build_program(edges_of(pairs), n, caps).incidence @ found.weights <= caps)


shapes = st.tuples(
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
@given(shapes)
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
@given(shapes)
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
@given(shapes)
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
