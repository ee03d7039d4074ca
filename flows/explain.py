"""Why did hush refuse, and what does a report's word mean? The entries of refusals.toml, by code or by words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hush_core.errors import InputError

FILE = Path(__file__).with_name("refusals.toml")


@dataclass(frozen=True)
class Refusal:
    """One kind of refusal, or some words of reports. says, theirs: parts of its messages, hush's own and a
    library's. terms: the words."""

    code: str
    why: str
    do: str
    says: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (*self.says, *self.theirs, *self.terms)

    def place(self, asked: str) -> int | None:
        """Where the first of the terms is in a text in lower case, as words of their own; None: nowhere."""
        found = [re.search(rf"(?<!\w){re.escape(term.casefold())}s?(?!\w)", asked) for term in self.terms]
        return min((one.start() for one in found if one), default=None)

    def lines(self) -> list[str]:
        return [f"{self.code}: {self.why}", f"  {self.do}"]


@cache
def refusals() -> Mapping[str, Refusal]:
    """Code → refusal, in the order of the file."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        code: Refusal(
            code, **{key: text if isinstance(text, str) else tuple(text) for key, text in entry.items()}
        )
        for code, entry in found.items()
    }


def explain(words: Sequence[str]) -> list[Refusal]:
    """The entries that the words match: a code, a line of a message or report, or some words of one; all without
    words. Raises InputError: no entry matches."""
    asked = " ".join(" ".join(words).split()).casefold()
    known = refusals().values()
    if not asked:
        return list(known)
    if asked in refusals():
        return [refusals()[asked]]
    whole = [
        (len(part), one) for one in known for part in (*one.says, *one.theirs) if part.casefold() in asked
    ]
    if whole:
        return [max(whole, key=lambda pair: pair[0])[1]]
    placed = [(place, one) for one in known if (place := one.place(asked)) is not None]
    if placed:
        return [one for _, one in sorted(placed, key=lambda pair: pair[0])]
    some = [one for one in known if any(asked in part.casefold() for part in one.parts)]
    if not some:
        hint = "paste the whole line, or run `hush explain` alone"
        raise InputError("hush explain", "has no entry of these words", hint)
    return some
