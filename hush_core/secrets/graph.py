"""The SecretGraph: examples, secrets and the edges between them, as frames that are checked once."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

EXAMPLES = {
    "example_id": pl.UInt32,
    "source": pl.String,
    "path": pl.String,
    "revision": pl.String,
    "start": pl.UInt32,
    "end": pl.UInt32,
    "language": pl.String,
    "text": pl.Binary,
}
COMPLETIONS = {"completions": pl.List(pl.UInt32)}
"""A further column of examples, where a table has `loss_on: completions`: start and end, start and end, … of what
is learned of the text, in bytes; [0, its length] where that is all of it."""
SECRETS = {
    "secret_id": pl.UInt32,
    "kind": pl.String,
    "name": pl.String,
    "prior": pl.Float64,
    "posterior": pl.Float64,
    "bits": pl.Float64,
    "provenance": pl.String,
}
EDGES = {"example_id": pl.UInt32, "secret_id": pl.UInt32, "reason": pl.String}
OCCURRENCES = {"secret_id": pl.UInt32, "example_id": pl.UInt32, "start": pl.UInt32, "end": pl.UInt32}
REDACTED = {
    "redacted_id": pl.UInt32,
    "kind": pl.String,
    "name": pl.String,
    "prior": pl.Float64,
    "places": pl.UInt32,
    "provenance": pl.String,
}
REDACTIONS = {"redacted_id": pl.UInt32, "example_id": pl.UInt32, "start": pl.UInt32, "end": pl.UInt32}
REDACTED_VALUES = {"redacted_id": pl.UInt32, "value": pl.Binary}
DROPPED = {
    "name": pl.String,
    "kind": pl.String,
    "source": pl.String,
    "path": pl.String,
    "start": pl.UInt32,
    "end": pl.UInt32,
    "weak": pl.Boolean,
    "line": pl.UInt32,
    "column": pl.UInt32,
    "reason": pl.String,
    "bits": pl.Float64,
    "provenance": pl.String,
}
_SCHEMAS = {
    "examples": EXAMPLES, "public": EXAMPLES, "secrets": SECRETS, "edges": EDGES, "occurrences": OCCURRENCES,
    "dropped": DROPPED, "redacted": REDACTED, "redactions": REDACTIONS, "redacted_values": REDACTED_VALUES,
}  # fmt: skip
_IDS = (("examples", "example_id"), ("secrets", "secret_id"), ("redacted", "redacted_id"))
"""Frames whose ids are dense from 0, and named by other frames."""


@dataclass(frozen=True, repr=False)
class SecretGraph:
    """Which example holds which secret. No frame but `examples`, `public` and `redacted_values` holds text of the
    user's.

    examples: EXAMPLES, maybe with COMPLETIONS, ids dense from 0; every example that may be trained on privately.
    public: as `examples`, with ids of its own; chunks named public that hold no secret.
    secrets: SECRETS, ids dense from 0; those without an example are kept.
    edges: EDGES, unique and sorted by (example_id, secret_id).
    occurrences: OCCURRENCES, sorted; where a value is wholly inside an example's text.
    dropped: DROPPED, sorted; chunks that are not trained on, as they hold a secret that is too weak to protect or
        is to be left out (`weak`), with every secret in them. `line`: where the secret first is in the chunk; 0
        where lines cannot be counted (a history, a file in which values were replaced). `column`: where a
        value begins; 0 also where none does. `reason` as in edges, `bits` and `provenance` as in secrets.
    redacted: REDACTED, ids dense from 0; secrets of which every copy found was replaced, in `places` of files.
    redactions: REDACTIONS, sorted; where a placeholder begins in an example's text, and where it ends there.
    redacted_values: REDACTED_VALUES, sorted; what was there, for the attack.

    Raises:
        ValueError: a frame breaks its contract (a fault of the caller's code, not of the user's data).
    """

    examples: pl.DataFrame
    public: pl.DataFrame
    secrets: pl.DataFrame
    edges: pl.DataFrame
    occurrences: pl.DataFrame
    dropped: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DROPPED))
    redacted: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REDACTED))
    redactions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REDACTIONS))
    redacted_values: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REDACTED_VALUES))

    def __post_init__(self) -> None:
        for name, schema in _SCHEMAS.items():
            frame = getattr(self, name)
            if "completions" in frame.columns and schema is EXAMPLES:
                schema = EXAMPLES | COMPLETIONS
            if dict(frame.schema) != dict(pl.Schema(schema)):
                raise ValueError(f"{name}: columns or types differ from the contract")
            if sum(frame.null_count().row(0)):
                raise ValueError(f"{name}: holds nulls")
        for name, column in (("public", "example_id"), *_IDS):
            ids = getattr(self, name)[column].to_numpy()
            if not np.array_equal(ids, np.arange(len(ids))):
                raise ValueError(f"{name}.{column}: not dense from 0")
        pairs = self.edges.select(
            pl.col("example_id").cast(pl.UInt64) * 2**32 + pl.col("secret_id").cast(pl.UInt64)
        ).to_series()
        if not (pairs.diff(null_behavior="drop") > 0).all():
            raise ValueError("edges: not unique and sorted by (example_id, secret_id)")
        for name in ("edges", "occurrences", "redactions", "redacted_values"):
            frame = getattr(self, name)
            for rows, column in _IDS:
                if column in frame.columns and len(frame) and frame[column].max() >= len(getattr(self, rows)):
                    raise ValueError(f"{name}.{column}: names a row that does not exist")
        p, r = self.secrets["prior"], self.secrets["posterior"]
        if not ((p > 0) & (p < r) & (r < 1)).all():
            raise ValueError("secrets: 0 < prior < posterior < 1 does not hold")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.examples)} examples, {len(self.secrets)} secrets, "
            f"{len(self.edges)} edges, {len(self.public)} public)"
        )
