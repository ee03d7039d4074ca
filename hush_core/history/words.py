"""Words of text that a run used without noise: they identify a secret that is named late.

A word is a run of at least six letters and digits, kept as a keyed hash. A value was there if all its words were; a
whole file was, if several words were that only text of its secret now holds.
"""

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from hush_core.history.run_text import RunText, hashes_of

_WORD = re.compile(rb"[A-Za-z0-9]{6,}")
ENOUGH = 3
"""So many words that have left all other text, and half of the file's own, show that it was there; a few may be
new to the file.
"""


def words_of(texts: Sequence[bytes], key: bytes) -> pl.DataFrame:
    """hash of each distinct word."""
    found = {word for text in texts for word in _WORD.findall(text)}
    return pl.DataFrame({"hash": hashes_of(sorted(found), key)}, schema={"hash": pl.UInt64})


def words_of_values(text: RunText, key: bytes) -> pl.DataFrame:
    """secret_id · value · hash: the words of each value found in an example, as written there; `value` numbers the
    different ones."""
    rows: dict[tuple[int, tuple[bytes, ...]], None] = {}
    if text.occurrences is not None:
        for secret, example, start, end in text.occurrences.select(
            "secret_id", "example_id", "start", "end"
        ).iter_rows():
            words = (match for match in _WORD.finditer(text.texts[example]))
            own = tuple(match[0] for match in words if match.start() < end and match.end() > start)
            if own:
                rows[secret, own] = None
    flat = [(secret, number, word) for number, (secret, own) in enumerate(rows) for word in sorted(set(own))]
    return pl.DataFrame(
        {
            "secret_id": [secret for secret, _, _ in flat],
            "value": [number for _, number, _ in flat],
            "hash": hashes_of([word for _, _, word in flat], key),
        },
        schema={"secret_id": pl.UInt32, "value": pl.UInt32, "hash": pl.UInt64},
    )


def words_of_files(text: RunText, key: bytes) -> pl.DataFrame:
    """secret_id · hash: of secrets that are whole files, the words of their text that no text used without noise
    now holds."""
    edges = text.edges.select(pl.col("secret_id").cast(pl.UInt32), "example_id").join(
        text.of_whole_files, on="secret_id"
    )
    words = [pl.DataFrame(schema={"secret_id": pl.UInt32, "hash": pl.UInt64})]
    for (secret,), rows in edges.group_by("secret_id", maintain_order=True):
        found = words_of([text.texts[example] for example in rows["example_id"]], key)
        words.append(found.select(pl.lit(secret, pl.UInt32).alias("secret_id"), "hash"))
    return pl.concat(words).join(words_of(text.without_noise, key), on="hash", how="anti")


def learned_by_words(values: pl.DataFrame, files: pl.DataFrame, words: pl.DataFrame) -> np.ndarray:
    """Secrets of which `words` (hash), used without noise by some runs, hold a whole value or much of a file."""
    there = pl.col("hash").is_in(words["hash"].implode())
    whole = values.group_by("secret_id", "value").agg(there.all()).filter("hash")["secret_id"]
    found, own = there.sum(), pl.len()
    much = (
        files.group_by("secret_id")
        .agg(much=(found >= ENOUGH) & (2 * found >= own))
        .filter("much")["secret_id"]
    )
    return np.union1d(whole.to_numpy(), much.to_numpy())
