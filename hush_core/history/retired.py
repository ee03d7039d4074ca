"""Secrets that only earlier runs name: a model that continues from theirs may tell them still."""

import math

import polars as pl

from hush_core.history.run_text import identity_of


def with_retired(secrets: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """The table of secrets, and below it those of `named` (`RunHistory.named`) that it lacks, in no example.

    A run continues only from models of its own promise, so secrets that runs of other settings named are not in
    them.
    """
    here = [identity_of(kind, name) for kind, name in secrets.select("kind", "name").iter_rows()]
    gone = named.filter(~pl.col("name").is_in(here)).sort("name")
    rows = [_row(len(here) + n, *row) for n, row in enumerate(gone.iter_rows())]
    return pl.concat([secrets, pl.DataFrame(rows, schema=secrets.schema, orient="row")])


def _row(secret_id: int, identity: str, prior: float, posterior: float) -> tuple:
    """Kind and name are such that the identity is this one."""
    kind, blank, name = identity.partition(" ")
    if not blank:  # a value's digest
        kind, name = "value", f"retired/{identity}"
    return secret_id, kind, name, prior, posterior, -math.log2(prior), "named by an earlier run only"
