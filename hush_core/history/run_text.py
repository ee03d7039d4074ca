"""What one run could draw and uses, while it is at hand: the texts themselves, which no record keeps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from hush_core.config.secrets import entry_of

_KEYED = re.compile(r".*[:/]([0-9a-f]{12})", re.DOTALL)


def identity_of(kind: str, name: str) -> str:
    """What a secret is called in the history: of a value its keyed digest alone, whatever rule found it."""
    return match[1] if (match := _KEYED.fullmatch(name)) else f"{kind} {name}"


@dataclass(frozen=True, eq=False)
class RunText:
    """What one run could draw, and by which mechanism.

    Args:
        texts: (n,) of all examples.
        rates: (n,) sampling rates; what has rate 0 is never drawn.
        edges: example_id, secret_id; reason, if there, distinguishes copies and importers from a secret's own text.
        secrets: secret_id, kind, name, prior, posterior.
        noise_multiplier, rounds: σ and T of the plan; both 0 where no certified round was made.
        settings: a digest of what was decided before the run saw any text: where it differs between runs, somebody
            may have decided after looking at a model.
        without_noise: texts that were trained or chosen on without noise.
        files: (n,) which whole file each example is of, by any name; its examples follow each other in it.
        plain: (n,) bool, those of the texts that are in `without_noise`.
        occurrences: secret_id, example_id, start, end: where the texts hold values.
        items: example_id (the item), secret_id, rate: of a mechanism whose items hold more than one example's text,
            every item that is tagged with a secret; `rates` are then those of `rates_of_texts`.
        drawn: (n,) bool, those that the rounds may draw by what they are there for; None: those with a rate.
    """

    texts: Sequence[bytes]
    rates: np.ndarray
    edges: pl.DataFrame
    secrets: pl.DataFrame
    noise_multiplier: float
    rounds: int
    settings: str
    without_noise: Sequence[bytes] = ()
    files: Sequence[str] | None = None
    plain: np.ndarray | None = None
    occurrences: pl.DataFrame | None = None
    items: pl.DataFrame | None = None
    drawn: np.ndarray | None = None

    @classmethod
    def without_rounds(
        cls, *, texts: Sequence[bytes], edges: pl.DataFrame, secrets: pl.DataFrame, settings: str, **more: Any
    ) -> RunText:
        """Of a run that makes no certified round; `more`: as above."""
        return cls(texts, np.zeros(len(texts)), edges, secrets, 0.0, 0, settings, **more)

    @classmethod
    def now(cls, texts: Sequence[bytes], edges: pl.DataFrame, secrets: pl.DataFrame, **more: Any) -> RunText:
        """Of a run that is not planned yet: what to look for among the others."""
        return cls.without_rounds(texts=texts, edges=edges, secrets=secrets, settings="", **more)

    def whole_files(self, wanted: np.ndarray, key: bytes) -> pl.DataFrame:
        """example · hash: of the wanted examples ((n,) bool), a keyed hash of the whole file that each is of: of
        all its texts in order, wherever they were cut."""
        none = pl.DataFrame(schema={"example": pl.UInt32, "hash": pl.UInt64})
        if self.files is None or not wanted.any():
            return none
        table = pl.DataFrame({"file": self.files}).with_row_index("example")
        table = table.filter(pl.col("file").is_in(table.filter(pl.Series(wanted))["file"].unique().implode()))
        running = {file: hashlib.blake2b(key=key, digest_size=8) for file in table["file"].unique()}
        for example, file in table.iter_rows():
            running[file].update(self.texts[example])
        digests = {file: int.from_bytes(one.digest(), "little") for file, one in running.items()}
        found = table.filter(pl.Series(wanted[table["example"].to_numpy()]))
        hashes = pl.Series("hash", [digests[file] for file in found["file"]], dtype=pl.UInt64)
        return found.select("example").with_columns(hashes)

    @cached_property
    def untagged(self) -> np.ndarray:
        """(n,) bool: what is used, with noise or without, and no secret is in."""
        used = self.rates > 0 if self.drawn is None else self.drawn.copy()
        used |= False if self.plain is None else self.plain
        used[self.edges["example_id"].to_numpy()] = False
        return used

    @property
    def direct(self) -> np.ndarray:
        """By row of `edges`: whether the text is the secret's own, and no copy or importer of it."""
        if "reason" not in self.edges.columns:
            return np.ones(self.edges.height, dtype=bool)
        return (~self.edges["reason"].str.starts_with("propagated")).to_numpy()

    @cached_property
    def of_whole_files(self) -> pl.DataFrame:
        """secret_id of those of which all of a file is the secret's (`SecretEntry.whole_files`)."""
        kinds = [kind for kind in self.secrets["kind"].unique() if entry_of(kind).whole_files]
        return self.secrets.filter(pl.col("kind").is_in(kinds)).select(pl.col("secret_id").cast(pl.UInt32))

    @property
    def identities(self) -> list[str]:
        """By secret_id, what identifies a secret after everything else is renamed."""
        rows = self.secrets.sort("secret_id").select("kind", "name").iter_rows()
        return [identity_of(kind, name) for kind, name in rows]


def hashes_of(texts: Sequence[bytes], key: bytes) -> np.ndarray:
    """(n,) uint64: 64 bits of a keyed hash of each text."""
    digests = (hashlib.blake2b(text, key=key, digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
