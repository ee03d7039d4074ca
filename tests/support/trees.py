"""What the corpus reads of a repository, for tests: trees, versions, histories, and who changed what."""

from collections import defaultdict
from pathlib import Path

from hush_core.corpus import BlobStore, CleanView, Paths, read_history
from hush_core.corpus.git.blobs import walking
from hush_core.corpus.git.history import GitHistory
from hush_core.corpus.git.tree import Tree, read_tree
from hush_core.corpus.git.versions import read_versions


def tree_of(path: Path, rev: str = "HEAD", most: int = 1 << 20) -> Tree:
    with CleanView(path, rev) as view:
        return read_tree(view, "r", most, BlobStore(), Paths())


def versions_of(path: Path, rev: str = "HEAD", most: int = 1 << 20) -> Tree:
    with CleanView(path, rev) as view, walking(view) as walk:
        return read_versions(view, "r", most, read_history(view), walk, BlobStore(), Paths())


def history_of(path: Path) -> GitHistory:
    with CleanView(path) as view:
        return read_history(view)


def files_in(tree: Tree) -> list[tuple[bytes, str, bytes]]:
    """(name in bytes, printable path, content) of every file."""
    names, places = tree.paths, zip(tree.path.tolist(), tree.blob.tolist(), strict=True)
    return [(names.raw[path], names.shown[path], tree.contents[blob]) for path, blob in places]


def texts_of(path: Path, rev: str = "HEAD", most: int = 1 << 20) -> dict[str, bytes]:
    """Printable path → content."""
    return {shown: content for _, shown, content in files_in(tree_of(path, rev, most))}


def people_of(path: Path) -> dict[bytes, set[str]]:
    """Path → everybody who ever changed it, under all their addresses."""
    history = history_of(path)
    log, people = history.log, defaultdict(set)
    for change, number in zip(log.change_commit.tolist(), log.change_path.tolist(), strict=True):
        for address in log.groups[log.group[change]]:
            people[log.paths[number]] |= {address} | history.mailmap.get(address, set())
    return dict(people)
