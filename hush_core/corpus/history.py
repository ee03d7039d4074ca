"""Who ever changed which file, over the whole history of a revision, merges included.

`git log` without `-c` is silent about what exists only in merges; with it nothing is missed, at the same cost
(`docs/design/extraction.md`, finding 1). People are e-mail addresses: author, committer and Co-authored-by
trailers, as written and as .mailmap maps them, casefolded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from hush_core.corpus.clean_view import CleanView
from hush_core.errors import InputError

_TRAILER = re.compile(r"(?im)^[ \t>]*co[- ]?authored[- ]?by[ \t]*:(.*)$")
_IN_TRAILER = re.compile(r"[^\s<>,;]+@[^\s<>,;]+")
_ADDRESS = re.compile(r"<([^<>]*)>")
_EMPTY = frozenset(
    (
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    )
)  # the empty file: having it in common says nothing about where a file came from
_COMMIT = re.compile(rb"^[0-9a-f]{40,64}$")
_FIELDS = "%H%x00%ae%x00%aE%x00%ce%x00%cE%x00%B%x00"


@dataclass
class Contributors:
    """Changes by path and by blob: who made them, and how files hang together through equal content."""

    people_of_path: dict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))
    people_of_blob: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    held_by_path: dict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))
    paths_of_blob: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    commits: int = 0

    def touched(self, emails: Iterable[str]) -> tuple[set[bytes], set[str]]:
        """The paths and the blobs that hold work of people whose address matches one of the globs.

        Paths that ever held the same content (a rename, a copy) share their people, and so on through chains
        of them; a blob is matched wherever it stands. Errs on the side of more.
        """
        globs = [e.casefold() for e in emails]
        every = set().union(*self.people_of_path.values()) if self.people_of_path else set()
        people = {p for p in every if any(fnmatchcase(p, g) for g in globs)}
        paths = {path for path, who in self.people_of_path.items() if not who.isdisjoint(people)}
        blobs = {blob for blob, who in self.people_of_blob.items() if not who.isdisjoint(people)}
        pending, followed = list(paths), set()
        while pending:
            for blob in self.held_by_path.get(pending.pop(), set()) - followed:
                followed.add(blob)
                new = self.paths_of_blob[blob] - paths
                paths |= new
                pending.extend(new)
        return paths, blobs


def read_contributors(view: CleanView, mailmap: bytes = b"") -> Contributors:
    """Walk the whole history of the view's commit; `mailmap` is the content of its .mailmap.

    Raises:
        InputError: a shallow clone, or objects missing: who wrote what cannot be known there.
    """
    if view.shallow:
        raise InputError(
            str(view.path),
            "is a shallow clone, so its contributors cannot be known",
            "fetch the whole history: git fetch --unshallow",
        )
    mapping = parse_mailmap(mailmap)
    result = Contributors()
    people: set[str] = set()
    tokens = _tokens(view)
    for token in tokens:
        token = token.lstrip(b"\n")
        if not token:
            continue
        if token.startswith(b":"):
            path = next(tokens)
            blob = _blob_after(token)
            result.people_of_path[path] |= people
            if blob is not None and blob not in _EMPTY:
                result.people_of_blob[blob] |= people
                result.held_by_path[path].add(blob)
                result.paths_of_blob[blob].add(path)
            continue
        if not _COMMIT.match(token):
            raise view.damaged()
        *addresses, message = (next(tokens).decode("utf-8", "replace") for _ in range(5))
        addresses += [a for line in _TRAILER.findall(message) for a in _IN_TRAILER.findall(line)]
        people = {a for address in addresses for a in _known_as(address, mapping)}
        result.commits += 1
    return result


def parse_mailmap(content: bytes) -> dict[str, set[str]]:
    """Casefolded commit address → the addresses that .mailmap gives for it (names are not compared)."""
    mapping: dict[str, set[str]] = defaultdict(set)
    for line in content.decode("utf-8", "replace").splitlines():
        found = [a.strip().casefold() for a in _ADDRESS.findall(line.split("#", 1)[0])]
        if len(found) >= 2:
            mapping[found[1]].add(found[0])
    return mapping


def _known_as(address: str, mapping: dict[str, set[str]]) -> set[str]:
    folded = address.strip().casefold()
    return {folded} | mapping.get(folded, set())


def _blob_after(entry: bytes) -> str | None:
    """The blob that a raw entry leaves behind (`:modes ids status`), if any."""
    parents = len(entry) - len(entry.lstrip(b":"))
    words = entry[parents:].decode("ascii", "replace").split()
    mode, blob = words[parents], words[2 * parents + 1]
    return None if mode in ("000000", "160000") else blob


def _tokens(view: CleanView) -> Iterator[bytes]:
    pieces = view.stream(
        "-c",
        f"mailmap.blob={view.commit}:.mailmap",
        "-c",
        "i18n.logOutputEncoding=UTF-8",
        "log",
        "-c",
        "--raw",
        "-z",
        "--root",
        "--no-renames",
        "--no-abbrev",
        "--no-ext-diff",
        "--no-textconv",
        f"--format={_FIELDS}",
        view.commit,
        "--",
    )
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole
    if rest:
        yield rest
