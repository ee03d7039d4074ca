"""The pieces that people write, found in a text: (start, end, bits to say them), or bits a character.

Words of the lists and letters as a language has them, walks over a keyboard, counting, repeats, dates.
`description` divides a text into them.
"""

import itertools
import math
import re
import string
from functools import cache

from hush_core.secrets.guessing.words import CONSTANTS, INDEX, MOST, heads, letter_bits, word_bits

_LAYOUTS = (
    ("`1234567890-=", "qwertyuiop[]\\", "asdfghjkl;'", "zxcvbnm,./"),
    ("^1234567890ß´", "qwertzuiopü+", "asdfghjklöä#", "yxcvbnm,.-"),
    ("²&é\"'(-è_çà)=", "azertyuiop^$", "qsdfghjklmù*", "wxcvbn,;:!"),
    ("`1234567890[]", "',.pyfgcrl/=\\", "aoeuidhtns-", ";qjkxbmwvz"),
    ("789", "456", "123", "0."),
)
_STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
"""Right, left, and the two keys below and above: rows are shifted by half a key each."""
_SHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))
_AZERTY_DIGITS = dict(zip("1234567890", "&é\"'(-è_çà", strict=True))


def lower_case(text: str) -> str:
    """In lower case, one character for each: of all of Unicode only İ becomes two by `str.lower`."""
    return text.replace("İ", "i").lower()


def unshifted(text: str) -> str:
    """The keys that were pressed, on an American keyboard."""
    return "".join(_SHIFTED.get(c, c) for c in lower_case(text))


@cache
def neighbours() -> dict[tuple[str, str], int]:
    """Two keys → a set of bits, one a layout and direction in which the second is next to the first."""
    found: dict[tuple[str, str], int] = {}
    for layout, rows in enumerate(_LAYOUTS):
        # the row of digits begins one key further left than the row below it
        offset = 1 if layout < len(_LAYOUTS) - 1 else 0
        place = {
            c: (r, i - (offset if r == 0 else 0)) for r, row in enumerate(rows) for i, c in enumerate(row)
        }
        if layout == 2:
            place |= {digit: place[key] for digit, key in _AZERTY_DIGITS.items()}
        keys: dict[tuple[int, int], list[str]] = {}
        for c, at in place.items():
            keys.setdefault(at, []).append(c)
        for a, (r, i) in place.items():
            for direction, (down, right) in enumerate(_STEPS):
                for b in keys.get((r + down, i + right), ()):
                    found[a, b] = found.get((a, b), 0) | 1 << (6 * layout + direction)
    return found


NEVER = math.inf
"""Bits of what is no such piece."""
Piece = tuple[int, int, float]

HEX = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)\Z")
_SIGNS = dict(zip("4@8(360$57+", "aabcegosstt", strict=True))
_LEET = tuple(
    str.maketrans(_SIGNS | more)
    for more in ({"1": "i", "!": "i", "|": "l"}, {"1": "l", "!": "l", "9": "g", "2": "z"})
)
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
SPELT = re.compile(r"(?:[A-Z]?[a-z]{2,})+|[A-Z]{8,}")


def words(text: str) -> list[Piece]:
    """Words of the lists, in any case, with digits and signs for letters, forwards and backwards."""
    lower = lower_case(text)
    known, begins = word_bits(), heads()
    found = []
    spellings = {lower: _A_WORD}
    if not HEX.match(text):
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
                changed = sum(map(str.__ne__, lower_case(written), spelling[i:j])) if extra == _CHANGED else 0
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


def letters(text: str) -> list[float]:
    """By character, the bits of a letter after the two before it; infinite for other characters."""
    table, costs = letter_bits(), []
    a = b = 26
    before = ""
    for c in text:
        k = INDEX.get(c.lower())
        if k is None:
            costs.append(NEVER)
            a = b = 26
        else:
            flips = b != 26 and c.isupper() != before.isupper()
            costs.append(table[(a * 27 + b) * 27 + k] + (2.5 if flips else 0.2))
            a, b = b, k
        before = c
    return costs


def language_runs(text: str) -> list[Piece]:
    """Runs of letters, in words of one case, that follow each other as in a language: of drawn ones 0.1 %."""
    found, table = [], letter_bits()
    for match in SPELT.finditer(text):
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


def walks(text: str) -> list[float]:
    """By character, the bits of the step to it from the key before; infinite where that is no neighbour."""
    beside, keys = neighbours(), unshifted(text)
    costs, held, shift = [NEVER], 0, False
    for n, (a, b) in enumerate(itertools.pairwise(keys), start=1):
        way, before, shift = beside.get((a, b), 0), shift, keys[n] != text[n]
        costs.append(NEVER if not way else (1.0 if way & held else 4.5) + (2.5 if shift != before else 0.3))
        held = (way & held) or way
    return costs[: len(text)]


def counting(text: str, plain: float) -> list[Piece]:
    """Runs that count by one step, every character or every second to fourth: abcd, 2468, A1B2C3, 9a8b7c."""
    found = []
    for stride in (1, 2, 3, 4):
        steps = [STEPS.get((a, b)) for a, b in zip(text, text[stride:], strict=False)]
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


STEPS = {
    (a, b): step for a in string.printable for b in string.printable if (step := _step(a, b)) is not None
}


def repeats(text: str) -> list[Piece]:
    """At each place, the longest that was before it already, in either case or mirrored, or in known digits."""
    found, lower = [], lower_case(text)
    n, mirrored = len(text), lower[::-1]
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
        # what was before i, backwards, is mirrored from n - i on
        length = 3 if mirrored.find(lower[i : i + 3], n - i) >= 0 else 0
        while length and i + length < n and mirrored.find(lower[i : i + length + 1], n - i) >= 0:
            length += 1
        if length:
            found.append((i, i + length, 5 + math.log2(i) + 2 * math.log2(length)))
    return found


def numbers(text: str) -> list[Piece]:
    """Dates, years, and seconds or milliseconds since 1970."""
    found = [(m.start(), m.end(1), 19.0) for m in _DATES.finditer(text)]
    found += [(m.start(), m.end(), 20.0) for m in _ADDRESSES.finditer(text)]
    found += [(m.start(), m.end(), 10.0) for m in _YEARS.finditer(text)]
    return found + [(m.start(), m.end(), 24.0) for m in _CLOCKS.finditer(text)]
