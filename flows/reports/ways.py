"""Which way each secret goes: the three ways side by side, with what each is predicted to gain. Never a value."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from flows.reports.lines import grid, say, table_lines
from hush_core.weights import Way
from tasks.wording import counted

HEADS = ("entry", "secrets", "examples or places", "noise", "leave out", "redact")
TAKEN = {"noise": "learned under noise", "drop": "left out", "redact": "redacted"}
EXPLAINED = (
    "share predicted of what training without protection gains on the entry's text (hush_core/weights/law.py); "
    "* is taken"
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


def render(ways: Sequence[Way], console: Console) -> None:
    if not ways:
        return
    table = grid(HEADS, left="entry")
    for way in ways[:MOST_ROWS]:
        table.add_row(*map(escape, cells(way)))
    console.print(table)
    console.print(f"[dim]{EXPLAINED}[/dim]", soft_wrap=True)
    for number, sentence in enumerate(sentences(ways)):
        say(console, "" if number else "ways", sentence)


def markdown(ways: Sequence[Way]) -> list[str]:
    if not ways:
        return []
    table = table_lines(HEADS, map(cells, ways))
    return [*table, "", f"{EXPLAINED}.", "", *(f"- {sentence}" for sentence in sentences(ways)), ""]
