"""Which rules look at a line, what they find, and which filter takes the rest away; never a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hush_core.secrets.detectors import by_line, credential_names
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.detectors.rejected import noted
from hush_core.secrets.priors import WEAK_BITS, guess_bits, published_bits


class Reason(NamedTuple):
    """first, last: columns from 1, inclusive, of what is looked at. found: whether it counts as a credential.
    what: the rule, or what a filter takes it for."""

    first: int
    last: int
    found: bool
    what: str


def why(content: bytes, line: int, scanner: CredentialScanner) -> list[Reason]:
    """What the rules for credentials say of a line of a file, by column.

    Args:
        content: the whole file.
        line: its number, from 1.

    Raises:
        ValueError: the file has fewer lines.
    """
    start, end = _line(content, line)
    for kept in (by_line.kept, credential_names.values_of):
        kept.cache_clear()  # what is kept would not be judged again
    with noted() as taken:
        found = scanner.scan(content)
    reasons = {
        Reason(max(d.start, start) - start + 1, min(d.end, end) - start, True, _shown(d.rule, d.value))
        for d in found
        if d.start < end and d.end > start
    }
    text = content[start:end]
    covered = [(reason.first, reason.last) for reason in reasons]
    for one in taken:
        for at in _places(text, one.value):
            first, last = at + 1, at + len(one.value)
            if not any(low <= first and last <= high for low, high in covered):
                reasons.add(Reason(first, last, False, one.reason))
    return sorted(reasons)


def _shown(rule: str, value: bytes) -> str:
    bits = published_bits(guess_bits(rule, value))
    weak = ": too weak for noise, so it is redacted or left out of training" if bits < WEAK_BITS else ""
    return f"{rule}: {bits:.0f} bits, {WEAK_BITS:.0f} are needed{weak}"


def _line(content: bytes, line: int) -> tuple[int, int]:
    """Where a line begins and ends, its line break left out."""
    lines = content.removesuffix(b"\n").split(b"\n")
    if not 1 <= line <= len(lines):
        raise ValueError(f"it has {len(lines)} lines")
    start = sum(len(one) + 1 for one in lines[: line - 1])
    return start, start + len(lines[line - 1])


def _places(text: bytes, value: bytes) -> Iterator[int]:
    at = text.find(value) if value else -1
    while at >= 0:
        yield at
        at = text.find(value, at + len(value))
