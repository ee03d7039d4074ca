"""The next version of a content that was looked at: it is looked at where it changed.

Nearly all versions of a file differ from the one before in a few lines. What rules see elsewhere they saw before.
What is new to them is on a changed line or, for what they look at besides, a few lines from one. Where anything is
to be seen there, or anything was there before, the version is looked at as a whole. Else it has what the one before
had, at its new place. So this decides which versions are looked at, never what a look finds. A small content
without a version before is one in which all changed and nothing was found.

What makes it safe, rule by rule:

- Of the pinned rules all but FAR's see within one line, or over blanks and at most 100 bytes or six lines
  (`tests/hush_core/secrets/detectors/test_credential_versions.py` reads that off their patterns): less than
  `changes.around` takes in. A content in which FAR sees something is looked at as a whole, as is its next version.
- Gates of our own cross no more than that, and their patterns run on the content itself, so with all around it.
- What a rule wants of the content besides (`Place.with_`) is not asked for, and where it may be asked for the next
  version is looked at as a whole. Whether it holds settings depends on its head: where that decided, a version
  whose head says something else is looked at as a whole (`Known.head`).
- What a file is that is nothing but one value is asked of each that is as small.
- A content with the head of a table (`credential_columns`) or an array of bytes (`credential_bytes`) is looked at
  as a whole.
- Values in parts reach as far as 8 KiB. Where a joint, or four lines of one word, is near a change, all of the
  content is looked at for them. So it is for variables that are put together within 4 KiB behind a change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from hush_core.corpus.changes import Change, Range, around, changed, moved
from hush_core.secrets.detectors import credential_joints, deadline
from hush_core.secrets.detectors import credential_rules as rules
from hush_core.secrets.detectors.credential_catalogues import (
    HEAD_BYTES,
    head_lines,
    is_catalogue,
    settings_like,
)
from hush_core.secrets.detectors.credential_columns import heads
from hush_core.secrets.detectors.credential_files import in_files, lined_files
from hush_core.secrets.detectors.credential_joined import WINDOW
from hush_core.secrets.detectors.credential_places import PLACES
from hush_core.secrets.matcher import Matcher

INNER = " (inner)"
"""Marks a value that is not at its place as it is: it was found inside base64, or in parts."""
FIRST_BYTES = 1 << 16
"""A larger content without a version before is looked at as a whole at once: it holds most kinds of lines."""
LINED_BYTES = 2048
"""First bytes of a content, whose lines show whether it has the form of a tool's own file."""
Row = tuple[int, int, str]


@dataclass(frozen=True)
class Known:
    """What was found in a content, from which the findings of the next version may follow.

    rows: (start, end, rule), by place. head: what the first lines say of the file, if anything depends on it.
    variables: whether variables may be put together anywhere.
    """

    rows: tuple[Row, ...] = ()
    head: tuple[bool, bool] | None = None
    variables: bool = False


def known(content: bytes, rows: Sequence[Row], gated: rules.Gated) -> Known | None:
    """What may be said once a whole content was looked at; None: its next version must be, too."""
    lines = gated.lines
    if not lines.keys().isdisjoint((rules.FAR, rules.BYTES)) or gated.lined:
        return None
    if any(rule.endswith(INNER) for _, _, rule in rows):
        return None
    if any(True for _ in heads(content, lines.get(rules.COLUMNS, []))):
        return None
    if any(True for n in _WITH for _ in in_files(content, n, lines.get(rules.PLACE + n, []), alone=True)):
        return None
    return Known(tuple(rows), _head(content) if gated.unsettled else None, rules.VARIABLES in lines)


def _head(content: bytes) -> tuple[bool, bool]:
    """Whether a file holds settings, and whether it holds texts."""
    return settings_like(content), is_catalogue(head_lines(content))


@dataclass(frozen=True)
class Nearby:
    """A version's changes, the parts around them, on which lines of these our gates see something, and whether the
    pinned rules see anything there."""

    changes: list[Change]
    parts: list[Range]
    lines: dict[int, list[rules.Line]]
    pinned: bool


APART = b"\n" + b"\x01\"\x01'\x01\n" * 20
"""Separates parts that are looked at together, which costs a tenth: no rule that crosses lines crosses it."""


def nearby(
    texts: Sequence[bytes],
    before: Sequence[int | None],
    pinned: Callable[[bytes], list[int]],
    changes_of: Sequence[list[Change] | None] | None = None,
) -> list[Nearby | None]:
    """What is to be seen near the changes of each text; None of one that is to be looked at as a whole.

    Args:
        before: the place in `texts` of the version before each.
        pinned: where in a text the pinned rules see something, placeholders included.
        changes_of: where each differs from the one before, if that is known.
    """
    found: list[Nearby | None] = []
    pieces, starts, owners, size = [], [], [], 0
    for n, (text, earlier) in enumerate(zip(texts, before, strict=True)):
        if earlier is None and len(text) > FIRST_BYTES:
            found.append(None)
            continue
        if earlier is None:
            changes = [Change(0, len(text), 0)]
        else:
            changes = changed(texts[earlier], text) if changes_of is None else changes_of[n]
        parts = around(text, changes)
        found.append(Nearby(changes, parts, {}, False))
        for first, last in parts:
            pieces += text[first:last], APART
            starts.append(size)
            owners.append((n, first, last))
            size += last - first + len(APART)
    together = b"".join(pieces)
    ends: list[dict[int, list[int]]] = [{} for _ in texts]
    for gate, end in rules.ends_in(together):
        one = bisect_right(starts, end - 1) - 1
        n, first, last = owners[one]
        ends[n].setdefault(gate, []).append(min(last, first + end - starts[one]))
    try:
        with deadline.limited(len(together)):
            seen = (
                {owners[bisect_right(starts, place) - 1][0] for place in pinned(together)}
                if pieces
                else set()
            )
    except deadline.TooSlow:  # a look at each as a whole shows in which text
        seen = set(range(len(texts)))
    return [
        one and Nearby(one.changes, one.parts, rules.lines_of(texts[n], ends[n]), n in seen)
        for n, one in enumerate(found)
    ]


def next_known(content: bytes, near: Nearby, was: Known) -> Known | None:
    """What is in a version, if nothing is to be seen near what changed; None: it is to be looked at as a whole."""
    changes, parts, lines = near.changes, near.parts, near.lines
    if not lines.keys().isdisjoint((rules.FAR, rules.BYTES)) or near.pinned:
        return None
    if was.head and changes and changes[0].start < HEAD_BYTES and was.head != _head(content):
        return None
    gated = rules.Gated(lines)
    by_rule = rules.looks(content, gated, anywhere=True)
    if any(True for found in (heads(content, lines.get(rules.COLUMNS, [])), *by_rule) for _ in found):
        return None
    if changes and changes[0].start < LINED_BYTES and lined_files(content):
        return None
    if (rules.BLOCK in lines or not rules.JOINED.keys().isdisjoint(lines)) and rules.joined_in(
        content, rules.gates_in(content, _joints())
    ):
        return None
    variables = was.variables or rules.VARIABLES in lines
    if variables:
        behind = [(last, content.find(b"\n", last + WINDOW) + 1 or len(content)) for _, last in parts]
        expressions = rules.gates_in(content, _variables(), behind)
        if expressions and rules.joined_in(content, expressions):
            return None
    rows = tuple(moved(was.rows, changes, parts))
    if len(rows) < len(was.rows):  # one was near a change, and what makes it one may be farther off
        return None
    return Known(rows, was.head or (_head(content) if gated.unsettled else None), variables)


_WITH = [n for n, place in enumerate(PLACES) if place.with_]


@cache
def _joints() -> Matcher:
    return rules.compiled([row for row in rules.gates() if row[1] in rules.JOINED])


@cache
def _variables() -> Matcher:
    return rules.compiled([(credential_joints.VARIABLES_GATE, rules.VARIABLES, 0)])


def compile_gates() -> None:
    """Every gate that a scan may ask, into the folder of `keep_in`."""
    rules.ends_in(b"")
    _joints()
    _variables()
