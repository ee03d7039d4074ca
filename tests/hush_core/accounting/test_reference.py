"""Every bound, noise and curve is what it was before one accountant served one run and many, to the last digit."""

import accounting_reference as reference
import polars as pl
import pytest

SLOW = {
    "bounds, many, best", "bounds, many, renyi", "calibrated, many, best", "calibrated, alike, renyi",
    "calibrated, many priors, kl", "noise for all", "runs, many, by own rates", "smallest noise",
    "calibrated, many, kl", "bounds, many, kl", "bounds, many, little noise",
    "calibrated, middle, best", "bounds, alike",
}  # fmt: skip
BEFORE = pl.read_parquet(reference.FILE)
SAME_MACHINE = BEFORE["word"][0] == reference.machine()
CLOSE = 2e-3
"""Relative, where round-off differs: ten times `certificate.comparison.RECOMPUTED`."""
EXACT_PRIORS = {"curves, few", "curves, many"}
"""A curve's priors were `10.0 ** x` by numpy, which differs between processors; they are exact decimals since."""


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in reference.CASES]
)
def test_the_accountant_gives_what_it_gave(case):
    before, now = BEFORE.filter(case=case), reference.values(case)
    place = ["case", "column", "row", "word"]
    if SAME_MACHINE and case not in EXACT_PRIORS:
        assert now.equals(before)
    else:
        close = 1e-9 if SAME_MACHINE else CLOSE
        assert now.select(place).equals(before.select(place))
        numbers, expected = (each["number"].fill_null(float("nan")).to_list() for each in (now, before))
        assert numbers == pytest.approx(expected, rel=close, abs=1e-12, nan_ok=True)
