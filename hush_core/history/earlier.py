"""What the other runs of a store released of each secret, as tables; and secrets that only they name, which a model
that continues from theirs may tell still.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from hush_core.history.run_text import identity_of

RUNS = {
    "run": pl.UInt32, "key": pl.String, "noise_multiplier": pl.Float64, "rounds": pl.UInt32, "released": pl.UInt32,
    "settings": pl.String,
}  # fmt: skip
PROFILES = {
    "run": pl.UInt32, "secret_id": pl.UInt32, "examples": pl.UInt32, "rate": pl.Float64, "same_promise": pl.Boolean,
}  # fmt: skip
NOW_UNTAGGED = {"secret_id": pl.UInt32, "example": pl.Int64}


@dataclass(frozen=True, eq=False)
class Earlier:
    """What the other runs of the store released, up to now.

    Attributes:
        runs: run (numbered from 0) · key (a public name) · noise_multiplier · rounds (T of its plan) · released (of
            them, those lost included) · settings.
        profiles: run · secret_id · examples · rate · same_promise. One row if the run trained on the secret: a
            binomial that dominates how many of the secret's texts a round drew (docs/mathematics.md, Proposition
            7). It has as many examples as texts and the same hazard −log(1 − rate) in all. same_promise: the run
            promised this prior and this target of the secret. A run without a row is listed if it had other
            settings and named a secret of today's run, or of a listed run of today's settings: their noise may have
            followed from it.
        noise_free: (secrets,) bool by secret_id. A text that is tagged with the secret now was trained on WITHOUT
            noise, or with too little, as an audit refuted the run. Or a text that a run tagged with it is used
            untagged by another run or this one (`now_untagged`). Stored as the column `bare`.
        unknown: runs that do not say whose text they saw, or how (of an older hush, of another identity key, or
            damaged); each may have trained on every secret.
        now_untagged: secret_id · example: texts that an earlier run tagged with the secret and that this one is to
            use untagged; −1 for public text. For a message; it is not kept.
    """

    runs: pl.DataFrame
    profiles: pl.DataFrame
    noise_free: np.ndarray
    unknown: int
    now_untagged: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NOW_UNTAGGED))

    @property
    def counts(self) -> np.ndarray:
        """(secrets,) uint32: how many other runs trained on each secret, or may have."""
        trained = np.bincount(self.profiles["secret_id"].to_numpy(), minlength=len(self.noise_free))
        return (trained + self.unknown).astype(np.uint32)

    @property
    def secrets(self) -> int:
        """Secrets that another run trained on, or may have."""
        return int(np.count_nonzero(self.counts))

    @property
    def most(self) -> int:
        return int(self.counts.max(initial=0))

    def same_as(self, other: Earlier) -> bool:
        """Whether both tell the same of every run and secret; not of how far an unfinished run has come."""
        tables = (self.runs.drop("released"), other.runs.drop("released")), (self.profiles, other.profiles)
        same = all(mine.equals(theirs) for mine, theirs in tables)
        return same and np.array_equal(self.noise_free, other.noise_free) and self.unknown == other.unknown

    @classmethod
    def none(cls, secrets: int) -> Earlier:
        """No other run, of so many secrets."""
        return cls(pl.DataFrame(schema=RUNS), pl.DataFrame(schema=PROFILES), np.zeros(secrets, dtype=bool), 0)


def with_retired(secrets: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """The table of secrets, and below it those of `named` (`RunHistory.named`) that it lacks, in no example.

    A run continues only from models of its own promise, so secrets that runs of other settings named are not in
    them.
    """
    here = [identity_of(kind, name) for kind, name in secrets.select("kind", "name").iter_rows()]
    gone = named.filter(~pl.col("name").is_in(here)).sort("name")
    rows = [_row(len(here) + n, *row) for n, row in enumerate(gone.iter_rows())]
    return pl.concat([secrets, pl.DataFrame(rows, schema=secrets.schema, orient="row")])


def _row(secret_id: int, identity: str, prior: float, target: float) -> tuple:
    """Kind and name are such that the identity is this one."""
    kind, blank, name = identity.partition(" ")
    if not blank:  # a value's digest
        kind, name = "value", f"retired/{identity}"
    return secret_id, kind, name, prior, target, -math.log2(prior), "named by an earlier run only"
