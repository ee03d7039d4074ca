"""One look at every content, and its memory: the next run looks at new contents only.

Kept are places and tags (rule names), by a keyed digest of the object id: nothing of the text, and nothing
that shows which content it was. Mode 0600 in a folder of mode 0700.
"""

from __future__ import annotations

import fcntl
import hmac
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from hush_core.corpus import BlobStore, Corpus
from hush_core.files import private_folder, whole_file
from hush_core.memory import give_back
from hush_core.progress import waited

SCHEMA = {"blob": pl.Binary, "start": pl.UInt32, "end": pl.UInt32, "tag": pl.String}
"""A row a finding; a content without any has one row of nulls."""


@dataclass(frozen=True, repr=False)
class Scan:
    """Findings in columns, sorted by content and place; `tag` points into `tags`."""

    blob: np.ndarray
    start: np.ndarray
    end: np.ndarray
    tag: np.ndarray
    tags: tuple[str, ...]
    scanned: int
    reused: int


Row = TypeVar("Row")
BATCH_BYTES = 1 << 21
AHEAD = 8
"""Batches a thread that may wait to be taken: what is found is held, never the text."""
TRIM_BATCHES = 8
"""After so many batches what lies free between others goes back to the system: 50 MB after celery's search."""


def looked_at(
    contents: BlobStore,
    numbers: Sequence[int],
    look: Callable[[bytes], Iterable[Row]],
    workers: int = 0,
    before: np.ndarray | None = None,
    tick: Callable[[], object] = lambda: None,
) -> Iterator[tuple[int, list[Row]]]:
    """(number, what `look` finds in it) of each content, in the order given, looked at by several threads.

    One thread, unless `look` says by an attribute `threads` that it may be called by several at once; it is
    worth it where the work is done without the interpreter's lock (hyperscan, kingfisher). Where `look` has
    an `each`, it is given several contents at a time. Where it has a `follow`, it is given these, which of them is
    the version before which, and where they differ (None of one of less than `LEAST` bytes).

    Args:
        workers: how many threads; 0: as many as this process has processors.
        before: by number the version before a content, -1 if none (`Corpus.succession`).
        tick: called every two seconds while nothing is found.
    """
    workers = workers or len(os.sched_getaffinity(0))
    each = getattr(look, "each", lambda texts: [list(look(text)) for text in texts])

    def together(batch: Sequence[int]) -> list[tuple[int, list[Row]]]:
        texts = [contents[number] for number in batch]
        if before is None or not hasattr(look, "follow"):
            return list(zip(batch, each(texts), strict=True))
        place = {number: n for n, number in enumerate(batch)}
        earlier = [place.get(int(before[n])) for n in batch]
        changes = [
            contents.changes(batch[one], n, (texts[one], text))
            if one is not None and len(text) >= look.LEAST
            else None
            for n, text, one in zip(batch, texts, earlier, strict=True)
        ]
        return list(zip(batch, look.follow(texts, earlier, changes), strict=True))

    if not getattr(look, "threads", False):
        for batch in _batches(contents, numbers):
            yield from together(batch)
        return

    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[list[tuple[int, list[Row]]]]] = deque()
    try:
        for number in numbers[:1]:  # what `look` prepares once, it prepares here
            yield waited(pool.submit(lambda one: (one, list(look(contents[one]))), number), tick)
        for count, batch in enumerate(_batches(contents, numbers[1:]), 1):
            if count % TRIM_BATCHES == 0:
                give_back()
            waiting.append(pool.submit(together, batch))
            if len(waiting) >= workers * AHEAD:
                yield from waited(waiting.popleft(), tick)
        while waiting:
            yield from waited(waiting.popleft(), tick)
    finally:
        pool.shutdown(cancel_futures=True)
        give_back()


def _batches(contents: BlobStore, numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Runs of the numbers with about BATCH_BYTES of text each."""
    which = np.asarray(numbers, dtype=np.int64)
    place = np.cumsum(contents.sizes[which]) // BATCH_BYTES
    for batch in np.split(which, np.flatnonzero(np.diff(place)) + 1):
        if len(batch):
            yield batch.tolist()


def scan_contents(
    corpus: Corpus,
    name: str,
    look: Callable[[bytes], Iterable[Any]],
    cache: Path | None,
    key: bytes,
    progress: Callable[[int, int], None],
    kind: str = "scans",
    row: Callable[[Any], tuple[int, int, str]] = tuple,
) -> Scan:
    """`look` at every content of a file that the cache, in its folder `kind`, does not know by this name.

    row: (start, end, tag) of what it finds.
    """
    numbers, before = corpus.succession
    file = None if cache is None else cache / kind / f"{_digest(key, name.encode()).hex()}.parquet"
    names = [_digest(key, blob) for blob in corpus.contents.identities()] if file is not None else []
    kept = _load(file)
    rows = (
        pl.DataFrame(
            {"number": numbers, "blob": [names[n] for n in numbers]}, schema_overrides={"blob": pl.Binary}
        )
        .join(kept, on="blob", how="inner")
        .select("number", "start", "end", "tag")
        if file is not None
        else pl.DataFrame(schema={"number": pl.Int64, **SCHEMA}).drop("blob")
    )
    known = np.zeros(len(corpus.contents), dtype=bool)
    known[rows["number"].to_numpy()] = True
    new = numbers[~known[numbers]]
    columns = {c: array("q") for c in ("number", "start", "end", "tag")}
    tags: dict[str, int] = {}
    empty = array("q")
    progress(0, len(new))
    done = 0

    def tick() -> None:
        progress(done, len(new))

    looked = looked_at(corpus.contents, new.tolist(), look, before=before, tick=tick)
    for done, (number, rows_of) in enumerate(looked):
        if done % 512 == 0:
            tick()
        for start, end, tag in map(row, rows_of):
            items = number, start, end, tags.setdefault(tag, len(tags))
            for column, item in zip(columns.values(), items, strict=True):
                column.append(item)
        if not rows_of:
            empty.append(number)
    progress(len(new), len(new))
    fresh = pl.DataFrame({name: np.array(column, dtype=np.int64) for name, column in columns.items()})
    fresh = fresh.with_columns(
        pl.col("start", "end").cast(pl.UInt32),
        tag=pl.Series(list(tags), dtype=pl.String).gather(fresh["tag"]),
    )
    if file is not None and len(new):
        without_finding = pl.DataFrame({"number": np.array(empty, dtype=np.int64)})
        _save(file, pl.concat([fresh, without_finding], how="diagonal"), names)
    return _scan(pl.concat([rows.drop_nulls("tag"), fresh]), len(new), len(numbers) - len(new))


def _scan(found: pl.DataFrame, scanned: int, reused: int) -> Scan:
    found = found.sort("number", "start", "end", "tag")
    tags = sorted(found["tag"].unique())
    place = {tag: i for i, tag in enumerate(tags)}
    tag = np.fromiter((place[t] for t in found["tag"]), dtype=np.int64, count=len(found))
    start, end = found["start"].to_numpy().astype(np.int64), found["end"].to_numpy().astype(np.int64)
    return Scan(found["number"].to_numpy(), start, end, tag, tuple(tags), scanned, reused)


def _digest(key: bytes, what: bytes) -> bytes:
    return hmac.digest(key, b"scan " + what, "sha256")[:16]


def _load(file: Path | None) -> pl.DataFrame:
    if file is not None and file.is_file():
        try:
            kept = pl.read_parquet(file, memory_map=False)
            if dict(kept.schema) == {name: kind() for name, kind in SCHEMA.items()}:
                return kept
        except (OSError, pl.exceptions.PolarsError):
            pass  # damaged: everything is looked at again
    return pl.DataFrame(schema=SCHEMA)


def _save(file: Path, new: pl.DataFrame, names: list[bytes]) -> None:
    """Beside what is kept by now: processes that scan other repositories keep theirs meanwhile."""
    blobs = pl.Series([names[n] for n in new["number"]], dtype=pl.Binary)
    rows = new.with_columns(blob=blobs).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    private_folder(file.parent.parent)
    private_folder(file.parent)
    with open(os.open(file.parent / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b") as lock:
        with suppress(OSError):  # a file system without locks: what is lost is scanned again
            fcntl.flock(lock, fcntl.LOCK_EX)
        kept = _load(file).join(rows.select("blob").unique(), on="blob", how="anti", maintain_order="left")
        with whole_file(file) as out:
            pl.concat([kept, rows]).write_parquet(out)
