"""All runs together: the product where settings are equal, the filter where they are not, or nothing."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of

from hush_core.accounting import (
    Participation,
    Run,
    bound_of_runs,
    bound_secrets,
    budget,
    spent,
)
from hush_core.config import HushMechanism
from hush_core.errors import InputError
from hush_core.history import (
    PROFILES,
    RUNS,
    Earlier,
    PromisedRuns,
    bounds_of_all_runs,
    bounds_without_rounds,
    plan_of_runs,
)
from hush_core.history.bounds import FILTER
from hush_core.history.filtered import filter_order

SETTINGS = "5" * 64
N, ROUNDS, SIGMA = 200, 30, 6.0


@pytest.fixture(scope="module")
def graph():
    """Secret j has the j + 1 examples from 10j on; another prior and target each."""
    pairs = [(10 * j + i, j) for j in range(4) for i in range(j + 1)]
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    secrets = frame_of(secret_id=range(4), name=list("abcd"), prior=[1e-6, 1e-5, 1e-4, 1e-6],
                       posterior=[1e-3, 1e-3, 1e-2, 1e-2])  # fmt: skip
    return edges, np.linspace(0.02, 0.2, N), secrets


def earlier_of(*runs, secrets=4, bare=(), unknown=0):
    """Each: (σ, planned, released, settings, same promise, [(secret, examples, rate)])."""
    rows = [
        (n, f"{n:064x}", sigma, t, done, settings) for n, (sigma, t, done, settings, _, _) in enumerate(runs)
    ]
    profiles = [(n, j, k, rate, run[4]) for n, run in enumerate(runs) for j, k, rate in run[5]]
    return Earlier(
        pl.DataFrame(rows, schema=RUNS, orient="row"), pl.DataFrame(profiles, schema=PROFILES, orient="row"),
        np.isin(np.arange(secrets), list(bare)), unknown,
    )  # fmt: skip


def together(graph, earlier, sigma=SIGMA, **more):
    edges, rates, secrets = graph
    mechanism = {"noise_multiplier": sigma, "rounds": ROUNDS}
    bounds = bound_secrets(edges, rates, secrets, **mechanism)
    return bounds, bounds_of_all_runs(edges, rates, bounds, earlier, settings=SETTINGS, **mechanism, **more)


def test_without_another_run_it_is_the_bound_itself(graph):
    bounds, found = together(graph, Earlier.none(4))
    assert found["all_runs"].equals(bounds["bound"]) and found["all_runs_lower"].equals(bounds["lower"])


def test_equal_settings_compose_as_a_product_of_the_plans(graph):
    edges, rates, secrets = graph
    drawn = [(3, 4, 0.1), (1, 2, 0.05)]
    bounds, found = together(graph, earlier_of((5.0, 40, 7, SETTINGS, True, drawn)))
    for secret, n, rate in drawn:
        own = Participation.from_rates(rates[edges.filter(secret_id=secret)["example_id"].to_numpy()])
        runs = [Run(own, SIGMA, ROUNDS), Run(Participation.binomial(n, rate), 5.0, 40)]
        exact = bound_of_runs(runs, prior=secrets["prior"][secret], lower=True)
        assert (
            found["all_runs"][secret] == pytest.approx(exact.value) and exact.value > bounds["bound"][secret]
        )
        assert found["all_runs_lower"][secret] == pytest.approx(exact.lower)
    assert found["all_runs"][0] == bounds["bound"][0] and found["all_runs"][2] == bounds["bound"][2]


def test_other_settings_leave_the_filters_promise_while_its_budget_lasts(graph):
    """With all planned rounds; one target, one prior, in all runs."""
    edges, rates, secrets = graph
    drawn = [(j, j + 1, 0.1) for j in range(4)]
    little = earlier_of((60.0, 400, 40, "6" * 64, True, drawn))
    _, found = together(graph, little, sigma=60.0)
    assert found["all_runs"].to_list() == secrets["posterior"].to_list()
    assert set(found["all_runs_method"]) == {FILTER} and found["all_runs_lower"].null_count() == 4
    for secret in range(4):
        prior, target = secrets["prior"][secret], secrets["posterior"][secret]
        order = filter_order(prior, target)
        own = Participation.from_rates(rates[edges.filter(secret_id=secret)["example_id"].to_numpy()])
        runs = [Run(own, 60.0, ROUNDS), Run(Participation.binomial(secret + 1, 0.1), 60.0, 400)]
        assert spent(runs, order) <= budget(prior, target, order)
    other = earlier_of((60.0, 4000, 40, "6" * 64, False, drawn))
    assert together(graph, other, sigma=60.0)[1]["all_runs"].null_count() == 4


def test_a_promise_that_was_changed_is_no_product_though_the_settings_are_equal(graph):
    """An entry's level is in no digest of the settings; somebody may have lowered it for what a model showed."""
    changed = earlier_of((5.0, 40, 7, SETTINGS, False, [(1, 2, 0.05)]))
    _, found = together(graph, changed)
    assert found["all_runs"].is_null().to_list() == [False, True, False, False]
    with pytest.raises(InputError, match="promised another prior or target, or nothing, with b"):
        plan(graph, changed, 3)


def test_a_budget_that_is_spent_leaves_nothing(graph):
    loud = earlier_of((0.5, 400, 400, "6" * 64, True, [(0, 1, 0.5)]))
    _, found = together(graph, loud, sigma=60.0)
    assert found["all_runs"].is_null().to_list() == [True, False, False, False]


def test_the_filters_order_is_the_gaussian_best(graph):
    """A Gaussian release of μ spends α(α − 1)μ²/2 nats: no other order leaves a smaller share spent."""
    prior, target = 1e-10, 1e-3
    best = filter_order(prior, target)
    orders = [best * factor for factor in (0.7, 0.9, 1.0, 1.1, 1.5)]
    share = [order * (order - 1) / budget(prior, target, order) for order in orders]
    assert share.index(min(share)) == 2


def test_unknown_runs_and_text_trained_without_noise_leave_nothing(graph):
    drawn = [(0, 1, 0.1)]
    _, found = together(graph, earlier_of((5.0, 40, 7, SETTINGS, True, drawn), unknown=1))
    assert found["all_runs"].null_count() == 4
    _, found = together(graph, earlier_of((5.0, 40, 7, SETTINGS, True, drawn), bare=(2,)))
    assert found["all_runs"].is_null().to_list() == [False, False, True, False]


def plan(graph, earlier, runs, settings=SETTINGS, rounds=ROUNDS, **more):
    edges, _, secrets = graph
    return plan_of_runs(
        HushMechanism(), np.ones(N), edges, secrets, PromisedRuns(runs, earlier, settings, **more), rounds=rounds,
        expected_batch=20, clip_norm=1.0, method="best",
    )  # fmt: skip


def as_earlier(graph, plans, planned=ROUNDS):
    """The runs of these plans as the history tells them."""
    edges, _, _ = graph
    counts = dict(edges.group_by("secret_id").len().iter_rows())
    drawn = [(j, n, 0.1) for j, n in sorted(counts.items())]
    return earlier_of(*((each.noise_multiplier, planned, 1, SETTINGS, True, drawn) for each in plans))


def test_each_of_three_runs_leaves_room_for_the_others_and_none_is_wasted(graph):
    edges, _, secrets = graph
    rates, plans = np.full(N, 0.1), []
    for _ in range(3):
        plans.append(plan(graph, as_earlier(graph, plans), 3))
    alone = plan(graph, Earlier.none(4), 1)
    assert all(each.noise_multiplier > 1.3 * alone.noise_multiplier for each in plans)
    bounds = plans[-1].certificates
    last = bounds_of_all_runs(
        edges, rates, bounds, as_earlier(graph, plans[:2]), settings=SETTINGS,
        noise_multiplier=plans[-1].noise_multiplier, rounds=ROUNDS,
    )  # fmt: skip
    ratio = (last["all_runs"] / secrets["posterior"]).max()
    assert 0.99 < ratio <= 1


def test_short_runs_to_come_are_planned_for_as_such(graph):
    """Two more of two rounds are as one run of all these rounds, and take less noise than two more full ones."""

    def sigma(rounds, runs, later=None):
        return plan(graph, Earlier.none(4), runs, rounds=rounds, later_rounds=later).noise_multiplier

    short = sigma(ROUNDS, 3, later=2)
    assert short == pytest.approx(sigma(ROUNDS + 4, 1), rel=2e-3) and short < 0.9 * sigma(ROUNDS, 3)


def test_a_smaller_first_run_is_made_up_for(graph):
    """The first run had planned a tenth of the rounds: the others need less noise than the first would have."""
    first = plan(graph, Earlier.none(4), 3)
    second = plan(graph, as_earlier(graph, [first], planned=ROUNDS // 10), 3)
    assert second.noise_multiplier < 0.95 * first.noise_multiplier


@pytest.mark.parametrize(
    ("earlier", "runs", "told"),
    [
        (
            lambda: earlier_of((9.0, 30, 1, SETTINGS, True, [(0, 1, 0.1)])),
            1,
            "1 runs of this store have released",
        ),
        (lambda: earlier_of(unknown=2), 3, "2 runs of this store do not say"),
        (lambda: earlier_of(bare=(1, 3)), 3, "WITHOUT noise, or was refuted by an audit, on text of b, d"),
        (lambda: earlier_of((9.0, 30, 1, "6" * 64, False, [(2, 1, 0.1)])), 3, "promised another .* with c"),
        (lambda: earlier_of((0.3, 30, 1, "6" * 64, True, [(2, 1, 0.9)])), 3, "nothing of the target of c"),
        (lambda: earlier_of((0.3, 30, 1, SETTINGS, True, [(0, 1, 0.9)])), 3, "nothing of the target of a"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(graph, earlier, runs, told):
    with pytest.raises(InputError, match=told):
        plan(graph, earlier(), runs)


def test_after_a_run_of_other_settings_the_rest_is_planned_by_a_filter_and_nothing_is_wasted(graph):
    """One of three had twice the rounds: every budget holds after the last, also of secrets it did not draw."""
    edges, _, secrets = graph
    rates, first = np.full(N, 0.1), plan(graph, Earlier.none(4), 3)
    other = (first.noise_multiplier, 2 * ROUNDS, 1, "6" * 64, True, [(j, j + 1, 0.1) for j in (0, 1, 3)])
    second = plan(graph, earlier_of(other), 3)
    assert second.noise_multiplier > first.noise_multiplier
    drawn = [(j, j + 1, 0.1) for j in range(4)]
    before = earlier_of(other, (second.noise_multiplier, ROUNDS, 1, SETTINGS, True, drawn))
    third = plan(graph, before, 3)
    assert third.noise_multiplier == pytest.approx(second.noise_multiplier, rel=1e-3), "as was planned for"

    def kept(sigma):
        bounds = bound_secrets(edges, rates, secrets, noise_multiplier=sigma, rounds=ROUNDS)
        return bounds_of_all_runs(
            edges, rates, bounds, before, settings=SETTINGS, noise_multiplier=sigma, rounds=ROUNDS, promised=True,
        )  # fmt: skip

    found = kept(third.noise_multiplier)
    assert found["all_runs"].to_list() == secrets["posterior"].to_list()
    assert set(found["all_runs_method"]) == {FILTER}, "also of c, whose runs were all planned alike"
    assert kept(0.99 * third.noise_multiplier)["all_runs"].null_count() == 1
    for row in secrets.iter_rows(named=True):
        order = filter_order(row["prior"], row["posterior"])
        own = Participation.from_rates([0.1] * (row["secret_id"] + 1))
        runs = [Run(own, third.noise_multiplier, ROUNDS)]
        runs += [
            Run(Participation.binomial(*each[2:4]), *each[4:6])
            for each in rows_before(before, row["secret_id"])
        ]
        assert bound_of_runs(runs, prior=row["prior"]).value <= row["posterior"]
        assert spent(runs, order) <= budget(row["prior"], row["posterior"], order)


@pytest.mark.parametrize("settings", [SETTINGS, "6" * 64])
def test_a_night_without_rounds_is_refused_before_it_trains_where_earlier_runs_are_above_a_target(
    graph, settings
):
    edges, _, secrets = graph
    drawn = [(3, 4, 0.1), (1, 2, 0.05)]

    def quiet(sigma):
        earlier = earlier_of((sigma, ROUNDS, 1, settings, True, drawn))
        return bounds_without_rounds(edges, secrets, method="best", settings=SETTINGS, earlier=earlier)

    assert quiet(20.0)["bound"].to_list() == pytest.approx(secrets["prior"].to_list())
    with pytest.raises(InputError, match="leave nothing of the target of b, d"):
        quiet(0.3)


def rows_before(earlier, secret):
    """(run, secret, examples, rate, σ, T) of its earlier runs."""
    rows = earlier.profiles.filter(secret_id=secret).join(earlier.runs, on="run")
    return rows.select("run", "secret_id", "examples", "rate", "noise_multiplier", "rounds").rows()


def test_more_runs_than_were_promised_are_planned_by_the_filter_while_something_is_left(graph):
    """A promise of three was raised to five after the first run: its settings are others from then on."""
    first = plan(graph, Earlier.none(4), 3)
    one = as_earlier(graph, [first])
    later = plan(graph, one, 5, settings="7" * 64)
    assert later.noise_multiplier > 1.2 * first.noise_multiplier
    with pytest.raises(InputError, match="leave nothing of the target of"):
        plan(graph, as_earlier(graph, [first] * 4), 5, settings="7" * 64)
