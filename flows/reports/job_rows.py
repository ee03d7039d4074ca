"""One secret in the report of a job: what the table and the warnings are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from tasks.outcome import Outcome


class SecretRow(BaseModel, frozen=True):
    """One secret: its promise, and what the attacks on both models came to (None: no value to rank)."""

    name: str
    kind: str
    examples: int
    prior: float
    target: float
    bound: float
    """Of this run alone."""
    earlier_runs: int = 0
    """Other runs in this store that trained on this secret."""
    all_runs: float | None = None
    """The bound of this run and those together; None where nothing is promised of them."""
    rank: int | None = None
    alternatives: int | None = None
    exposure_bits: float | None = None
    extracted: bool | None = None
    before_rank: int | None = None
    unprotected_rank: int | None = None
    unprotected_exposure_bits: float | None = None
    unprotected_extracted: bool | None = None
    every_step: float | None = None
    """Of an audit: how likely the best guess at every noisy step names it; None where none was made."""
    attacked: float | None = None
    """The same of the model: how likely it writes the value out; None also where there is no value."""


class RedactedRow(BaseModel, frozen=True):
    """All redacted values together: how many, in how many places of files, and what the attack on them came to."""

    secrets: int
    places: int
    attacked: int
    first: int
    """Ranked first among their alternatives."""
    first_before: int
    extracted: int

    def in_words(self) -> str:
        """One line; the bound needs no table, as it is every secret's prior."""
        return (
            f"{self.secrets:,} values replaced in {self.places:,} places, bound = prior; first of {self.attacked}: "
            f"{self.first}, before the rounds {self.first_before}; extracted {self.extracted}"
        )


def redacted_row(outcome: Outcome) -> RedactedRow | None:
    """None where nothing was redacted."""
    before, after = outcome.redacted_before, outcome.redacted_attacked
    if before is None or after is None:
        return None
    return RedactedRow(
        secrets=outcome.extracted.n_redacted,
        places=outcome.extracted.n_redacted_places,
        attacked=after.secrets,
        first=after.ranked_first,
        first_before=before.ranked_first,
        extracted=after.extracted,
    )
