"""Detector `literals`: every line of a file is a secret of its own (codenames, customers, phrases)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hush_core.config import LiteralsSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.propagation.value_search import SearchTerm

MIN_BYTES = 3
"""A shorter literal occurs in nearly every file by chance."""


def text_of(file: Path, what: str) -> str:
    """The text of the user's file of literals or patterns.

    Raises:
        InputError: it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        hint = f"name a readable file of {what}"
        raise InputError(str(file), error.strerror or "cannot be read", hint) from None
    except UnicodeDecodeError:
        raise InputError(str(file), "is not UTF-8 text", "save it as UTF-8") from None


def read_literals(file: Path) -> list[tuple[int, bytes]]:
    """(line number, value) for every non-blank line, surrounding blanks removed, repeated lines once.

    Raises:
        InputError: the file cannot be read, is no UTF-8, is empty, or a line is too short (named by number).
    """
    seen: dict[bytes, int] = {}
    for number, line in enumerate(text_of(file, "literals").splitlines(), start=1):
        value = line.strip().encode()
        if not value:
            continue
        if len(value) < MIN_BYTES:
            raise InputError(
                f"{file}:{number}", f"is shorter than {MIN_BYTES} bytes", "give a longer literal or remove it"
            )
        seen.setdefault(value, number)
    if not seen:
        raise InputError(str(file), "holds no literal", "write one literal a line")
    return [(number, value) for value, number in seen.items()]


def detect(corpus: Corpus, entry: LiteralsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret a line, searched for everywhere in either case."""
    for line, value in read_literals(entry.file):
        yield Finding(
            name=f"{line}:{context.identify(value)}",
            search_terms=(SearchTerm(value, any_case=True, reason="literals"),),
        )


DETECTOR = Detector("literals", LiteralsSecret, detect, check=lambda config, entry: read_literals(entry.file))
