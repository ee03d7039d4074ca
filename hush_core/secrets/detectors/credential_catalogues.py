"""What a file is, by its first lines: settings, code, or a catalogue of a program's texts in one language.

"Passwort" beside `password` is no password in a catalogue. One (INI, JSON, YAML, properties, gettext, Fluent) is known by its first lines: two thirds of its names have
a text, as hardly any settings have, and it holds no code. Only words are taken for texts. So a value with a digit,
with several hyphens, with capitals inside or of letters at random is still one of a credential.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hush_core import linear
from hush_core.secrets.detectors.credential_randomness import looks_made
from hush_core.secrets.detectors.credential_words import is_keyword, words

_LETTERS = rb"(?:[A-Z]?[a-z\x80-\xff]+|[A-Z\x80-\xff]+)"
_PART = rb"(?:[(\"']|\xc2[\xa1\xbf])?" + _LETTERS + rb"(?:[-'/]" + _LETTERS + rb")?[)\"']?[.,:;!?]*"
_TEXT = linear.compile(
    rb"(?s)%b(?:[ \t]+(?:[/&-][ \t]+)?%b)*|[0-9]*[\x80-\xff][\x80-\xff0-9 .,:!?]{8,}" % (_PART, _PART)
)
"""Words of letters, with the signs of a sentence; digits among those of other scripts."""
_LINE = linear.compile(
    rb"[ \t]*(?:[\"']?([A-Za-z.][A-Za-z0-9_.-]{0,120})[\"']?[ \t]*(?::|=>?)|msgstr(?:\[[0-9]\])?)[ \t]*"
    rb"[\"']?([^\n\"']{0,400})"
)
_SEVERAL = linear.compile(rb"[a-z\x80-\xff]{2}[.,:;!?)]?[ \t]+[(]?[A-Za-z\x80-\xff]{2}|[\x80-\xff]{9}")
_SENTENCE = linear.compile(rb"[a-z\x80-\xff]+(?:[ \t]+[^ \t=]+){3,}")
_CODE = linear.compile(
    rb"[ \t]*(?:import|from|export|package|using|use|def|class|function|func|const|let|var|return|#include|describe"
    rb"|it|test)(?:[ \t]+[^=: \t\[]|\()"
)
LEAST = 5
"""Names with a text of several words among the first lines."""


def is_text(value: bytes) -> bool:
    """Whether a value is made of words alone, and not of letters at random.

    >>> is_text("Mật khẩu".encode()), is_text(b"Forgot your password?"), is_text(b"pillow-tunnel-anchor")
    (True, True, False)
    """
    return _TEXT.fullmatch(value) is not None and not looks_made(value)


def is_catalogue(head: Sequence[bytes]) -> bool:
    """Whether a file's first lines are those of a catalogue, and not those of a list of passphrases."""
    names = set()
    named = texts = several = keywords = 0
    for line in head:
        if _CODE.match(line):
            return False
        match = _LINE.match(line)
        value = match[2].strip(b" \t\r,;") if match else b""
        if match is None or value in (b"", b"{", b"[") or match[1] in names:
            continue
        name = match[1] or b""
        if name and not name.startswith(b"."):
            names.add(name)
        named += 1
        if value[:1].islower() and not _SENTENCE.fullmatch(value):
            continue
        if _SEVERAL.search(value):
            several += 1
            keywords += any(map(is_keyword, words(name)))
        elif not is_text(value):
            continue
        texts += 1
    return several >= LEAST and 3 * texts >= 2 * named and 2 * keywords <= several


_SETTING = linear.compile(
    rb"[ \t]*(?:[#;!<\[-].*|//.*|[\"']?[A-Za-z0-9_.$/*-]{1,60}(?: [A-Za-z0-9_.-]{1,30}){0,3}[\"']?[ \t]*(?:=|:)(?:[^=:\n].*)?|export .*|set .*|[{}\[\]],?|ENV .*|[a-z_-]+[ \t]+[^ \t=(]+)?[ \t\r]*\Z"
)
_CODE_LINE = linear.compile(
    rb"[ \t]*(?:def|class|import|from|func|function|return|if|for|while|var|let|const|public|private|package|use|fn|impl|static|void|#include|async|raise|assert|self)\b|.*[{;][ \t]*\r?$"
)
HEAD_BYTES = 16384


def head_lines(content: bytes) -> list[bytes]:
    """The first lines, which show what kind of file it is."""
    return content[:HEAD_BYTES].split(b"\n")[:60]


def settings_like(content: bytes) -> bool:
    """Whether a file holds settings rather than code: nine of ten of its first lines name a value or nothing."""
    lines = head_lines(content)
    return sum([len(line) <= 400 and _is_setting(line) for line in lines]) >= 0.9 * len(lines)


@lru_cache(1 << 12)
def _is_setting(line: bytes) -> bool:
    return _SETTING.fullmatch(line) is not None and not _CODE_LINE.match(line)
