"""Detector `contributors`: files that one of the people ever changed, in any repository of the job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hush_core.corpus.history import Contributors
from hush_core.corpus.tree import Tree


def contributed(
    trees: Sequence[Tree], histories: Sequence[Contributors], emails: Iterable[str]
) -> list[set[int]]:
    """For each tree the indices of its files that hold work of people whose address matches a glob.

    By path within a repository (renames and copies included), and by blob across all of them.
    """
    emails = tuple(emails)
    touched = [history.touched(emails) for history in histories]
    blobs = set().union(*(b for _, b in touched)) if touched else set()
    return [
        {i for i, file in enumerate(tree.files) if file.raw in paths or file.blob in blobs}
        for tree, (paths, _) in zip(trees, touched, strict=True)
    ]
