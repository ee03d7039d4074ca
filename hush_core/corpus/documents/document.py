"""One document of a text table, and the reasons for which a row gives none."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hush_core.corpus.git.blobs import SKIP_REASONS, unreadable

DOCUMENT_SKIP_REASONS = (
    *SKIP_REASONS, "null_text", "empty", "no_unit", "several_units", "other_author", "attachment", "malformed",
    "outside",
)  # fmt: skip
"""Why something in a table is neither scanned nor trained on; each counts once for

- a row, message or entry: SKIP_REASONS, `null_text`, `empty`, `no_unit` (nobody to protect is named),
  `several_units` (more than one is), `malformed`;
- a part of a document that is read without it: `attachment` (every part of a mail that is not inline
  text/plain), `other_author` (a paragraph under `[ Name ]` of a Debian entry that someone else signed);
- a block of lines that belongs to no ChangeLog entry: `outside`.
"""


@dataclass(frozen=True)
class Document:
    """One row, message or entry: a training text before it is cut into chunks.

    Attributes:
        name: printable, unique in its table: the id, or the row's number; never the text.
        text: UTF-8, no NUL, 1 to `max_bytes` bytes.
        unit: whose it is. All documents of one unit hold the same secret. None only for a table of columns without
            `unit`. Private, so the repr does not show it.
        completions: ranges [start, end) of bytes that the assistant says; empty if unknown.
    """

    name: str
    text: bytes = field(repr=False)
    unit: str | None = field(repr=False)
    completions: tuple[tuple[int, int], ...] = ()


def admit(
    name: str,
    text: str | bytes,
    unit: str | None,
    max_bytes: int,
    skipped: Counter[str],
    completions: Sequence[tuple[int, int]] = (),
) -> Document | None:
    """The document, or None and one more count under the reason why it cannot be used.

    completions: ranges of a string's characters.
    """
    try:
        content = text.encode("utf-8") if isinstance(text, str) else text
    except UnicodeEncodeError:  # half a surrogate pair, from a JSON escape
        skipped["undecodable"] += 1
        return None
    reason = "empty" if not content else "too_large" if len(content) > max_bytes else unreadable(content)
    if reason is not None:
        skipped[reason] += 1
        return None
    ends = (tuple(len(text[:place].encode("utf-8")) for place in pair) for pair in completions)
    return Document(name, content, unit, tuple(ends))


def normal_unit(value: str) -> str:
    """One spelling of a unit: NFC, no space around. Two units taken for one is safe; one split in two is not."""
    return unicodedata.normalize("NFC", value).strip()


def normal_address(value: str) -> str:
    """One spelling of an e-mail address: also casefolded, on both sides of the @."""
    return normal_unit(value.casefold())
