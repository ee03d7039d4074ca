"""What the certificate's eight tables must look like: columns, types, ranges, nulls, order of rows."""

import math
from dataclasses import dataclass

import polars as pl

from hush_core.certificate.redaction import REDACTED
from hush_core.history.bounds import FILTER
from hush_core.weights.roles import ROLES

MAY_BE_EMPTY = (REDACTED, "history.parquet", "runs.parquet")
EMPTY_WITHOUT_ROUNDS = ("bounds.parquet", "curves.parquet", "edges.parquet", "secrets.parquet")
"""Also empty where a mechanism without rounds has redacted every secret (`check_facts`)."""
METHODS = ("kl", "renyi", "renyi_preservation", "blow_up", "gaussian")
"""What may prove a bound."""


@dataclass(frozen=True)
class Column:
    """One column: its type; its least and largest value (never NaN); whether it may be null."""

    dtype: type[pl.DataType]
    least: float = 0.0
    most: float = math.inf
    above: bool = False
    """The least value itself is not allowed."""
    nullable: bool = False
    values: tuple[str, ...] = ()


_ID = Column(pl.UInt32)
_NUMBER = Column(pl.UInt32, nullable=True, least=1)
_PROBABILITY = Column(pl.Float64, most=1.0, above=True)
_TEXT = Column(pl.String)

SCHEMAS: dict[str, dict[str, Column]] = {
    "secrets.parquet": {
        "secret_id": _ID, "kind": _TEXT, "name": _TEXT, "prior": _PROBABILITY, "posterior": _PROBABILITY,
        "bits": Column(pl.Float64), "provenance": _TEXT,
    },
    "edges.parquet": {"example_id": _ID, "secret_id": _ID, "reason": _TEXT},
    "weights.parquet": {
        "example_id": _ID, "weight": Column(pl.Float64, most=1.0), "role": Column(pl.String, values=ROLES),
    },
    "bounds.parquet": {
        "secret_id": _ID, "examples": _ID, "expected_participation": Column(pl.Float64), "prior": _PROBABILITY,
        "posterior": _PROBABILITY, "bound": _PROBABILITY, "method": Column(pl.String, values=METHODS),
        "numerical_error": Column(pl.Float64, most=1.0), "lower": Column(pl.Float64, most=1.0, nullable=True),
        "dominating_examples": _NUMBER,
        "dominating_rate": Column(pl.Float64, most=1.0, above=True, nullable=True),
        "dominating_prior": Column(pl.Float64, most=1.0, above=True, nullable=True),
        "noise_needed": Column(pl.Float64, nullable=True), "earlier_runs": _ID,
        "bare": Column(pl.Boolean), "all_runs": Column(pl.Float64, most=1.0, above=True, nullable=True),
        "all_runs_method": Column(pl.String, nullable=True, values=(*METHODS, FILTER)),
        "all_runs_lower": Column(pl.Float64, most=1.0, nullable=True), "curve": _ID,
    },
    "curves.parquet": {
        "curve": _ID, "examples": Column(pl.UInt32, nullable=True),
        "rate": Column(pl.Float64, most=1.0, nullable=True), "prior": _PROBABILITY, "bound": _PROBABILITY,
        "method": Column(pl.String, values=METHODS), "numerical_error": Column(pl.Float64, most=1.0),
        "lower": Column(pl.Float64, most=1.0, nullable=True),
    },
    "history.parquet": {
        "run": _ID, "secret_id": _ID, "examples": Column(pl.UInt32, least=1),
        "rate": Column(pl.Float64, most=1.0, above=True), "same_promise": Column(pl.Boolean),
    },
    "runs.parquet": {
        "run": _ID, "key": _TEXT, "noise_multiplier": Column(pl.Float64, above=True),
        "rounds": Column(pl.UInt32, least=1), "released": Column(pl.UInt32, least=1), "settings": _TEXT,
    },
    REDACTED: {
        "redacted_id": _ID, "kind": _TEXT, "name": _TEXT, "prior": _PROBABILITY, "bound": _PROBABILITY,
        "places": _ID, "provenance": _TEXT,
    },
}  # fmt: skip


def check_tables(tables: dict[str, pl.DataFrame]) -> list[str]:
    """What is wrong with the tables by themselves; one line a column, names and rules but no values."""
    failures = []
    for table, columns in SCHEMAS.items():
        frame = tables[table]
        if frame.columns != list(columns):
            failures.append(f"{table}: its columns are not {', '.join(columns)}")
            continue
        for name, column in columns.items():
            if problem := _problem(frame[name], column):
                failures.append(f"{table}: {name}: {problem}")
    if failures:
        return failures
    for table, key in (
        ("secrets", "secret_id"),
        ("bounds", "secret_id"),
        ("weights", "example_id"),
        ("redacted", "redacted_id"),
        ("runs", "run"),
    ):
        ids = tables[f"{table}.parquet"][key]
        if not ids.equals(pl.int_range(len(ids), dtype=pl.UInt32, eager=True)):
            failures.append(f"{table}.parquet: {key}: the rows are not numbered densely from 0, in order")
    edges, curves = tables["edges.parquet"], tables["curves.parquet"]
    if edges.select("example_id", "secret_id").is_duplicated().any():
        failures.append("edges.parquet: an edge is given twice")
    history = tables["history.parquet"].select("run", "secret_id")
    if not history.equals(history.unique().sort("run", "secret_id")):
        failures.append("history.parquet: the rows are not in order of run and secret, one each")
    ids = curves["curve"].unique(maintain_order=True)
    if not ids.equals(pl.int_range(len(ids), dtype=pl.UInt32, eager=True)):
        failures.append("curves.parquet: curve: the curves are not numbered densely from 0, in order")
    for table, frame in tables.items():
        if not frame.height and table not in (*MAY_BE_EMPTY, *EMPTY_WITHOUT_ROUNDS):
            failures.append(f"{table}: is empty")
    return failures


def _problem(values: pl.Series, column: Column) -> str:
    if values.dtype != column.dtype:
        return f"is of type {values.dtype}, not {column.dtype}"
    if values.null_count() and not column.nullable:
        return "a value is missing"
    values = values.drop_nulls()
    if column.values and not values.is_in(list(column.values)).all():
        return f"is not one of {', '.join(column.values)}"
    if column.dtype in (pl.String, pl.Boolean):
        return ""
    inside = (values > column.least) if column.above else (values >= column.least)
    if not (inside & values.is_finite() & (values <= column.most)).all():
        first = "(" if column.above else "["
        return f"a value lies outside {first}{column.least:g}, {column.most:g}]"
    return ""
