"""Many secrets, several runs: what is inherited dominates, is close, and is what the groups named give."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import (
    History,
    Participation,
    Run,
    TargetsSpent,
    bound_of_runs,
    certify_runs,
    noise_for_runs,
)
from hush_core.accounting.many_secrets.groups import Cases, batches, dominating, grouped
from hush_core.accounting.many_secrets.laws import Laws
from hush_core.accounting.many_secrets.shared_laws import SharedLaws
from hush_core.errors import InputError

PRIOR, RUNS, SECRETS = 1e-8, 5, 150


def history(secrets=SECRETS, runs=RUNS, seed=3):
    """Secrets of 2 to 60 examples, rates that drift, some born late, some gone early; σ of its own in each run."""
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 61, secrets)
    base = rng.lognormal(np.log(2e-3), 0.6, secrets)
    born = np.where(rng.random(secrets) < 0.7, 0, rng.integers(0, runs, secrets))
    gone = np.where(rng.random(secrets) < 0.8, runs, rng.integers(1, runs + 1, secrets))
    rows = []
    for run in range(runs):
        here = np.flatnonzero((born <= run) & (run < np.maximum(gone, born + 1)))
        rates = base[here] * np.exp(rng.normal(0.01 * run, 0.002, len(here)))
        rows.append((here, np.full(len(here), run), count[here] + (run > 2), rates))
    secret, run, examples, rate = (np.concatenate(each) for each in zip(*rows, strict=True))
    sigma = np.array([9.0, 9.0, 11.0, 8.0, 9.5])[:runs]
    return History.of_binomials(
        sigma, np.full(runs, 300), secret=secret, run=run, examples=examples, rate=rate
    )


@pytest.fixture(scope="module")
def certified():
    own = history()
    targets = np.full(SECRETS, 3e-5)
    return own, certify_runs(own, np.full(SECRETS, PRIOR), targets)


def test_inherited_bounds_are_above_and_near_the_own(certified):
    own, found = certified
    inherited = found.table.filter(pl.col("group").is_not_null())
    assert inherited.height > SECRETS / 2
    ratios = []
    for secret, bound in inherited.sample(8, seed=1).select("secret", "bound").iter_rows():
        alone = bound_of_runs(own.runs_of(secret), prior=PRIOR, method="blow_up", lower=True)
        assert bound >= alone.lower
        ratios.append(bound / alone.value)
    assert min(ratios) > 1 - 1e-3 and np.median(ratios) < 1.08 and max(ratios) < 1.2


def test_groups_dominate_their_members_in_every_run(certified):
    own, found = certified
    binomials = {(g, r): (n, rate) for g, r, n, rate in found.groups.iter_rows()}
    for secret, run, law in zip(own.secret, own.run, own.law, strict=True):
        group = found.table["group"][int(secret)]
        if group is None:
            continue
        examples, rate = binomials[group, int(run)]
        assert examples >= own.laws.examples[law]
        assert -examples * np.log1p(-rate) >= own.laws.hazard[law] * (1 - 1e-12)
        assert found.table["group_prior"][int(secret)] >= PRIOR


def test_a_group_gives_its_bound_again(certified):
    own, found = certified
    for group in found.groups["group"].unique().sort()[:6]:
        rows = found.groups.filter(pl.col("group") == group)
        runs = [
            Run(Participation.binomial(n, rate), float(own.noise_multiplier[run]), int(own.rounds[run]))
            for run, n, rate in rows.select("run", "examples", "rate").iter_rows()
        ]
        stated = found.table.filter(pl.col("group") == group)["bound"].max()
        again = bound_of_runs(runs, prior=PRIOR, method="blow_up", lower=True)
        assert again.lower <= stated <= again.value * 1.02


def test_a_history_is_the_sum_of_its_rows(certified):
    own, found = certified
    counted = np.bincount(own.secret, minlength=SECRETS)
    assert found.table["runs"].to_list() == counted.tolist()
    assert [len(own.runs_of(s)) for s in range(SECRETS)] == counted.tolist()


def test_few_histories_get_bounds_of_their_own():
    k, late = Participation.binomial(20, 0.01), Participation.from_rates([0.3, 0.01, 1.0])
    runs = [[Run(k, 6.0, 50)], [Run(k, 6.0, 50), Run(late, 9.0, 20), Run(late, 9.0, 20)], []]
    own = History.of(runs)
    found = certify_runs(own, np.array([1e-6, 1e-4, 0.1]), np.array([0.5, 0.5, 0.5]))
    for secret, prior in enumerate((1e-6, 1e-4)):
        alone = bound_of_runs(runs[secret], prior=prior, lower=True)
        row = found.table.row(secret, named=True)
        assert (row["bound"], row["lower"], row["method"]) == (alone.value, alone.lower, alone.method)
    assert found.table["bound"][2] == 0.1 and found.table["runs"].to_list() == [1, 3, 0]
    assert not found.groups.height and not len(found.missing())


def test_shared_laws_are_the_bound_of_the_runs():
    own = history(16)
    cases = Cases(own, np.arange(16), np.full(16, PRIOR))
    for batch, middle in batches(cases, grouped(cases, np.full(16, 0.05))):
        rivals = [dominating(cases, members, 1.01) for members in batch]
        shared = SharedLaws(rivals[middle].runs(own), PRIOR, 40.0)
        for rival in rivals[:4]:
            priors = np.array([PRIOR, 1e-3])
            found = shared.curve(rival.runs(own), priors)
            for value, prior in zip(found.values, priors, strict=True):
                exact = bound_of_runs(rival.runs(own), prior=prior, method="blow_up", lower=True)
                assert exact.lower <= value <= exact.value * (1.02 if prior == PRIOR else 1.5)


def test_every_case_is_in_one_group():
    own = history(60)
    cases = Cases(own, np.arange(60), np.full(60, PRIOR))
    found = grouped(cases, np.full(60, 0.02))
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(60)) and len(found) > 5
    batched = [members for batch, _ in batches(cases, found) for members in batch]
    assert sorted(m[0] for m in batched) == sorted(m[0] for m in found)


# --- noise ---------------------------------------------------------------------------------------------


def coming(laws, places, rounds):
    return History.of_run(1.0, rounds, places, Laws.of(laws))


def test_noise_of_planned_runs_is_the_smallest():
    laws = [Participation.binomial(n, rate) for n, rate in ((100, 1e-3), (40, 2e-3), (5, 1e-2))]
    past = [[Run(laws[0], 12.0, 200)], [Run(laws[1], 12.0, 200), Run(laws[1], 14.0, 100)], []]
    priors, targets = np.full(3, 1e-8), np.array([1e-5, 3e-5, 2e-5])
    run = coming(laws, np.arange(3), 200)
    found = noise_for_runs(History.of(past), run, priors, targets, to_follow=1200)
    assert (found.table["bound"] <= targets).all()
    worst = []
    for sigma in (found.noise_multiplier, found.noise_multiplier * 0.997):
        all_runs = [[*own, Run(k, sigma, 1400)] for own, k in zip(past, laws, strict=True)]
        bounds = [bound_of_runs(runs, prior=1e-8, method="blow_up").value for runs in all_runs]
        worst.append(max(np.array(bounds) / targets))
    assert worst[0] <= 1 < worst[1]
    # what is left for one more run only takes less noise
    alone = noise_for_runs(History.of(past), run, priors, targets)
    assert alone.noise_multiplier < found.noise_multiplier / 2


@pytest.mark.slow
def test_noise_of_many_secrets_by_groups():
    own = history(120, 4)
    law = [Participation.binomial(n, rate) for n, rate in ((30, 2e-3), (60, 1e-3), (3, 5e-3))]
    rng = np.random.default_rng(0)
    run = coming(law, rng.integers(0, 3, 120), 300)
    before = certify_runs(own, np.full(120, PRIOR), np.full(120, 0.5)).table["bound"].to_numpy()
    targets = np.maximum(before * 3, 1e-6)
    found = noise_for_runs(own, run, np.full(120, PRIOR), targets, to_follow=600)
    assert (found.table["bound"] <= targets).all()
    assert found.noise_multiplier <= found.least * 1.01


def test_targets_that_are_spent_are_named():
    k = Participation.binomial(100, 1e-3)
    past = History.of([[Run(k, 30.0, 20)], [Run(k, 1.0, 2000)], [Run(k, 2.0, 2000)]])
    with pytest.raises(TargetsSpent) as refused:
        noise_for_runs(past, coming([k], np.zeros(3, int), 100), np.full(3, 1e-8), np.full(3, 1e-5))
    assert refused.value.secrets.tolist() == [1, 2]


# --- refusals -------------------------------------------------------------------------------------------


def test_histories_that_do_not_fit_together():
    k = Participation.binomial(3, 0.1)
    good = History.of([[Run(k, 2.0, 5)]])
    for wrong in (
        {"secret": np.zeros(2, int), "run": np.zeros(2, int), "law": np.zeros(2, int)},
        {"run": np.ones(1, int)},
        {"law": np.ones(1, int)},
        {"noise_multiplier": np.array([0.0])},
        {"secret": np.array([-1])},
    ):
        with pytest.raises(InputError):
            replace(good, **wrong)
    for wrong in ({"rates": np.array([1.5])}, {"counts": np.array([0])}, {"starts": np.array([0, 2])}):
        with pytest.raises(InputError):
            replace(good.laws, **wrong)
    with pytest.raises(InputError, match="prior"):
        certify_runs(good, np.empty(0), np.empty(0))
    with pytest.raises(InputError, match="secret 0"):
        certify_runs(good, np.array([0.2]), np.array([0.1]))
