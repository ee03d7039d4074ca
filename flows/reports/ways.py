"""Which way each secret goes: the three ways side by side, with what each is predicted to gain. Never a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.reports.lines import Block, Grid, Line, Small
from hush_core.weights import Way
from tasks.wording import counted

HEADS = ("entry", "secrets", "examples or places", "noise", "leave out", "redact")
TAKEN = {"noise": "learned under noise", "drop": "left out", "redact": "redacted"}
EXPLAINED = (
    "share predicted of what training without protection gains on the entry's text (hush_core/weights/law.py); "
    "-: none is predicted; * is taken"
)
MOST_ROWS = 12


def cells(way: Way) -> list[str]:
    found = [("noise", way.noise), ("drop", way.drop), ("redact", way.redact)]
    shares = [
        ("-" if share is None else f"{share:.0%}") + ("*" if name == way.taken else "")
        for name, share in found
    ]
    return [way.entry, f"{way.secrets:,}", f"{way.examples:,}", *shares]


def sentence(way: Way) -> str:
    return f"{way.entry}: {TAKEN[way.taken]} ({way.why})"


def sentences(ways: Sequence[Way]) -> list[str]:
    """Of each entry; many entries that go one way for one reason are one sentence."""
    alike: dict[tuple[str, str], list[str]] = {}
    for way in ways:
        alike.setdefault((way.taken, way.why), []).append(way.entry)
    return [f"{_named(entries)}: {TAKEN[taken]} ({why})" for (taken, why), entries in alike.items()]


def _named(entries: list[str], most: int = 5) -> str:
    more = len(entries) - most
    return ", ".join(entries[:most]) + (f" and {more:,} more" if more > 0 else "")


def in_short(ways: Sequence[Way]) -> str:
    """What is left out and redacted, in numbers; empty where nothing is."""
    left = [way for way in ways if way.taken == "drop" and way.secrets]
    redacted = sum(way.secrets for way in ways if way.taken == "redact")
    parts = [
        f"leave out {counted(sum(w.examples for w in left), 'example')} of {_named([w.entry for w in left])}"
    ]
    return ", ".join(
        [*(parts if left else []), *([f"redact {counted(redacted, 'value')}"] if redacted else [])]
    )


def redaction(ways: Sequence[Way]) -> str:
    """Which examples are counted: values that are replaced take no chunks of their own, so there are fewer."""
    return " after redaction" if any(way.taken == "redact" and way.secrets for way in ways) else ""


def blocks(ways: Sequence[Way]) -> Iterator[Block]:
    if not ways:
        return
    yield Grid(HEADS, [cells(way) for way in ways], left="entry", most=MOST_ROWS, file="ways.csv")
    yield Small(EXPLAINED)
    for number, said in enumerate(sentences(ways)):
        yield Line("" if number else "ways", said)
