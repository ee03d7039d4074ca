"""Tables of a graph in one call: which examples hold which secret, and what each secret is promised."""

import polars as pl

IDS = ("secret_id", "example_id", "start", "end")


def frame_of(**columns) -> pl.DataFrame:
    """These columns; those of `IDS` as UInt32, as all of hush has them."""
    return pl.DataFrame(columns, schema_overrides={name: pl.UInt32 for name in IDS if name in columns})


def edges_of(pairs) -> pl.DataFrame:
    """Of (example, secret), in order."""
    return pl.DataFrame(sorted(pairs), schema=dict.fromkeys(IDS[1::-1], pl.UInt32), orient="row")
