"""What names something and is no secret, though it looks random: names in code with capitals and digits, compilers'
symbols, identifiers of traces and accounts, public parts of keys."""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re

from hush_core.secrets.detectors.credential_randomness import surprise

_CAMEL = re.compile(
    rb"_{0,2}(?=[A-Za-z_.-]*[a-z])(?:(?:[a-z]+|[A-Z][a-z]+)(?:[A-Z][a-z]+)*[0-9]{0,2}|[A-Z]{1,2})"
    rb"(?:[._-](?:(?:[a-z]+|[A-Z][a-z]+)(?:[A-Z][a-z]+)*[0-9]{0,2}|[A-Z]{1,2}))*"
)
_PART = (
    rb"(?:[A-Z]?[a-z]{2,}+[0-9]{0,3}+|[A-Z]{1,4}(?=[A-Z][a-z]|[^A-Za-z]|\Z)[0-9]{0,3}+"
    rb"|[a-z][0-9]{0,2}+(?=[A-Z_.-]|\Z))"
)
_NUMBERED = re.compile(rb"_{0,2}+" + _PART + rb"++(?:[._-]" + _PART + rb"++)*+")
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
CAMEL_SURPRISE, NUMBERED_SURPRISE = 5.4, 4.7
"""Names are told from random letters by bits a character of their words; with digits between these more strictly."""


def is_identifier(token: bytes) -> bool:
    """Whether a token is a name in camel case, in parts or not: words of two letters and more, digits behind them.

    Of random letters and digits one in 6,000 of 20 characters is, of 16 one in 1,200: under a telling name those are
    found as passwords are.

    >>> is_identifier(b"_failOnNullOrEmptyForEach"), is_identifier(b"Message2_O_OneOfCase.gpbUnsetOneOfCase")
    (True, True)
    >>> is_identifier(b"generateOAuth1Header"), is_identifier(b"flagArg1And2AreWords")
    (True, True)
    >>> is_identifier(b"qZxTvLwKdRbYpNsUeHcJmAgfXo"), is_identifier(b"x7Gq0TzLw4RbN9vKpY2c")
    (False, False)
    """
    if not any(65 <= c <= 90 for c in token):
        return False
    if _NAMING.fullmatch(token):
        long = _LONG_WORDS.findall(token)
        if sum(map(len, long)) >= WORDS_SHARE * len(token) and _words_surprise(long) < MIXED_SURPRISE:
            return True
    most = (
        CAMEL_SURPRISE
        if _CAMEL.fullmatch(token)
        else NUMBERED_SURPRISE
        if _NUMBERED.fullmatch(token)
        else 0.0
    )
    return most > 0 and _words_surprise(_WORDS.findall(token)) < most


def _words_surprise(found: list[bytes]) -> float:
    return surprise(b" %b " % b" ".join(word.lower() for word in found))


WORDS_SHARE, MIXED_SURPRISE = 0.7, 4.8
"""A name with capitals and digits strewn in is one where so much of it is words like these: of random letters and digits
one in 10,000 of 16 to 20 characters (`Icmp6OutMLDv2Reports`)."""
_NAMING = re.compile(rb"[A-Za-z0-9_.-]+")
_LONG_WORDS = re.compile(rb"[A-Z]?[a-z]{2,}")
_MANGLED = re.compile(rb"(?:\$[sS]|_ZN?K?)([0-9]{1,2})")


def is_mangled(token: bytes) -> bool:
    """Whether it is a name as the compilers of Swift and C++ write them: a length, and a word as long.

    >>> is_mangled(b"$s3NIO7ChannelP5write"), is_mangled(b"$s3cr3tR4nd0mXyz1234")
    (True, False)
    """
    mangled = _MANGLED.match(token)
    if mangled is None:
        return False
    word = token[mangled.end() : mangled.end() + int(mangled[1])]
    return len(word) == int(mangled[1]) > 1 and word.replace(b"_", b"").isalpha()


_IDS = (b"id", b"ids", b"kid", b"jti", b"sub", b"azp", b"aud")
_KEY_PARTS = re.compile(rb"[\"'](?:n|x|y|x5c|x5t)[\"']:[ \t]*\[?[ \t]*[\"']\Z")
KEY_REACH = 150
"""Bytes before a part of a JSON Web Key in which its type stands: less than `changes.around` takes in."""


def identifies(
    content: bytes, first: int, start: int, before: bytes, name: list[bytes], *, mixed: bool
) -> bool:
    """Whether the name right before a value, in which no word tells of a secret, says that it identifies something
    (`trace_id`), or is a public part of a JSON Web Key (RFC 7517).

    Args:
        first, start, before: where the line and the value begin, and what stands before it on the line.
        name: the last of the words there. mixed: whether the value is of all kinds of characters.
    """
    if name and name[-1] in _IDS:
        return True
    if before.endswith((b'== "', b"== '", b'=="', b"=='")) and not mixed:
        return True  # what a test expects
    return _KEY_PARTS.search(before) is not None and b'"kty"' in content[max(0, first - KEY_REACH) : start]
