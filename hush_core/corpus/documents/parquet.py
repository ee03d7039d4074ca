"""Parquet tables, in batches of rows; one row group at a time is decoded, and never an object of Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from hush_core.corpus.documents.columns import Rows, check_distinct
from hush_core.corpus.documents.document import Document
from hush_core.errors import InputError

BATCH_ROWS = 1024
_ROWS_AT_ONCE = 64  # as Python strings: at most this many times max_bytes
_ROWS_PER_BYTE = 100  # a run of nulls costs nothing on disk: more rows than this a byte are a bomb
_TOO_LONG = "\0too_long"  # no column of the file can be asked for under this name
_STRINGS = (pl.String, pl.Categorical, pl.Enum)
_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def read_parquet(path: Path, place: str, rows: Rows) -> Iterator[Document]:
    """The documents of a parquet file, named by id or `row-N` from 1.

    Memory: a few row groups of the columns named (100 MB seen at row groups of 5,000 abstracts). A file written
    as one row group is decoded as one.

    Raises:
        InputError: not parquet or damaged, no such column, a column of the wrong type, and as Rows.document.
    """
    frame = _checked(path, place, rows)
    number = 0
    for batch in _batches(frame, path, place):
        for values in batch.iter_rows(buffer_size=_ROWS_AT_ONCE):
            number += 1
            *row, too_long = values
            if too_long:
                rows.skipped["too_large"] += 1
                continue
            found = rows.document(
                f"{place}: row {number}", f"row-{number}", dict(zip(rows.columns.named, row, strict=True))
            )
            if found is not None:
                yield found


def _checked(path: Path, place: str, rows: Rows) -> pl.LazyFrame:
    """The columns asked for, with texts beyond `max_bytes` already dropped, and a flag for those rows."""
    problem = None
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = frame.collect_schema()
        height = frame.select(pl.len()).collect().item()
    except _FAILURES:
        problem = "is no parquet file, or damaged"
    if problem is not None:
        raise _damaged(place)
    if height > _ROWS_PER_BYTE * max(path.stat().st_size, 1 << 16):
        raise InputError(place, f"claims {height} rows in a tiny file: a bomb", "write the table again")
    for column in rows.columns.named:
        check_distinct(place, column, schema.names())
        kind = schema[column]
        if rows.columns.chat_template is not None and column in rows.columns.text:
            if not (isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct)):
                raise InputError(
                    place,
                    f"has type {kind.base_type()} in column {column!r}",
                    "messages must be a list of structs with role and content",
                )
            continue
        if not (kind in _STRINGS or (column not in rows.columns.text and kind.is_integer())):
            raise InputError(
                place,
                f"has type {kind.base_type()} in column {column!r}",
                "text must be strings; unit and id strings or integers: convert the column, or name another",
            )
    named = [
        pl.col(c).cast(pl.String) if schema[c] in (pl.Categorical, pl.Enum) else pl.col(c)
        for c in rows.columns.named
    ]
    if rows.columns.chat_template is not None:  # text that is too long shows once it is rendered
        return frame.select(named).with_columns(pl.lit(False).alias(_TOO_LONG))
    long = pl.any_horizontal(
        (pl.col(c).str.len_bytes() > rows.max_bytes).fill_null(False) for c in rows.columns.text
    )
    texts = [
        pl.when(pl.col(c).str.len_bytes() <= rows.max_bytes).then(pl.col(c)).alias(c)
        for c in rows.columns.text
    ]
    return frame.select(named).with_columns(long.alias(_TOO_LONG)).with_columns(texts)


def _batches(frame: pl.LazyFrame, path: Path, place: str) -> Iterator[pl.DataFrame]:
    batches = frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True)
    damaged = False
    while not damaged:
        try:
            batch = next(batches, None)
        except _FAILURES:
            damaged = True
            continue
        if batch is None:
            return
        yield batch
    raise _damaged(place)


def _damaged(place: str) -> InputError:
    return InputError(place, "is no parquet file, or damaged", "write it again, or set format")
