"""The frame of examples, text included, without the text in memory.

Polars keeps a text as a view: its length, its first bytes, and its place. For much text, the views point into the
file that extraction has written, which is mapped. Nothing is copied, and the kernel may drop its pages and read
them again. The file has no name and is gone with the frame.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.lib.stride_tricks import sliding_window_view

from hush_core.corpus import BlobStore, ChunkLayout, Corpus
from hush_core.secrets.graph import EXAMPLES

IN_MEMORY_BYTES = 16 << 20
"""Up to this much text is simply held."""


def examples_of(corpus: Corpus, layout: ChunkLayout, chunks: np.ndarray) -> pl.DataFrame:
    """EXAMPLES, one row a chunk, in the order given; ids from 0. With COMPLETIONS, where a table asks for it."""
    file, start, end = layout.bytes_of(chunks)
    path, tree = corpus.path[file], corpus.tree[file]
    at = corpus.contents.starts[corpus.blob[file]] + start
    length = end - start
    shown, language = pl.Series(corpus.paths.shown), pl.Series(corpus.paths.language)
    sources = pl.Series([t.source for t in corpus.trees])
    commits = pl.Series([t.commit for t in corpus.trees])
    if int(length.sum()) <= IN_MEMORY_BYTES:
        read = corpus.contents.read
        text = [read(a, a + n) for a, n in zip(at.tolist(), length.tolist(), strict=True)]
        column = pl.Series("text", text, dtype=pl.Binary)
    else:
        column = _views(corpus.contents, at, length)
    frame = pl.DataFrame(
        {
            "example_id": pl.Series(np.arange(len(chunks), dtype=np.uint32)),
            "source": sources.gather(tree),
            "path": shown.gather(path),
            "revision": commits.gather(tree),
            "start": start.astype(np.uint32),
            "end": end.astype(np.uint32),
            "language": language.gather(path),
            "text": column,
        },
        schema=EXAMPLES,
    )
    if any(tree.completions is not None for tree in corpus.trees):
        frame = frame.with_columns(_completions(corpus, file, start, end))
    return frame


def _completions(corpus: Corpus, file: np.ndarray, start: np.ndarray, end: np.ndarray) -> pl.Series:
    """What is learned of the texts [start, end) of files, by COMPLETIONS."""
    completions, prompted = corpus.completions, corpus.prompted[file]
    first, last = (np.searchsorted(completions[:, 0], file, side=side) for side in ("left", "right"))
    rows = []
    for i in range(len(file)):
        if not prompted[i]:
            rows.append([0, int(end[i] - start[i])])
            continue
        ranges = completions[first[i] : last[i], 1:].clip(start[i], end[i])
        rows.append((ranges[ranges[:, 0] < ranges[:, 1]] - start[i]).flatten().tolist())
    return pl.Series("completions", rows, dtype=pl.List(pl.UInt32))


def _views(contents: BlobStore, at: np.ndarray, length: np.ndarray) -> pl.Series:
    """The texts [at, at + length) of the blob store's file as views into its map (Arrow's BinaryView layout)."""
    import pyarrow as pa

    mapped = contents.mapped()
    heads = _heads(contents, at, len(mapped))
    raw = np.zeros((len(at), _VIEW), dtype=np.uint8)
    words = raw.view("<i4")
    words[:, 0] = length
    words[:, 2], words[:, 3] = at // _STEP, at % _STEP
    short = length <= _INLINE
    raw[short, 4:] = 0
    for byte in range(_INLINE):  # a short text is in its view; of a long one the first four bytes are
        rows = np.flatnonzero((length > byte) & short if byte >= 4 else length > byte)
        raw[rows, 4 + byte] = heads[rows, byte]
    whole = pa.py_buffer(mapped)
    steps = range(0, max(len(mapped), 1), _STEP)  # overlapping, as no offset may be 2 GiB or more
    buffers = [whole.slice(step, min(2 * _STEP, len(mapped) - step)) for step in steps]
    array = pa.Array.from_buffers(pa.binary_view(), len(at), [None, pa.py_buffer(raw), *buffers])
    return pl.Series("text", _Columns(array))


class _Columns:
    """An Arrow array by its C interface alone: `pl.from_arrow` imports all of pyarrow's functions."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, schema: object = None) -> object:
        return self._array.__arrow_c_array__(schema)


def _heads(contents: BlobStore, at: np.ndarray, size: int) -> np.ndarray:
    """The first _INLINE bytes at each place of the file, of `size` bytes; what lies behind it is 0.

    They are read, a stretch at a time: pages of the map that were looked at would stay with this process.
    """
    heads = np.zeros((len(at), _INLINE), dtype=np.uint8)
    order = np.argsort(at, kind="stable")
    borders = np.searchsorted(at[order], np.arange(0, size + _STRETCH, _STRETCH))
    for first, (low, high) in zip(range(0, size, _STRETCH), pairwise(borders.tolist()), strict=False):
        if low < high:
            data = contents.read(first, min(size, first + _STRETCH + _INLINE))
            windows = sliding_window_view(np.frombuffer(data + bytes(_INLINE), dtype=np.uint8), _INLINE)
            rows = order[low:high]
            heads[rows] = windows[at[rows] - first]
    return heads


_VIEW, _INLINE, _STEP = 16, 12, 1 << 29
_STRETCH = 1 << 23
