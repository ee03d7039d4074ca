"""All layers of a text: what it decodes to, and that in turn.

    content ─ escapes (escapes.py) ─ blocks: base64, hex, … (blocks.py) ─ escapes ─ blocks
            └ without joints (layouts.py), at every step

Whoever looks for values looks for them as they are, in every layer. Two blocks deep, and twice through each kind of
escape; of one content at most BUDGET × its size + SPARE bytes are decoded, the nearest layers first, so that time
and memory are linear in its size whatever it holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

from hush_core.secrets.propagation.ascii85 import ascii85
from hush_core.secrets.propagation.blocks import blocks
from hush_core.secrets.propagation.compressed import unpacked
from hush_core.secrets.propagation.escapes import ESCAPES, around_escapes, quoted_printable
from hush_core.secrets.propagation.layers import Layer
from hush_core.secrets.propagation.layouts import squeezed

MAX_BLOCKS = 2
BUDGET = 16
SPARE = 4 << 20


class TooMuch(Exception):
    """Several contents decode to what is limited for each: they are to be looked at one by one."""


def layers(content: bytes, *, several: bool = False) -> Iterator[Layer]:
    """The content itself first, then all that it decodes to, without repetition, the nearest layers first.

    Args:
        several: it is several contents in one.

    Raises:
        TooMuch: there are several, and more was decoded than of one.
    """
    left = BUDGET * len(content) + SPARE
    waiting = deque([(Layer(content), MAX_BLOCKS, not several)])
    while waiting:
        layer, deeper, alone = waiting.popleft()
        yield layer
        steps = _undone(layer)
        last = steps[0] if steps else layer
        yield from steps
        yield squeezed(last)
        if len(steps) > 1:
            yield squeezed(steps[1])
        found = []
        if alone and (quoted := quoted_printable(last)) is not None:
            found.append((quoted, deeper, False))
        if (more := unpacked(layer)) is not None:
            found.append((more, deeper, True))
        if deeper:
            inner = chain(ascii85(layer), *map(blocks, (last, *steps[1:])))
            found += [(block, deeper - 1, alone) for block in inner]
        left -= sum(len(one.text) for one in steps) + sum(len(one.text) for one, _, _ in found)
        if several and (left < 0 or more is not None):
            raise TooMuch
        if left < 0:
            return
        waiting += found


def _undone(layer: Layer) -> list[Layer]:
    """The layer with escapes of all kinds undone; and around what came out as an escape, undone once more."""
    once = _chain(layer)
    if once is layer:
        return []
    again = around_escapes(once)
    if again is None or (twice := _chain(again)) is again:
        return [once]
    return [once, twice]


def _chain(layer: Layer) -> Layer:
    for escape in ESCAPES:
        layer = escape(layer) or layer
    return layer
