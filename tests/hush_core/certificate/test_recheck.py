"""The second route is right by itself, agrees with the first, and refuses what a broken first route states."""

import contextlib
import itertools
import math
import re

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, ndtri

from hush_core import plan
from hush_core.accounting import Participation, Run, bound_of_runs, posterior_bound
from hush_core.accounting.many_secrets import calibration, curves, each_curve, laws, one_run
from hush_core.certificate import document, verify_certificate
from hush_core.certificate.recheck import (
    BY_BINOMIAL,
    BY_OWN,
    NotConfirmed,
    SampledRun,
    Secrets,
    check,
    posterior,
    posterior_of_runs,
    recheck_bounds,
    recheck_curves,
)
from hush_core.certificate.recheck.counts import count_law
from hush_core.certificate.recheck.extremes import excess_over_prior, shortfall_from_one
from hush_core.certificate.recheck.loss import RoundLoss
from hush_core.errors import CertificationError, VerificationError

REFERENCE = [
    (1, 1e-3, 1.0, 1000, 1e-6), (10, 1e-3, 1.0, 1000, 1e-6), (50, 1e-3, 2.0, 500, 1e-4),
    (7, 0.02, 4.0, 300, 1e-3), (1, 1.0, 20.0, 100, 1e-8), (100, 2048 / 1.2e6, 3.0, 2000, 1e-10),
]  # fmt: skip
"""docs/mathematics.md §5: m, ρ, σ, T, p."""


def second(rates, *, sigma, rounds, prior):
    distinct, times = np.unique(np.atleast_1d(rates), return_counts=True)
    return posterior(distinct, times, noise_multiplier=sigma, rounds=rounds, prior=prior)


def test_counts_are_those_of_every_outcome():
    rates = np.array([0.2, 0.2, 0.05, 0.6, 1.0])
    law = np.zeros(6)
    for outcome in itertools.product((0, 1), repeat=5):
        law[sum(outcome)] += math.prod(r if drawn else 1 - r for r, drawn in zip(rates, outcome, strict=True))
    found = count_law(*np.unique(rates, return_counts=True), cut=1e-30)
    assert found.first == 1
    np.testing.assert_allclose(found.probability, law[1:], rtol=1e-13)


@pytest.mark.parametrize("sigma, rounds, prior", [(20.0, 100, 1e-8), (0.7, 1, 1e-12), (300.0, 10_000, 0.2)])
def test_a_sure_example_has_the_gaussian_closed_form(sigma, rounds, prior):
    found = second(1.0, sigma=sigma, rounds=rounds, prior=prior)
    assert found.value == pytest.approx(ndtr(ndtri(prior) + math.sqrt(rounds) / sigma), rel=1e-7)


def test_hardly_moved_and_sure_agree_with_inversion_and_the_first_route():
    """Both inequalities hold where the bound is known, and leave alone what is between."""
    for m, rate, sigma, rounds, prior in REFERENCE:
        times, rates = np.array([m]), np.array([rate])
        exact = second(np.full(m, rate), sigma=sigma, rounds=rounds, prior=prior).value
        one = RoundLoss(count_law(rates, times, cut=1e-30), sigma)
        assert exact <= prior * (1 + excess_over_prior([(one, rounds)], prior))
        assert exact >= 1 - shortfall_from_one([(m * rate, sigma, rounds)], prior)
    # too wide for inversion: 6,250 examples, hardly ever drawn, much noise
    hardly = second(np.full(6250, 1e-12), sigma=2000.0, rounds=1000, prior=1e-20)
    assert 1e-20 <= hardly.value <= 1e-20 * (1 + 2e-5)
    assert second(np.full(100, 0.1), sigma=0.5, rounds=1000, prior=1e-9).value == 1.0


@pytest.mark.parametrize("sigma, rounds, prior", [(1.0, 50, 1e-3), (3.0, 10, 0.1)])
def test_hardly_moved_is_above_the_closed_form(sigma, rounds, prior):
    """A secret drawn surely: the inequality must not say that it is hardly drawn."""
    one = RoundLoss(count_law(np.ones(1), np.ones(1, int), cut=1e-30), sigma)
    exact = ndtr(ndtri(prior) + math.sqrt(rounds) / sigma)
    assert prior * (1 + excess_over_prior([(one, rounds)], prior)) >= exact
    weak = RoundLoss(count_law(np.array([1e-6]), np.ones(1, int), cut=1e-30), sigma)
    assert 0 < excess_over_prior([(weak, rounds)], prior) < 1


@pytest.mark.parametrize(
    "m, rate, sigma, prior", [(3, 0.1, 1.0, 1e-3), (40, 0.02, 2.0, 1e-6), (2, 1e-3, 0.6, 1e-4)]
)
def test_one_round_has_a_closed_form(m, rate, sigma, prior):
    """The best event of one round is {x > σ·Φ⁻¹(1 − p)}."""
    found = second(np.full(m, rate), sigma=sigma, rounds=1, prior=prior)
    k = np.arange(m + 1)
    weights = [math.comb(m, i) * rate**i * (1 - rate) ** (m - i) for i in k]
    exact = float(np.dot(weights, ndtr((k + sigma * ndtri(prior)) / sigma)))
    assert found.value == pytest.approx(exact, rel=1e-6) and found.error < 1e-5 * exact


@pytest.mark.parametrize("m, rate, sigma, rounds, prior", REFERENCE)
def test_both_routes_agree_on_the_reference_table(m, rate, sigma, rounds, prior):
    first = posterior_bound(
        Participation.binomial(m, rate), noise_multiplier=sigma, rounds=rounds, prior=prior, lower=True
    )
    found = second(np.full(m, rate), sigma=sigma, rounds=rounds, prior=prior)
    assert first.lower * (1 - 1e-6) <= found.value <= first.value * (1 + 1e-6)
    assert found.value == pytest.approx(first.value, rel=1e-4) and found.error <= 1e-5 * found.value


def random_mechanisms(size):
    """Profiles of 1 to 300 examples whose posterior is neither the prior nor 1; even, uneven and mixed rates."""
    random = np.random.default_rng(13)
    for number in range(size):
        m, rounds = int(10 ** random.uniform(0, 2.5)), int(10 ** random.uniform(0.5, 3.7))
        sigma, prior = 10 ** random.uniform(-0.3, 1.5), 10 ** random.uniform(-14, -1)
        scale = sigma / math.sqrt(rounds) / m * 10 ** random.uniform(-0.5, 0.9)
        shape = (np.ones(m), random.uniform(0.2, 2, m), random.choice([0.1, 1.0, 3.0], m))[number % 3]
        yield np.minimum(scale * shape, 1.0), sigma, rounds, prior


def test_both_routes_agree_on_random_mechanisms():
    """Never above the bound, never below `lower`; within 2e-4 of a tight bound (the first route's own grid)."""
    compared, unsure = [], 0
    for rates, sigma, rounds, prior in random_mechanisms(64):
        first = posterior_bound(
            Participation.from_rates(rates), noise_multiplier=sigma, rounds=rounds, prior=prior, lower=True
        )
        try:
            found = second(rates, sigma=sigma, rounds=rounds, prior=prior)
        except NotConfirmed:
            unsure += first.value < 1 - 1e-6
            continue
        assert found.value <= first.value * (1 + 1e-6)
        if first.lower is not None:
            assert found.value >= first.lower * (1 - 1e-6)
        if first.method == "blow_up":
            compared.append(first.value / found.value - 1 - first.numerical_error / found.value)
    assert len(compared) >= 60 - unsure and unsure <= 2
    assert np.median(compared) < 5e-5 and max(compared) < 2e-4


def test_what_is_not_accurate_is_not_confirmed():
    with pytest.raises(NotConfirmed):  # draws so rare that the answer drowns in round-off
        second(np.full(2595, 1.5e-11), sigma=0.391, rounds=6831, prior=4.3e-17)
    with pytest.raises(NotConfirmed):
        second(np.full(50_000, 0.9), sigma=1e6, rounds=10, prior=1e-6)
    assert second(np.full(50_000, 0.9), sigma=100.0, rounds=10, prior=1e-6).value == 1.0
    assert second(0.0, sigma=1.0, rounds=10, prior=1e-6).value == 1e-6


def small_rates(monkeypatch):
    whole = Participation.__dict__["distribution"].func
    monkeypatch.setattr(
        Participation,
        "distribution",
        property(lambda self: whole(Participation(self.rates / 10, self.counts))),
    )


def lost_tail(monkeypatch):
    whole = Participation.__dict__["distribution"].func

    def cut(self):
        law = whole(self)
        return type(law)(0, np.array([law.pmf[0], 1 - law.pmf[0]]), 0.0)  # two examples at once count as one

    monkeypatch.setattr(Participation, "distribution", property(cut))


def lost_rate(monkeypatch):
    whole = laws.Laws.participation

    def without_one(self, law):
        found = whole(self, law)
        return type(found)(found.rates[1:], found.counts[1:])

    monkeypatch.setattr(laws.Laws, "participation", without_one)


def half_the_batch(monkeypatch):
    for module in (document, plan):
        whole = module.sampling_rates
        monkeypatch.setattr(module, "sampling_rates", lambda w, b, whole=whole: whole(w, b) / 2)


def lower_curves(monkeypatch, module):
    whole = module.each_curve

    def lower(*args, **given):
        for found in whole(*args, **given):
            yield type(found)(
                found.priors, np.maximum(found.values * 0.999, found.priors), found.methods,
                found.numerical_errors, found.lower * 0.999, found.note,
            )  # fmt: skip

    monkeypatch.setattr(module, "each_curve", lower)


def smaller_bounds(monkeypatch):
    lower_curves(monkeypatch, each_curve)


@pytest.mark.few(3)
@pytest.mark.parametrize("mistake", [small_rates, lost_tail, lost_rate, half_the_batch, smaller_bounds])
def test_a_mistake_of_the_first_route_is_found(mistake, monkeypatch, made, build_certificate, tmp_path):
    """Calibrated, certified and recomputed by the same broken code: only the second route can object."""
    mistake(monkeypatch)
    build_certificate(tmp_path / "certificate", made / "model")
    with pytest.raises(VerificationError, match="by the second route"):
        verify_certificate(tmp_path / "certificate")


def test_a_curve_that_is_wrong_on_both_sides_is_found(monkeypatch, made, build_certificate, tmp_path):
    lower_curves(monkeypatch, curves)
    build_certificate(tmp_path / "certificate", made / "model")
    with pytest.raises(VerificationError, match="curve 0 at prior .* by the second route"):
        verify_certificate(tmp_path / "certificate")


@pytest.fixture(scope="module")
def of_binomials(made, build_certificate, tmp_path_factory):
    """A verified certificate whose bounds and curves are those of dominating binomials."""
    folder = tmp_path_factory.mktemp("inherited") / "certificate"
    with pytest.MonkeyPatch.context() as patch:
        for module, limit in ((one_run, "OWN"), (curves, "MOST_CURVES"), (check, "OWN_PROFILES")):
            patch.setattr(module, limit, 1)
        patch.setattr(calibration, "OWN", 1)
        build_certificate(folder, made / "model")
        return verify_certificate(folder)


def parts(verification):
    """Its tables by name, how its secrets are drawn, and its mechanism."""
    tables = {name.removesuffix(".parquet"): table for name, table in verification.tables.items()}
    own = Secrets(tables["weights"]["weight"].to_numpy(), 6, tables["edges"], 3)
    return tables, own, SampledRun(verification.certificate.facts.plan.noise_multiplier, 40)


@pytest.fixture
def inherited(of_binomials, monkeypatch):
    """Its parts, to be rechecked with one profile of its own at most."""
    monkeypatch.setattr(check, "OWN_PROFILES", 1)
    return parts(of_binomials)


def quiet(*_):
    """No progress is shown."""


def test_inherited_bounds_are_checked_by_their_binomials(of_binomials):
    assert of_binomials.tables["bounds.parquet"]["dominating_examples"].null_count() < 3
    assert of_binomials.confirmed(BY_BINOMIAL) > 0
    assert of_binomials.confirmed(BY_BINOMIAL) + of_binomials.confirmed(BY_OWN) == 3
    assert of_binomials.tables["curves.parquet"]["examples"].null_count() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dominating_rate": pl.col("dominating_rate") * 0.9}, "does not dominate"),
        ({"dominating_examples": pl.col("dominating_examples") * 0 + 1}, "does not dominate"),
        ({"dominating_prior": pl.col("dominating_prior") * 0.9}, "does not dominate"),
        ({"bound": pl.col("bound") * 0.9}, "by the second route"),
    ],
)
def test_a_binomial_that_does_not_dominate_is_found(inherited, change, message):
    tables, own, mechanism = inherited
    assert not recheck_bounds(own, tables["secrets"], tables["bounds"], mechanism, quiet).failures
    wrong = recheck_bounds(own, tables["secrets"], tables["bounds"].with_columns(**change), mechanism, quiet)
    assert any(message in failure for failure in wrong.failures)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": pl.col("rate") * 0.05}, "does not dominate"),
        ({"bound": pl.col("bound") * 0.9}, "by the second route|below its prior"),
        ({"bound": pl.col("bound").reverse()}, "falls where the prior rises"),
        ({"examples": pl.lit(None), "rate": pl.lit(None)}, "different rates"),
    ],
)
def test_a_wrong_curve_is_found(inherited, change, message):
    tables, own, mechanism = inherited
    of_secret = tables["bounds"]["curve"].to_numpy()
    assert not recheck_curves(own, of_secret, tables["curves"], mechanism, quiet)[0]
    failures, _ = recheck_curves(own, of_secret, tables["curves"].with_columns(**change), mechanism, quiet)
    assert any(re.search(message, failure) for failure in failures)


def test_both_ends_of_a_curve_are_looked_at(monkeypatch, made):
    """Two points a curve: what is asked most is at its ends, and a wrong bound there must not pass unseen."""
    monkeypatch.setattr(check, "CURVE_POINTS", 0)
    tables, own, mechanism = parts(verify_certificate(made / "certificate"))
    of_secret, whole = tables["bounds"]["curve"].to_numpy(), tables["curves"]
    count = whole["curve"].n_unique()
    failures, points = recheck_curves(own, of_secret, whole, mechanism, quiet)
    assert not failures and points == (2 * count, 2 * count, whole.height)
    for end in (pl.col("prior").min().over("curve"), pl.col("prior").max().over("curve")):
        forged = pl.when(pl.col("prior") == end).then(pl.col("bound") * 0.99).otherwise("bound")
        failures, _ = recheck_curves(own, of_secret, whole.with_columns(forged), mechanism, quiet)
        assert sum("by the second route" in failure for failure in failures) == count


def test_what_a_bound_of_its_own_costs_is_not_spent_on_inherited_ones(inherited):
    """A secret whose bound nothing dominates has only its own profile; the quota for the others starts after it."""
    tables, own, mechanism = inherited
    found = recheck_bounds(own, tables["secrets"], tables["bounds"], mechanism, quiet)
    alone = tables["bounds"]["dominating_examples"].is_null().to_list()
    assert sorted(alone) == [False, False, True]
    assert found.route.tolist() == [BY_OWN if own_bound else BY_BINOMIAL for own_bound in alone]


def test_a_missed_target_gets_no_certificate(made, build_certificate, tmp_path):
    with pytest.raises(CertificationError, match="1 secrets miss their target"):
        build_certificate(tmp_path / "certificate", made / "model", miss=1)
    assert not list(tmp_path.iterdir())


# --- several runs ------------------------------------------------------------------------------------------


def one_law(m, rate):
    return np.array([rate]), np.array([m])


def test_a_sure_example_in_different_runs_has_the_gaussian_closed_form():
    runs = [(*one_law(1, 1.0), 20.0, 100), (*one_law(1, 1.0), 35.0, 300), (*one_law(1, 1.0), 11.0, 10)]
    exact = ndtr(ndtri(1e-8) + math.sqrt(100 / 20**2 + 300 / 35**2 + 10 / 11**2))
    assert posterior_of_runs(runs, prior=1e-8).value == pytest.approx(exact, rel=1e-7)
    for wrong in (runs[:2], [(*run[:3], 100) for run in runs], [(*run[:2], 20.0, run[3]) for run in runs]):
        assert posterior_of_runs(wrong, prior=1e-8).value != pytest.approx(exact, rel=1e-3)


SEVERAL = [
    ([(100, 2048 / 1.2e6, 3.0, 2000), (60, 2048 / 1.3e6, 4.0, 1000)], 1e-10),
    ([(1, 1e-4, 1.0, 1000), (3, 2e-5, 0.6, 2000)], 1e-9),  # rare in both: the lump of no draw at all
    ([(1, 1e-4, 0.7, 1000), (100, 2048 / 1.2e6, 6.0, 2000)], 1e-9),
    ([(1, 1.0, 35.0, 300), (3, 1e-3, 1.5, 1000)], 1e-7),
    ([(5, 0.1, 1.0, 1), (2, 0.3, 2.0, 1)], 1e-3),
]


@pytest.mark.few(2)
@pytest.mark.parametrize("case, prior", SEVERAL)
def test_the_second_route_lies_between_the_first_ones_sides_for_several_runs(case, prior):
    runs = [(*one_law(m, rate), sigma, rounds) for m, rate, sigma, rounds in case]
    first = bound_of_runs(
        [Run(Participation.binomial(m, rate), sigma, rounds) for m, rate, sigma, rounds in case],
        prior=prior,
        method="blow_up",
        lower=True,
    )
    found = posterior_of_runs(runs, prior=prior).value
    assert first.lower * (1 - 2e-5) <= found <= first.value * (1 + 2e-5)
    assert posterior_of_runs(runs[::-1], prior=prior).value == pytest.approx(found, rel=1e-5)
    for alone in runs:
        with contextlib.suppress(
            NotConfirmed, OverflowError
        ):  # where one run alone is too rare for this route
            assert posterior_of_runs([alone], prior=prior).value < found


def test_equal_runs_are_one_by_the_second_route_too():
    law = one_law(100, 2048 / 1.2e6)
    once = posterior_of_runs([(*law, 3.0, 2000)], prior=1e-10).value
    assert posterior_of_runs([(*law, 3.0, 700), (*law, 3.0, 1300)], prior=1e-10).value == pytest.approx(
        once, rel=1e-6
    )
    nothing = (np.zeros(1), np.ones(1, int), 3.0, 10)
    assert posterior_of_runs([nothing], prior=0.1).value == 0.1
    assert posterior_of_runs([nothing, (*law, 3.0, 2000)], prior=1e-10).value == pytest.approx(once, rel=1e-9)


def test_extremes_of_several_runs():
    """Both inequalities for products, where one run alone would not do."""
    sure = [(1.0, 3.0, 40), (1.0, 4.0, 80)]
    exact = ndtr(ndtri(1e-3) + math.sqrt(40 / 9 + 80 / 16))
    assert 1 - exact <= shortfall_from_one(sure, 1e-3) < min(shortfall_from_one([one], 1e-3) for one in sure)
    weak = [
        (RoundLoss(count_law(np.array([rate]), np.ones(1, int), cut=1e-30), 2.0), rounds)
        for rate, rounds in ((1e-6, 50), (3e-6, 20))
    ]
    alone = [excess_over_prior([one], 1e-3) for one in weak]
    together = excess_over_prior(weak, 1e-3)
    assert max(alone) < together < 1
