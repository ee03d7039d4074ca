"""Users' losses by mechanism and k: the mean of what was trained from several seeds, and gains with their interval.

Bits per byte, of records that nothing was chosen by. Intervals are Student's at 95 % over seeds, with one spread
pooled over all cells with noise (and another over those without): two seeds a cell would give none of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from scipy import stats

KEY = ("kind", "select", "records", "epsilon", "units")
"""What one trained cell is, but for seed and learning rate."""
Pair = tuple[dict | None, dict | None]


@dataclass(frozen=True, eq=False)
class Measured:
    """means: KEY, learning_rate, sigma, noise, bits, chosen_by, by_user, seeds, half_width; at the chosen rates."""

    means: pl.DataFrame

    @classmethod
    def of(cls, rows: Sequence[dict]) -> Measured:
        table = pl.DataFrame([{"units": 0, **row} for row in rows], infer_schema_length=None)
        tried = table.filter((pl.col("seed") == 0) & (pl.col("units") == 0))
        tried = tried.filter(pl.len().over(KEY) > 1).sort("chosen_by")
        rates = tried.group_by("kind", "epsilon", maintain_order=True).agg(pl.col("learning_rate").first())
        table = table.join(rates, on=["kind", "epsilon", "learning_rate"], how="semi", nulls_equal=True)
        means = table.group_by(*KEY, maintain_order=True).agg(
            pl.col("learning_rate", "sigma", "noise").first(), pl.col("bits", "chosen_by", "by_user").mean(),
            pl.len().alias("seeds"), pl.col("bits").var().alias("variance"),
        )  # fmt: skip
        halves = [half_width(means, row) for row in means.iter_rows(named=True)]
        return cls(means.with_columns(pl.Series("half_width", halves, dtype=pl.Float64)))

    def cell(
        self, kind: str, select: str, records: int, epsilon: float | None, equal_units: bool = False
    ) -> dict | None:
        found = self.means.filter(
            (pl.col("kind") == kind) & (pl.col("select") == select) & (pl.col("records") == records)
            & pl.col("epsilon").eq_missing(epsilon) & ((pl.col("units") > 0) == equal_units)
        )  # fmt: skip
        return found.row(0, named=True) if found.height else None

    def best(self, kind: str, epsilon: float | None) -> dict | None:
        """The cell that the choosing half of the held-out text likes best."""
        found = self.means.filter(
            (pl.col("kind") == kind) & pl.col("epsilon").eq_missing(epsilon) & (pl.col("units") == 0)
        )
        return found.sort("chosen_by").row(0, named=True) if found.height else None

    @property
    def epsilons(self) -> list[float | None]:
        found = sorted(self.means["epsilon"].drop_nulls().unique().to_list())
        return [*found, *([None] if self.means["epsilon"].null_count() else [])]


def half_width(means: pl.DataFrame, row: dict) -> float | None:
    """Half of the interval of a mean, by the spread pooled over all cells with (or all without) noise."""
    alike = means.filter((pl.col("epsilon").is_null() == (row["epsilon"] is None)) & (pl.col("seeds") > 1))
    freedom = int((alike["seeds"] - 1).sum())
    if not freedom:
        return None
    spread = math.sqrt(float(((alike["seeds"] - 1) * alike["variance"]).sum()) / freedom)
    return float(stats.t.ppf(0.975, freedom)) * spread / math.sqrt(row["seeds"])


def gain_over(pairs: Sequence[Pair]) -> tuple[float, float | None] | None:
    """The mean of (bits of the second less bits of the first) over pairs of which both are measured, and how far
    chance may move it (None: one seed); None where no pair is measured."""
    known = [(better, worse) for better, worse in pairs if better is not None and worse is not None]
    if not known:
        return None
    gain = math.fsum(worse["bits"] - better["bits"] for better, worse in known) / len(known)
    halves = [one["half_width"] for pair in known for one in pair]
    return gain, None if None in halves else math.hypot(*halves) / len(known)
