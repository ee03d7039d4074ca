"""Who ever changed which file, over the whole history of a revision, merges included, in columns.

`git log` without `-c` is silent about what exists only in merges; with it nothing is missed, at the same cost
(`docs/architecture.md`). People are e-mail addresses: author, committer and Co-authored-by
trailers, as written and as .mailmap maps them, casefolded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history_log import EMPTY, Log, read_log
from hush_core.errors import InputError

Moves = tuple[np.ndarray, np.ndarray]
"""Numbers of paths in the log: from which, and to which, text was moved."""

_ADDRESS = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True)
class GitHistory:
    """The changes of a history (`Log`), and the questions that detectors ask.

    `cut`: it was read from a shallow clone, so who wrote what is not known.
    """

    log: Log = field(repr=False)
    mailmap: dict[str, set[str]] = field(repr=False)
    cut: bool = False

    @property
    def commits(self) -> int:
        return len(self.log.commit)

    def commits_of(self, emails: Iterable[str]) -> np.ndarray:
        """A mask over the commits: those of people whose address matches one of the globs."""
        globs = [e.casefold() for e in emails]

        def is_meant(address: str) -> bool:
            names = {address} | self.mailmap.get(address, set())
            return any(name == glob or fnmatchcase(name, glob) for name in names for glob in globs)

        chosen = set(filter(is_meant, set().union(*self.log.groups)))
        groups = np.array([not chosen.isdisjoint(group) for group in self.log.groups], dtype=bool)
        return groups[self.log.group] if self.commits else np.zeros(0, dtype=bool)

    def touched(self, emails: Iterable[str], moves: Moves | None = None) -> tuple[set[bytes], set[bytes]]:
        """The paths and the blobs that hold work of people whose address matches one of the globs.

        Paths that ever held the same content (a rename, a copy) share their people, also through chains of them.
        With `moves` (`lineage.moves`), so do paths that took text from such a path. A blob is matched wherever it
        is. Errs on the side of more.
        """
        log = self.log
        changed = self.commits_of(emails)[log.change_commit]
        touched = self._with_tied(log.change_path[changed], moves)
        left = log.change_blob[changed]
        return self.named(touched), {log.blobs[b] for b in set(left[left >= 0].tolist())} - EMPTY

    def paths_of_blobs(self, blobs: set[bytes], moves: Moves | None = None) -> set[bytes]:
        """The paths that ever held one of the blobs, and those that are tied to such a path."""
        log = self.log
        numbers = np.array([b in blobs for b in log.blobs] + [False])
        return self.named(self._with_tied(log.change_path[numbers[log.change_blob]], moves))

    def _with_tied(self, paths: np.ndarray, moves: Moves | None) -> np.ndarray:
        """A mask over the paths: these, and all that are tied to one of them."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import breadth_first_order

        n = int(self._tied.max(initial=-1)) + 1
        begin = np.unique(self._tied[paths])
        taken, given = (self._tied[ends] for ends in moves) if moves is not None else (begin[:0], begin[:0])
        rows = np.concatenate([np.full(len(begin), n), taken])
        columns = np.concatenate([begin, given])
        graph = coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + 1, n + 1))
        reached = np.zeros(n + 1, dtype=bool)
        reached[breadth_first_order(graph.tocsr(), n, directed=True, return_predecessors=False)] = True
        return reached[self._tied]

    def named(self, mask: np.ndarray) -> set[bytes]:
        """The paths of a mask over the log's paths."""
        return {self.log.paths[p] for p in np.flatnonzero(mask).tolist()}

    @cached_property
    def _tied(self) -> np.ndarray:
        """A number by path, equal for paths that are tied through equal contents (never through the empty)."""
        from scipy.sparse import coo_matrix  # a third of a second, which only who asks for people needs
        from scipy.sparse.csgraph import connected_components

        log = self.log
        empty = np.array([b in EMPTY for b in log.blobs] + [True])
        ties = ~empty[log.change_blob]
        n = len(log.paths)
        rows, columns = log.change_path[ties], log.change_blob[ties] + n
        size = n + len(log.blobs)
        graph = coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
        return np.unique(connected_components(graph, directed=False)[1][:n], return_inverse=True)[1]


def read_history(view: CleanView, known: Log | None = None) -> GitHistory:
    """Walk the history of the view's commit; a shallow clone's ends where its clone was cut.

    Args:
        known: what an earlier run read; only commits that it lacks are read.
    """
    listing = view.run("ls-tree", "-z", view.commit, "--", ".mailmap").split()
    mailmap = view.small(listing[2], b".mailmap") if listing[1:2] == [b"blob"] else b""
    return GitHistory(read_log(view, known), parse_mailmap(mailmap), view.shallow)


def refuse_shallow(view: CleanView) -> None:
    """Refuse a repository whose history is cut off."""
    if view.shallow:
        raise InputError(
            str(view.path),
            "is a shallow clone, so its contributors and removed files cannot be known",
            "fetch the whole history: git fetch --unshallow",
        )


def parse_mailmap(content: bytes) -> dict[str, set[str]]:
    """Casefolded commit address → the addresses that .mailmap gives for it (names are not compared)."""
    mapping: dict[str, set[str]] = defaultdict(set)
    for line in content.decode("utf-8", "replace").splitlines():
        for part in (line, line.split("#", 1)[0]):  # hosts differ on comments behind an entry
            found = [a.strip().casefold() for a in _ADDRESS.findall(part)]
            if len(found) >= 2 and not line.startswith("#"):
                mapping[found[1]].add(found[0])
    return mapping
