"""One text that a content decodes to, and the way back to the content's bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

PLAIN, BLOCK, SQUEEZED = "plain", "block", "squeezed"

Place = tuple[int, int | None, bool]
"""Bytes [start, end) of the layer below, and whether anything there was decoded. No end: to that of the run."""


@dataclass(frozen=True, repr=False)
class Layer:
    """One text. `kind`: PLAIN: the content, escapes undone or not; BLOCK: out of a block, or out of text that was;
    SQUEEZED: without joints.

    form: how it is written below; empty where nothing is decoded. back: bytes [start, end) of `text` → their place
    below, widened to all that a longer value there would move; None for what crosses two blocks.
    """

    text: bytes
    kind: str = PLAIN
    form: str = ""
    below: Layer | None = None
    back: Callable[[int, int | None], Place | None] = field(default=lambda start, end: (start, end, False))

    def place(self, start: int, end: int) -> tuple[int, int, str] | None:
        """Where bytes [start, end) are in the content, and in which forms, the outermost first ("" for none)."""
        layer, forms = self, []
        while layer.below is not None:
            below = layer.back(start, end)
            if below is None:
                return None
            start, end, touched = below
            if touched and layer.form and forms[-1:] != [layer.form]:
                forms.append(layer.form)
            layer = layer.below
        return start, end, "/".join(reversed(forms))


BETWEEN = b"\xff\0"
"""Separates parts of a layer that are not together below."""


def joined(
    below: Layer,
    form: str,
    parts: Sequence[bytes],
    place: Callable[[int, int, int | None], Place | None],
    kind: str = BLOCK,
) -> Layer:
    """A layer of several parts.

    Args:
        place: of a part, by number, and of bytes [start, end) of it: where they are below.
    """
    starts = [0, *accumulate(len(part) + len(BETWEEN) for part in parts)]

    def back(start: int, end: int | None) -> Place | None:
        number = bisect_right(starts, start) - 1
        if end is not None:
            end -= starts[number]
            if end > len(parts[number]):
                return None
        return place(number, start - starts[number], end)

    return Layer(BETWEEN.join(parts), kind, form, below, back)
