"""Where encoded runs are in a text: characters of one alphabet in a row, over lines and string joints."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from hush_core.secrets.propagation.layouts import gap, mark_of

_REST = rb"(?=[^0-9A-Za-z\n]*+(?:\n|\Z))"
"""A line that continues with a run holds nothing else."""


@dataclass(frozen=True, repr=False)
class EncodedRun:
    """Characters at `pieces` (start, end) of a text; with its padding, the last ends at `end`."""

    pieces: Sequence[tuple[int, int]]
    end: int

    def characters(self, text: bytes) -> bytes:
        return b"".join([text[start:end] for start, end in self.pieces])

    @cached_property
    def _before(self) -> list[int]:
        return [0, *accumulate(end - start for start, end in self.pieces)]

    def place(self, character: int) -> int:
        """Where a character is in the text, by its number."""
        piece = bisect_right(self._before, character) - 1
        return self.pieces[piece][0] + character - self._before[piece]

    def rest(self, character: int) -> int:
        """Where all ends that moves if there are more characters before this one and with it: at the run's end, as
        codes of several bytes a group move, and line breaks do."""
        return max(self.end, self.place(character) + 1)


class Alphabet:
    """The characters of one code.

    Args:
        characters: a class of a regular expression.
        pads: what may follow a run and is part of it.
    """

    def __init__(self, characters: bytes, pads: bytes = b"") -> None:
        self._characters, self._pads = characters, pads
        self._members = b"".join(re.compile(b"[" + characters + b"]").findall(bytes(range(256))))
        self._made: dict[bytes, tuple[re.Pattern[bytes], re.Pattern[bytes]]] = {}

    def _expressions(self, mark: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
        """Of a run whose lines begin with the mark, and of what is between its pieces."""
        if mark not in self._made:
            piece, pad = b"[" + self._characters + b"]++", b"[" + self._pads + b"]*+" if self._pads else b""
            between = gap(mark)
            more = b"(?:" + between + piece + b"(?:" + _REST + b"|(?=[ \\t]*+[\"'`])))*+"
            self._made[mark] = re.compile(piece + more + pad), re.compile(between)
        return self._made[mark]

    def run_at(self, text: bytes, start: int) -> EncodedRun:
        """The run that begins at `start`, where one of the characters is."""
        mark = mark_of(text, start)
        if mark and text[start : start + 1] == mark and text[start - 1 : start] in (b"", b"\n"):
            start += 1
        run, between = self._expressions(mark)
        whole = run.match(text, start)
        if whole is None:
            return EncodedRun([(start, start)], start)
        end, pads = whole.end(), self._pads
        borders = [start, *chain.from_iterable(m.span() for m in between.finditer(text, start, end)), end]
        pieces = zip(borders[::2], borders[1::2], strict=True)
        return EncodedRun([(a, a + len(text[a:b].rstrip(pads)) if pads else b) for a, b in pieces], end)

    def runs(
        self, text: bytes, seeds: Sequence[int], is_seed: Callable[[int], bool] = lambda _: True
    ) -> Iterator[EncodedRun]:
        """The runs that hold the places in `seeds`, ascending; each once."""
        done = 0
        for seed in seeds:
            if seed < done or not is_seed(seed):
                continue
            run = self.run_at(text, self._begin(text, done, seed))
            done = max(run.end, seed + 1)
            yield run

    def _begin(self, text: bytes, least: int, seed: int) -> int:
        """Where the characters in a row begin that `seed` is one of."""
        reach = 64
        while True:
            first = max(least, seed - reach)
            before = text[first:seed].rstrip(self._members)
            if before or first == least:
                return first + len(before)
            reach *= 8
