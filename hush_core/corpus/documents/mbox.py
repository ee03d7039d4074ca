"""Mailboxes in mbox form, one message at a time: the unit is who wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hush_core.corpus.documents.document import Document, admit
from hush_core.corpus.documents.mime import read_mail
from hush_core.corpus.documents.streams import open_stream, pieces
from hush_core.errors import InputError

MESSAGE_BYTES = 32 << 20
"""A raw message beyond this, attachments included, counts as too_large and is not held in memory."""

_PIECE = 1 << 16


def read_mbox(path: Path, place: str, max_bytes: int, skipped: Counter[str]) -> Iterator[Document]:
    """The messages of an mbox, named `message-N` from 1; text = subject and inline text/plain parts.

    Every line that begins with `From ` begins a message, as writers escape the others. If a writer did not, the
    rest of that message has no author and is left out; it is never given to someone else. A quotation of another's
    mail is part of the text, as its writer sent it.

    Counted beside what `admit` counts: `no_unit` (no From address), `several_units`, `malformed`, `attachment`
    (one a part).

    Raises:
        InputError: the file does not begin with a `From ` line, or cannot be read.
    """
    with open_stream(path, place) as stream:
        for number, raw in enumerate(_messages(pieces(stream, _PIECE), place), 1):
            document = _document(f"message-{number}", raw, max_bytes, skipped)
            if document is not None:
                yield document


def _messages(stream: Iterator[tuple[int, bool, bytes]], place: str) -> Iterator[bytes | None]:
    """Raw messages without their `From ` lines, one `>` of escaped ones taken off; None for one too large."""
    message: bytearray | None = None
    size = 0
    begun = in_line = False  # in_line: this piece continues a `From ` line
    for number, starts, piece in stream:
        if starts and piece.startswith(b"From "):
            if begun:
                yield bytes(message) if message is not None else None
            message, size, begun, in_line = bytearray(), 0, True, True
            continue
        in_line = in_line and not starts
        if not begun and piece.strip():
            raise InputError(
                f"{place}: line {number}", "does not begin with 'From ', so this is no mbox", "set format"
            )
        if not begun or in_line:
            continue
        if starts and piece.startswith(b">") and piece.lstrip(b">").startswith(b"From "):
            piece = piece[1:]
        size += len(piece)
        if size > MESSAGE_BYTES:
            message = None
        elif message is not None:
            message += piece
    if begun:
        yield bytes(message) if message is not None else None


def _document(name: str, raw: bytes | None, max_bytes: int, skipped: Counter[str]) -> Document | None:
    if raw is None:
        skipped["too_large"] += 1
        return None
    mail = read_mail(raw)
    if mail.left_out:
        skipped["attachment"] += mail.left_out
    reason = None
    if mail.malformed:
        reason = "malformed"
    elif mail.authors <= {""}:
        reason = "no_unit"
    elif len(mail.authors) > 1:
        reason = "several_units"
    if reason is not None:
        skipped[reason] += 1
        return None
    return admit(name, mail.text, next(iter(mail.authors)), max_bytes, skipped)
