"""Which secrets bind, which examples are lost and why, and what relaxing one entry of the config would buy.

By complementary slackness an example whose weight is below 1 holds secrets with prices y_j, which sum to at least 1
if the objective is total weight. Its loss 1 − w_i is split over the secrets that bind, in proportion to their
prices. So the losses by secret add up to the whole.

For capacities cap' in place of cap no feasible weights reach more of the objective than value_bound +
y·(cap' − cap), by weak duality, for any y ≥ 0. So the prices bound what a higher target can bring, and only
the best few are solved again.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from hush_core.accounting import largest_expected_count
from hush_core.weights.rates import sampling_rates
from hush_core.weights.roles import certified_edges
from hush_core.weights.settings import WeightSettings, unit_capacities
from hush_core.weights.solve import solve_weights
from hush_core.weights.weighing import Weighing

_NEAR = 1 - 1e-3
"""A load of so much of its capacity binds: so near a first-order method and the repair come."""


def lost_examples(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """Every example with a secret and a weight below 1, most lost first.

    Columns: example_id · weight · secret_id (the one with the highest price: the main reason) · reasons (how many
    of its secrets have a price) · price (their sum; at least 1 if the objective is total weight, up to the solver's
    tolerance).
    """
    return (
        _shares(weighing, edges)
        .sort("example_id", "price", "secret_id", descending=[False, True, False])
        .group_by("example_id", maintain_order=True)
        .agg(
            pl.col("weight").first(),
            pl.col("secret_id").first(),
            (pl.col("price") > 0).sum().cast(pl.UInt32).alias("reasons"),
            pl.col("price").sum(),
        )
        .sort("weight", "example_id")
    )


def binding_secrets(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """One row a secret, by secret_id.

    Columns: secret_id · examples · capacity · load (Σw of its examples) · binds · price (its dual value: weight
    that one more unit of capacity buys) · lost (weight lost for its sake; sums to all that is lost) · lost_examples
    (weight 0, this secret the main reason).
    """
    m = len(weighing.capacities)
    edges = certified_edges(edges, weighing.roles)
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    load = np.bincount(secret, weighing.weights[example], m)
    held = np.bincount(secret, minlength=m)
    shares = _shares(weighing, edges)
    lost = np.bincount(shares["secret_id"].to_numpy(), shares["lost"].to_numpy(), m)
    gone = lost_examples(weighing, edges).filter(pl.col("weight") == 0)["secret_id"].to_numpy()
    return pl.DataFrame(
        {
            "secret_id": np.arange(m, dtype=np.uint32),
            "examples": held.astype(np.uint32),
            "capacity": weighing.capacities,
            "load": load,
            "binds": (held > 0) & (load >= _NEAR * weighing.capacities),
            "price": weighing.prices,
            "lost": lost,
            "lost_examples": np.bincount(gone, minlength=m).astype(np.uint32),
        }
    )


def _shares(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """One row for each secret of a lost example: example_id, secret_id, weight, price, lost (its share)."""
    weights = weighing.weights
    edges = certified_edges(edges, weighing.roles)
    pairs = edges.select("example_id", "secret_id")
    pairs = pairs.with_columns(pl.Series("weight", weights[pairs["example_id"].to_numpy()]))
    pairs = pairs.filter(pl.col("weight") < 1)
    secret = pairs["secret_id"].to_numpy()
    load = np.bincount(edges["secret_id"].to_numpy(), weights[edges["example_id"].to_numpy()])
    full = load[secret] / np.maximum(weighing.capacities[secret], 1e-300)
    # where a first-order solver left no price on any that binds, the fullest secrets are the reason
    price = np.where(full >= _NEAR, weighing.prices[secret], 0.0)
    pairs = pairs.with_columns(pl.Series("price", price), pl.Series("full", full))
    priced = pl.col("price").sum().over("example_id")
    part = pl.when(priced > 0).then(pl.col("price") / priced)
    part = part.otherwise(pl.col("full") / pl.col("full").sum().over("example_id"))
    return pairs.with_columns((part.fill_nan(1.0) * (1 - pl.col("weight"))).alias("lost")).drop("full")


_STEP, _MOST = 10.0, 0.5


def raised_target(target: float, levels: Iterable[float]) -> float | None:
    """The next target above r_j: the least of the config's levels above it, else 10 r; None above 1/2."""
    above = [level for level in levels if level > target]
    raised = min(above) if above else _STEP * target
    return raised if raised <= _MOST else None


def relaxed(secrets: pl.DataFrame, chosen: pl.Series, target: float) -> pl.DataFrame:
    """The secrets with `target` in place of those of the `chosen` rows (a boolean series)."""
    targets = pl.when(chosen).then(pl.max_horizontal("posterior", pl.lit(target))).otherwise("posterior")
    return secrets.with_columns(targets.alias("posterior"))


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
