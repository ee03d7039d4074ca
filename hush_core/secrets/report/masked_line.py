"""The line of a file that holds a value, with the value masked, for a person who decides on it in a terminal.

The whole value is hidden, and with it whatever may be the rest of it. Where that is in doubt, nothing is shown.
"""

import re
from collections.abc import Sequence

from hush_core import linear
from hush_core.secrets.detectors.credential_values import Detection
from hush_core.secrets.propagation.value_search import MIN_DECODED, SearchTerm, ValueSearch

MASK = "••••••••"
"""Of one length, whatever the value's is."""
MOST_BEFORE, MOST_AFTER = 80, 60
_QUOTES = (b'"', b"'", b"`")
_QUOTED = re.compile(rb"[\"'`]")
_STATED = linear.compile(rb"(?:^|[=:(,>@/\[{;|]|\b(?:[Bb]earer|[Bb]asic|[Tt]oken)\s)\s*\Z")
"""What is directly before a value without quotation marks; behind a word it may be the value's second."""
_JOINED = linear.compile(rb"[\"'`]\s*[-+.&|\\]*\s*\w?\Z")
"""A text before the opening quotation mark, to which this one is joined."""
_PLAIN = re.compile(rb"[\w\s\"'`=:,.()\[\]{}<>@/$|;*#!?-]*")
_WORD = re.compile(rb"[a-z]{1,20}|[A-Z]{1,20}|[A-Z]?[a-z]{1,20}(?:[A-Z][a-z]{2,20}){0,5}")
_RUNS = re.compile(rb"[^\s\"'`(),;]+")
MOST_DIGITS = 5
"""Words and few digits are shown beside a value; anything else may be a form of it that no search knows."""


def masked_line(content: bytes, at: Detection, found: Sequence[Detection]) -> str | None:
    """The line of `at`, cut where it is long; None where it may show more of a value. found: all in the content."""
    start = content.rfind(b"\n", 0, at.start) + 1
    end = content.find(b"\n", at.end)
    end = len(content) if end < 0 else end
    before, after = content[start : at.start], content[at.end : end]
    if not at.exact or len(at.value) < MIN_DECODED or len(content[at.start : at.end].splitlines()) > 1:
        return None
    quote = before[-1:]
    if quote in _QUOTES:
        ends = after[:1] == quote and not _QUOTED.search(after, 1)
        begins = not _JOINED.search(before[:-1])
    else:
        ends, begins = False, bool(_STATED.search(before))
    beside = [one for one in found if one.start < end and one.end > start]
    tail = b"" if not ends or _shows(after, at.value, found) else after
    if any(one.end > end - len(tail) for one in beside):
        tail = b""
    if not begins or any(one.start < at.start for one in beside) or _shows(before, at.value, found):
        return None
    cut = "…" if len(before) > MOST_BEFORE else ""
    more = " …" if len(tail) > MOST_AFTER or (after.strip() and not tail) else ""
    return f"{cut}{_plain(before[-MOST_BEFORE:])}{MASK}{_plain(tail[:MOST_AFTER])}{more}".lstrip()


def _shows(text: bytes, value: bytes, found: Sequence[Detection]) -> bool:
    """Whether a text may give a value away: a credential of the file in a written form, three letters in a row of
    this one, or what is no plain text and may be encoded."""
    words = all(_WORD.fullmatch(run) for run in re.findall(rb"[A-Za-z]+", text))
    coded = any(len(run) >= 8 and re.search(rb"[0-9]", run) for run in _RUNS.findall(text))
    if coded or not words or not _PLAIN.fullmatch(text) or len(re.findall(rb"\d", text)) > MOST_DIGITS:
        return True
    letters, own = (re.sub(rb"[^a-z0-9]", b"", one.lower()) for one in (text, value))
    if any(own[n : n + 3] in letters or own[n : n + 3][::-1] in letters for n in range(len(own) - 2)):
        return True
    search = ValueSearch([SearchTerm(one.value, any_case=True) for one in found])
    return bool(search.in_time(text)[0])


def _plain(text: bytes) -> str:
    """Text that steers no terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text.decode("utf-8", "replace"))
