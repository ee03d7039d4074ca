"""Where a version differs: what is said to be equal stands in the text before, in one piece, where it is said."""

import random

import pytest

from hush_core.corpus import changes
from hush_core.corpus.changes import Change, around, changed, moved


def versions(seed: int):
    """Two texts of lines, many of them alike, the second with lines put in, taken out, replaced or moved."""
    draw = random.Random(seed)
    few = 40 if seed % 2 else 10_000
    old = [b"%d %s" % (draw.randrange(few), b"x" * draw.randrange(30)) for _ in range(draw.randrange(160))]
    new = list(old)
    for _ in range(draw.randrange(6)):
        at = draw.randrange(len(new) + 1)
        new[at : at + draw.randrange(8)] = [b"n%d" % draw.randrange(30) for _ in range(draw.randrange(5))]
    if seed % 5 == 0:
        at = draw.randrange(len(new) + 1)
        new = new[at:] + new[:at]
    ends = [b"\n" if draw.random() < 0.7 else b"" for _ in range(2)]
    return b"\n".join(old) + ends[0], b"\n".join(new) + ends[1]


def kept(before: bytes, now: bytes, found: list[Change]):
    """(start, end, place before) of what is said to be equal."""
    starts = [(0, 0), *((change.end, change.before) for change in found)]
    ends = [*(change.start for change in found), len(now)]
    return [(start, end, place) for (start, place), end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("effort", [64, 0])
def test_what_is_not_changed_stands_there_before(monkeypatch, effort):
    monkeypatch.setattr(changes, "EFFORT", effort)
    several = small = 0
    for seed in range(600):
        before, now = versions(seed)
        found = changed(before, now)
        assert (not found) == (before == now)
        for start, end, _ in found:
            assert start == 0 or now[start - 1 : start] == b"\n"
            assert end in (0, len(now)) or now[end - 1 : end] == b"\n"
        for start, end, place in kept(before, now, found):
            assert start <= end and now[start:end] == before[place : place + end - start]
        assert not found or len(before) - found[-1].before == len(now) - found[-1].end
        several += len(found) > 1
        small += sum(change.end - change.start for change in found) < len(now) / 4
    assert small > 150 and (several > 60 or not effort)


def test_rows_are_where_they_were():
    moves = 0
    for seed in range(300):
        before, now = versions(seed)
        found = changed(before, now)
        parts = around(now, found, 0)
        draw = random.Random(seed)
        starts = sorted(draw.randrange(len(before) + 1) for _ in range(20))
        rows = [(start, min(len(before), start + 5), n) for n, start in enumerate(starts)]
        stand = {}
        for start, end, place in kept(before, now, found):
            for first, last, n in rows:
                at = first - place + start
                if (
                    start <= at
                    and last - place + start <= end
                    and all(last - place + start <= a or at >= b for a, b in parts)
                ):
                    stand[n] = (at, last - place + start)
        got = {n: (first, last) for first, last, n in moved(rows, found, parts)}
        assert got == stand
        assert all(before[rows[n][0] : rows[n][1]] == now[a:b] for n, (a, b) in got.items())
        moves += len(got)
    assert moves > 1000


def test_what_is_around_a_change_has_seven_lines_with_words_on_both_sides():
    lines = [b"line %d" % n if n % 3 else b"  ()" for n in range(200)]
    text = b"\n".join(lines)
    at = text.index(b"line 100")
    ((first, last),) = around(text, [Change(at, at + 9, 0)])
    above, below = text[first:at].split(b"\n"), text[at + 9 : last].split(b"\n")
    for part in (above, below):
        assert 7 <= sum(b"line" in line for line in part) < 25 and sum(map(len, part)) >= 130
    assert text[first - 1 : first] == b"\n" and text[last - 1 : last] == b"\n"
    assert around(text, [Change(0, 5, 0), Change(at, at, 0)])[0][0] == 0
    long = b"".join(b"%100d\n" % n for n in range(40))
    assert around(long, [Change(2020, 2121, 2020)]) == [(2020 - 7 * 101, 2121 + 7 * 101)]


class Counted(bytes):
    """A text that counts the lines sought in it."""

    sought = 0

    def find(self, *where):
        self.sought += 1
        return super().find(*where)

    def rfind(self, *where):
        self.sought += 1
        return super().rfind(*where)


def test_many_changes_between_lines_without_words_read_the_text_twice_and_not_once_a_change():
    before, now = (
        Counted(b"".join((b"---\n", b"===\n")[n % 80 == k] for n in range(9_999))) for k in (80, 50)
    )
    found = changed(before, now)
    now.sought = 0
    around(now, found)
    assert len(found) > 50 and now.sought < 2.1 * 9_999


def test_what_is_around_many_changes_is_what_is_around_each():
    several = 0
    for seed in range(300):
        before, now = versions(seed)
        found = changed(before, now)
        each = [r for change in found for r in around(now, [change], 20)]
        together = around(now, found, 20)
        assert all(any(a <= start and end <= b for a, b in together) for start, end in each)
        assert sum(b - a for a, b in together) == len({n for start, end in each for n in range(start, end)})
        several += len(together) > 1
    assert several > 20
