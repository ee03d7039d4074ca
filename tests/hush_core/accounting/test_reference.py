"""Every bound, noise and curve is what it was before one accountant served one run and many, to the last digit."""

import accounting_reference as reference
import polars as pl
import pytest

SLOW = {
    "bounds, many, best", "bounds, many, renyi", "calibrated, many, best", "calibrated, alike, renyi",
    "calibrated, many priors, kl", "noise for all", "runs, many, by own rates",
}  # fmt: skip
BEFORE = pl.read_parquet(reference.FILE)
SAME_MACHINE = BEFORE["word"][0] == reference.machine()
CLOSE = 2e-4
"""Relative, where round-off differs: as `certificate.comparison.RECOMPUTED`."""


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in reference.CASES]
)
def test_the_accountant_gives_what_it_gave(case):
    before, now = BEFORE.filter(case=case), reference.values(case)
    place = ["case", "column", "row", "word"]
    if SAME_MACHINE:
        assert now.equals(before)
    else:
        assert now.select(place).equals(before.select(place))
        assert now["number"].to_list() == pytest.approx(before["number"].to_list(), rel=10 * CLOSE, abs=1e-12)
