"""The statistical audits as `hush audit --statistics` plays them: a right mechanism passes, broken ones do not."""

import numpy as np
import pytest

from hush_core.training.noise import add_noise
from hush_core.training.sampler import WeightedPoissonSampler
from lab.statistical_audits.battery import Mechanism, statistical_audits

NAMES = [
    "one shot, final model", "one shot, all iterates", "one run", "one run, f-DP", "repeated runs", "named in runs",
]  # fmt: skip


def refuted(**broken):
    return {row.name for row in statistical_audits(mechanism=Mechanism(**broken)) if row.outcome == "refuted"}


@pytest.mark.slow
def test_the_installation_as_it_is_is_refuted_by_none_and_each_says_how_far_it_could_see():
    rows = statistical_audits()
    assert [row.name for row in rows] == NAMES
    assert all(row.shown.value <= min(row.certified, row.shown.ceiling) for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["one run"].outcome == "cannot tell", "4,000 coins show 1.9 at most"
    assert by_name["named in runs"].outcome == "passed" and by_name["named in runs"].shown.value > 0.75
    assert by_name["one shot, final model"].shown.value > 0.75 * by_name["one shot, final model"].certified


def scaled(factor):
    def add(total, noise, counter, *, scale, clip_norm):
        add_noise(total, noise, counter, scale=factor * scale, clip_norm=clip_norm)

    return add


class Everybody(WeightedPoissonSampler):
    """Draws everyone in every round."""

    def __init__(self, rates, *, key):
        super().__init__(np.ones_like(rates), key=key)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("broken", "by"),
    [
        ({"add": scaled(2 / 3)}, {"one shot, final model", "named in runs"}),
        ({"add": scaled(1 / 2)}, {"one shot, final model", "one shot, all iterates", "named in runs"}),
        ({"sampler": Everybody}, {"named in runs"}),
    ],
)
def test_what_is_broken_is_refuted_by_those_that_can_see_it(broken, by):
    assert by <= refuted(**broken)
