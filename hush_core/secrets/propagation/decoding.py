"""All layers of a text: what it decodes to, and that in turn.

    content ─ escapes (escapes.py) ─ blocks: base64, hex, … (blocks.py) ─ escapes ─ blocks
            └ without joints (layouts.py), at every step

Every layer is searched for values as they are. At most two blocks deep, and twice through each kind of escape. Of
one content at most BUDGET × its size + SPARE bytes are decoded, the nearest layers first, so time and memory are
linear in its size for any content.
"""

import bz2
import lzma
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain

from hush_core.secrets.propagation.blocks import ascii85, blocks
from hush_core.secrets.propagation.escapes import ESCAPES, around_escapes, quoted_printable, utf16
from hush_core.secrets.propagation.gate import QUOTED, UTF16, kinds
from hush_core.secrets.propagation.layers import BLOCK, Layer, joined
from hush_core.secrets.propagation.layouts import squeezed

MAX_BLOCKS = 2
BUDGET = 16
SPARE = 4 << 20
MOST = 8 << 20
"""Bytes that one text may unfold to: what is behind them is not looked at."""
MOST_TRIED = 256
"""Beginnings of compressed bytes that are tried in one text."""
_XZ_MEMORY = 64 << 20
_BEGINS = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
"""What gzip, bzip2, xz, members of zip files and zlib begin with."""


class TooMuch(Exception):
    """Several contents decode to what is limited or judged for each of them: look at them one by one."""


def layers(
    content: bytes,
    *,
    several: bool = False,
    cut: Callable[[], None] = lambda: None,
    mail: Callable[[], None] = lambda: None,
) -> Iterator[Layer]:
    """The content itself first, then all that it decodes to, without repetition, the nearest layers first.

    Args:
        several: it is several contents in one.
        cut: called once where not all of it is decoded, as it is more than what is decoded of one content.
        mail: called where a text in it is quoted-printable: whether one is, any place in it may decide.

    Raises:
        TooMuch: there are several, and more was decoded than of one, or a text in it is quoted-printable.
    """
    left = BUDGET * len(content) + SPARE
    waiting = deque([(Layer(content), MAX_BLOCKS, True)])
    while waiting:
        layer, deeper, alone = waiting.popleft()
        yield layer
        held = kinds(layer.text)
        steps = list(_undone(layer, held))
        last, held_last = steps[0] if steps else (layer, held)
        yield from (step for step, _ in steps)
        yield squeezed(last)
        if len(steps) > 1:
            yield squeezed(steps[1][0])
        found = []
        if alone and QUOTED in held_last and (quoted := quoted_printable(last)) is not None:
            if several:
                raise TooMuch
            mail()
            found.append((quoted, deeper, False))
        if UTF16 in held_last and layer.form != "utf-16" and (narrow := utf16(last)) is not None:
            found.append((narrow, deeper, alone))
        if (more := unpacked(layer)) is not None:
            found.append((more, deeper, True))
        if deeper:
            inner = chain(
                ascii85(layer, held), blocks(last, held_last), *(blocks(*step) for step in steps[1:])
            )
            found += [(block, deeper - 1, alone) for block in inner]
        left -= sum(len(step.text) for step, _ in steps) + sum(len(one.text) for one, _, _ in found)
        if several and (left < 0 or more is not None):
            raise TooMuch
        if left < 0 or (more is not None and len(more.text) >= MOST):
            cut, report_cut = (lambda: None), cut
            report_cut()
        if left < 0:
            return
        waiting += found


def _undone(layer: Layer, held: frozenset[int]) -> Iterator[tuple[Layer, frozenset[int]]]:
    """The layer with escapes of all kinds undone; and around what came out as an escape, undone once more."""
    once = _chain(layer, held)
    if once is layer:
        return
    held = kinds(once.text)
    yield once, held
    again = around_escapes(once, held)
    if again is not None and (twice := _chain(again, held)) is not again:
        yield twice, kinds(twice.text)


def _chain(layer: Layer, held: frozenset[int]) -> Layer:
    """Escapes of those kinds undone; once one is, of all kinds that may have come out of it."""
    begun = layer
    for kind, escape in ESCAPES.items():
        if kind in held or layer is not begun:
            layer = escape(layer) or layer
    return layer


def unpacked(below: Layer) -> Layer | None:
    """All of it, out of gzip, zlib, bzip2, xz and the members of a zip file; None if it is not compressed. A longer
    value changes all of what is compressed."""
    if below.kind != BLOCK:
        return None
    texts, starts = [], []
    left = MOST
    for begin in _beginnings(below.text):
        if left > 0 and (text := _unfolded(below.text, begin, left)):
            texts.append(text)
            starts.append(begin)
            left -= len(text)
    if not texts:
        return None
    return joined(below, "compressed", texts, lambda number, start, end: (starts[number], None, True))


def _beginnings(text: bytes) -> list[int]:
    found: list[int] = []
    for sign in _BEGINS:
        place = text.find(sign)
        while place >= 0 and len(found) < MOST_TRIED:
            found.append(place)
            place = text.find(sign, place + 1)
    return sorted(found)


def _unfolded(text: bytes, begin: int, most: int) -> bytes:
    """At most so many bytes of what begins there; none where it is no such thing."""
    data = memoryview(text)[begin:]
    try:
        if text.startswith(b"BZh", begin):
            return bz2.BZ2Decompressor().decompress(data, most)
        if text.startswith(b"\xfd", begin):
            return lzma.LZMADecompressor(memlimit=_XZ_MEMORY).decompress(data, most)
        if text.startswith(b"PK", begin):
            sizes = bytes(data[26:30])
            data = data[30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little") :]
            return zlib.decompressobj(-15).decompress(data, most)
        return zlib.decompressobj(47).decompress(data, most)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return b""
