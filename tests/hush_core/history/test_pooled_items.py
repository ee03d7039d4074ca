"""Runs whose items hold more than one example's text: what later runs count of them, and a promise of several."""

import numpy as np
import polars as pl
import pytest
from histories_of_runs import history, released

from hush_core.accounting import Participation, Run, bound_of_runs, smallest_noise
from hush_core.config import UserWiseMechanism
from hush_core.history import PromisedRuns, RunText, bounds_of_all_runs, plan_of_runs
from hush_core.mechanisms import drawn_items, items_of, rates_of_texts
from hush_core.weights import assign_roles, sampling_rates

NAMES = (("unit", "u"), ("unit", "v"), ("literals", "names/3:ba9876543210"))
EDGES = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (5, 2)]
TEXTS = [bytes([97 + i]) for i in range(10)]
MECHANISM = UserWiseMechanism(kind="user_wise", records=2)
BATCH, ROUNDS, RUNS, TARGET = 1, 20, 4, 1e-3


def night(edges=EDGES, sigma=4.0):
    """(what a run of whole units notes, its items, their rates)."""
    rows = [(example, secret, "held") for example, secret in sorted(edges)]
    kinds = {"example_id": pl.UInt32, "secret_id": pl.UInt32, "reason": pl.String}
    graph = pl.DataFrame(rows, schema=kinds, orient="row")
    named = [(n, kind, name, 1e-6, TARGET) for n, (kind, name) in enumerate(NAMES)]
    secrets = pl.DataFrame(named, schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row")
    roles = assign_roles(graph, n_examples=10, without_secret="noise", held_back=False)
    items = items_of(MECHANISM, graph, secrets, roles)
    rates = sampling_rates(items.weights, BATCH)
    what = RunText(
        TEXTS, rates_of_texts(rates, items.pools), graph, secrets, sigma, ROUNDS, "settings",
        items=drawn_items(graph, items.pools, rates),
    )  # fmt: skip
    return what, items, rates


def profiles(store, key, what):
    found = history(store).earlier(key, what).profiles
    return {row["secret_id"]: (row["examples"], row["rate"]) for row in found.iter_rows(named=True)}


def test_a_later_run_counts_items_and_not_their_texts(store):
    """Planted: each of a unit's texts is counted, which costs a unit of many records as if all were drawn apart."""
    what, _, rates = night()
    released(store, "a" * 64, what, rounds=ROUNDS)
    seen = profiles(store, "b" * 64, what)
    # u: its item; v: its own; the value that stands in v's text: v's item
    assert {secret: count for secret, (count, _) in seen.items()} == {0: 1, 1: 1, 2: 1}
    for _, rate in seen.values():
        assert rate == pytest.approx(rates.max()) and rate >= rates.max()


def test_what_is_tagged_later_is_counted_besides_and_stays_so(store):
    """Planted: what a look found by its text is taken for one of the items' at the next look."""
    what, _, rates = night()
    released(store, "a" * 64, what, rounds=ROUNDS)
    late, _, _ = night(edges=[*EDGES, (4, 0), (7, 0)])  # v's text and one of nobody's are u's too
    for _ in range(3):
        count, rate = profiles(store, "b" * 64, late)[0]
        assert count == 3
        exact = Participation.from_rates(np.full(3, rates.max()))
        assert count * -np.log1p(-rate) >= float((exact.counts * -np.log1p(-exact.rates)).sum()) * (1 - 1e-9)
    # killed and noted again: nothing is counted twice, and nothing is lost
    history(store).note("a" * 64, what)
    assert profiles(store, "b" * 64, late)[0][0] == 3


def test_a_promise_of_whole_units_costs_what_one_run_of_all_rounds_does(store):
    """By an independent way: R runs of T rounds of one item are one run of R·T."""
    what, items, rates = night()
    shape = {"rounds": ROUNDS, "expected_batch": BATCH, "clip_norm": 1.0, "method": "best"}
    alone = smallest_noise(
        Participation.binomial(1, rates.max()), rounds=RUNS * ROUNDS, prior=1e-6, posterior=TARGET
    )
    one, runs = Participation.binomial(1, rates.max()), []
    for made in range(RUNS):
        earlier = history(store).earlier("", what)
        assert earlier.runs.height == made
        promised = PromisedRuns(RUNS, earlier, "settings")
        plan = plan_of_runs(MECHANISM, items.weights, items.edges, what.secrets, promised, **shape)
        assert plan.noise_multiplier == pytest.approx(alone, rel=2e-3), f"night {made}"
        what, items, rates = night(sigma=plan.noise_multiplier)
        runs.append(Run(one, plan.noise_multiplier, ROUNDS))
        together = bounds_of_all_runs(
            items.edges, rates, plan.certificates, earlier, noise_multiplier=plan.noise_multiplier, rounds=ROUNDS,
            settings="settings", promised=True,
        )  # fmt: skip
        assert (together["all_runs"] <= TARGET).all()
        released(store, f"{made}" * 64, what, rounds=ROUNDS)
    assert bound_of_runs(runs, prior=1e-6, lower=True).lower <= together["all_runs"][0] <= TARGET
    # by texts the second night would find next to nothing left: u's four texts at that rate, drawn apart
    apart = Run(Participation.binomial(4, rates.max()), plan.noise_multiplier, ROUNDS)
    assert bound_of_runs([apart] * RUNS, prior=1e-6).value > 10 * TARGET
