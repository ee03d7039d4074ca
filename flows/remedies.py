"""Is a plan hopeless, and what would help? Each remedy is priced, none is guessed."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from flows.sweep import Point, parameters_of, result_or_refusal
from hush_core.config import HushConfig
from hush_core.config.secrets import FileSecret
from hush_core.weights import largest_batch
from tasks.calibration import Calibrated, NoiseEstimate, estimate_noise
from tasks.extraction import Extracted
from tasks.runtime.store import Ref, open_store

WORTH_ASKING = 0.1
"""From this share of noise on, remedies are priced."""
HELPS = 0.9
"""What leaves more than this of the noise is no remedy: where few examples are drawn, a larger batch does."""
IMPORTERS = "propagated:import"


class Remedy(BaseModel, frozen=True):
    """A change of one key, and what the noise would be on the same weights; `noise_share` as in `share`."""

    change: str
    noise_multiplier: float
    expected_batch: int
    noise_share: float | None


def share(sigma: float, *, batch: int, rounds: int, parameters: int | None) -> float | None:
    """How long the noise of all rounds is against the longest that their gradients can add up to: (σ/B)·√(d/T), so
    1 where `hush_core.weights.drowns`; None where d is not known. Gradients that differ add up to less."""
    return None if parameters is None else sigma / batch * (parameters / rounds) ** 0.5


def hopeless(config: HushConfig, calibrated: Calibrated) -> str:
    """Said of a run whose noise drowns its rounds, as `hush plan` says it; else empty."""
    sigma, numbers = calibrated.noise_multiplier, parameters_of(config)
    if sigma is None or not calibrated.rounds:
        return ""
    part = share(sigma, batch=calibrated.expected_batch, rounds=calibrated.rounds, parameters=numbers)
    if part is None or part < 1:
        return ""
    return (
        f"HOPELESS: the noise of all rounds is {part:.3g} times as long as their gradients can add up to, so they "
        "learn next to nothing; `hush plan` says what would help"
    )


def remedies(point: Point, extracted: Extracted, config: HushConfig) -> list[Remedy]:
    """At the recommended point: a batch and rounds of several times, and entries without their importers.

    Empty where the noise is short as it is, or none of them makes it shorter by a tenth. The weights stay; a run
    would solve for better ones.
    """
    if point.weighed is None or point.estimate is None:
        return []
    train, d = config.train, parameters_of(config)
    now = share(point.estimate.noise_multiplier, batch=train.batch, rounds=train.rounds, parameters=d)
    if now is not None and now < WORTH_ASKING:
        return []
    asked: list[tuple[str, int, int, Ref, Ref]] = []
    items, weights = point.weighed.edges, point.weighed.weights
    for times in (4, 16):
        batch = min(times * train.batch, point.weighed.largest_batch)
        if batch > train.batch:
            asked.append((f"train.batch: {batch}", batch, train.rounds, weights, items))
    for rounds in (4 * train.rounds, 16 * train.rounds):
        asked.append((f"train.rounds: {rounds}", train.batch, rounds, weights, items))
    by_themselves = point.weighed.pools is None  # else the items would change with the graph
    if by_themselves and (without := _without_importers(point.weighed.weights, extracted, config)):
        kept, edges, largest = without
        batch = min(train.batch, largest)
        change = "spread: {imports: 0}" + (f", train.batch: {batch}" if batch < train.batch else "")
        if batch:
            asked.append((change, batch, train.rounds, kept, edges))
    running = [
        (change, batch, rounds, estimate_noise.submit(
            kept, edges, extracted.secrets, rounds=rounds, expected_batch=batch, method=point.method,
            in_all=config.rounds_in_all * rounds // train.rounds, mechanism=config.mechanism,
        ))
        for change, batch, rounds, kept, edges in dict.fromkeys(asked)
    ]  # fmt: skip
    found = []
    for change, batch, rounds, future in running:
        estimate, _ = result_or_refusal(future, NoiseEstimate)
        if estimate is not None:
            sigma = estimate.noise_multiplier
            left = share(sigma, batch=batch, rounds=rounds, parameters=d)
            found.append(
                Remedy(change=change, noise_multiplier=sigma, expected_batch=batch, noise_share=left)
            )
    better = [r for r in found if r.noise_share is None or now is None or r.noise_share < HELPS * now]
    return sorted(better, key=lambda r: r.noise_share or r.noise_multiplier / r.expected_batch)


def widest_share(point: Point) -> float | None:
    """The share of what a noisy round draws that holds one secret, the one with the largest. Where it is near 1,
    what hides the secret hides the round: σ grows as B·√T does, and σ/B·√(d/T) stays."""
    if point.weighed is None:
        return None
    store = open_store()
    weights = store.read_frame(point.weighed.weights).filter(pl.col("weight") > 0)
    held = store.read_frame(point.weighed.edges).join(weights, on="example_id")
    largest = held.group_by("secret_id").agg(pl.col("weight").sum())["weight"].max()
    return None if largest is None else float(largest / weights["weight"].sum())


def _without_importers(weights: Ref, extracted: Extracted, config: HushConfig) -> tuple[Ref, Ref, int] | None:
    """Weights, edges and the largest batch without what importers of a secret's files hold; None where no entry
    spreads so. Text that then holds no secret leaves the noisy rounds, unless `without_secret` has it in them."""
    if not any(isinstance(s, FileSecret) and s.spread.imports for s in config.secrets):
        return None
    store = open_store()
    edges, table = store.read_frame(extracted.edges), store.read_frame(weights)
    kept = edges.filter(~pl.col("reason").cast(pl.String).str.starts_with(IMPORTERS))
    if kept.height == edges.height:
        return None
    if config.weights.without_secret != "noise":
        holds = pl.col("example_id").is_in(kept["example_id"].unique().implode())
        table = table.with_columns(pl.when(holds).then("weight").otherwise(0.0).alias("weight"))
    return (
        store.put_frame(table, kind="weights"),
        store.put_frame(kept, kind="edges"),
        largest_batch(table["weight"].to_numpy()),
    )
