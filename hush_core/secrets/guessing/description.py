"""The shortest description of a text by words, walks, counting, repeats and dates: what is left over is random.

Every kind of piece has a code length in bits, and the shortest division is found by dynamic programming, so (Kraft)
a text drawn uniformly is described k bits below its length with probability 2^-k at most: random values lose little
and what people choose is told by how much shorter it gets.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hush_core.secrets.guessing.keyboards import neighbours, unshifted
from hush_core.secrets.guessing.words import CONSTANTS, INDEX, MOST, heads, letter_bits, word_bits

MOST_CHARACTERS = 256
"""Longest text that is described: time grows with its square."""

_CLASSES = (
    (re.compile("[a-z]"), 26),
    (re.compile("[A-Z]"), 26),
    (re.compile("[0-9]"), 10),
    (re.compile("[^a-zA-Z0-9]"), 33),
)
_HEX = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+\Z")
_SIGNS = {
    "4": "a",
    "@": "a",
    "8": "b",
    "(": "c",
    "3": "e",
    "6": "g",
    "0": "o",
    "$": "s",
    "5": "s",
    "7": "t",
    "+": "t",
}
_LEET = tuple(
    str.maketrans(_SIGNS | more)
    for more in ({"1": "i", "!": "i", "|": "l"}, {"1": "l", "!": "l", "9": "g", "2": "z"})
)
_JOINTS = "-_. :/@,;=&?|#\\\"'{}[]()<>\n\t"
_SEPARATORS = frozenset("-_. :/")
_ITSELF, _WORD, _SIMPLE = range(3)
_A_WORD, _CHANGED, _BACKWARDS = 6.5, 7.5, 8.5
"""That here is a word, and of which of six lists: 1/rank sums to about ten in each."""
_DATES = re.compile(
    r"(?=((?:19|20)\d\d([-/._]?)(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12]\d|3[01])"  # 2024-01-31
    r"|(?:0[1-9]|[12]\d|3[01])([-/._]?)(?:0[1-9]|1[0-2])\3(?:19|20)\d\d"  # 31.01.2024
    r"|(?:0[1-9]|1[0-2])([-/._]?)(?:0[1-9]|[12]\d|3[01])\4(?:19|20)\d\d))"  # 01/31/2024
)
_ADDRESSES = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_YEARS = re.compile(r"(?<!\d)(?:19[5-9]\d|20[0-4]\d)(?!\d)")
_CLOCKS = re.compile(r"(?<!\d)1[0-9]{9}(?:\d{3})?(?!\d)")
_SPELT = re.compile(r"(?:[A-Z]?[a-z]{2,})+|[A-Z]{8,}")
_ROT13 = str.maketrans(
    string.ascii_letters,
    string.ascii_letters[13:26]
    + string.ascii_letters[:13]
    + string.ascii_letters[39:]
    + string.ascii_letters[26:39],
)
_INFINITE = math.inf


STRONG = 10.0
"""Bits that a piece must save to divide what stands beside it: by chance one does in every thousandth place."""
TOLERATED = (8.0, 0.1)
"""Bits, and share of its length, that a stretch without such pieces may save and still count as drawn."""
LEAST_RUN = 8
"""Characters that must stand together without a piece to count, where a stretch saves more."""


@dataclass(frozen=True)
class Description:
    """bits: code length; plain: that of the characters one by one; left: the stretches that look drawn; simple: all
    pieces are walks, counting, repeats and dates."""

    bits: float
    plain: float
    left: tuple[str, ...]
    simple: bool


@lru_cache(maxsize=1 << 12)
def describe(text: str) -> Description:
    """The shortest description, of the text or of its odd and its even characters ("p1a2s3s4").

    >>> describe("1qaz2wsx3edc4rfv").left, describe("A1B2C3D4E5F6G7H8").left, describe("q8Zr2LwX0vKt").left
    ((), (), ('q8Zr2LwX0vKt',))
    """
    text = text[:MOST_CHARACTERS]
    one = _shortest(text)
    turned = text.translate(_ROT13)
    if _spelling(turned) < 0.8 * _spelling(text):
        other = _shortest(turned)
        one = min(one, other, key=lambda d: d.bits)
    for halves in _woven(text):
        first, second = map(_shortest, halves)
        both = first.bits + second.bits + 5
        if both < one.bits - 10 and both < 0.7 * one.plain:
            one = Description(both, one.plain, first.left + second.left, first.simple and second.simple)
    return one


def _woven(text: str) -> Iterator[tuple[str, str]]:
    """Two texts that one may be made of: every second character ("p1a2s3s4"), or its letters and its digits."""
    halves = text[::2], text[1::2]
    if len(text) >= 12 and all(half.isalpha() or half.isdigit() for half in halves):
        yield halves
    kinds = "".join(filter(str.isalpha, text)), "".join(filter(str.isdigit, text))
    if all(
        len(kind) >= 6
        and 4 * sum(abs(_STEPS.get(pair, 9)) <= 1 for pair in itertools.pairwise(kind)) > 3 * len(kind)
        for kind in kinds
    ):
        yield kinds


def _spelling(text: str) -> float:
    """Bits a letter, as letters follow each other in words; infinite where there are few of one case together."""
    letters = sum(len(m[0]) for m in _SPELT.finditer(text))
    if letters < 12 or 2 * letters < len(text):
        return _INFINITE
    return sum(cost for cost in _letters(text) if cost < _INFINITE) / letters


def character_bits(text: str) -> float:
    """log2 of the alphabet that a text seems to be drawn from."""
    if _HEX.match(text):
        return math.log2(10 if text.isdigit() else 16)
    size = sum(n for kind, n in _CLASSES if kind.search(text))
    return math.log2(min(size, 64) if _BASE64.match(text) else max(size, 2))


def _shortest(text: str) -> Description:
    n = len(text)
    plain = character_bits(text)
    pieces: list[list[tuple[int, float, int]]] = [[] for _ in range(n)]
    letters, walks = _letters(text), _walks(text)
    for start, end, cost in (*_words(text), *_tongues(text)):
        walked = (
            not text[start:end].isalpha() or 4 * walks[start + 1 : end].count(_INFINITE) <= end - start - 1
        )
        pieces[start].append((end, cost, _SIMPLE if walked else _WORD))
    for start, end, cost in (*_counting(text, plain), *_repeats(text), *_numbers(text)):
        pieces[start].append((end, cost, _SIMPLE))
    best = [0.0] + [_INFINITE] * n
    back = [(0, _ITSELF)] * (n + 1)
    spelt, spelt_from = _INFINITE, 0
    walk, walk_from = _INFINITE, 0
    for i in range(n):
        here = best[i]
        # one more character: as it is, of a word that no list has, of a walk
        cost = min(plain, 4.5) if text[i] in _SEPARATORS else plain
        if here + cost < best[i + 1]:
            best[i + 1], back[i + 1] = here + cost, (i, _ITSELF)
        if letters[i] == _INFINITE:
            spelt = _INFINITE
        else:
            if here + 5.0 < spelt:
                spelt, spelt_from = here + 5.0, i
            spelt += letters[i]
            if spelt < best[i + 1]:
                best[i + 1], back[i + 1] = spelt, (spelt_from, _WORD)
        walk += walks[i]
        if here + 8.0 < walk:
            walk, walk_from = here + 8.0, i
        elif i - walk_from >= 2 and walk < best[i + 1]:
            best[i + 1], back[i + 1] = walk, (walk_from, _SIMPLE)
        for end, cost, kind in pieces[i]:
            if here + cost < best[end]:
                best[end], back[end] = here + cost, (i, kind)
    pieces_used: list[tuple[int, int, int, float]] = []
    at = n
    while at > 0:
        start, kind = back[at]
        pieces_used.append((start, at, kind, plain * (at - start) - (best[at] - best[start])))
        at = start
    pieces_used.reverse()
    return Description(
        best[n], plain * n, _left(text, plain, pieces_used), all(p[2] != _WORD for p in pieces_used)
    )


def _left(text: str, plain: float, pieces: list[tuple[int, int, int, float]]) -> tuple[str, ...]:
    """The stretches between pieces that save much, whole where the rest of their pieces save little by chance; not
    where every fifth character is a joint ("db-01-us-e1")."""
    stretches: list[list[tuple[int, int, int, float]]] = [[]]
    for piece in pieces:
        if piece[2] != _ITSELF and piece[3] >= STRONG:
            stretches.append([])
        else:
            stretches[-1].append(piece)
    divided, left = len(stretches) > 1, []
    for stretch in stretches:
        if not stretch:
            continue
        whole = text[stretch[0][0] : stretch[-1][1]]
        names = "".join(c for c in whole if c not in _SEPARATORS)
        jointed = 5 * len(names) <= 4 * len(whole) and names.isalnum()
        if not jointed and sum(piece[3] for piece in stretch) <= TOLERATED[0] + TOLERATED[1] * plain * len(
            whole
        ):
            runs = [whole]
        else:
            divided = True
            kept = "".join(text[p[0]] if p[2] == _ITSELF else "\0" for p in stretch)
            runs = re.split(r"[\0_. :/-]" if jointed else "\0", kept)
        left += [r for run in runs if len(r := run.strip(_JOINTS)) >= (LEAST_RUN if divided else 1)]
    return tuple(left)


def _words(text: str) -> list[tuple[int, int, float]]:
    """Words of the lists, in any case, with digits and signs for letters, forwards and backwards."""
    lower = text.lower()
    known, begins = word_bits(), heads()
    found = []
    spellings = {lower: _A_WORD}
    if not _HEX.match(text):
        for table in _LEET:
            spellings.setdefault(lower.translate(table), _CHANGED)
        spellings.setdefault(lower[::-1], _BACKWARDS)
    n = len(text)
    for spelling, extra in spellings.items():
        backwards = extra == _BACKWARDS
        for i in range(n - 2):
            ends = range(i + 3, min(n, i + MOST) + 1) if spelling[i : i + 4] in begins else (i + 3,)
            for j in ends:
                bits = known.get(spelling[i:j])
                if bits is None:
                    continue
                a, b = (n - j, n - i) if backwards else (i, j)
                written = text[a:b]
                changed = sum(map(str.__ne__, written.lower(), spelling[i:j])) if extra == _CHANGED else 0
                if 2 * changed <= j - i:
                    found.append((a, b, bits + extra + 1.5 * changed + _case(written)))
    return found


def _case(written: str) -> float:
    """What it takes to say where the capitals are: little for none, the first and all."""
    if written.islower() or not any(map(str.isalpha, written)):
        return 0.5
    if written.isupper() or written[1:].islower():
        return 2.0
    return 3.0 + sum(a.isupper() != b.isupper() for a, b in itertools.pairwise(written))


def _letters(text: str) -> list[float]:
    """By character, the bits of a letter after the two before it; infinite for what is none."""
    table, costs = letter_bits(), []
    a = b = 26
    before = ""
    for c in text:
        k = INDEX.get(c.lower())
        if k is None:
            costs.append(_INFINITE)
            a = b = 26
        else:
            flips = b != 26 and c.isupper() != before.isupper()
            costs.append(table[(a * 27 + b) * 27 + k] + (2.5 if flips else 0.2))
            a, b = b, k
        before = c
    return costs


def _tongues(text: str) -> list[tuple[int, int, float]]:
    """Runs of letters, in words of one case, that follow each other as in a language: of drawn ones 0.1 %."""
    found, table = [], letter_bits()
    for match in _SPELT.finditer(text):
        length, total, a, b = match.end() - match.start(), 0.0, 26, 26
        if length < 8:
            continue
        for c in match[0].lower():
            k = INDEX[c]
            total += table[(a * 27 + b) * 27 + k]
            a, b = b, k
        if total <= length * min(5.5, 3.0 + length / 8):
            found.append((match.start(), match.end(), 5.0 + length))  # before all words in it
    return found


def _walks(text: str) -> list[float]:
    """By character, the bits of the step to it from the key before; infinite where that is no neighbour."""
    beside, keys = neighbours(), unshifted(text)
    costs, held, shift = [_INFINITE], 0, False
    for n, (a, b) in enumerate(itertools.pairwise(keys), start=1):
        way, before, shift = beside.get((a, b), 0), shift, keys[n] != text[n]
        costs.append(
            _INFINITE if not way else (1.0 if way & held else 4.5) + (2.5 if shift != before else 0.3)
        )
        held = (way & held) or way
    return costs[: len(text)]


def _counting(text: str, plain: float) -> list[tuple[int, int, float]]:
    """Runs that count by one step, every character or every second to fourth: abcd, 2468, A1B2C3, 9a8b7c."""
    found = []
    for stride in (1, 2, 3, 4):
        steps = [_STEPS.get((a, b)) for a, b in zip(text, text[stride:], strict=False)]
        if not any(step is not None for step in steps):
            continue
        start = 0
        while start < len(steps):
            end = start
            while (
                end < len(steps)
                and steps[end] is not None
                and (end - start < stride or steps[end] == steps[end - stride])
            ):
                end += 1
            if end - start > stride:
                length = end + stride - start
                cost = 3.0 + stride * (plain + 2.8) + 2 * math.log2(length)
                found += [(a, b, cost) for a in (start, start + 1) for b in (end + stride - 1, end + stride)]
            start = end if end > start + stride else start + 1
    return found


def _step(a: str, b: str) -> int | None:
    """From one character to the next of its class, around its end ("8901"), where that is three at most."""
    for letters in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        if a in letters and b in letters:
            half = len(letters) // 2
            step = (ord(b) - ord(a) + half) % len(letters) - half
            return step if abs(step) <= 3 else None
    return 0 if a == b else None


_STEPS = {
    (a, b): step for a in string.printable for b in string.printable if (step := _step(a, b)) is not None
}


def _repeats(text: str) -> list[tuple[int, int, float]]:
    """At each place, the longest that stood before it already, in either case or mirrored, or in known digits."""
    found, lower = [], text.lower()
    n, mirrored = len(text), text.lower()[::-1]
    for i in range(1, n - 2):
        length = 3 if lower.find(lower[i : i + 3], 0, i + 2) >= 0 else 0
        while length and i + length < n and lower.find(lower[i : i + length + 1], 0, i + length) >= 0:
            length += 1
        if length:
            found.append((i, i + length, 4 + math.log2(i) + 2 * math.log2(length)))
        length = 8 if i + 7 <= n and lower[i - 1 : i + 7] in CONSTANTS else 0
        while length and i - 1 + length < n and lower[i - 1 : i + length] in CONSTANTS:
            length += 1
        if length:
            found.append((i - 1, i - 1 + length, 14.0))
        # what stood before i, backwards, is mirrored from n - i on
        length = 3 if mirrored.find(lower[i : i + 3], n - i) >= 0 else 0
        while length and i + length < n and mirrored.find(lower[i : i + length + 1], n - i) >= 0:
            length += 1
        if length:
            found.append((i, i + length, 5 + math.log2(i) + 2 * math.log2(length)))
    return found


def _numbers(text: str) -> list[tuple[int, int, float]]:
    """Dates, years, and seconds or milliseconds since 1970."""
    found = [(m.start(), m.end(1), 19.0) for m in _DATES.finditer(text)]
    found += [(m.start(), m.end(), 20.0) for m in _ADDRESSES.finditer(text)]
    found += [(m.start(), m.end(), 10.0) for m in _YEARS.finditer(text)]
    return found + [(m.start(), m.end(), 24.0) for m in _CLOCKS.finditer(text)]
