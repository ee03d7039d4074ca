"""The shortest description of a text by words, walks, counting, repeats and dates: what is left over is random.

Every kind of piece has a code length in bits, and dynamic programming finds the shortest division. By Kraft's
inequality a text drawn uniformly is described k bits below its length with probability at most 2^-k. So random
values lose little, and what people choose shows by how much shorter it gets.
"""

import codecs
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hush_core.secrets.guessing.pieces import (
    HEX,
    NEVER,
    SPELT,
    STEPS,
    counting,
    language_runs,
    letters,
    numbers,
    repeats,
    walks,
    words,
)

MOST_CHARACTERS = 256
"""Longest text that is described: time grows with its square."""

_CLASSES = (
    (re.compile("[a-z]"), 26),
    (re.compile("[A-Z]"), 26),
    (re.compile("[0-9]"), 10),
    (re.compile("[^a-zA-Z0-9]"), 33),
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+\Z")
_JOINTS = "-_. :/@,;=&?|#\\\"'{}[]()<>\n\t"
_SEPARATORS = frozenset("-_. :/")
_ITSELF, _WORD, _SIMPLE = range(3)

STRONG = 10.0
"""Bits that a piece must save to divide its neighbours: by chance one does in every thousandth place."""
TOLERATED = (8.0, 0.1)
"""Bits, and share of its length, that a stretch without such pieces may save and still count as drawn."""
LEAST_RUN = 8
"""Characters that must be together without a piece to count, where a stretch saves more."""


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
    turned = codecs.encode(text, "rot13")
    if _spelling(turned) < 0.8 * _spelling(text):
        other = _shortest(turned)
        one = min(one, other, key=lambda d: d.bits)
    for halves in _interleaved(text):
        first, second = map(_shortest, halves)
        both = first.bits + second.bits + 5
        if both < one.bits - 10 and both < 0.7 * one.plain:
            one = Description(both, one.plain, first.left + second.left, first.simple and second.simple)
    return one


def _interleaved(text: str) -> Iterator[tuple[str, str]]:
    """Two texts that one may be made of: every second character ("p1a2s3s4"), or its letters and its digits."""
    halves = text[::2], text[1::2]
    if len(text) >= 12 and all(half.isalpha() or half.isdigit() for half in halves):
        yield halves
    kinds = "".join(filter(str.isalpha, text)), "".join(filter(str.isdigit, text))
    if all(
        len(kind) >= 6
        and 4 * sum(abs(STEPS.get(pair, 9)) <= 1 for pair in itertools.pairwise(kind)) > 3 * len(kind)
        for kind in kinds
    ):
        yield kinds


def _spelling(text: str) -> float:
    """Bits a letter, as letters follow each other in words; infinite where there are few of one case together."""
    spelt = sum(len(m[0]) for m in SPELT.finditer(text))
    if spelt < 12 or 2 * spelt < len(text):
        return NEVER
    return sum(cost for cost in letters(text) if cost < NEVER) / spelt


def character_bits(text: str) -> float:
    """log2 of the alphabet that a text seems to be drawn from."""
    if HEX.match(text):
        return math.log2(10 if text.isdigit() else 16)
    size = sum(n for kind, n in _CLASSES if kind.search(text))
    return math.log2(min(size, 64) if _BASE64.match(text) else max(size, 2))


def _shortest(text: str) -> Description:
    n = len(text)
    plain = character_bits(text)
    pieces: list[list[tuple[int, float, int]]] = [[] for _ in range(n)]
    by_letter, by_step = letters(text), walks(text)
    for start, end, cost in (*words(text), *language_runs(text)):
        walked = not text[start:end].isalpha() or 4 * by_step[start + 1 : end].count(NEVER) <= end - start - 1
        pieces[start].append((end, cost, _SIMPLE if walked else _WORD))
    for start, end, cost in (*counting(text, plain), *repeats(text), *numbers(text)):
        pieces[start].append((end, cost, _SIMPLE))
    best = [0.0] + [NEVER] * n
    back = [(0, _ITSELF)] * (n + 1)
    spelt, spelt_from = NEVER, 0
    walk, walk_from = NEVER, 0
    for i in range(n):
        here = best[i]
        # one more character: as it is, of a word that no list has, of a walk
        cost = min(plain, 4.5) if text[i] in _SEPARATORS else plain
        if here + cost < best[i + 1]:
            best[i + 1], back[i + 1] = here + cost, (i, _ITSELF)
        if by_letter[i] == NEVER:
            spelt = NEVER
        else:
            if here + 5.0 < spelt:
                spelt, spelt_from = here + 5.0, i
            spelt += by_letter[i]
            if spelt < best[i + 1]:
                best[i + 1], back[i + 1] = spelt, (spelt_from, _WORD)
        walk += by_step[i]
        if here + 8.0 < walk:
            walk, walk_from = here + 8.0, i
        elif i - walk_from >= 2 and walk < best[i + 1]:
            best[i + 1], back[i + 1] = walk, (walk_from, _SIMPLE)
        for end, cost, kind in pieces[i]:
            if here + cost < best[end]:
                best[end], back[end] = here + cost, (i, kind)
    used: list[tuple[int, int, int, float]] = []
    at = n
    while at > 0:
        start, kind = back[at]
        used.append((start, at, kind, plain * (at - start) - (best[at] - best[start])))
        at = start
    return Description(best[n], plain * n, _left(text, plain, used[::-1]), all(p[2] != _WORD for p in used))


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
        most = TOLERATED[0] + TOLERATED[1] * plain * len(whole)
        if not jointed and sum(piece[3] for piece in stretch) <= most:
            runs = [whole]
        else:
            divided = True
            kept = "".join(text[p[0]] if p[2] == _ITSELF else "\0" for p in stretch)
            runs = re.split(r"[\0_. :/-]" if jointed else "\0", kept)
        left += [r for run in runs if len(r := run.strip(_JOINTS)) >= (LEAST_RUN if divided else 1)]
    return tuple(left)
