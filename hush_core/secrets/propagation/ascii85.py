"""ASCII85 between `<~` and `~>`, as Adobe writes it. Without these signs any text in one piece might be it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.propagation.gate import FRAMED
from hush_core.secrets.propagation.layers import Layer, Place, joined

_FRAMED = linear.compile(rb"<~([!-uz\s]{10,})~>")
_GROUP = re.compile(rb"z|[!-u](?:\s*[!-u]){0,4}")


def ascii85(below: Layer, kinds: frozenset[int]) -> Iterator[Layer]:
    """One layer of all of it in a text. A longer value moves all that follows."""
    if FRAMED not in kinds:
        return
    found = []
    for match in _FRAMED.finditer(below.text):
        try:
            text = base64.a85decode(match[1])
        except ValueError:
            continue
        found.append((text, match.start(1), match.end(1)))
    if not found:
        return

    def place(number: int, start: int, end: int | None) -> Place:
        _, begin, until = found[number]
        groups = starts.setdefault(number, [m.start() for m in _GROUP.finditer(below.text, begin, until)])
        return groups[start // 4], until, True

    starts: dict[int, list[int]] = {}
    yield joined(below, "ascii85", [text for text, _, _ in found], place)
