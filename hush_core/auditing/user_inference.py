"""Calibrated user inference: were this unit's texts (a customer's, an author's) in the training data?

    table = user_inference(ratios, samples=(1, 4, 16), seed=0)

The attacker holds some texts of a unit and both models, and scores the unit by T = mean of log p(x) − log p_ref(x)
over them (privacy_risks_slides.txt; Kandpal et al. 2023). The reference is the model before training, as a text
that is easy for every model reveals nothing. More texts of a unit in training, and more in the attacker's hands,
make this work better, even if no text is remembered word for word.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from hush_core.auditing.intervals import clopper_pearson
from hush_core.auditing.roc import RATES, Roc, roc

SCHEMA = {
    "samples": pl.UInt32, "members": pl.UInt32, "others": pl.UInt32, "area": pl.Float64, "area_lower": pl.Float64,
    "area_upper": pl.Float64, "area_ceiling": pl.Float64, "asked": pl.Float64, "false_positive_rate": pl.Float64,
    "false_upper": pl.Float64, "true_positive_rate": pl.Float64, "true_lower": pl.Float64,
    "true_upper": pl.Float64, "true_ceiling": pl.Float64,
}  # fmt: skip
"""One row for each number of samples and of units and each false positive rate that these units can show;
`asked` is null where they can show none. `*_ceiling`: the lower end of the interval of a perfect attack."""


def unit_scores(ratios: pl.DataFrame, samples: int, seed: int) -> pl.DataFrame:
    """unit · member · score: T over `samples` texts of each unit, drawn at random; a unit with fewer has no row.

    Args:
        ratios: unit, member (bool, the same for all rows of a unit), log_ratio; one row a text.
    """
    order = np.random.default_rng(seed).permutation(ratios.height)
    drawn = ratios[order].group_by("unit", maintain_order=True).head(samples)
    units = drawn.group_by("unit", "member").agg(pl.len().alias("texts"), score=pl.col("log_ratio").mean())
    return units.filter(pl.col("texts") == samples).select("unit", "member", "score").sort("unit")


def user_inference(
    ratios: pl.DataFrame,
    *,
    samples: Sequence[int],
    units: Sequence[int] = (),
    seed: int,
    rates: Sequence[float] = RATES,
) -> tuple[pl.DataFrame, list[tuple[int, Roc]]]:
    """The attack by number of texts that the attacker holds of a unit, and by number of units attacked.

    Args:
        ratios: as of `unit_scores`.
        samples: texts of a unit.
        units: members, and as many others, drawn from those with enough texts; all of them are attacked as well.

    Returns:
        A table of SCHEMA, and (samples, the ROC over all units) if there is a member and another unit.
    """
    rows, curves = [], []
    for count in samples:
        scores = unit_scores(ratios, count, seed)
        members = scores.filter("member")["score"].to_numpy()
        others = scores.filter(~pl.col("member"))["score"].to_numpy()
        if not len(members) or not len(others):
            continue
        curves.append((count, roc(members, others, seed=seed, rates=rates)))
        generator = np.random.default_rng([seed, count])
        found = [curves[-1][1]]
        found += [
            roc(generator.permutation(members)[:n], generator.permutation(others)[:n], seed=seed, rates=rates)
            for n in units
            if n < len(members) and n <= len(others)
        ]
        rows += [row for one in found for row in _rows(count, one)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), curves


def _rows(samples: int, found: Roc) -> list[tuple]:
    ceiling = clopper_pearson(found.members, found.members).lower
    first = (samples, found.members, found.others, *found.area, found.area_ceiling)
    rows = [
        (*first, r["asked"], r["false_positive_rate"], r["upper"], r["true_positive_rate"], r["true_lower"],
         r["true_upper"], ceiling)
        for r in found.low.iter_rows(named=True)
    ]  # fmt: skip
    return rows or [(*first, *[None] * 6, ceiling)]


def unit_ratios(members: pl.DataFrame, others: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Log-likelihood ratios by unit: the texts of each secret, and those of each document that no training saw.

    Secrets with the same texts are one unit. Both tables are `calibrated_loss` with example_id and path; edges:
    example_id, secret_id.
    """
    ratio = (-pl.col("calibrated_bits") * float(np.log(2))).alias("log_ratio")
    tagged = edges.join(members.select("example_id", ratio), on="example_id").sort("secret_id", "example_id")
    sets = tagged.group_by("secret_id", maintain_order=True).agg("example_id")
    first = sets.unique("example_id", keep="first", maintain_order=True)["secret_id"]
    own = tagged.filter(pl.col("secret_id").is_in(first.implode())).select(
        unit=pl.format("secret {}", "secret_id"), member=pl.lit(True), log_ratio="log_ratio"
    )
    rest = others.select(unit=pl.format("document {}", "path"), member=pl.lit(False), log_ratio=ratio)
    return pl.concat([own, rest])
