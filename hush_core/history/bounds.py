"""What this run and all earlier ones prove together of each secret: the bound of who sees all that they released.

Runs of equal settings were decided before any of them was seen, and compose as a product (docs/guarantee.md §8),
each with all rounds of its plan. Where settings differ, somebody may have decided after looking at a model: then
only the filter's promise stands, and only if every run promised the same prior and target.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from hush_core.accounting import Participation, Run, bound_of_runs
from hush_core.accounting.bounds import BoundMethod
from hush_core.history.earlier import Earlier
from hush_core.progress import Progress

ALL_RUNS = {
    "secret_id": pl.UInt32, "all_runs": pl.Float64, "all_runs_method": pl.String, "all_runs_lower": pl.Float64,
}  # fmt: skip


def bounds_of_all_runs(
    edges: pl.DataFrame,
    rates: np.ndarray,
    bounds: pl.DataFrame,
    earlier: Earlier,
    *,
    noise_multiplier: float,
    rounds: int,
    settings: str,
    method: BoundMethod = "best",
    times: int = 1,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """secret_id · all_runs · all_runs_method · all_runs_lower; all null where nothing can be said.

    Args:
        edges, rates, noise_multiplier, rounds, method: as for `bound_secrets`. bounds: its rows, of this run alone.
        settings: this run's (`RunText`). times: as if this run were made so often.

    Guarantee: as of `posterior_bound`, for who sees every round of this run and of those in `earlier`.

    Raises:
        CertificationError: no method certifies the runs of a secret.
    """
    own = _own_rates(edges, rates, len(earlier.bare))
    others = by_secret(earlier, settings)
    done: dict[tuple, tuple[float, str, float | None]] = {}
    rows: list[tuple] = []
    for row in bounds.sort("secret_id").iter_rows(named=True):
        secret = row["secret_id"]
        before = others.get(secret, ())
        if earlier.unknown or earlier.bare[secret] or before is None:
            rows.append((secret, None, None, None))
        elif not before and times == 1:
            rows.append((secret, row["bound"], row["method"], row["lower"]))
        else:
            key = (own[secret].tobytes(), before, row["prior"])
            if key not in done:
                mine = Run(Participation.from_rates(own[secret]), noise_multiplier, rounds * times)
                found = bound_of_runs(
                    [mine, *(Run(Participation.binomial(n, rate), sigma, t) for sigma, t, n, rate in before)],
                    prior=row["prior"], method=method, lower=method in ("best", "blow_up"),
                )  # fmt: skip
                done[key] = found.value, found.method, found.lower
                if progress and not len(done) % 64:
                    progress("all runs together", secret, bounds.height)
            rows.append((secret, *done[key]))
    return pl.DataFrame(rows, schema=ALL_RUNS, orient="row")


def _own_rates(edges: pl.DataFrame, rates: np.ndarray, secrets: int) -> list[np.ndarray]:
    """By secret: its examples' rates above 0, ascending."""
    drawn = rates[edges["example_id"].to_numpy()]
    owner = edges["secret_id"].to_numpy()
    order = np.lexsort((drawn, owner))
    order = order[drawn[order] > 0]
    starts = np.searchsorted(owner[order], np.arange(secrets + 1))
    return [drawn[order][first:last] for first, last in pairwise(starts)]


def by_secret(earlier: Earlier, settings: str) -> dict[int, tuple | None]:
    """(σ, T, examples, rate) of each earlier run of a secret; None where one of them had other settings."""
    rows = earlier.profiles.join(earlier.runs, on="run").sort("secret_id", "run")
    found: dict[int, tuple | None] = {}
    for group in rows.partition_by("secret_id", maintain_order=True):
        same = (group["settings"] == settings).all()
        mechanisms = tuple(group.select("noise_multiplier", "rounds", "examples", "rate").iter_rows())
        found[group["secret_id"][0]] = mechanisms if same else None
    return found
