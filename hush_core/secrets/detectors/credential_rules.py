"""Our own credential rules, beside the pinned ones: which lines each looks at, and in which order they speak.

Each rule is a gate (hyperscan: may there be a match?) and a pattern (Python's `re` on the lines where the gate says
so; bounded, so time stays linear). What they look for: `credential_formats` (published formats), `credential_files`
(where tools keep them), `credential_names` (random values), `credential_passwords`, `credential_joined` (values in parts).
What they find and miss is measured by `benchmarks/credential_recall.py`.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate

import hyperscan

from hush_core.secrets.detectors import credential_files, credential_joints
from hush_core.secrets.detectors.credential_files import (
    PLACES,
    alone,
    in_files,
    kubernetes,
    lined_files,
    putty,
)
from hush_core.secrets.detectors.credential_formats import FORMATS, looks_random
from hush_core.secrets.detectors.credential_joined import Joined, joined_values
from hush_core.secrets.detectors.credential_names import machine_values
from hush_core.secrets.detectors.credential_passwords import PASSWORD_GATE, passwords

Line = tuple[int, int]

_T = rb"[A-Za-z0-9_+/.~=-]"
_TURN = (
    rb"(?:[0-9][A-Za-z][0-9]|[A-Za-z][0-9][A-Za-z]|[a-z][A-Z][A-Z0-9]|[A-Z][A-Z][a-z][A-Z]|[A-Z][a-z][A-Z])"
)
RANDOM_GATE = _TURN + _T + rb"{0,24}" + _TURN + _T + rb"{0,24}(?:[^A-Za-z0-9_+/.~=-]|\z)"
"""Kinds of characters that change to and fro, twice in the last fifty characters of a run; seldom in names."""

RANDOM, PASSWORD, KUBERNETES, PUTTY = 2000, 2001, 2002, 2003
PLACE = 3000
JOINED = {4000: "joint", 4001: "list", 4002: "continued", 4003: "folded", 4004: "variables"}


class Spans:
    """Parts of a content."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._reach = list(accumulate((end for _, end in self._spans), max))

    def overlap(self, start: int, end: int) -> bool:
        """Whether one shares a byte with [start, end)."""
        before = bisect_left(self._spans, (end, 0))
        return before > 0 and self._reach[before - 1] > start

    def hold(self, start: int, end: int) -> bool:
        """Whether one has all of [start, end)."""
        before = bisect_left(self._spans, (start + 1, 0))
        return before > 0 and self._reach[before - 1] >= end


def own_findings(content: bytes, taken: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of what our rules see and the pinned ones do not: `taken` are those's spans.

    A finding counts unless one that was made before has all of it.
    """
    return _plain(content, taken, _gated(content))


def all_findings(
    content: bytes, taken: list[tuple[int, int]]
) -> tuple[list[tuple[str, int, int]], list[Joined]]:
    """`own_findings`, and the values that stand in parts."""
    lines = _gated(content)
    gates = {name: lines[number] for number, name in JOINED.items() if number in lines}
    joined = list(joined_values(content, gates, lambda text: own_findings(text, []))) if gates else []
    return list(_plain(content, taken, lines)), joined


def _plain(
    content: bytes, taken: list[tuple[int, int]], lines: dict[int, list[Line]]
) -> Iterator[tuple[str, int, int]]:
    seen = set()
    for found in (
        _formats(content, lines),
        *(in_files(content, n, lines[PLACE + n]) for n in range(len(PLACES)) if PLACE + n in lines),
        *(in_files(content, n, [(0, len(content))]) for n in lined_files(content)),
        kubernetes(content) if KUBERNETES in lines else (),
        putty(content) if PUTTY in lines else (),
        machine_values(content, lines.get(RANDOM, [])),
        passwords(content, lines.get(PASSWORD, [])),
        alone(content) if len(content) <= 640 else (),
    ):
        held = Spans(taken)
        for rule, start, end in found:
            if not held.hold(start, end) and (start, end) not in seen:
                seen.add((start, end))
                taken.append((start, end))
                yield rule, start, end


def _formats(content: bytes, lines: dict[int, list[Line]]) -> Iterator[tuple[str, int, int]]:
    for number in sorted(n for n in lines if n < len(FORMATS)):
        kind, pattern = FORMATS[number], _pattern(number)
        for first, last in lines[number]:
            for match in pattern.finditer(content, first, last):
                if looks_random(kind, match):
                    yield kind.rule, *match.span(1)


_THREAD = threading.local()


def _gated(content: bytes) -> dict[int, list[Line]]:
    """By gate, the lines on which it sees something."""
    ends: dict[int, list[int]] = {}
    if not hasattr(_THREAD, "scratch"):  # hyperscan refuses two scans at once in one
        _THREAD.scratch = hyperscan.Scratch(_database())
    _database().scan(
        content,
        match_event_handler=lambda gate, _from, end, _flags, _context: ends.setdefault(gate, []).append(end),
        scratch=_THREAD.scratch,
    )
    return {gate: list(_lines(content, places)) for gate, places in ends.items()}


def _lines(content: bytes, places: list[int]) -> Iterator[Line]:
    at = 0
    for end in sorted(places):
        if end > at:
            first = content.rfind(b"\n", 0, end - 1) + 1
            at = content.find(b"\n", end - 1) + 1 or len(content)
            yield first, at


@cache
def _pattern(number: int) -> re.Pattern[bytes]:
    return FORMATS[number].pattern()


@cache
def _database() -> hyperscan.Database:
    caseless, lines = hyperscan.HS_FLAG_CASELESS, hyperscan.HS_FLAG_MULTILINE
    gates = [(kind.gate or kind.body, number, 0) for number, kind in enumerate(FORMATS)]
    gates += [
        (RANDOM_GATE, RANDOM, 0),
        (PASSWORD_GATE, PASSWORD, caseless),
        (credential_files.KUBERNETES_GATE, KUBERNETES, 0),
        (credential_files.PUTTY_GATE, PUTTY, lines),
        *((place.gate, PLACE + n, lines) for n, place in enumerate(PLACES) if not place.lined),
        *zip(
            (
                credential_joints.JOINT_GATE, credential_joints.LIST_GATE, credential_joints.CONTINUED_GATE,
                credential_joints.FOLDED_GATE, credential_joints.VARIABLES_GATE,
            ),
            JOINED, (0,) * len(JOINED), strict=True,
        ),
    ]  # fmt: skip
    expressions, ids, flags = (list(column) for column in zip(*gates, strict=True))
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    # long bounds are slow to compile; a gate without them opens oftener, never less often
    expressions = [re.sub(rb"\{([0-9]+),(?:[3-9][0-9]|[0-9]{3,})\}", rb"{\1,}", e) for e in expressions]
    database.compile(expressions=expressions, ids=ids, elements=len(gates), flags=flags)
    return database
