"""Our own credential rules, beside the pinned ones: formats that those miss, and values that a name gives away.

Each is a gate (hyperscan: may there be a match?) and a pattern (Python's `re` on the lines where the gate says so;
bounded, within one line, so time stays linear). The formats are the issuers' own; what the rules find and miss is
measured by `benchmarks/credential_recall.py`.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import hyperscan

from hush_core.secrets.priors import ASSIGNED, ASSIGNED_PASSWORD, NEARBY, surface_bits, variety

ASSIGNED_MIN_BITS = 24.0
NEARBY_MIN_BITS = 32.0
"""A value that stands near a telling name, and is not assigned to it, must look more like a machine's."""
PASSWORD_MIN_VARIETY = 36.0
BEFORE, AFTER = 48, 24
"""Most bytes from a telling name to a value near it, where the name stands before and after it."""

_NAME = (
    rb"(?:api[_ -]{0,2}key|secret|passw(?:or)?d|passphrase|token"
    rb"|(?:private|access|encryption|signing|session|master|shared|hmac)[_ -]{0,2}key)"
)
_SIGNED = _NAME + rb"[A-Za-z0-9_.-]{0,24}[\"'\]]{0,3}[ \t]{0,4}(?:=>|:=|=|:|,)[ \t]{0,4}"
_SYMBOLS = rb"[A-Za-z0-9!@#$%^&*()+/_=~?-]"
_PLAIN = rb"[A-Za-z0-9+/_=-]"
_ASSIGNED = re.compile(
    rb"(?i)" + _SIGNED + rb"(?:[\"'`]([^\s\"'`\\]{12,256})[\"'`]"
    rb"|(" + _PLAIN + rb"{20,256})(?=[\s;,]|\Z)|(" + _SYMBOLS + rb"{12,64})(?=[ \t]{0,4}(?:\r?\n|\Z)))"
)
_ASSIGNED_GATE = _SIGNED + rb"(?:[\"'`][^\s\"'`\\]{12}|" + _SYMBOLS + rb"{12})"
_ANY_NAME = re.compile(rb"(?i)" + _NAME)
_RUN = re.compile(rb"(?<![\w+/=.-])[A-Za-z0-9+/_-]{20,128}={0,2}(?![\w+/=-])")
_RUN_GATE = rb"[^A-Za-z0-9_+/=.-][A-Za-z0-9+/_-]{20}"
_NEARBY_GATES = (
    _NAME + rb"[^\n]{0,%d}" % (BEFORE - 1) + _RUN_GATE,
    _RUN_GATE + rb"[A-Za-z0-9+/_-]{0,108}={0,2}[^\n]{1,%d}" % AFTER + _NAME,
)
_PASSWORD = re.compile(_SYMBOLS + rb"{12,64}")
_TEMPLATE = re.compile(rb"\$\(|%\(|\(\)|^[$%]|%[sdr]?$")
_DIGIT = re.compile(rb"[0-9]")
_CLASSES = (re.compile(rb"[a-z]"), re.compile(rb"[A-Z]"), re.compile(rb"[^A-Za-z0-9_-]"))

ASSIGNED_GATE, NEARBY_GATE = 1000, 1001
Line = tuple[int, int]


@dataclass(frozen=True)
class Format:
    """A published format: `body` is the value, `before` and `after` its borders; the gate is the body if empty."""

    rule: str
    body: bytes
    before: bytes = rb"(?<![A-Za-z0-9_])"
    after: bytes = rb"(?![A-Za-z0-9_])"
    gate: bytes = b""

    def pattern(self) -> re.Pattern[bytes]:
        return re.compile(self.before + rb"(" + self.body + rb")" + self.after)


_EQUALS = rb"[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?"
_DJANGO = rb"[a-z0-9!@#$%^&*()_=+-]"
_TOKEN_END = rb"(?![A-Za-z0-9_-])"
FORMATS = (
    # an id is listed with its account by AWS; those of its documentation end in EXAMPLE
    Format(
        "hush.aws-access-key-id", rb"A[KS]IA[A-Z2-7]{9}(?!EXAMPLE)[A-Z2-7]{7}", gate=rb"A[KS]IA[A-Z2-7]{16}"
    ),
    Format(
        "hush.discord-webhook",
        rb"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        after=_TOKEN_END,
    ),
    # the first part is the bot's decimal id in base64, hence its first letter
    Format(
        "hush.discord-bot-token",
        rb"[MNO][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        rb"(?<![A-Za-z0-9_.-])",
        _TOKEN_END,
    ),
    Format(
        "hush.azure-client-secret",
        rb"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        rb"(?<![A-Za-z0-9_~.-])",
        rb"(?![A-Za-z0-9_~-])",
    ),
    Format("hush.mailgun-key", rb"key-[0-9a-f]{32}", rb"(?<![A-Za-z0-9_-])"),
    Format("hush.mailchimp-api-key", rb"[0-9a-f]{32}-us[0-9]{1,2}"),
    Format("hush.telegram-bot-token", rb"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", after=_TOKEN_END),
    Format("hush.new-relic-key", rb"NRA[KL]-[A-Z0-9]{27}"),
    Format("hush.crates-io-token", rb"cio[A-Za-z0-9]{32}"),
    Format(
        "hush.django-secret-key",
        rb"(?:django-insecure-)?" + _DJANGO + rb"{50}",
        rb"(?i:secret[_-]?key)" + _EQUALS,
        rb"(?=[\"'\s]|\Z)",
        rb"(?i:secret[_-]?key)" + _EQUALS + _DJANGO + rb"{50}",
    ),
)


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

    A format counts unless one span has all of it; a value that only a name gives away, unless one overlaps it.
    """
    lines = _gated(content)
    if not lines:
        return
    held = Spans(taken)
    for number, pattern in enumerate(_patterns()):
        for first, last in lines.get(number, ()):
            for match in pattern.finditer(content, first, last):
                if not held.hold(*match.span(1)):
                    taken.append(match.span(1))
                    yield FORMATS[number].rule, *match.span(1)
    for look, number in ((assigned, ASSIGNED_GATE), (nearby, NEARBY_GATE)):
        held = Spans(taken)
        for rule, start, end in look(content, lines.get(number, ())):
            if not held.overlap(start, end):
                taken.append((start, end))
                yield rule, start, end


def assigned(content: bytes, lines: Iterable[Line]) -> Iterator[tuple[str, int, int]]:
    """Random-looking values assigned to a name such as `api_key`; what may be a person's is a password."""
    for first, last in lines:
        for match in _ASSIGNED.finditer(content, first, last):
            start, end = match.span(match.lastindex)
            value = match[match.lastindex]
            if match.lastindex < 3 and surface_bits(value) >= ASSIGNED_MIN_BITS:
                yield ASSIGNED, start, end
            elif _is_password(value):
                yield ASSIGNED_PASSWORD, start, end


def nearby(content: bytes, lines: Iterable[Line]) -> Iterator[tuple[str, int, int]]:
    """A machine's random value on one line with a telling name: "the api key is …", "… (api key)"."""
    for first, last in lines:
        for match in _RUN.finditer(content, first, last):
            start, end = match.span()
            near = _ANY_NAME.search(content, max(first, start - BEFORE), start) or _ANY_NAME.search(
                content, end, min(last, end + AFTER)
            )
            if near and _DIGIT.search(match[0]) and surface_bits(match[0]) >= NEARBY_MIN_BITS:
                yield NEARBY, start, end


def _is_password(value: bytes) -> bool:
    """A digit and two more classes of characters (joints of names are none), few in words; no template or call."""
    return bool(
        _PASSWORD.fullmatch(value)
        and _DIGIT.search(value)
        and sum(bool(kind.search(value)) for kind in _CLASSES) >= 2
        and not _TEMPLATE.search(value)
        and variety(value.decode("ascii")) >= PASSWORD_MIN_VARIETY
    )


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
def _patterns() -> tuple[re.Pattern[bytes], ...]:
    return tuple(kind.pattern() for kind in FORMATS)


@cache
def _database() -> hyperscan.Database:
    gates = [(kind.gate or kind.body, number, 0) for number, kind in enumerate(FORMATS)]
    gates.append((_ASSIGNED_GATE, ASSIGNED_GATE, hyperscan.HS_FLAG_CASELESS))
    gates += [(gate, NEARBY_GATE, hyperscan.HS_FLAG_CASELESS) for gate in _NEARBY_GATES]
    expressions, ids, flags = (list(column) for column in zip(*gates, strict=True))
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=expressions, ids=ids, elements=len(gates), flags=flags)
    return database
