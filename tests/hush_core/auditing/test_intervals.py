"""Intervals cover as often as they say; narrower ones would be seen."""

import numpy as np
import pytest
from scipy.stats import binom

from hush_core.auditing.intervals import clopper_pearson, of_area, of_one_model, paired_difference
from hush_core.auditing.roc import roc


@pytest.mark.parametrize("p", [0.001, 0.03, 0.5, 0.97])
def test_clopper_pearson_covers_at_every_share(p):
    """Exact: summed over all outcomes, not drawn."""
    covered = sum(
        binom.pmf(k, 40, p) for k in range(41) if (i := clopper_pearson(k, 40)).lower <= p <= i.upper
    )
    assert covered >= 0.95
    narrower = sum(
        binom.pmf(k, 40, p) for k in range(41) if (i := clopper_pearson(k, 40, 0.6)).lower <= p <= i.upper
    )
    assert narrower < 0.95 or p in (0.001,)


def test_known_values():
    assert clopper_pearson(0, 10)[1:] == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(10, 10)[1:] == (pytest.approx(0.025**0.1), 1.0)
    assert clopper_pearson(0, 0)[1:] == (0.0, 1.0)
    assert of_one_model(1.0)[1:] == (pytest.approx(0.05), 1.0) and of_one_model(0.0)[1:] == (
        0.0,
        pytest.approx(0.95),
    )


def test_one_model_covers_by_markov():
    """The mean is 0.04; a success of 1 comes with probability 0.04: the lower end is above the mean only then."""
    rng = np.random.default_rng(0)
    draws = (rng.random(20_000) < 0.04) * 1.0
    misses = np.mean([of_one_model(x).lower > 0.04 for x in draws])
    assert 0.02 < misses <= 0.05


@pytest.mark.slow
def test_a_paired_difference_covers():
    """3,000 draws of 30 pairs, 2 % to 25 %; at least 95 % covered (5 standard deviations: 93 %)."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(3000):
        first, second, _ = rng.multinomial(30, [0.25, 0.02, 0.73])
        found = paired_difference(int(first), int(second), 30)
        covered += found.lower <= 0.23 <= found.upper
    assert covered / 3000 >= 0.95 - 5 * (0.05 * 0.95 / 3000) ** 0.5
    assert paired_difference(9, 9, 30).value == 0 and paired_difference(30, 0, 30).lower > 0.7


def test_an_area_covers_and_its_ceiling_is_that_of_a_perfect_attack():
    rng, covered = np.random.default_rng(2), 0
    for _ in range(400):  # two normals one apart: area Φ(1/√2) = 0.7602
        found = roc(rng.normal(1, 1, 15), rng.normal(0, 1, 15), seed=0).area
        covered += found.lower <= 0.7602 <= found.upper
    assert covered >= 380
    perfect = roc(np.arange(10, 30), np.arange(10), seed=0)
    assert (
        perfect.area.value == 1
        and perfect.area.lower == perfect.area_ceiling == of_area(1.0, 20, 10).lower < 1
    )
    assert roc(np.ones(5), np.ones(5), seed=0).area.value == 0.5


@pytest.mark.slow
def test_thresholds_are_not_tuned_on_what_is_reported():
    """Scores of one distribution: at 5 % asked, the rate measured on the other half is 5 % on average, and a
    threshold chosen on the reported half itself would show less."""
    rng, rates, cheated = np.random.default_rng(3), [], []
    for draw in range(300):
        others = rng.normal(size=80)
        row = roc(rng.normal(size=80), others, seed=draw).low.filter(asked=0.05).row(0, named=True)
        rates.append(row["false_positive_rate"])
        assert row["lower"] <= row["false_positive_rate"] <= row["upper"]
        cheated.append((others > np.sort(others)[-2]).mean())
    assert 0.035 < np.mean(rates) < 0.065 and np.mean(cheated) < 0.03
    few = roc(rng.normal(size=9), rng.normal(size=9), seed=0)
    assert few.low.is_empty()  # with 4 to choose a threshold on, no such rate can be shown
