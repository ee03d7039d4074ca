"""Values written in parts: literals that are concatenated, wrapped, appended or held in two variables.

The parts are put together as the language would, the other rules look at the whole, and all bytes from its first
part to its last are labelled. Time is linear: a literal is looked at once, and only lines with a joint are.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from hush_core import linear
from hush_core.secrets.detectors import credential_joints as joints
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import KEPT, MOST
from hush_core.secrets.detectors.credential_randomness import surprise
from hush_core.secrets.detectors.credential_values import PRIVATE_KEY, Detection
from hush_core.secrets.detectors.credential_words import verdict

Line = tuple[int, int]
Find = Callable[[bytes], Iterable[tuple[str, int, int]]]

MAX_PARTS, MAX_JOINED = 512, 8192
WINDOW = 4096
"""How far before (and after) an expression its variables are looked for, in bytes."""


@dataclass(frozen=True)
class Joined:
    """A value in parts; `places` are (start, end) of what is to be labelled."""

    rule: str
    value: bytes
    places: tuple[tuple[int, int], ...]


def whole_values(found: set[Detection], parts: Iterable[Joined]) -> set[Detection]:
    """Each value in parts in place of what is inside it: a part is no value of its own, but a weaker one."""
    start_of = attrgetter("start")
    rows = sorted(found, key=start_of)
    for joined in parts:
        for first, last in joined.places:
            low, high = (bisect_left(rows, at, key=start_of) for at in (first, last))
            rows[low:high] = [d for d in rows[low:high] if d.rule == PRIVATE_KEY or d.end > last]
        for start, end in joined.places:
            insort(rows, Detection(joined.rule, joined.value, start, end, False), key=start_of)
    return set(rows)


def joined_values(content: bytes, gates: dict[str, list[Line]], find: Find) -> Iterator[Joined]:
    """Values in parts, on the lines (by kind) that the gates name."""
    if lines := gates.get("joint") or []:
        yield from _chains(content, lines, find, lists=False)
    if lines := gates.get("list") or []:
        yield from _chains(content, lines, find, lists=True)
    at = 0
    for first, last in gates.get("continued", ()):
        above = content.rfind(b"\n", 0, max(0, first - 1)) + 1
        for match in joints.CONTINUED.finditer(content, max(at, above), min(len(content), last + MAX_JOINED)):
            at = match.end()
            pieces = [m.span() for m in _PIECE.finditer(content, *match.span())]
            yield from _look(content, match.start(), pieces, find)
    at = 0
    for first, last in gates.get("folded", ()):
        above = first  # the gate names the last line of three
        for _ in range(3):
            above = content.rfind(b"\n", 0, max(0, above - 1)) + 1
        for opening in (joints.FOLDED, joints.OPENED):
            for match in opening.finditer(content, max(at, above), last):
                pieces = _block(content, match.end())
                at = max(at, pieces[-1][1] if pieces else match.end())
                if len(pieces) > 1:
                    before = match[0].strip()[-120:].rstrip(b"|>+-\\ \r\n\"'`(<")
                    yield from _look(content, match.end(), pieces, find, before=before)
    for first, last in gates.get("variables", ()):
        for match in joints.EXPRESSION.finditer(content, first, last):
            pieces = _held(content, match)
            if len(pieces) > 1:
                before = content[first : match.start() + 1]
                yield from _look(content, match.start(), pieces, find, before=before, apart=True)


def _chains(content: bytes, lines: Iterable[Line], find: Find, *, lists: bool) -> Iterator[Joined]:
    at = 0
    for first, last in lines:
        back = content.rfind(b"\n", 0, max(0, first - 1)) + 1  # the gate names the last line of a joint
        at = max(at, back if last - back < WINDOW else first)
        while at < last:
            deadline.check()
            literal = joints.LITERAL.search(content, at, min(len(content), last))
            if literal is None:
                break
            pieces, end = [literal.span(literal.lastindex or 1)], literal.end()
            glue = joints.COMMA if lists and _listed(content, literal.start()) else joints.GLUE
            while len(pieces) < MAX_PARTS:
                more = _next(content, end, glue)
                if more is None:
                    break
                pieces.append(more[0])
                end = more[1]
            at = max(end, at + 1)
            if len(pieces) > 1:
                pieces = [
                    p for p in pieces if not (lists and joints.PATTERN_ONLY.fullmatch(content[p[0] : p[1]]))
                ]
                yield from _look(content, literal.start(), pieces, find)


def _next(content: bytes, end: int, glue: linear.Linear) -> tuple[tuple[int, int], int] | None:
    """(span of the next literal's text, its end)."""
    if glue is joints.GLUE and joints.NO_GLUE.match(content, end):
        return None
    joint = glue.match(content, end, end + 400)
    if joint and (joint[1] is None or joint[1] == joint[2]) if glue is joints.GLUE else joint:
        literal = joints.LITERAL.match(content, joint.end())
        return (literal.span(literal.lastindex or 1), literal.end()) if literal else None
    shell = joints.SHELL.match(content, end, end + 200)
    if shell and content.startswith(shell[1], shell.end()):
        begin = shell.end() + len(shell[1])
        begin += content[begin : begin + 1] == b"}"
        close = content.find(shell[2], begin, begin + 400)
        if close >= 0:
            return (begin, close), close + 1
    return None


def _listed(content: bytes, start: int) -> bool:
    """Whether literals with commas between are joined: a word says so before them, or a telling name holds them."""
    before = content[max(0, start - 80) : start]
    if joints.JOINER_AFTER.match(content, start) or joints.JOINER.search(before):
        return True
    end = content.find(b"]", start, start + WINDOW)
    if end >= 0 and joints.JOINED_AFTER.match(content, end):
        return True
    return bool(verdict(before)) and before.rstrip()[-1:] in (b"[", b"(", b"{")


def _look(
    content: bytes,
    start: int,
    pieces: list[tuple[int, int]],
    find: Find,
    *,
    before: bytes | None = None,
    apart: bool = False,
) -> Iterator[Joined]:
    """What the rules see in the parts as one, if it spans more than one of them."""
    deadline.check()
    parts = tuple([content[a:b] for a, b in pieces])
    text = b"".join(parts)
    promising = _promising if len(text) <= MOST else _promising.__wrapped__
    if not 8 <= len(text) <= MAX_JOINED or not promising(parts, text):
        return
    if before is None:
        before = content[max(0, start - 120) : start].rpartition(b"\n")[2]
        if not before.strip(b" \t([{'\"`brfuBRFUL@$"):
            above = content[max(0, start - 240) : start - len(before)].rstrip()
            before = above.rpartition(b"\n")[2][-120:] + b" "
    before = before.replace(b"\n", b" ").rstrip(b"\"'` brfu(")
    if before[-1:] not in (b"=", b":", b">", b","):
        before += b" = "
    head = before + b'"'
    places, at = [], len(head)
    for (a, _), part in zip(pieces, parts, strict=True):
        places.append((at, at + len(part), a))
        at += len(part)
    for rule, first, last in find(head + text + b'"\n'):
        covered = [
            (max(first, s) - s + a, min(last, e) - s + a) for s, e, a in places if s < last and e > first
        ]
        if len(covered) > 1:
            spans = tuple(covered) if apart else ((covered[0][0], covered[-1][1]),)
            yield Joined(rule, text[max(0, first - len(head)) : last - len(head)], spans)


_BLANK = re.compile(rb"\s")
_ESCAPED_END = re.compile(rb"\\[nrt]\Z")


@lru_cache(KEPT // 2)
def _promising(parts: tuple[bytes, ...], text: bytes) -> bool:
    """Whether a word that spans a joint may be a value: long, with a digit or a symbol, and no prose."""
    if len(text) > 12 and not _BLANK.search(text):
        return re.search(rb"[0-9!@#$%^&*]", text) is not None or surprise(text) >= 5.5
    for left, right in itertools.pairwise(parts):
        word = re.search(rb"\S*\Z", left)[0] + re.match(rb"\S*", right)[0]
        long = len(word) >= 12 and not _ESCAPED_END.search(left)
        if long and re.search(rb"[0-9]", word) and surprise(word) >= 4.5:
            return True
    return False


_PIECE = linear.compile(rb"[^\\ \t\r\n]+")
"""A piece of a run that is continued on the next line."""


_BLOCK_LINE = linear.compile(
    rb"[ \t]*[\"']?([A-Za-z0-9+/_=.~!@$%^&*:-]{4,512})[\"'`]{0,3}[)\\;,]?[ \t]*\r?(?:\n|\Z)"
)


def _block(content: bytes, at: int) -> list[tuple[int, int]]:
    """The lines after an opening that hold one word each."""
    pieces = []
    while len(pieces) < 200:
        match = _BLOCK_LINE.match(content, at, at + 800)
        if not match or content[match.start(1) : match.end(1)].endswith(b":"):
            break
        pieces.append(match.span(1))
        at = match.end()
        if content[match.end(1) : match.end()].strip(b" \t\r\n\\"):
            break
    return pieces


def _held(content: bytes, match: re.Match[bytes]) -> list[tuple[int, int]]:
    """Where the literals are that the variables of an expression hold; empty if one is not found."""
    pieces = []
    low = max(0, match.start() - WINDOW)
    for name in joints.NAMES.findall(match[1]):
        name = name.rpartition(b".")[2]
        at = match.start()
        for _ in range(8):
            at = content.rfind(name, low, at)
            if at < 0:
                return []
            held = joints.ASSIGNED.match(content, at + len(name), at + len(name) + 600)
            if held and not content[at - 1 : at].isalnum():
                pieces.append(held.span(held.lastindex or 1))
                break
        else:
            return []
    return pieces
