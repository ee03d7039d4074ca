"""Why did hush refuse, and what helps? The entries of refusals.toml, by code or by words of the message."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hush_core.errors import InputError

FILE = Path(__file__).with_name("refusals.toml")


@dataclass(frozen=True)
class Refusal:
    """One kind of refusal. says, theirs: parts of its messages, hush's own and a library's."""

    code: str
    why: str
    do: str
    says: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        return [f"{self.code}: {self.why}", f"  {self.do}"]


@cache
def refusals() -> Mapping[str, Refusal]:
    """Code → refusal, in the order of the file."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        code: Refusal(
            code, entry["why"], entry["do"], tuple(entry.get("says", ())), tuple(entry.get("theirs", ()))
        )
        for code, entry in found.items()
    }


def explain(words: Sequence[str]) -> list[Refusal]:
    """The refusals that the words match: a code, a message, or some words of one; all of them without words. Raises
    InputError: no refusal matches."""
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
    some = [one for one in known if any(asked in part.casefold() for part in (*one.says, *one.theirs))]
    if not some:
        raise InputError(
            "hush explain", "has no entry of these words", "paste the whole line, or run `hush explain` alone"
        )
    return some
