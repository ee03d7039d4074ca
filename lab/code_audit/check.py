"""What an audit of the code found: named checks, each with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One property of the step.

    Attributes:
        name: stable, for programs: "noise", "sensitivity", …
        passed: whether it held in every replay.
        evidence: one line of measured numbers; holds no text of an example.
    """

    name: str
    passed: bool
    evidence: str


def code_report(checks: Sequence[Check]) -> str:
    """The checks as lines to read, failed ones first; the last line counts them."""
    width = max((len(check.name) for check in checks), default=0)
    ordered = sorted(checks, key=lambda check: check.passed)
    lines = [f"{'held ' if c.passed else 'BROKEN'}  {c.name:<{width}}  {c.evidence}" for c in ordered]
    broken = sum(not check.passed for check in checks)
    return "\n".join([*lines, f"{len(checks) - broken} of {len(checks)} properties of the step held"])
