"""What an attacker is shown of the text around a secret's value: never the value itself.

A text is cut where the secret occurs again, before and after its place, and wherever the value occurs. Otherwise a
model that copies from its context would give away only what the attacker put in.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl


class Target(NamedTuple):
    """A value, and distinct pairs of the text before and after its places (after: empty unless asked for)."""

    number: int
    value: bytes
    contexts: list[tuple[bytes, bytes]]


def value_targets(
    texts: Sequence[bytes], occurrences: pl.DataFrame, most: int, *, both: bool
) -> Iterator[Target]:
    """Each secret's value (its commonest form) with up to `most` contexts, by secret_id.

    Args:
        occurrences: secret_id, example_id, start, end: byte offsets in `texts`. both: also the text after.
    """
    for number, rows in _places(occurrences, "secret_id"):
        forms = Counter(texts[i][start:end] for i, start, end in rows)
        value = forms.most_common(1)[0][0]
        own = [(i, start, end) for i, start, end in rows if texts[i][start:end] == value]
        yield Target(number, value, _shown(texts, own, rows, value, most, both=both))


def redacted_targets(
    texts: Sequence[bytes], redactions: pl.DataFrame, values: pl.DataFrame, most: int, *, both: bool
) -> Iterator[Target]:
    """Each redacted value with the contexts of its placeholders, by redacted_id.

    Args:
        redactions: redacted_id, example_id, start, end of each placeholder. values: redacted_id, value.
    """
    known = dict(values.select("redacted_id", "value").iter_rows())
    for number, rows in _places(redactions, "redacted_id"):
        if number in known:
            value = known[number]
            yield Target(number, value, _shown(texts, rows, rows, value, most, both=both))


def _places(table: pl.DataFrame, key: str) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    groups = table.sort(key, "example_id", "start").partition_by(key, as_dict=True)
    for (number,), rows in sorted(groups.items()):
        yield number, [(i, start, end) for _, i, start, end in rows.iter_rows()]


def _shown(
    texts: Sequence[bytes],
    own: list[tuple[int, int, int]],
    rows: list[tuple[int, int, int]],
    value: bytes,
    most: int,
    *,
    both: bool,
) -> list[tuple[bytes, bytes]]:
    """The distinct contexts of the places in `own`, cut at all places in `rows` and where the value is."""
    others: dict[int, list[tuple[int, int]]] = {}
    for example, start, end in rows:
        others.setdefault(example, []).append((start, end))
    found: dict[tuple[bytes, bytes], None] = {}
    for example, start, end in own:
        text = texts[example]
        left = max([0, *(e for _, e in others[example] if e <= start)])
        right = min([len(text), *(s for s, _ in others[example] if s >= end)])
        before, after = text[left:start], text[end:right] if both else b""
        if (again := before.rfind(value)) >= 0:
            before = before[again + len(value) :]
        if (again := after.find(value)) >= 0:
            after = after[:again]
        found[before, after] = None
        if len(found) == most:
            break
    return list(found)
