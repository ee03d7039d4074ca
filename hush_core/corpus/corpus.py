"""All sources of a job as one corpus: files in columns, contents on disk, histories where asked for.

>>> with read_corpus(config.repos, ReadOptions(2048, 1 << 20), progress, config.tables) as corpus:  # doctest: +SKIP
...     content = corpus.contents[corpus.blob[0]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from hush_core.config import Repository, Table
from hush_core.corpus.blob_cache import BlobCache
from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.chunks import ChunkLayout
from hush_core.corpus.git.blobs import hash_of, sizes_in_pack_order, store_blobs, walking
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory, read_history, refuse_shallow
from hush_core.corpus.git.history_log import load_log, log_file, save_log
from hush_core.corpus.git.tree import File, Tree, read_tree
from hush_core.corpus.git.versions import read_versions, warnings_of
from hush_core.corpus.paths import Paths
from hush_core.corpus.tables import read_table
from hush_core.errors import InputError
from hush_core.progress import Progress, beside

TEXT_BYTES = 1 << 38
"""Most text of all examples: a content counts at every path where it is, and a path costs nothing to forge."""


@dataclass(frozen=True, repr=False)
class Corpus:
    """What detectors read. A file is a number, in the order of `trees`; so is a content ("blob").

    trees: one a repository, with its history if that was read; then one a table (mode "table"), whose files are its
    documents. paths: the distinct paths. contents: each distinct content.
    tree, path, blob: int32 by file. completions: (k, 3) int64, file, start and end of what is learned of the files
    of tables with `loss_on: completions`; sorted.
    """

    trees: tuple[Tree, ...]
    paths: Paths
    contents: BlobStore
    tree: np.ndarray
    path: np.ndarray
    blob: np.ndarray
    chunk_bytes: int
    max_file_bytes: int
    completions: np.ndarray = field(default_factory=lambda: np.empty((0, 3), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.blob)

    def file(self, number: int) -> File:
        """One file as a value."""
        p = int(self.path[number])
        paths = self.paths
        return File(paths.raw[p], paths.shown[p], paths.matched[p], int(self.blob[number]), paths.language[p])

    def files_at(self, match: Callable[[str], bool], trees: Sequence[int] | None = None) -> np.ndarray:
        """The files whose path (as globs see it) matches; each distinct path is asked for once."""
        hit = np.fromiter((match(p) for p in self.paths.matched), dtype=bool, count=len(self.paths))
        chosen = hit[self.path]
        if trees is not None:
            chosen &= np.isin(self.tree, list(trees))
        return np.flatnonzero(chosen)

    def files_named(self, raw: Iterable[bytes], tree: int) -> np.ndarray:
        """The files of one repository at these paths."""
        wanted = np.zeros(len(self.paths), dtype=bool)
        wanted[[n for r in raw if (n := self.paths.number(r)) is not None]] = True
        return np.flatnonzero(wanted[self.path] & (self.tree == tree))

    def files_holding(self, blobs: Iterable[bytes]) -> np.ndarray:
        """The files, in any repository, whose content has one of these object ids."""
        wanted = np.zeros(len(self.contents), dtype=bool)
        wanted[[n for b in blobs if (n := self.contents.number(b)) is not None]] = True
        return np.flatnonzero(wanted[self.blob])

    @property
    def repositories(self) -> list[int]:
        """The trees that come out of git: only they have a history, and can be viewed or fetched from."""
        return [t for t, tree in enumerate(self.trees) if tree.mode != "table"]

    @property
    def prompted(self) -> np.ndarray:
        """By file, whether only its completions are learned."""
        return np.array([tree.completions is not None for tree in self.trees], dtype=bool)[self.tree]

    @property
    def read(self) -> np.ndarray:
        """The numbers of the contents that are in a file, ascending."""
        return np.unique(self.blob).astype(np.int64)

    @property
    def succession(self) -> tuple[np.ndarray, np.ndarray]:
        """The contents of `read`, versions of a file one after another; by number the one before, or -1."""
        _, first = np.unique(self.blob, return_index=True)
        first.sort()
        numbers = self.blob[first].astype(np.int64)
        tree, path = self.tree[first], self.path[first]
        follows = (tree[1:] == tree[:-1]) & (path[1:] == path[:-1])
        before = np.full(len(self.contents), -1, dtype=np.int64)
        before[numbers[1:][follows]] = numbers[:-1][follows]
        return numbers, before

    @property
    def layout(self) -> ChunkLayout:
        """Where the chunks lie on the plain grid, with the contents that are there now."""
        return ChunkLayout(self.blob, self.contents.sizes, self.chunk_bytes)

    def layout_around(self, spans: Mapping[str, np.ndarray]) -> ChunkLayout:
        """Where the chunks lie once the spans of secrets are known (columns blob, start, end).

        Raises:
            InputError: more chunks than can be numbered.
        """
        layout = self.layout.around(spans["blob"], spans["start"], spans["end"])
        _refuse_too_much(layout)
        return layout

    def view(self, tree: int) -> CleanView:
        """The repository again, at the revision that was read."""
        return CleanView(self.trees[tree].origin, self.trees[tree].commit)

    def fetch(self, tree: int, blobs: Iterable[bytes]) -> list[int]:
        """Read further contents out of a repository's history; they need not be in any file.

        Returns their numbers; contents that are too large or no text are left out.

        Raises:
            ValueError: the corpus is redacted, and what comes out of the repository would not be.
        """
        if self.contents.aliased:
            raise ValueError("a redacted corpus takes nothing more out of a repository")
        wanted = set(blobs)
        known = [n for b in sorted(wanted) if (n := self.contents.number(b)) is not None]
        wanted = {b for b in wanted if self.contents.number(b) is None}
        with self.view(tree) as view:
            sizes = sizes_in_pack_order(view, wanted)
            small = {b: size for b, size in sizes.items() if size <= self.max_file_bytes}
            store_blobs(view, small, self.contents)
            known += [n for b in small if (n := self.contents.number(b)) is not None]
        return sorted(known)

    def close(self) -> None:
        """Give the contents' file back."""
        self.contents.close()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class ReadOptions:
    """How to read: limits, whether histories are needed in full, and where to keep what for the next run."""

    chunk_bytes: int
    max_file_bytes: int
    histories: bool = False
    cache: Path | None = None
    key: bytes = field(default=b"", repr=False)
    work: Path | None = None


def read_corpus(
    repositories: Sequence[Repository], how: ReadOptions, progress: Progress, tables: Sequence[Table] = ()
) -> Corpus:
    """Read every repository at its revision, and every table.

    Raises:
        InputError: an unreadable or unsafe repository, missing objects, a shallow clone if whole histories are
            needed, a table of another form than the config says, or no text at all.
    """

    with ExitStack() as stack:
        # the text of histories is kept; that of a tree is read in seconds, and not worth the disk
        keeps = how.cache is not None and any(repository.mode == "history" for repository in repositories)
        kept = BlobCache.open(how.cache / "text") if keeps else None
        contents, paths = stack.enter_context(BlobStore(how.work, kept)), Paths()
        trees: list[Tree] = []
        total = len(repositories) + len(tables)
        for at, repository in enumerate(repositories):
            tick = partial(progress, "read", at, total)
            tick()
            trees.append(beside(partial(_read, repository, how, contents, paths), tick))
        hashes = tuple(dict.fromkeys(hash_of(t.commit) for t in trees)) or ("sha1",)
        for table in tables:
            progress("read", len(trees), total)
            trees.append(read_table(table, how.max_file_bytes, contents, paths, hashes))
        progress("read", total, total)
        corpus = Corpus(
            trees=tuple(trees),
            paths=paths,
            contents=contents,
            tree=np.repeat(np.arange(len(trees), dtype=np.int32), [len(t.blob) for t in trees]),
            path=np.concatenate([t.path for t in trees]),
            blob=np.concatenate([t.blob for t in trees]),
            chunk_bytes=how.chunk_bytes,
            max_file_bytes=how.max_file_bytes,
            completions=_completions(trees),
        )
        if not corpus.layout.chunks:
            raise InputError(
                "repos" if repositories else "tables",
                "hold no file that can be read as text",
                "give a revision, or a table, with texts below the limit",
            )
        _refuse_too_much(corpus.layout)
        if contents.kept is not None:
            contents.kept.complete = True
        stack.pop_all()
    return corpus


def _completions(trees: Sequence[Tree]) -> np.ndarray:
    """Those of all tables, by the corpus's file numbers."""
    first, found = 0, [np.empty((0, 3), dtype=np.int64)]
    for tree in trees:
        if tree.completions is not None:
            found.append(tree.completions + np.array([first, 0, 0]))
        first += len(tree.blob)
    return np.concatenate(found)


def _refuse_too_much(layout: ChunkLayout) -> None:
    text = int(layout.sizes[layout.blob].sum())
    if text > TEXT_BYTES or layout.chunks >= 1 << 32:
        raise InputError(
            "repos, tables",
            f"hold {layout.chunks:,} examples, {text >> 20:,} MiB of text with every copy (trees that repeat one "
            "another?); that cannot be held",
            "read less (a smaller revision, mode: tree, max_file_bytes), or take larger chunks (chunk_bytes)",
        )


def _read(repository: Repository, how: ReadOptions, contents: BlobStore, paths: Paths) -> Tree:
    with CleanView(repository.path, repository.rev) as view:
        if how.histories:
            refuse_shallow(view)
        source = view, repository.label, how.max_file_bytes
        if repository.mode == "tree" and not how.histories:
            return read_tree(*source, contents, paths)
        if repository.mode == "tree":
            history, facts = _history(view, how)
            tree = read_tree(*source, contents, paths)
        else:
            with walking(view) as walk:
                history, facts = _history(view, how)
                tree = read_versions(*source, history, walk, contents, paths)
        return replace(tree, history=history, facts={**tree.facts, **facts})


def _history(view: CleanView, how: ReadOptions) -> tuple[GitHistory, dict[str, object]]:
    known, file = None, None
    if how.cache is not None and not view.shallow:
        file = log_file(how.cache, how.key, view.path)
        known = load_log(file)
    history = read_history(view, known=known)
    if file is not None and history.log is not known:
        save_log(file, history.log)
    old = known.commit if known is not None else []
    reused = len(old) if history.log.commit[: len(old)] == old else 0
    facts: dict[str, object] = {
        "history_commits": history.commits,
        "commits_reused": reused,
        "warnings": warnings_of(history),
    }
    return history, facts
