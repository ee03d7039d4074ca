"""The tables of a report of secrets, one row a secret in a file. They name files: for private places only."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from hush_core.config.secrets import entry_of
from hush_core.secrets.redaction import REPLACED
from hush_core.secrets.report.sarif_regions import regions_of

CHANGED = ("name", "kind", "source", "path", "token")
"""The columns of changes.csv that tell what a token is of."""


def files_table(
    items: pl.DataFrame,
    edges: pl.DataFrame,
    examples: pl.DataFrame,
    occurrences: pl.DataFrame,
    replaced: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row a secret in a file: how many of the file's chunks hold it (in all versions read), the line of its
    first value, and why. The line is 0 if it is no value, or lines cannot be counted (`sarif_regions`)."""
    held = (
        edges.join(examples.select("example_id", "source", "path"), on="example_id")
        .group_by("secret_id", "source", "path")
        .agg(pl.len().alias("examples"), pl.col("reason").unique().sort().str.join(" "))
    )
    values = items.filter(
        pl.col("kind").map_elements(lambda k: entry_of(k).are_values, return_dtype=pl.Boolean)
    )
    lines = _first_lines(edges.join(values, on="secret_id", how="semi"), examples, occurrences, replaced)
    rows = items.join(held, on=["secret_id", "source", "path"])
    rows = rows.join(lines, on=["secret_id", "source", "path"], how="left")
    columns = ("name", "kind", "source", "path", "line", "examples", "reason", "token")
    return _no_formulas(
        rows.with_columns(pl.col("line").fill_null(0)).select(columns).sort("name", "source", "path")
    )


def _first_lines(
    edges: pl.DataFrame, examples: pl.DataFrame, occurrences: pl.DataFrame, replaced: pl.DataFrame | None
) -> pl.DataFrame:
    """secret_id, source, path and the line of the file on which the value first is. edges: of values. One that is
    whole in no example, and so fills several, begins where the first of them does."""
    file = ("secret_id", "source", "path")
    whole = occurrences.select("example_id", "secret_id", whole=pl.lit(True)).unique()
    first = (
        edges.join(examples.select("example_id", "source", "path", "start"), on="example_id")
        .join(whole, on=["example_id", "secret_id"], how="left")
        .filter(pl.col("whole") | (pl.col("whole").is_null().all().over(file) & (pl.len().over(file) > 1)))
        .sort("start", "example_id")
        .unique(file, keep="first", maintain_order=True)
    )
    regions = regions_of(examples, first, occurrences, replaced)
    pairs = first.select("example_id", "secret_id").iter_rows()
    lines = [regions.get(pair, {}).get("startLine", 0) for pair in pairs]
    return first.select("secret_id", "source", "path").with_columns(pl.Series("line", lines, dtype=pl.UInt32))


def dropped_table(items: pl.DataFrame, dropped: pl.DataFrame) -> pl.DataFrame:
    """One row a secret in a file: in how many chunks that are left out it is, and on which line first (0 where
    lines cannot be counted); weak ones are the reason."""
    rows = dropped.group_by("name", "kind", "source", "path", "weak").agg(
        pl.len().alias("examples"), pl.col("line").min(), pl.col("fate").first()
    )
    rows = rows.join(items.select("name", "source", "path", "token"), on=["name", "source", "path"])
    rows = rows.select("name", "kind", "source", "path", "line", "examples", "weak", "fate", "token")
    return _no_formulas(rows.sort("name", "source", "path"))


def redacted_table(
    redacted: pl.DataFrame, redactions: pl.DataFrame, examples: pl.DataFrame, replaced: pl.DataFrame | None
) -> pl.DataFrame:
    """One row a redacted secret in a file of private examples: how many placeholders represent it there, and on
    which line of the repository's file it first was (0 where lines cannot be counted)."""
    file = ("redacted_id", "source", "path")
    at = pl.DataFrame(schema=REPLACED) if replaced is None else replaced
    held = redactions.join(examples.select("example_id", "source", "path"), on="example_id")
    rows = held.group_by(file).agg(pl.len().alias("places"))
    rows = rows.join(at.group_by(file).agg(pl.col("line").min()), on=file, how="left")
    rows = rows.join(redacted.select("redacted_id", "name", "kind"), on="redacted_id")
    return _no_formulas(
        rows.with_columns(pl.col("line").fill_null(0))
        .select("name", "kind", "source", "path", "line", "places")
        .sort("name", "source", "path")
    )


def skipped_table(skipped: Mapping[str, Sequence[tuple[str, str]]]) -> pl.DataFrame:
    """One row a file that was not read: of each source (reason, path)."""
    rows = [(source, path, reason) for source, named in skipped.items() for reason, path in named]
    kinds = dict.fromkeys(("source", "path", "reason"), pl.String)
    return _no_formulas(pl.DataFrame(rows, schema=kinds, orient="row"))


def files_beside(baseline: Path) -> pl.DataFrame | None:
    """What files.csv and dropped.csv, written with the baseline, say of its tokens; None without files.csv."""
    tables = [baseline.parent / "files.csv", baseline.parent / "dropped.csv"]
    try:
        rows = [pl.read_csv(t, infer_schema=False).select(CHANGED) for t in tables if t.exists()]
    except (OSError, pl.exceptions.PolarsError):
        return None
    return pl.concat(rows).unique("token", keep="first") if tables[0].exists() else None


def changes_table(new: pl.DataFrame, gone: tuple[str, ...], before: pl.DataFrame | None) -> pl.DataFrame:
    """One row a pair. A baseline reveals nothing: what is gone has a name only if the earlier files.csv is
    there."""
    rows = new.select(CHANGED)
    lost = pl.DataFrame({"token": pl.Series(gone, dtype=pl.String)})
    if before is None:
        before = pl.DataFrame(schema=dict.fromkeys(CHANGED, pl.String))
    lost = lost.join(before, on="token", how="left").select(pl.col(CHANGED).fill_null(""))
    return pl.concat(
        frame.select(pl.lit(change).alias("change"), *CHANGED).sort("name", "source", "path", "token")
        for change, frame in (("new", _no_formulas(rows)), ("gone", lost))
    )


def _no_formulas(rows: pl.DataFrame) -> pl.DataFrame:
    """A spreadsheet would run a path that begins so as a formula."""
    return rows.with_columns(pl.col("source", "path").str.replace(r"^([=+\-@\t])", "'$1"))
