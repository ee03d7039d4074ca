"""Blocks: runs of characters that represent other bytes, group by group; what they hold is a new layer.

Hexadecimal, base32 and base64 are one code: k bits a character. Where a run begins is not known (a word may be
before it), so all phases are decoded: what makes no sense holds no value. All runs of one code in a text are
decoded as one, so that few long texts are searched, not many short ones. A decimal integer is one group.
"""

import base64
import binascii
import contextlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from hush_core import linear
from hush_core.secrets.propagation.gate import BASE32, CALLS, FRAMED, LEAST_DIGITS, LONG_RUN, seeds
from hush_core.secrets.propagation.layers import Layer, Place, joined
from hush_core.secrets.propagation.lists import lists
from hush_core.secrets.propagation.runs import Alphabet, EncodedRun

_BASE64 = Alphabet(rb"A-Za-z0-9+/_\-", pads=b"=")
_HEX = Alphabet(b"0-9A-Fa-f")
_DIGITS = Alphabet(b"0-9")
_BASE32 = Alphabet(b"A-Z2-7", pads=b"=")
_SMALL32 = Alphabet(b"a-z2-7", pads=b"=")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_VALUE32 = np.zeros(256, dtype=np.uint8)
_VALUE32[list(BASE32)] = _VALUE32[list(BASE32.lower())] = np.arange(32)
_TEXT = bytes(range(32, 127)) + b"\t\n\r\0"
_MOST_DIGITS = 1240
"""Of an integer that is decoded: it represents 512 bytes."""
_DIGIT = re.compile(rb"[0-9]")
_SMALL32_ROW = re.compile(rb"[a-z2-7]{32}")


def blocks(below: Layer, kinds: frozenset[int]) -> Iterator[Layer]:
    """The layers of all codes whose runs are in a text.

    Args:
        kinds: what `gate.kinds` sees in it.
    """
    text = below.text
    found = seeds(text)
    yield from lists(below, found.lists if found is not None else (), calls=CALLS in kinds)
    if found is None:
        return
    mixed, small = set(), []
    for place in found.long64:
        row = text[place : place + LONG_RUN]
        lower = row.lower()
        if row == lower:
            if _SMALL32_ROW.match(row):
                small.append(place)
        elif row != row.upper() and _DIGIT.search(text, place, place + 4 * LONG_RUN):
            mixed.add(place)  # as bytes of all kinds are
    places = sorted({*found.ascii64, *mixed})
    for code, runs in (
        (BASE64_CODE, _BASE64.runs(text, places, lambda at: at in mixed or _is_text(text, at))),
        (HEX_CODE, _HEX.runs(text, found.hex)),
        (BASE32_CODE, _BASE32.runs(text, found.base32)),
        (BASE32_CODE, _SMALL32.runs(text, small)),
    ):
        if several := list(runs):
            yield _decoded(below, code, several)
    yield from _integers(below, found.integers)


def _integers(below: Layer, seeds: Sequence[int]) -> Iterator[Layer]:
    """The layer of decimal integers: the bytes of each, the highest first. All digits depend on all bytes."""
    places, held = [], []
    for run in _DIGITS.runs(below.text, seeds):
        # numbers on lines of their own, or one over lines
        for pieces in dict.fromkeys([*((piece,) for piece in run.pieces), tuple(run.pieces)]):
            if LEAST_DIGITS <= sum(end - start for start, end in pieces) <= _MOST_DIGITS:
                number = int(b"".join(below.text[start:end] for start, end in pieces))
                places.append((pieces[0][0], pieces[-1][1], True))
                held.append(number.to_bytes(-(-number.bit_length() // 8), "big"))
    if places:
        yield joined(below, "integer", held, lambda number, start, end: places[number])


def _is_text(text: bytes, place: int) -> bool:
    """Whether three groups of base64 hold text, in which NULs may be (UTF-16)."""
    return not _base64(text[place : place + 11].replace(b"=", b"A") + b"A")[:8].translate(None, _TEXT)


@dataclass(frozen=True)
class Code:
    """group: characters that represent a whole number of bytes. decode: whole groups to bytes. characters: which
    hold bytes [start, end) of what is decoded. zero: a character."""

    form: str
    group: int
    decode: Callable[[bytes], bytes]
    characters: Callable[[int, int], tuple[int, int]]
    zero: bytes


def _power_of_two(bits: int) -> Callable[[int, int], tuple[int, int]]:
    return lambda start, end: (start * 8 // bits, -(-end * 8 // bits))


def _base32(characters: bytes) -> bytes:
    values = _VALUE32[np.frombuffer(characters, np.uint8)]
    return np.packbits(np.unpackbits(values[:, None], axis=1)[:, 3:]).tobytes()


def _base64(characters: bytes) -> bytes:
    return binascii.a2b_base64(characters.translate(_STANDARD))


BASE64_CODE = Code("base64", 4, _base64, _power_of_two(6), b"A")
BASE32_CODE = Code("base32", 8, _base32, _power_of_two(5), b"A")
HEX_CODE = Code("hex", 2, binascii.unhexlify, _power_of_two(4), b"0")


def _decoded(below: Layer, code: Code, runs: Sequence[EncodedRun]) -> Layer:
    """The layer of all runs of one code in a text."""
    # NULs: what a run holds does not continue in what the next one holds; more than UTF-32 has (`escapes.utf16`)
    apart = code.zero * max(2 * code.group, 12)
    characters = [run.characters(below.text) + apart for run in runs]
    before = [0, *accumulate(map(len, characters))]
    whole, size = b"".join(characters) + code.zero * code.group, before[-1]
    phases = [
        code.decode(whole[phase : phase - (phase - size) // code.group * code.group])
        for phase in range(min(code.group, size))
    ]

    def place(phase: int, start: int, end: int | None) -> Place | None:
        first, last = code.characters(start, start + 1 if end is None else end)
        first, last = first + phase, min(last + phase, size)
        number = bisect_right(before, first) - 1
        end_of_run = before[number + 1] - len(apart)
        if first >= min(last, end_of_run) or last > before[number + 1]:
            return None
        at, run = before[number], runs[number]
        return run.place(first - at), run.rest(min(last, end_of_run) - 1 - at), True

    return joined(below, code.form, phases, place)


_FRAMED = linear.compile(rb"<~([!-uz\s]{10,})~>")
_GROUP = re.compile(rb"z|[!-u](?:\s*[!-u]){0,4}")


def ascii85(below: Layer, kinds: frozenset[int]) -> Iterator[Layer]:
    """One layer of all ASCII85 between `<~` and `~>`, as Adobe writes it; without these signs any text in one piece
    might be it. A longer value moves all that follows."""
    if FRAMED not in kinds:
        return
    found = []
    for match in _FRAMED.finditer(below.text):
        with contextlib.suppress(ValueError):
            found.append((base64.a85decode(match[1]), *match.span(1)))
    if not found:
        return

    def place(number: int, start: int, end: int | None) -> Place:
        _, begin, until = found[number]
        groups = starts.setdefault(number, [m.start() for m in _GROUP.finditer(below.text, begin, until)])
        return groups[start // 4], until, True

    starts: dict[int, list[int]] = {}
    yield joined(below, "ascii85", [text for text, _, _ in found], place)
