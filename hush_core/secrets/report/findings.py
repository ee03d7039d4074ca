"""The places of secrets, in text that may be trained on and in text that is left out, and what becomes of it."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from hush_core.config import HushConfig
from hush_core.config.changes import redacted_by_plan
from hush_core.config.secrets import entry_of
from hush_core.secrets.detectors.deadline import TOO_SLOW
from hush_core.secrets.labels import is_propagated
from hush_core.secrets.priors import WEAK_BITS

FINDINGS = {
    "example_id": pl.UInt32, "secret_id": pl.UInt32, "name": pl.String, "kind": pl.String, "rule": pl.String,
    "source": pl.String, "path": pl.String, "start": pl.UInt32, "end": pl.UInt32, "reason": pl.String,
    "line": pl.UInt32, "column": pl.UInt32, "fate": pl.String,
}  # fmt: skip
_FILE = ("name", "source", "path")

LEFT_OUT, REDACTED_LATER = "left out of training", "redacted by hush plan"
"""What `fate` begins with where text is left out, and where a plan replaces the value (`protect: auto`)."""


def with_fate(dropped: pl.DataFrame, entries: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """`dropped` with the column `fate`: what becomes of the row's text, and why, in words.

    Args:
        entries: of a coverage report, by id. `in_plan`: what a plan does with the values (`redacted`), or with weak
            ones (`refused`), in place of leaving out their text. `bits_needed`: how many are enough.
    """
    fates = [
        _fate(weak, bits, name, entries[name.partition("/")[0]])
        for weak, bits, name in dropped.select("weak", "bits", "name").iter_rows()
    ]
    rows = dropped.with_columns(fate=pl.Series(fates, dtype=pl.String))
    lost = pl.col("weak") & pl.col("fate").str.starts_with(LEFT_OUT)
    lost = lost.any().over("source", "path", "start", "end")
    beside = pl.when(lost).then(pl.lit(f"{LEFT_OUT}: beside a value that is")).otherwise(pl.col("fate"))
    return rows.with_columns(fate=pl.when("weak").then("fate").otherwise(beside))


def _fate(weak: bool, bits: float, name: str, entry: Mapping[str, Any]) -> str:
    """Of a weak value; of another one what a plan does if it redacts the weak values beside it."""
    way = entry.get("in_plan")
    if not weak:
        return REDACTED_LATER if way == "redacted" else "kept by hush plan, without the weak value beside it"
    if name.endswith(TOO_SLOW):
        return f"{LEFT_OUT}: not searched in time"
    if entry.get("protect") == "drop":
        return f"{LEFT_OUT}: the config asks for it"
    counted = f"{math.floor(bits)} of {entry.get('bits_needed', WEAK_BITS):.0f} bits"
    if way == "redacted":
        return f"{REDACTED_LATER}: too weak for noise, {counted}"
    return f"{'refused by hush plan' if way == 'refused' else LEFT_OUT}: too weak, {counted}"


def with_plan(coverage: dict[str, Any], config: HushConfig) -> dict[str, Any]:
    """The coverage report of a look, which leaves out weak values, with what a plan does (see `with_fate`)."""
    redacted = redacted_by_plan(config)
    entries = {}
    for entry in config.secrets:
        ways = ["redacted"] if entry.id in redacted else []
        ways += ["refused"] if getattr(entry, "weak", "") == "refuse" else []
        target = math.floor(-math.log2(config.target(entry))) + 1
        facts = {"bits_needed": max(round(WEAK_BITS), target), **({"in_plan": ways[0]} if ways else {})}
        entries[entry.id] = coverage["secrets"][entry.id] | facts
    return coverage | {"secrets": entries}


def ranked_findings(
    examples: pl.DataFrame,
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    occurrences: pl.DataFrame,
    dropped: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """FINDINGS, with `nth` among those of the secret in its file, and `rank` among all of the secret.

    The first place in each file ranks before the second in any. `fate` is empty in text that may be trained on.
    """
    rows = pl.concat([_tagged(examples, secrets, edges, occurrences), _left_out(dropped)])
    propagated = [reason for reason in rows["reason"].unique().to_list() if is_propagated(reason)]
    order = pl.col("fate") != "", "example_id", "source", "path", "start", "name"
    return (
        rows.with_columns(propagated=pl.col("reason").is_in(propagated))
        .sort(order)
        .with_columns(nth=pl.int_range(pl.len()).over(_FILE))
        .sort("propagated", "nth", *order)
        .with_columns(rank=pl.int_range(pl.len()).over("name"))
    )


def rule_of(kind: str, provenance: str) -> str:
    """What found it: the last word of the provenance ("kingfisher-… betterleaks.github-pat"), or the kind."""
    words = provenance.split()
    return words[-1] if words else kind


def _tagged(
    examples: pl.DataFrame, secrets: pl.DataFrame, edges: pl.DataFrame, occurrences: pl.DataFrame
) -> pl.DataFrame:
    """A row a place in text that may be trained on: FINDINGS."""
    rules = [rule_of(kind, by) for kind, by in secrets.select("kind", "provenance").iter_rows()]
    named = secrets.select("secret_id", "kind", "name", pl.Series("rule", rules, dtype=pl.String))
    whole = occurrences.select("example_id", "secret_id", column=pl.lit(1)).unique()
    rows = (
        edges.join(examples.select("example_id", "source", "path", "start", "end"), on="example_id")
        .join(named, on="secret_id")
        .join(whole, on=["example_id", "secret_id"], how="left")
        .with_columns(pl.col("column").fill_null(0), line=pl.lit(0), fate=pl.lit(""))
        .sort("secret_id", "example_id")
    )
    before = pl.col("end").shift().over(_FILE), pl.col("example_id").shift().over(_FILE) + 1
    follows = (pl.col("start") == before[0]) & (pl.col("example_id") == before[1])
    return _one_of_each_run(rows, follows)


def _left_out(dropped: pl.DataFrame | None) -> pl.DataFrame:
    """A row a place in text that is left out: FINDINGS."""
    if dropped is None:
        return pl.DataFrame(schema=FINDINGS)
    rules = [rule_of(kind, by) for kind, by in dropped.select("kind", "provenance").iter_rows()]
    rows = dropped.with_columns(
        pl.Series("rule", rules, dtype=pl.String), example_id=pl.lit(0), secret_id=pl.lit(0)
    ).sort("name", "source", "path", "start", "end")
    return _one_of_each_run(rows, pl.col("start") <= pl.col("end").cum_max().shift().over(_FILE))


def _one_of_each_run(rows: pl.DataFrame, follows: pl.Expr) -> pl.DataFrame:
    """A value that fills several chunks is found once. Of chunks that follow each other those stay in which a value
    is (column > 0), or the first if none is; of what is no value, all."""
    values = [kind for kind in rows["kind"].unique().to_list() if entry_of(kind).are_values]
    rows = rows.with_columns(follows=follows.fill_null(False)).with_columns(
        run=(~pl.col("follows")).cum_sum().over(_FILE)
    )
    here = pl.col("column") > 0
    first = ~pl.col("follows") & ~here.any().over(*_FILE, "run")
    rows = rows.filter(~pl.col("kind").is_in(values) | here | first)
    return rows.select(list(FINDINGS)).cast(FINDINGS)
