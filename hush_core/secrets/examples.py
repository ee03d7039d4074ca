"""The frame of examples, text included, without the text in memory.

A large text column is written to temporary Arrow files piece by piece and mapped back: the frame is an
ordinary one, and the kernel may drop its pages and read them again. The files are unlinked at once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.corpus import Corpus, Layout
from hush_core.secrets.graph import EXAMPLES

PIECE_BYTES = 64 << 20
IN_MEMORY_BYTES = 256 << 20
"""Up to this much text is simply held."""


def examples_of(corpus: Corpus, layout: Layout, chunks: np.ndarray, work: Path | None) -> pl.DataFrame:
    """EXAMPLES, one row a chunk, in the order given; ids count from 0."""
    file, start, end = layout.bytes_of(chunks)
    path, tree = corpus.path[file], corpus.tree[file]
    at = corpus.contents.starts[corpus.blob[file]] + start
    length = end - start
    shown, language = pl.Series(corpus.paths.shown), pl.Series(corpus.paths.language)
    sources = pl.Series([t.source for t in corpus.trees])
    commits = pl.Series([t.commit for t in corpus.trees])
    total = int(length.sum())
    parts = []
    for rows in _pieces(length):
        text = [
            corpus.contents.read(a, a + n)
            for a, n in zip(at[rows].tolist(), length[rows].tolist(), strict=True)
        ]
        column = pl.Series("text", text, dtype=pl.Binary)
        parts.append(
            pl.DataFrame(
                {
                    "example_id": pl.Series(np.arange(rows.start, rows.stop, dtype=np.uint32)),
                    "source": sources.gather(tree[rows]),
                    "path": shown.gather(path[rows]),
                    "revision": commits.gather(tree[rows]),
                    "start": start[rows].astype(np.uint32),
                    "end": end[rows].astype(np.uint32),
                    "language": language.gather(path[rows]),
                    "text": column if total <= IN_MEMORY_BYTES else _mapped(column, work),
                },
                schema=EXAMPLES,
            )
        )
    return pl.concat(parts, rechunk=False) if parts else pl.DataFrame(schema=EXAMPLES)


def _pieces(length: np.ndarray) -> Iterator[slice]:
    """Slices of rows with about PIECE_BYTES of text each."""
    piece = (np.cumsum(length) - length) // PIECE_BYTES
    borders = [*np.flatnonzero(np.diff(piece, prepend=-1)).tolist(), len(length)]
    for a, b in pairwise(borders):
        yield slice(a, b)


def _mapped(column: pl.Series, work: Path | None) -> pl.Series:
    import pyarrow.ipc  # polars' own reader copies into memory
    from pyarrow import memory_map

    with tempfile.NamedTemporaryFile(prefix="hush-", suffix=".arrow", dir=work) as file:
        column.to_frame().write_ipc(file.name, compression="uncompressed")
        table = pyarrow.ipc.open_file(memory_map(file.name)).read_all()
    frame = pl.from_arrow(table, rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    return frame["text"]
