"""What a certificate states, against what the same route gives when it is taken again: one line a difference."""

import numpy as np
import polars as pl

from hush_core.accounting import Curves
from hush_core.certificate.consistency import SUMMED

RECOMPUTED = 2e-4
"""The same route on another machine may differ by this much, relatively: round-off decides which tilt is taken."""
ULPS = 1e-15
"""Of a power of ten, or of a rate that dominates, on another machine."""
DOMINATING = ("dominating_examples", "dominating_rate", "dominating_prior")
"""The profile that an inherited bound is of; null where it is by the secret's own rates."""


def join_again(secrets: pl.DataFrame, bounds: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    """One row a secret: the secrets' own targets, the stored bound and the recomputed one."""
    stored = bounds.select(
        "secret_id", "examples", "expected_participation", "bound", "method", "numerical_error", "lower",
        "noise_needed", *DOMINATING, stored_prior="prior", stored_target="posterior",
    )  # fmt: skip
    recomputed = again.select(
        "secret_id", recomputed="bound", counted="examples", participation="expected_participation",
        by="method", again_error="numerical_error", again_lower="lower",
        **{f"again_{name}": name for name in DOMINATING},
    )  # fmt: skip
    joined = secrets.join(stored, on="secret_id", how="left").join(recomputed, on="secret_id", how="left")
    return joined.sort("secret_id")


def compare_bounds(rows: pl.DataFrame, noise_multiplier: float) -> list[str]:
    """Of the rows of `join_again`: targets, graph, profile, method, and every number of the bound."""
    failures = []
    for row in rows.iter_rows(named=True):
        name = row["name"]
        if (row["stored_prior"], row["stored_target"]) != (row["prior"], row["posterior"]):
            failures.append(f"{name}: prior or target differ between the tables")
        if row["counted"] != row["examples"]:
            failures.append(f"{name}: {row['examples']} examples certified, {row['counted']} in the graph")
        if not np.isclose(row["participation"], row["expected_participation"], rtol=SUMMED, atol=1e-15):
            failures.append(f"{name}: its examples' rates do not sum to what was certified")
        if row["method"] != row["by"] or not all(_same(row[c], row[f"again_{c}"]) for c in DOMINATING):
            failures.append(
                f"{name}: its bound was proved for another profile, or by another method, than stated"
            )
        if not row["bound"] <= row["posterior"]:
            failures.append(f"{name}: bound {row['bound']:.6g} misses its target {row['posterior']:.6g}")
        if not abs(row["recomputed"] - row["bound"]) <= RECOMPUTED * row["bound"]:
            failures.append(f"{name}: bound {row['bound']:.6g}, but {row['recomputed']:.6g} when recomputed")
        if not _same(row["lower"], row["again_lower"], 10 * RECOMPUTED):
            failures.append(f"{name}: lower differs when recomputed")
        if not abs(row["numerical_error"] - row["again_error"]) <= RECOMPUTED * row["bound"]:
            failures.append(f"{name}: numerical_error differs when recomputed")
        if not (row["noise_needed"] or 0.0) <= noise_multiplier * (1 + SUMMED):
            failures.append(f"{name}: noise_needed is above the noise multiplier")
    return failures


def compare_all_runs(names: pl.Series, stored: pl.DataFrame, again: pl.DataFrame) -> list[str]:
    """Of the bounds of all runs together; `names`, `stored` and `again` by secret_id."""
    failures = []
    columns = zip(names, stored.iter_rows(named=True), again.iter_rows(named=True), strict=True)
    for name, row, new in columns:
        if not _same(row["all_runs"], new["all_runs"], RECOMPUTED):
            failures.append(f"{name}: all_runs differs when recomputed from runs and history")
        if row["all_runs_method"] != new["all_runs_method"]:
            failures.append(f"{name}: all_runs was proved by another method than stated")
        if not _same(row["all_runs_lower"], new["all_runs_lower"], 10 * RECOMPUTED):
            failures.append(f"{name}: all_runs_lower differs when recomputed")
    return failures


def _same(stated: float | None, found: float | None, within: float = SUMMED) -> bool:
    if stated is None or found is None:
        return stated is found
    return bool(np.isclose(stated, found, rtol=within, atol=0))


def _same_digits(stored: pl.Series, found: pl.Series) -> bool:
    """Whether all numbers are equal but for the last digit; it depends on the processor that computed them."""
    return bool(np.allclose(stored.to_numpy(), found.to_numpy(), rtol=ULPS, atol=0, equal_nan=True))


def compare_curves(stored: pl.DataFrame, of_secret: np.ndarray, again: Curves) -> list[str]:
    """Of every curve; `of_secret`: which one is stated to be each secret's."""
    if not np.array_equal(of_secret, again.of_secret):
        return ["the curves are not assigned to the secrets that they are of"]
    fixed = ["curve", "examples", "method"]
    same = stored.select(fixed).equals(again.table.select(fixed))
    if not same or not all(_same_digits(stored[name], again.table[name]) for name in ("prior", "rate")):
        return ["the curves are not those of this graph: their priors, methods or profiles differ"]
    failures = []
    for row, new in zip(stored.iter_rows(named=True), again.table.iter_rows(named=True), strict=True):
        where = f"curve {row['curve']} at prior {row['prior']:.3g}"
        if not abs(new["bound"] - row["bound"]) <= RECOMPUTED * row["bound"]:
            failures.append(f"{where}: {row['bound']:.6g} is stated, {new['bound']:.6g} is recomputed")
        if not _same(row["lower"], new["lower"], 10 * RECOMPUTED):
            failures.append(f"{where}: lower differs when recomputed")
        if not abs(row["numerical_error"] - new["numerical_error"]) <= RECOMPUTED * row["bound"]:
            failures.append(f"{where}: numerical_error differs when recomputed")
    return failures
