"""Where else a found value is: every file is searched for every value in every usual encoding.

Detectors see a value where its context gives it away; its copies are in tests, logs, notebooks and base64. Encoded
text is decoded and searched for all values at once (`decoding.py`), so an encoding costs one decoder, not a byte
string a value. Few spellings are left that are the value's own (`spellings.py`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from hush_core.secrets.detectors import deadline
from hush_core.secrets.propagation.decoding import TooMuch, layers
from hush_core.secrets.propagation.escapes import is_quoted
from hush_core.secrets.propagation.gate import BACKSLASH, CALLS, ENTITY, PERCENT, QUOTED, STRANGE, kinds
from hush_core.secrets.propagation.layers import BLOCK, SQUEEZED, Layer
from hush_core.secrets.propagation.layouts import words
from hush_core.secrets.propagation.seeker import Seeker
from hush_core.secrets.propagation.spellings import Spelling, spellings, stands_apart

MIN_DECODED = 6
"""Shorter values are not searched for in base64 and its like: all texts of three bytes are there by chance."""
TOGETHER = 1 << 18
APART = b"\n\x01Zq\x02\n"
"""Separates contents that are looked at together."""
CUT = "cut"
RARE = frozenset((PERCENT, ENTITY, STRANGE, CALLS))
PIECE = 16
"""Bytes of a piece: every stretch of a value of twice as many less one holds one."""
ARMOUR_MARGIN = 80
"""Bytes around a line of a private key that are labelled with it (its BEGIN or END line)."""


@dataclass(frozen=True)
class SearchTerm:
    """One value to search for.

    `any_case`: ASCII letters match in either case. `apart`: it counts only if it is no part of a longer word or
    number. `fragments`: parts that give the value away by themselves (the lines of a private key). `ends`: parts
    that do not (its first line, which keys share, and a short last one), but belong to it next to a fragment.
    `reason`: of an edge where the value is as written; "propagated:raw" if empty.
    """

    value: bytes = field(repr=False)
    any_case: bool = False
    fragments: tuple[bytes, ...] = field(default=(), repr=False)
    reason: str = ""
    ends: tuple[bytes, ...] = field(default=(), repr=False)
    apart: bool = False


class Hit(NamedTuple):
    """Value number `index` is in bytes [start, end) of the content, in the encoding `form`.

    Two forms are no value's, and their index is −1. TOO_SLOW: the search was given up; it is the only hit of the
    content. CUT: the content decodes to more than was searched.
    """

    index: int
    start: int
    end: int
    form: str

    def with_armour(self, content: bytes) -> tuple[int, int]:
        """The place, and what may belong to it around a line of a private key."""
        margin = ARMOUR_MARGIN if self.form == "fragment" else 0
        return max(0, self.start - margin), min(len(content), self.end + margin)

    def ends(self, content: bytes, search_term: SearchTerm) -> Iterator[tuple[int, int]]:
        """Where the value's `ends` are within a margin of a fragment, in one piece."""
        for part in search_term.ends if self.form == "fragment" else ():
            reach = ARMOUR_MARGIN + len(part)
            place = content.rfind(part, max(0, self.start - reach), self.start)
            if place < 0:
                place = content.find(part, self.end, self.end + reach)
            if place >= 0:
                yield place, place + len(part)


class ValueSearch:
    """A search for many values at once.

    Args:
        search_terms: the values; a hit's `index` counts them from 0.

    Attributes:
        patterns: how many distinct byte strings are searched for.
        threads: several may call `find` at once.
    """

    threads = True

    def __init__(self, search_terms: Sequence[SearchTerm]) -> None:
        whole: dict[tuple[bytes, bool], dict[int, Spelling]] = {}
        alone: dict[tuple[bytes, bool], dict[int, Spelling]] = {}
        for index, term in enumerate(search_terms):
            for one in spellings(term.value, term.fragments, any_case=term.any_case, apart=term.apart):
                key = (one.text.lower() if one.folded else one.text, one.folded)
                (alone if one.squeezed else whole).setdefault(key, {}).setdefault(index, one)
        self._whole, self._alone = Seeker(whole), Seeker(alone)
        self.patterns = len(whole) + len(alone)

    def patterns_of(self, wanted: Callable[[int], bool]) -> int:
        """How many of the byte strings belong to a value whose index is wanted."""
        seekers = (self._whole, self._alone)
        return sum(any(map(wanted, owners)) for seeker in seekers for owners in seeker.owners)

    def find(self, content: bytes) -> Iterator[Hit]:
        """Every hit in one whole file, in no particular order; of those at one place the nearest to the content."""
        return self._find(layers(content))

    __call__ = find
    """For `scans.looked_at`."""

    def each(self, contents: Sequence[bytes]) -> list[list[Hit]]:
        """What `find` finds in each."""
        return [hits for hits, _ in self.searched(contents)]

    def searched(
        self, contents: Sequence[bytes], before: Sequence[int | None] = ()
    ) -> list[tuple[list[Hit], bool]]:
        """What `find` finds in each, and whether a version after it is to be searched as a whole, too: where a text
        in it is quoted-printable, or it took too long. Small ones are looked at together: one long text takes a
        third of the time that many short ones take, and nothing is found that begins in one and ends in another.
        `before`: the place in `contents` of the version before each."""
        found: list[tuple[list[Hit], bool]] = [([], False) for _ in contents]
        alone: list[int] = []
        for numbers in _together(contents):
            if len(numbers) > 1:
                starts = [0, *accumulate(len(contents[n]) + len(APART) for n in numbers)]
                text = APART.join([contents[n] for n in numbers])
                try:
                    with deadline.limited(len(text), deadline.AGAIN):
                        hits = list(self._find(layers(text, several=True)))
                except (TooMuch, deadline.TooSlow):
                    pass
                else:
                    for hit in hits:
                        one = bisect_right(starts, hit.start) - 1
                        number, offset = numbers[one], starts[one]
                        if hit.end - offset <= len(contents[number]):
                            moved = hit._replace(start=hit.start - offset, end=hit.end - offset)
                            found[number][0].append(moved)
                    continue
            alone += numbers
        for number in sorted(alone):
            earlier = before[number] if before else None
            found[number] = self.in_time(contents[number], found[earlier][0] if earlier is not None else ())
        return found

    def in_time(self, content: bytes, before: Sequence[Hit] = ()) -> tuple[list[Hit], bool]:
        """As `searched` of one; where it takes longer than `deadline` allows, one hit TOO_SLOW. `before`: what is
        in the version before it."""
        mail, cut, whole = [], [], Hit(-1, 0, len(content), CUT)
        try:
            with deadline.limited(len(content), deadline.AGAIN if is_slow(before) else 1.0):
                texts = layers(content, cut=lambda: cut.append(whole), mail=lambda: mail.append(None))
                return [*self._find(texts), *cut[:1]], bool(mail)
        except deadline.TooSlow:
            return [Hit(-1, 0, len(content), deadline.TOO_SLOW)], True

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Where in a text, of several contents in one, anything is to be seen: hits, and pieces of what may
        continue outside.

        Raises:
            TooMuch: more was decoded than of one content, or one of them may be mail.
            TooSlow: it takes longer than `deadline` allows.
        """
        for layer in layers(text, several=True):
            for hit, _ in self._hits(layer):
                yield hit.start, hit.end
            deadline.check()
            squeezed = layer.kind == SQUEEZED
            for _, start, end in self._pieces[squeezed].scan(layer.text):
                below, at = (layer.below, layer.back(start, end)) if squeezed else (layer, (start, end))
                place = below.place(at[0], at[1])
                if place is not None:
                    yield place[:2]

    @cached_property
    def _pieces(self) -> tuple[Seeker, Seeker]:
        """For the pieces of what is longer than two, its last bytes among them: of byte strings as they are, and
        without joints."""
        return tuple(
            Seeker({(text[at : at + PIECE], folded): {} for text, folded in seeker.patterns if len(text) > 2 * PIECE
                     for at in (*range(0, len(text) - PIECE, PIECE), len(text) - PIECE)})
            for seeker in (self._whole, self._alone)
        )  # fmt: skip

    def _hits(self, layer: Layer) -> Iterator[tuple[Hit, Spelling]]:
        seeker = self._alone if layer.kind == SQUEEZED else self._whole
        for pattern, start, end in seeker.scan(layer.text):
            deadline.check()
            if layer.kind == BLOCK and end - start < MIN_DECODED:
                continue
            for index, spelling in seeker.owners[pattern].items():
                if spelling.apart and not stands_apart(layer.text, start, end):
                    continue
                hit = _hit(layer, index, spelling, start, end)
                if hit is not None:
                    yield hit, spelling

    def _find(self, texts: Iterable[Layer]) -> Iterator[Hit]:
        strong: dict[tuple[int, int, int], Hit] = {}
        weak: list[tuple[Hit, bool]] = []
        for layer in texts:
            deadline.check()
            for hit, spelling in self._hits(layer):
                if layer.kind == SQUEEZED or spelling.decoded:
                    weak.append((hit, spelling.decoded))
                else:
                    strong.setdefault(hit[:3], hit)  # of its index and place
        yield from strong.values()
        if weak:
            yield from _new(weak, strong.values())


def is_slow(hits: Sequence[Hit]) -> bool:
    """Whether the search was given up."""
    return bool(hits) and hits[0].form == deadline.TOO_SLOW


def _together(contents: Sequence[bytes]) -> Iterator[list[int]]:
    """The contents, by number, in groups of about TOGETHER bytes, those that need the same decoders together; mail
    and what is large is alone."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    sizes: dict[tuple[bool, ...], int] = {}
    for number, content in enumerate(contents):
        needed = kinds(content)
        if len(content) > TOGETHER // 4 or (QUOTED in needed and is_quoted(content)):
            yield [number]
            continue
        kind = (content.isascii(), BACKSLASH in needed, bool(needed & RARE))
        groups.setdefault(kind, []).append(number)
        sizes[kind] = sizes.get(kind, 0) + len(content)
        if sizes[kind] > TOGETHER:
            yield groups.pop(kind)
            sizes[kind] = 0
    yield from groups.values()


def stands_below(layer: Layer, spelling: Spelling, start: int, end: int) -> tuple[int, int] | None:
    """Where bytes of a squeezed layer are in the text below, with the signs that the value begins and ends with;
    None if other words are there."""
    first, last, _ = layer.back(start, end)
    text = layer.below.text
    if spelling.words:
        stands = words(text[first:last])
        if stands != spelling.words and not (spelling.folded and stands.lower() == spelling.words.lower()):
            return None
    before, after = spelling.edges
    if text.endswith(before, 0, first):
        first -= len(before)
    if text.startswith(after, last):
        last += len(after)
    return first, last


def _hit(layer: Layer, index: int, spelling: Spelling, start: int, end: int) -> Hit | None:
    if layer.kind == SQUEEZED:
        below = stands_below(layer, spelling, start, end)
        if below is None:
            return None
        layer, (start, end) = layer.below, below
    if layer.below is None:
        return Hit(index, start, end, spelling.form)
    place = layer.place(start, end)
    if place is None:
        return None
    start, end, form = place
    if not form:
        form = spelling.form
    elif spelling.form not in ("raw", "newlines") and not form.endswith(spelling.form):
        form = f"{form}/{spelling.form}"
    return Hit(index, start, end, form)


def _new(weak: Sequence[tuple[Hit, bool]], strong: Iterable[Hit]) -> Iterator[Hit]:
    """What was found in pieces, unless it is in a hit of the same value; and the bytes of an encoded value,
    unless they touch one."""
    found: dict[int, list[tuple[int, int]]] = {hit.index: [] for hit, _ in weak}
    for hit in strong:
        if hit.index in found:
            found[hit.index].append((hit.start, hit.end))
    known = {}
    for index, places in found.items():
        places.sort()
        known[index] = [start for start, _ in places], [0, *accumulate((end for _, end in places), max)]
    given = set()
    for hit, bare in sorted(weak, key=lambda one: one[1]):
        starts, ends = known[hit.index]
        touched = ends[bisect_left(starts, hit.end)] > hit.start if bare else False
        place = hit.index, hit.start, hit.end
        if not touched and place not in given and ends[bisect_right(starts, hit.start)] < hit.end:
            given.add(place)
            yield hit
