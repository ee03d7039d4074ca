"""Passages of protected files: they stay the same when a line break, an edit or a new chunk size moves them.

For each text of a file that is a secret's own, a run notes up to `KEPT` passages: winnowed,
without whitespace, as keyed hashes. Passages that also occur in untagged text are left out: a licence or an import
line says nothing of a secret. A text is recognised by half of its passages, and by at least three or all. Other
kinds, importers and copies have no passages: the text around a value belongs to no secret, and changes with each
edit.
"""

import numpy as np
import polars as pl

from hush_core.history.record import PASSAGES, RunRecord
from hush_core.history.run_text import RunText, hashes_of
from hush_core.secrets.propagation.winnowing import fingerprints

WINDOW = 64
"""Neighbouring grams of which one is kept: some 3 % of the text, and one of any 87 bytes that are no whitespace."""
KEPT = 16
ENOUGH = 3
NOW = {"example": pl.Int64, "hash": pl.UInt64}


def passages_of(text: RunText, key: bytes) -> tuple[pl.DataFrame, pl.DataFrame]:
    """secret_id · example · hash of the passages of files that are a secret's own, and example · hash of those of
    what is used untagged (public: example −1)."""
    owners = text.edges.filter(pl.Series(text.direct, dtype=pl.Boolean)).select(
        pl.col("secret_id").cast(pl.UInt32), example=pl.col("example_id").cast(pl.Int64)
    )
    owners = owners.join(text.of_whole_files, on="secret_id").unique()
    own, untagged = owners["example"].unique().sort().to_list(), np.flatnonzero(text.untagged).tolist()
    public = set(text.without_noise) - {text.texts[i] for i in untagged}
    listed = [(i, text.texts[i]) for i in (*own, *untagged)] + [(-1, one) for one in sorted(public)]
    found = [np.unique(fingerprints(one, window=WINDOW).hashes) for _, one in listed]
    flat = np.concatenate([np.empty(0, np.uint64), *found])
    words, places = np.unique(flat, return_inverse=True)
    keyed = hashes_of([word.tobytes() for word in words], key)  # unkeyed, guesses could be tried against them
    examples = np.repeat(np.array([i for i, _ in listed], dtype=np.int64), [len(one) for one in found])
    table = pl.DataFrame({"example": examples, "hash": keyed[places]}, schema=NOW)
    split = sum(len(one) for one in found[: len(own)])
    return owners.join(table.head(split), on="example"), table.slice(split)


def passages_noted(
    text: RunText, record: RunRecord, own: pl.DataFrame, untagged: pl.DataFrame, key: bytes
) -> pl.DataFrame:
    """`PASSAGES` by the rows of `record`; `own`, `untagged`: `passages_of`."""
    kept = (
        own.select("example", "hash").unique().join(untagged, on="hash", how="anti").sort("example", "hash")
    )
    kept = kept.group_by("example", maintain_order=True).head(KEPT)
    examples = kept["example"].unique().sort()
    named = pl.DataFrame({"example": examples, "content": hashes_of([text.texts[i] for i in examples], key)})
    rows = record.texts.with_row_index("text").filter(record.is_tagged).select("text", content="hash")
    found = kept.join(named, on="example").join(rows, on="content")
    return found.select("text", "hash").unique().sort("text", "hash").cast(dict(PASSAGES))


def found_again(record: RunRecord, passages: pl.DataFrame, by: str) -> pl.DataFrame:
    """by · text: the run's texts whose passages are among `passages` (by · hash)."""
    own = record.passages.group_by("text").agg(own=pl.len())
    there = record.passages.join(passages.select(by, "hash").unique(), on="hash")
    found = there.group_by(by, "text").agg(found=pl.len()).join(own, on="text")
    enough = (pl.col("found") >= ENOUGH) | (pl.col("found") == pl.col("own"))
    return found.filter(enough, 2 * pl.col("found") >= pl.col("own")).select(by, "text")
