"""Which found values are looked for elsewhere: not weak ones that are words, whose other places say nothing."""

from __future__ import annotations

import re

from hush_core.secrets.detectors.credential_randomness import surprise
from hush_core.secrets.detectors.credential_words import tells
from hush_core.secrets.guessing.words import commonest_passwords
from hush_core.secrets.propagation.escapes import unescaped
from hush_core.secrets.propagation.layouts import GONE

SHORT_WEAK_BYTES, SHORTEST_WEAK_BYTES = 10, 6
"""Some weak credentials are labelled where rules see them, not searched for elsewhere: words, numbers or names.
They have letters only and are shorter than the first ("password"), or letters and digits and are shorter than the
second ("123", "utf8"). Or they have no letter ("1.1.1"), or are one of the thousand commonest ("abc123"). Others
that are shorter than the first are searched for, but not in longer words and numbers."""
WORDS, WORD_SURPRISE = 2, 5.4
"""Nor is a longer one of at most so many words searched for: bits a character separate it from random letters."""
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
_NUMBERED = re.compile(rb"([A-Za-z]{2,8})-?[0-9]{1,3}")
_VERSIONED = frozenset(
    b"sha md utf ipv http tls ed rsa aes python py node php ruby java x es web v int float uint".split()
)
"""Words of code with a number: `oauth2`, `sha256`, `utf8`."""
_LETTERS = re.compile(rb"[A-Za-z]+(?:[ ._:/-][A-Za-z]+)*")


def is_short(value: bytes) -> bool:
    """Whether a weak value is searched for only where no letter or digit is right beside it."""
    return len(value) < SHORT_WEAK_BYTES


def is_word(value: bytes) -> bool:
    """Whether a weak value is a word or two, a short number or name, or a common password: as it is, or without the
    signs and escapes at its ends.

    >>> is_word(b"integration"), is_word(b"clientSecret"), is_word(b"foo-bar"), is_word(b"abc123%40%20")
    (True, True, True, True)
    >>> is_word(b"oauth2"), is_word(b"sha256"), is_word(b"druid123")
    (True, True, False)
    >>> is_word(b"Tr0ub4dor"), is_word(b"otter-maple-lamp"), is_word(b"lXykWZeiNNCi")
    (False, False, False)
    """
    plain = unescaped(value).strip(GONE)
    return any(_is_word(one) for one in {value, value.strip(GONE) or value, plain or value})


def _is_word(value: bytes) -> bool:
    if value.lower() in commonest_passwords():
        return True
    if not _LETTER.search(value) or (is_short(value) and value.isalpha()):
        return True
    if len(value) < SHORTEST_WEAK_BYTES and value.isalnum():
        return True
    if is_short(value) and (numbered := _NUMBERED.fullmatch(value)):
        return tells(numbered[1].lower()) or numbered[1].lower() in _VERSIONED
    if not _LETTERS.fullmatch(value):
        return False
    named = [word.lower() for word in _WORDS.findall(value)]
    return len(named) <= WORDS and surprise(b" %b " % b" ".join(named)) < WORD_SURPRISE
