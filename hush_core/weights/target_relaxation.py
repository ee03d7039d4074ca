"""What relaxing one entry of the config would buy: the dual values, turned into promises and then into facts.

For capacities cap' in place of cap no feasible weights reach more of the objective than value_bound +
y·(cap' − cap), by weak duality, for any y ≥ 0. So the prices bound what a higher target can bring, and only
the best few are solved again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from hush_core.accounting import largest_expected_count
from hush_core.weights.capacities import unit_capacities
from hush_core.weights.rates import sampling_rates
from hush_core.weights.roles import certified_edges
from hush_core.weights.settings import WeightSettings
from hush_core.weights.solve import solve_weights
from hush_core.weights.weighing import Weighing

_STEP, _MOST = 10.0, 0.5


def raised_target(posterior: float, levels: Iterable[float]) -> float | None:
    """The next target above r_j: the least of the config's levels above it, else 10 r; None above 1/2."""
    above = [level for level in levels if level > posterior]
    target = min(above) if above else _STEP * posterior
    return target if target <= _MOST else None


def relaxed(secrets: pl.DataFrame, chosen: pl.Series, target: float) -> pl.DataFrame:
    """The secrets with `target` in place of the posteriors of the `chosen` rows (a boolean series)."""
    posterior = pl.when(chosen).then(pl.max_horizontal("posterior", pl.lit(target))).otherwise("posterior")
    return secrets.with_columns(posterior.alias("posterior"))


def relaxations(
    weighing: Weighing,
    secrets: pl.DataFrame,
    settings: WeightSettings,
    *,
    levels: Iterable[float],
    noise_multiplier: float | None,
) -> pl.DataFrame:
    """What raising each entry's target to the next level can gain at most, most first.

    An entry is what the user can change: all secrets whose names begin with its id (`creds/…`). Only entries with a
    secret whose capacity has a price are listed. `noise_multiplier`: what the weights need, for `equalised`.

    Columns: entry · secrets · posterior (its least now) · target · at_most (of the objective, weight or distinct
    examples, above the present value).
    """
    levels, rows = sorted(levels), []
    priced = secrets.with_columns(pl.Series("price", weighing.prices), _entry())
    for (entry,), group in priced.filter(pl.col("price") > 0).group_by("entry", maintain_order=True):
        now = float(group["posterior"].min())
        target = raised_target(now, levels)
        if target is None:
            continue
        chosen = priced["entry"] == entry
        room = relaxed_capacities(
            weighing, secrets, relaxed(secrets, chosen, target), settings, noise_multiplier
        )
        more = float(weighing.prices @ np.maximum(room - weighing.capacities, 0.0))
        at_most = weighing.value_bound + more - weighing.value
        rows.append((entry, int(chosen.sum()), now, target, at_most))
    names = ("entry", "secrets", "posterior", "target", "at_most")
    kinds = (pl.String, pl.UInt32, pl.Float64, pl.Float64, pl.Float64)
    table = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    return table.sort("at_most", descending=True, maintain_order=True)


def relaxed_weights(
    weighing: Weighing,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    settings: WeightSettings,
    *,
    entry: str,
    target: float,
    noise_multiplier: float | None,
) -> tuple[np.ndarray, pl.DataFrame]:
    """The program solved again with an entry's target raised: (weights (n,), the secrets as they would be)."""
    chosen = secrets.with_columns(_entry())["entry"] == entry
    other = relaxed(secrets, chosen, target)
    capacities = relaxed_capacities(weighing, secrets, other, settings, noise_multiplier)
    drawn = certified_edges(edges, weighing.roles)
    solved = solve_weights(
        drawn, n_examples=len(weighing.weights), capacities=capacities, coverage=weighing.coverage
    )
    return np.where(weighing.trainable, solved.weights, 0.0), other


def relaxed_capacities(
    weighing: Weighing,
    secrets: pl.DataFrame,
    other: pl.DataFrame,
    settings: WeightSettings,
    noise_multiplier: float | None,
) -> np.ndarray:
    """The capacities (m,) at the same scale for other targets; a secret whose target is the same keeps its own."""
    changed = (other["posterior"] != secrets["posterior"]).to_numpy()
    rows = np.flatnonzero(changed)
    before, after = (_unit(frame[rows], weighing, settings, noise_multiplier) for frame in (secrets, other))
    capacities = weighing.capacities.copy()
    capacities[rows] *= np.divide(after, before, out=np.ones_like(after), where=before > 0)
    return capacities


def _unit(
    secrets: pl.DataFrame, weighing: Weighing, settings: WeightSettings, noise_multiplier: float | None
) -> np.ndarray:
    if settings.rule != "equalised":
        return unit_capacities(secrets, settings.rule)
    run = settings.mechanism
    return largest_expected_count(
        secrets["prior"].to_numpy(), secrets["posterior"].to_numpy(), noise_multiplier=noise_multiplier,
        rounds=run.rounds, method=run.method,
        largest_rate=min(float(sampling_rates(weighing.weights, run.expected_batch).max()), 0.9),
    )  # fmt: skip


def _entry() -> pl.Expr:
    """The config's id of each secret: its name up to the first slash."""
    return pl.col("name").str.split("/").list.first().alias("entry")
