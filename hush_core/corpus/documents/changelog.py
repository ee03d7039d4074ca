"""Debian and GNU ChangeLogs: one entry is one document, its author's address the unit.

Debian: `package (version) distribution; urgency=…`, an indented body, ` -- Name <address>  date`.
GNU: `YYYY-MM-DD  Name  <address>` (or a date of ctime), then an indented body.

Text under a wrong author would void that author's promise. So whatever begins in the first column ends the entry
before it, and what cannot be attributed to exactly one address is left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hush_core import linear
from hush_core.corpus.documents.columns import LABEL_LIMIT
from hush_core.corpus.documents.document import Document, admit, normal_address
from hush_core.corpus.documents.streams import open_stream, pieces
from hush_core.errors import InputError

_PIECE = 1 << 16
_HEAD = 1 << 10  # a header, trailer or section is shorter
_DEBIAN = linear.compile(rb"[A-Za-z0-9][A-Za-z0-9+.-]* \([^() \t]+\)[^;]*;")
_TRAILER = linear.compile(rb" -- ?([^<]*)<([^<>]*)>")
_SECTION = linear.compile(rb"[ \t]+\[[ \t]*([^\[\]]+?)[ \t]*\][ \t\r]*\n?")
_GNU = linear.compile(
    rb"(?:[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}"
    rb"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?[ \t]+(?:[0-9]{1,2}[ \t]+)?[A-Z][a-z]{2}[a-z]*[ \t]+[0-9])"
    rb"[^<(]*(?:[<(]|$)"
)
_CO_AUTHOR = linear.compile(rb"[ \t]+[^<>*:]*<[^<>]*@[^<>]*>[ \t\r]*\n?")
_ADDRESS = re.compile(rb"<([^<>]*)>")
_IN_BRACKETS = linear.compile(rb"\(([^()<> \t]*@[^()<> \t]*)\)")


def looks_like_changelog(line: bytes) -> bool:
    """Whether a line begins an entry, of either kind."""
    return bool(_DEBIAN.match(line[:_HEAD]) or _GNU.match(line[:_HEAD]))


@dataclass
class _Entry:
    """The entry being read. `paragraphs` are (whose section or None, lines); Debian only has sections."""

    line: int
    debian: bool
    addresses: set[str] = field(default_factory=set)
    paragraphs: list[tuple[str | None, list[bytes]]] = field(default_factory=lambda: [(None, [])])
    signer: str = ""
    size: int = 0
    begun: bool = False
    broken: bool = False

    def add(self, piece: bytes, limit: int) -> None:
        self.size += len(piece)
        if self.size <= limit:
            self.paragraphs[-1][1].append(piece)


def read_changelog(path: Path, place: str, max_bytes: int, skipped: Counter[str]) -> Iterator[Document]:
    """The entries of a ChangeLog, named `line-N` by the line of their header; texts without header and trailer.

    Counted beside what `admit` counts: `no_unit`, `several_units` (co-authors), `other_author` (one a section
    `[ Name ]` that is not the signer's), `malformed` (a Debian entry that no trailer closes), `outside`.

    Raises:
        InputError: the file has lines but no entry, or cannot be read.
    """
    entry: _Entry | None = None
    outside = found = False
    number = 0
    with open_stream(path, place) as stream:
        for number, starts, piece in pieces(stream, _PIECE):
            if starts and piece[:1] not in b" \t\r\n":
                if entry is not None and (document := _finish(entry, max_bytes, skipped)) is not None:
                    yield document
                entry = _begin(number, piece)
                if entry is None and not outside:
                    skipped["outside"] += 1
                found, outside = found or entry is not None, entry is None
            elif entry is None:
                if piece.strip() and not outside:
                    skipped["outside"] += 1
                    outside = True
            elif starts and entry.debian and (trailer := _TRAILER.match(piece[:_HEAD])):
                entry.signer, entry.addresses = _name(trailer[1]), {_address(trailer[2])}
                if (document := _finish(entry, max_bytes, skipped)) is not None:
                    yield document
                entry = None
            else:
                _continue(entry, starts, piece, max_bytes)
    if entry is not None and (document := _finish(entry, max_bytes, skipped)) is not None:
        yield document
    if number and not found:
        raise InputError(place, "has no ChangeLog entry, Debian's or GNU's", "set format to what the file is")


def _begin(number: int, piece: bytes) -> _Entry | None:
    head = piece[:_HEAD]
    if _DEBIAN.match(head):
        return _Entry(number, debian=True)
    if _GNU.match(head):
        return _Entry(number, debian=False, addresses=_named_in(head), broken=not piece.endswith(b"\n"))
    return None


def _continue(entry: _Entry, starts: bool, piece: bytes, limit: int) -> None:
    head = piece[:_HEAD] if starts else b""
    if entry.debian:
        if section := _SECTION.fullmatch(head):
            entry.paragraphs.append((_name(section[1]), []))
        entry.add(piece, limit)
        return
    if _GNU.match(head.lstrip(b" \t")):  # a back-port quotes the original author's entry
        entry.addresses |= _named_in(head)
    elif not entry.begun and _CO_AUTHOR.fullmatch(head):
        entry.addresses |= _named_in(head)
        return
    entry.begun = True
    entry.add(piece, limit)


def _finish(entry: _Entry, max_bytes: int, skipped: Counter[str]) -> Document | None:
    reason = None
    if entry.broken or (entry.debian and not entry.addresses):
        reason = "malformed"
    elif entry.addresses <= {""}:
        reason = "no_unit"
    elif len(entry.addresses) > 1:
        reason = "several_units"
    elif entry.size > max_bytes:
        reason = "too_large"
    if reason is not None:
        skipped[reason] += 1
        return None
    own = [p for who, p in entry.paragraphs if who is None or who == entry.signer]
    if others := len(entry.paragraphs) - len(own):
        skipped["other_author"] += others
    text = b"".join(line for paragraph in own for line in paragraph).strip(b"\r\n").rstrip()
    return admit(f"line-{entry.line}", text, next(iter(entry.addresses)), max_bytes, skipped)


def _named_in(head: bytes) -> set[str]:
    return set(map(_address, _ADDRESS.findall(head) or _IN_BRACKETS.findall(head)))


def _address(raw: bytes) -> str:
    """The address as a unit; "" for one that cannot be: it still counts as somebody."""
    if len(raw) > LABEL_LIMIT:
        return ""
    try:
        return normal_address(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return ""


def _name(raw: bytes) -> str:
    return " ".join(raw.decode("utf-8", "replace").casefold().split())
