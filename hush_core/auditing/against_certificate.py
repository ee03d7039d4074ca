"""Attacks on each secret beside its certificate: one table, and what all of them together say of it.

    written = written_out_table(model, targets)                      # per secret: how likely the model writes it
    table, evidence = judge(own, written, written_start, exposed, exposed_start, bounds)

`own` and `bounds` come from the certificate (`hush_core.certificate.own_bounds`, `bounds_at`); the test is that of
`refutation`.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from hush_core.auditing.contexts import Target
from hush_core.auditing.intervals import of_one_model
from hush_core.auditing.lazy_sampling import SAMPLINGS, Sampling, discoverable_within, emission
from hush_core.auditing.refutation import RANKS, Evidence, candidates_kept, evidence_of, ranked, written_out
from hush_core.progress import Progress
from hush_core.training import LanguageModel
from hush_core.training.language_model import evaluating

WRITTEN = {
    "number": pl.UInt32, "contexts": pl.UInt32, "probability": pl.Float64, "samples": pl.Float64,
    "within_1000": pl.Float64,
}  # fmt: skip
TABLE = {
    "secret_id": pl.UInt32, "name": pl.String, "prior": pl.Float64, "certified_lower": pl.Float64,
    "certified": pl.Float64, "every_step": pl.Float64, "written": pl.Float64, "written_lower": pl.Float64,
    "written_upper": pl.Float64, "written_start": pl.Float64, "samples": pl.Float64, "within_1000": pl.Float64,
    "extracted": pl.Boolean, "extracted_start": pl.Boolean, "rank": pl.UInt32, "alternatives": pl.UInt32,
    "drawn": pl.UInt32,
    "exposure_bits": pl.Float64, "exposure_lower": pl.Float64, "exposure_upper": pl.Float64,
    "start_bits": pl.Float64, "allowed_bits": pl.Float64, "ceiling_bits": pl.Float64,
    "written_evidence": pl.Float64, "ranked_evidence": pl.Float64,
}  # fmt: skip
"""One row a secret; null where an attack was not made (`every_step`: see `every_step.py`, joined by who calls).
docs/auditing.md has them one by one."""
WRITTEN_OUT, RANKED = "written out", "ranked among alternatives"


def written_out_table(
    model: LanguageModel,
    targets: Sequence[Target],
    samplings: Sequence[Sampling] = SAMPLINGS,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """How likely an attacker gets each value who shows the model one of its contexts, and draws once in one of
    these ways, both picked blindly.

    Returns:
        WRITTEN: number · contexts (that the model can read) · probability (the mean over contexts and samplings) ·
        samples (expected until the value comes out; null for never) · within_1000 (how likely one of 1,000 samples
        is the value: (1000, p)-discoverable for any p up to that). A target that no context is left of has no row.
    """
    rows = []
    with evaluating(model.network):
        for done, (number, value, contexts) in enumerate(targets, start=1):
            found = emission(model, [(before, value, after) for before, after in contexts], samplings)
            found = found[~np.isnan(found).any(axis=1)]
            if len(found):
                likely = np.exp(np.minimum(found, 0.0))
                within = np.mean([discoverable_within(one, 1000) for one in found.ravel()])
                p = float(likely.mean())
                rows.append((number, len(found), p, 1 / p if p > 0 else None, float(within)))
            if progress is not None:
                progress("probability of each value", done, len(targets))
    return pl.DataFrame(rows, schema=WRITTEN, orient="row")


def asked_priors(exposed: pl.DataFrame, key: str, secrets: int) -> dict[int, np.ndarray]:
    """k → (secrets,) the prior k/(N + 1) at which ranking among N drawn is judged; ½ where it is not asked."""
    found = {k: np.full(secrets, 0.5) for k in RANKS}
    among = _among(exposed).to_list()
    for number, count, kept in zip(exposed[key].to_list(), among, candidates_kept(among), strict=True):
        for k in kept:
            found[k][number] = k / (count + 1)
    return found


def judge(
    own: pl.DataFrame,
    written: tuple[pl.DataFrame, pl.DataFrame],
    exposed: tuple[pl.DataFrame, pl.DataFrame],
    bounds: dict[int, np.ndarray],
    *,
    tests: int,
    key: str = "secret_id",
    of: str = "",
) -> tuple[pl.DataFrame, list[Evidence]]:
    """What the attacks found of each secret, and the evidence of each attack against the certificate.

    Args:
        own: `own_bounds`, whose `random` says which values ranks can say something of.
        written, exposed: by the trained model and by the one before its rounds; the tables of
            `written_out_table` and of `exposure` (whose `stop_after` is at least the largest of `RANKS`, or None).
        bounds: by k, `bounds_at` the priors of `asked_priors`. tests: made in the audit in all. key: of `exposed`.
        of: said behind each attack's name.
    """
    trained, start = (frame.select("number", "probability", "samples", "within_1000") for frame in written)
    rows = own.rename({"secret_id": "number"}).with_columns(pl.col("number").cast(pl.UInt32))
    rows = rows.join(trained, on="number", how="left").join(
        start.select("number", written_start="probability"), on="number", how="left"
    )
    after, before = (frame.rename({key: "number"}).drop("name", "contexts") for frame in exposed)
    before = before.select(
        "number", start_rank="rank", start_alternatives="alternatives", start_bits="exposure_bits",
        extracted_start="extracted",
    )  # fmt: skip
    rows = rows.join(after, on="number", how="left").join(before, on="number", how="left").sort("number")
    sampled = rows.filter(pl.col("probability").is_not_null() & pl.col("written_start").is_not_null())
    one, most = written_out(*(sampled[name].to_numpy() for name in ("probability", "written_start", "bound")))
    both = rows.filter(pl.col("rank").is_not_null() & pl.col("start_rank").is_not_null())
    places = both["number"].to_numpy()
    share = both["start_rank"].to_numpy() / (both["start_alternatives"].to_numpy() + 1)
    two, top = ranked(
        both["last_rank"].to_numpy(),
        share,
        _among(both).to_numpy(),
        {k: b[places] for k, b in bounds.items()},
        both["random"].to_numpy(),
    )
    intervals = [of_one_model(p) if p is not None else (None,) * 3 for p in rows["probability"].to_list()]
    table = rows.with_columns(
        written_lower=pl.Series([i[1] for i in intervals], dtype=pl.Float64),
        written_upper=pl.Series([i[2] for i in intervals], dtype=pl.Float64),
        ceiling_bits=(pl.col("drawn") + 1).log(2),
        every_step=pl.lit(None, pl.Float64),
    )
    table = table.join(_evidence(sampled, one, "written_evidence"), on="number", how="left")
    table = table.join(_evidence(both, two, "ranked_evidence"), on="number", how="left")
    names = {
        "number": "secret_id", "lower": "certified_lower", "bound": "certified", "probability": "written",
    }  # fmt: skip
    return table.rename(names).select(TABLE.keys()).cast(dict(TABLE)).sort("secret_id"), [
        evidence_of(WRITTEN_OUT + of, one, most, tests=tests),
        evidence_of(RANKED + of, two, top, tests=tests),
    ]


def _among(rows: pl.DataFrame) -> pl.Series:
    """Among how many alternatives a rank is: those tried and distinguished. For a value that was given up, which is
    no success for any number, those drawn."""
    high = pl.col("last_rank") <= max(RANKS)
    return rows.select(pl.when(high).then("alternatives").otherwise("drawn")).to_series()


def _evidence(rows: pl.DataFrame, values: np.ndarray, name: str) -> pl.DataFrame:
    return rows.select("number").with_columns(pl.Series(name, values, dtype=pl.Float64))
