"""One secret in the report of a job: what the table and the warnings are made from."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SecretRow(BaseModel):
    """One secret: its promise, and what the attacks on both models came to (None: no value to rank)."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    examples: int
    prior: float
    target: float
    bound: float
    """Of this run alone."""
    earlier_runs: int = 0
    """Other runs in this store that trained on this secret: what they released adds to the bound."""
    rank: int | None = None
    alternatives: int | None = None
    exposure_bits: float | None = None
    extracted: bool | None = None
    before_rank: int | None = None
    unprotected_rank: int | None = None
    unprotected_exposure_bits: float | None = None
    unprotected_extracted: bool | None = None
