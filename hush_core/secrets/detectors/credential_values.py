"""The distinct credentials of a corpus: what rules found of each, its spellings, its places, and what it contains.

A value that only looks made (`GENERIC`) and holds another found one, as it is or encoded, is no credential of its
own: the search for the other finds it there. Where both were found at one place, the longer is the other's.
Weak values that are words are not looked for elsewhere, as their other places say nothing.
"""

from __future__ import annotations

import base64
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from hush_core import linear
from hush_core.secrets.detectors.base import Span
from hush_core.secrets.detectors.credential_decoded import DECODED_PASSWORD, DECODED_SECRET, readable
from hush_core.secrets.detectors.credential_files import FILE_SECRET
from hush_core.secrets.detectors.credential_randomness import looks_made, surprise
from hush_core.secrets.detectors.credential_words import is_keyword, words
from hush_core.secrets.guessing.words import commonest_passwords
from hush_core.secrets.priors import (
    ASSIGNED,
    ASSIGNED_PASSWORD,
    KEY_BYTES,
    NEARBY,
    PASSWORD_BITS,
    RANDOM_TOKEN,
    claims_most,
    guess_bits,
)
from hush_core.secrets.propagation.escapes import unescaped
from hush_core.secrets.propagation.layouts import SQUEEZED_OUT
from hush_core.secrets.propagation.value_search import SearchTerm

PRIVATE_KEY = "betterleaks.private-key"
GENERIC = frozenset((
    ASSIGNED, ASSIGNED_PASSWORD, NEARBY, RANDOM_TOKEN, FILE_SECRET, DECODED_SECRET, DECODED_PASSWORD, KEY_BYTES,
))  # fmt: skip
MIN_HELD = 8
"""A shorter value is not looked for in others."""

_GLUE = re.compile(rb"(?:\\[nrt]|[\s\"'`,\\])+")
_ARMOUR = re.compile(rb"-----[^-]{0,120}-----")
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
_HEX_RUN = re.compile(rb"(?:[0-9A-Fa-f]{2}){4,}")


@dataclass(frozen=True)
class Detection:
    """A credential in one file: bytes [start, end) are to be labelled; `value` is what is searched for elsewhere.

    `exact` says whether the value itself is there (it is not where it was found inside base64).
    """

    rule: str
    value: bytes = field(repr=False)
    start: int
    end: int
    exact: bool


def canonical(rule: str, value: bytes) -> bytes:
    """What makes two findings one secret: a private key is the same whatever its line breaks and escapes."""
    return (key_body(value) or value) if rule == PRIVATE_KEY else value


def key_body(value: bytes) -> bytes:
    """A PEM block's body in one piece, without armour, line breaks, escapes and quotes."""
    return _GLUE.sub(b"", _ARMOUR.sub(b"", value))


def key_lines(value: bytes) -> list[bytes]:
    """The lines of a PEM body that tell keys apart: the first is the same for all keys of a format."""
    return [line for line in _key_parts(value) if len(line) >= 16][1:]


def key_ends(value: bytes) -> list[bytes]:
    """The other lines of a PEM body: the first, and those that are too short to be searched for by themselves."""
    searched = set(key_lines(value))
    return [line for line in _key_parts(value) if line not in searched]


def _key_parts(value: bytes) -> list[bytes]:
    return [p for p in _GLUE.split(_ARMOUR.sub(b"", value)) if re.fullmatch(rb"[A-Za-z0-9+/=]+", p)]


_BEGIN = b"-----BEGIN"
_LONG_RUN = linear.compile(rb"[A-Za-z0-9+/]{32}")
_END = linear.compile(rb"-----END[^\n-]{0,100}-----")
LONGEST_KEY, LONGEST_MARK, HEAD = 16_384, 128, 300
"""Bytes of a block, of a mark, and of what may be before a key's first line: the mark and headers."""


def key_blocks(content: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The private keys that begin in [start, end), where the pinned rule sees one.

    It ends at the next `KEY-----`, even one that begins a block: behind a key that is cut short, or in a sentence
    that names the mark. A block without base64 behind its mark is dropped; the last one continues to its own end.
    """

    def holds_key(first: int, last: int) -> bool:
        return _LONG_RUN.search(content, first, min(last, first + HEAD)) is not None

    while (after := content.find(_BEGIN, start + 1, end)) > 0:
        if holds_key(start, after):
            yield start, after
        start = after
        if content.find(_BEGIN, start + 1, end) < 0:
            last = content.find(b"-----END", start, start + LONGEST_KEY)
            close = _END.match(content, last, last + LONGEST_MARK) if last > 0 else None
            end = close.end() if close else end
    if holds_key(start, end):
        yield start, end


class Values:
    """The distinct credentials of a corpus: rules with their bits, spellings, and where each is."""

    def __init__(self) -> None:
        self.rules: dict[bytes, dict[str, float]] = defaultdict(dict)
        self.spellings: dict[bytes, set[bytes]] = defaultdict(set)
        self.places: dict[bytes, array[int]] = defaultdict(lambda: array("q"))
        self.names: dict[str, int] = {}

    def add(self, blob: int, found: Detection, *, stands: bool) -> None:
        same = canonical(found.rule, found.value)
        self.rules[same].setdefault(found.rule, guess_bits(found.rule, found.value))
        self.spellings[same].add(found.value)
        rule = self.names.setdefault(found.rule, len(self.names))
        self.places[same].extend((blob, found.start, found.end, rule, stands))

    def shown(self, same: bytes) -> str:
        """The rule after which a value is named that several rules found; by their types, not by the value."""
        return min(self.rules[same], key=claims_most)

    def bits(self, same: bytes) -> float:
        """The least that one of its rules claims.

        A rule for passwords caps its claim as a person may have made the value up; where `looks_made` says that a
        machine did, it counts as any assigned secret.
        """
        return min(
            guess_bits(ASSIGNED, same) if claim <= PASSWORD_BITS and looks_made(same) else claim
            for claim in self.rules[same].values()
        )

    def spans(self, same: bytes) -> Iterator[Span]:
        names, row = list(self.names), self.places[same]
        for i in range(0, len(row), 5):
            yield Span(*row[i : i + 3], f"credentials:{names[row[i + 3]]}", bool(row[i + 4]))

    def search_terms(self, same: bytes, *, apart: bool = False) -> Iterator[SearchTerm]:
        first, *others = sorted(self.spellings[same])
        keys = self.spellings[same] if PRIVATE_KEY in self.rules[same] else ()
        fragments = {line for v in keys for line in key_lines(v)}
        fragments |= {body for v in keys if len(body := key_body(v)) >= 64}
        ends = {line for v in keys for line in key_ends(v)}
        yield SearchTerm(first, fragments=tuple(sorted(fragments)), ends=tuple(sorted(ends)), apart=apart)
        yield from (SearchTerm(spelling, apart=apart) for spelling in others)

    def settle(self) -> None:
        """Take out values that are nothing but another's: encoded, with what is beside it, or cut by a line."""
        self._settle_pieces()
        known = {v for v in self.rules if len(v) >= MIN_HELD}
        heads: dict[bytes, list[bytes]] = defaultdict(list)
        for value in known:
            heads[value[:MIN_HELD]].append(value)
        keys = b"\n".join(value for value, rules in self.rules.items() if PRIVATE_KEY in rules)
        for value in sorted(known, key=len, reverse=True):
            if not set(self.rules[value]) <= GENERIC:
                continue
            if value in keys:  # a line of a private key, which is searched for as such
                del self.rules[value], self.spellings[value], self.places[value]
                continue
            others = (other for text in readings(value) for other in _held(text, heads))
            held = next((other for other in others if other != value and other in self.rules), None)
            if held is None:
                continue
            kept, places = self.places[held], self.places.pop(value)
            there = {(kept[i], kept[i + 1], kept[i + 2]) for i in range(0, len(kept), 5)}
            for i in range(0, len(places), 5):
                blob, start, end, rule, _ = places[i : i + 5]
                if any(b == blob and start <= s and e <= end for b, s, e in there):
                    kept.extend((blob, start, end, rule, 0))
            del self.rules[value], self.spellings[value]

    def _settle_pieces(self) -> None:
        """What looks random, and is a piece of a value that something names, is that value, cut by a line break:
        the search for the value finds it there, under one reason whatever its length."""
        pieces = [value for value, rules in self.rules.items() if set(rules) == {RANDOM_TOKEN}]
        listed = b"\n".join([b"", *sorted(set(self.rules) - set(pieces)), b""])
        for value in pieces:
            at = listed.find(value.rstrip(b"="))
            if at < 0:
                continue
            whole = listed[listed.rindex(b"\n", 0, at) + 1 : listed.index(b"\n", at)]
            if whole in self.rules:
                del self.rules[value], self.spellings[value], self.places[value]


def readings(value: bytes) -> Iterator[bytes]:
    """What a value may say: itself, and decoded from base64 (four alignments), hex and URL escapes; text in it, two
    deep."""
    yield value
    yield from (below for text in readable(value) for below in (text, *readable(text.strip())))
    if b"%" in value and (decoded := unquote_to_bytes(value)) != value:
        yield from readings(decoded)
    for run in _BASE64_RUN.findall(value):
        plain = run.translate(bytes.maketrans(b"-_", b"+/"))
        for skip in range(4):
            part = plain[skip:]
            if len(part) % 4 == 1:
                part = part[:-1]
            yield base64.b64decode(part + b"=" * (-len(part) % 4))
    for run in _HEX_RUN.findall(value):
        yield bytes.fromhex(run.decode("ascii"))


def _held(text: bytes, heads: dict[bytes, list[bytes]]) -> Iterator[bytes]:
    for at in range(len(text) - MIN_HELD + 1):
        for value in heads.get(text[at : at + MIN_HELD], ()):
            if text.startswith(value, at):
                yield value


SHORT_WEAK_BYTES, SHORTEST_WEAK_BYTES = 10, 6
"""Some weak credentials are labelled where rules see them, not searched for elsewhere: words, numbers or names.
They have letters only and are shorter than the first ("password"), or letters and digits and are shorter than the
second ("123", "utf8"). Or they have no letter ("1.1.1"), or are one of the thousand commonest ("abc123"). Others
that are shorter than the first are searched for, but not in longer words and numbers."""
WORDS, WORD_SURPRISE = 2, 5.4
"""Nor is a longer one of at most so many words searched for: bits a character separate it from random letters."""
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
    plain = unescaped(value).strip(SQUEEZED_OUT)
    return any(_is_word(one) for one in {value, value.strip(SQUEEZED_OUT) or value, plain or value})


def _is_word(value: bytes) -> bool:
    if value.lower() in commonest_passwords():
        return True
    if not _LETTER.search(value) or (is_short(value) and value.isalpha()):
        return True
    if len(value) < SHORTEST_WEAK_BYTES and value.isalnum():
        return True
    if is_short(value) and (numbered := _NUMBERED.fullmatch(value)):
        return is_keyword(numbered[1].lower()) or numbered[1].lower() in _VERSIONED
    if not _LETTERS.fullmatch(value):
        return False
    named = words(value)
    return len(named) <= WORDS and surprise(b" %b " % b" ".join(named)) < WORD_SURPRISE
