"""Our own credential rules, beside the pinned ones: which lines each looks at, and in which order they speak.

Each rule is a gate (hyperscan: may there be a match?) and a pattern (Python's `re` on the lines where the gate says
so; bounded, so time stays linear). What they look for: `credential_formats` (published formats), `credential_files`
(where tools keep them), `credential_names` (random values), `credential_passwords`, `credential_joined` (values in parts).
What they find and miss is measured by `lab/benchmarks/credential_recall.py`.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path

import hyperscan

from hush_core.secrets.detectors import credential_files, credential_joints, deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_bytes import BYTES_GATE, key_alone, key_bytes
from hush_core.secrets.detectors.credential_columns import COLUMNS_GATE, in_columns
from hush_core.secrets.detectors.credential_decoded import DECODED_GATE, decoded
from hush_core.secrets.detectors.credential_files import (
    alone,
    in_files,
    kubernetes,
    lined_files,
    putty,
)
from hush_core.secrets.detectors.credential_formats import FORMATS, looks_random
from hush_core.secrets.detectors.credential_joined import Joined, joined_values
from hush_core.secrets.detectors.credential_names import MAX_VALUE, machine_values
from hush_core.secrets.detectors.credential_near import NEAR_GATE, near_names
from hush_core.secrets.detectors.credential_passwords import LOCAL_GATE, PASSWORD_GATE, passwords
from hush_core.secrets.detectors.credential_places import PLACES
from hush_core.secrets.kept import keep, kept
from hush_core.secrets.matcher import Matcher

Line = tuple[int, int]

_T = rb"[A-Za-z0-9_+/.~=-]"
_TURN = (
    rb"(?:[0-9][A-Za-z][0-9]|[A-Za-z][0-9][A-Za-z]|[a-z][A-Z][A-Z0-9]|[A-Z][A-Z][a-z][A-Z]|[A-Z][a-z][A-Z])"
)
RANDOM_GATE = _TURN + _T + rb"{0,24}" + _TURN + _T + rb"{0,24}(?:[^A-Za-z0-9_+/.~=-]|\z)"
"""Kinds of characters that change to and fro, twice in the last fifty characters of a run; seldom in names."""

RANDOM, PASSWORD, KUBERNETES, PUTTY, NEAR, COLUMNS, DECODED, BYTES = range(2000, 2008)
BLOCK, FAR = 5000, 5001
"""Gates without a rule, which tell how the next version may be looked at (`credential_versions`)."""
_C = rb"[A-Za-z0-9+/_=.~!@$%^&*:-]+"
_WORD = rb"[ \t]*[\"'`]?" + _C + rb"[\"'`]{0,3}[)\\;,]?[ \t]*\r?\n"
_STRINGS = rb"(?:[ \t]*[\"'`]" + _C + rb"[\"'`][ \t]*,)+[ \t]*\r?\n"
FAR_GATE = rb"(?:-----BEGIN|auth_provider_x509|\"refresh_token\"|(?i:kind[\"']?:[ \t]*[\"']?secret)|codecatalyst|Private-Lines|ZXlK|MI(?:[I-L][A-Za-z0-9+/]{2}[DTjz]C[BC]|[E-H][A-Za-z0-9+/]MI))"
"""What is in all that the rules for private keys, service accounts, manifests, certificates without armour and other
kinds of files see."""
PLACE = 3000
ALONE_BYTES = 640
VARIABLES = 4004
JOINED = {4000: "joint", 4001: "list", 4002: "continued", 4003: "folded", VARIABLES: "variables"}


def own_findings(content: bytes, taken: Sequence[Line] = ()) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of what our rules see and the pinned ones do not: `taken` are those's spans.

    A finding counts unless one that was made before has all of it.
    """
    return _plain(content, taken, Gated(gates_in(content), list(lined_files(content))))


@dataclass
class Gated:
    """What the gates saw in a content.

    lines: by gate. lined: the places (by number) whose form its first lines have. unsettled: places of
    values that count only if the content's head is one of a settings file, or of no catalogue of texts.
    """

    lines: dict[int, list[Line]]
    lined: list[int] = field(default_factory=list)
    unsettled: list[int] = field(default_factory=list)


def all_findings(
    content: bytes, taken: Sequence[Line]
) -> tuple[list[tuple[str, int, int]], list[Joined], Gated]:
    """`own_findings`, the values that are in parts, and what the gates saw."""
    gated = Gated(gates_in(content), list(lined_files(content)))
    plain = list(_plain(content, taken, gated))
    return plain, joined_in(content, gated.lines), gated


def joined_in(content: bytes, lines: dict[int, list[Line]]) -> list[Joined]:
    found = {name: lines[number] for number, name in JOINED.items() if number in lines}
    return list(joined_values(content, found, lambda text: by_line(own_findings, text))) if found else []


def looks(
    content: bytes, gated: Gated, *, anywhere: bool = False
) -> Iterator[Iterable[tuple[str, int, int]]]:
    """What each rule finds, rule by rule. anywhere: also what counts only if the content holds something besides
    (`Place.with_`)."""
    lines = gated.lines
    yield formats(content, lines)
    yield key_bytes(content, lines.get(BYTES, []))
    for n in range(len(PLACES)):
        if PLACE + n in lines:
            yield in_files(content, n, lines[PLACE + n], alone=anywhere)
    for n in gated.lined:
        yield in_files(content, n, [(0, len(content))])
    yield kubernetes(content) if KUBERNETES in lines else ()
    yield putty(content) if PUTTY in lines else ()
    yield machine_values(content, lines.get(RANDOM, []))
    yield passwords(content, lines.get(PASSWORD, []), gated.unsettled)
    yield near_names(content, lines.get(NEAR, []))
    yield in_columns(content, lines.get(COLUMNS, []))
    yield decoded(content, lines.get(DECODED, []), rules_within)
    yield (*alone(content), *key_alone(content)) if len(content) <= ALONE_BYTES else ()


def _plain(content: bytes, taken: Sequence[Line], gated: Gated) -> Iterator[tuple[str, int, int]]:
    spans, seen = list(taken), set()
    for found in looks(content, gated):
        deadline.check()
        spans.sort()
        begins, reach = spans.copy(), list(accumulate((end for _, end in spans), max))
        for rule, start, end in found:
            before = bisect_left(begins, (start + 1, 0))
            held = before > 0 and reach[before - 1] >= end  # one of those before has all of it
            if not held and (start, end) not in seen:
                seen.add((start, end))
                spans.append((start, end))
                yield rule, start, end


def rules_within(text: bytes) -> Iterator[tuple[str, int, int]]:
    """What the rules see in decoded text, which is not decoded again here."""
    lines = gates_in(text)
    lines.pop(DECODED, None)
    return _plain(text, [], Gated(lines))


def formats(content: bytes, lines: dict[int, list[Line]]) -> Iterator[tuple[str, int, int]]:
    for number in sorted(n for n in lines if n < len(FORMATS)):
        for first, last in lines[number]:
            deadline.check()
            for start, end in by_line(_of_format(number), content[first:last]):
                yield FORMATS[number].rule, first + start, first + end


@cache
def _of_format(number: int) -> Callable[[bytes], list[tuple[int, int]]]:
    """Where values of a format are on a line."""
    kind, pattern = FORMATS[number], FORMATS[number].pattern()

    def look(line: bytes) -> list[tuple[int, int]]:
        found = (match for match in pattern.finditer(line) if len(match[1]) <= MAX_VALUE)
        return [match.span(1) for match in found if looks_random(kind, match)]

    return look


def ends_in(text: bytes) -> list[tuple[int, int]]:
    """(gate, end of what it sees), in no particular order."""
    return _all_gates()(text)


def gates_in(
    content: bytes,
    seen: Callable[[bytes], list[tuple[int, int]]] = ends_in,
    parts: Sequence[Line] | None = None,
) -> dict[int, list[Line]]:
    """By gate, the lines of a content, or of these parts of it (whole lines), on which it sees something."""
    ends: dict[int, list[int]] = defaultdict(list)
    for first, last in [(0, len(content))] if parts is None else parts:
        for gate, end in seen(content[first:last]):
            ends[gate].append(first + end)
    return lines_of(content, ends)


def lines_of(content: bytes, ends: Mapping[int, Sequence[int]]) -> dict[int, list[Line]]:
    """By gate, the lines on which it saw something."""
    return {gate: list(_lines(content, places)) for gate, places in ends.items()}


def _lines(content: bytes, places: Sequence[int]) -> Iterator[Line]:
    at = 0
    for end in sorted(places):
        if end > at:
            first = content.rfind(b"\n", 0, end - 1) + 1
            at = content.find(b"\n", end - 1) + 1 or len(content)
            yield first, at


@cache
def _all_gates() -> Matcher:
    return compiled(gates())


def gates() -> list[tuple[bytes, int, int]]:
    """(expression, number, flags) of each."""
    caseless, lines = hyperscan.HS_FLAG_CASELESS, hyperscan.HS_FLAG_MULTILINE
    rows = [(kind.gate or kind.body, number, 0) for number, kind in enumerate(FORMATS)]
    rows += [
        (RANDOM_GATE, RANDOM, 0),
        (PASSWORD_GATE, PASSWORD, caseless),
        (LOCAL_GATE, PASSWORD, caseless),
        (NEAR_GATE, NEAR, caseless),
        (COLUMNS_GATE, COLUMNS, caseless | lines),
        (DECODED_GATE, DECODED, 0),
        (BYTES_GATE, BYTES, caseless),
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
        (rb"\n(?:" + _WORD * 4 + rb"|" + _STRINGS * 4 + rb")", BLOCK, 0),
        (FAR_GATE, FAR, 0),
    ]  # fmt: skip
    return rows


def compiled(rows: list[tuple[bytes, int, int]]) -> Matcher:
    """Rows of (expression, number, flags) as one database, out of the folder of `keep_in` where it has it."""
    # long bounds are slow to compile; a gate without them opens oftener, never less often
    rows = [
        (re.sub(rb"\{([0-9]+),(?:[3-9][0-9]|[0-9]{3,})\}", rb"{\1,}", e), n, flags) for e, n, flags in rows
    ]
    name = f"{_name(rows)}.hsdb"
    if (data := kept(name)) is not None:
        with contextlib.suppress(hyperscan.error):
            return Matcher(hyperscan.loadb(data, _MODE))
    matcher = Matcher.of(*zip(*rows, strict=True))
    keep(name, hyperscan.dumpb(matcher.database))
    return matcher


_MODE = hyperscan.HS_MODE_BLOCK


def _name(rows: list[tuple[bytes, int, int]]) -> str:
    """Of the rows as they are compiled, the mode, and the library and the processor that they are compiled by and
    for."""
    made = f"{_MODE} {version('hyperscan')} {_processor()}".encode()
    return hashlib.sha256(repr(rows).encode() + made).hexdigest()[:32]


def compiled_for() -> str:
    """A short name of what compiled rules are good for: both libraries and the processor."""
    made = f"{version('kingfisher-secret-scanner')} {version('hyperscan')} {_processor()}"
    return hashlib.sha256(made.encode()).hexdigest()[:16]


@cache
def _processor() -> str:
    """What hyperscan compiles for: the kind of processor, and what it can do."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        return platform.machine() + next((line for line in lines if line.startswith("flags")), "")
    return platform.machine()
