"""What a job came to, as the flow returns it and as it is kept; imports nothing heavy. Never a secret's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from tasks.wording import AgainstChampion

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
            f"{self.secrets:,} values replaced in {self.places:,} places, each bound is its prior; "
            f"of {self.attacked} attacked {self.extracted} extracted, {self.first} ranked first "
            f"({self.first_before} before the rounds)"
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


class Report(BaseModel):
    """What a job came to. JSON-able; `rows` has every secret, by secret_id."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_uri: str
    run_url: str | None
    """Where a tracking server shows the run; None where the tracker is a local file."""
    tracker: str
    certificate_dir: str
    page: str | None = None
    """The reviewer's page, as this home keeps it; the run has it as report.html."""
    examples: int
    public_examples: int
    secrets: int
    ways: list[str] = []
    """Which way the secrets of each entry went, and why."""
    edges: int
    planted: int | None = None
    planted_found: int | None = None
    weight_retained: float
    """Of the examples that the certified rounds may draw, as is `examples_kept`."""
    examples_kept: float
    without_secret: str
    trained_without_noise: int
    """Examples without a secret that ordinary training saw before the first round."""
    goes_on_from: str | None = None
    """The model of an earlier run that this one began with; None: the public start."""
    untagged_steps: int | None
    """Of ordinary training on them, up to the best on validation text; None where there was none."""
    mechanism: str = ""
    """In words; empty for hush itself, which solves a program for the weights."""
    gap: float
    noise_multiplier: float | None
    """None: no text of a secret was new, and no certified round was made."""
    method: str
    noise_by_method: dict[str, float | None]
    """On these weights."""
    paper_noise: float | None
    """The paper's method on the paper's own program, at equal retained weight."""
    rounds: int
    rounds_released: int
    promised_runs: int | None = None
    """So many runs keep every target together; None: this one alone is promised."""
    earlier_runs: int = 0
    """In this store, on any of its secrets."""
    worst_of_all_runs: float | None = None
    """The largest bound/target over all runs; None where nothing is promised of them."""
    expected_batch: int
    cycle_batch: float | None = None
    """Of a cycle: the items of a round on average."""
    clip_norm: float
    model: str
    learning_rate: float | None
    """Of the certified rounds; None where there were none."""
    rates_rehearsed: int
    """Learning rates that were tried on public text to choose this one; 0 if one was given."""
    rows: list[SecretRow]
    losses: dict[str, float]
    """Bits per `loss_unit` on held-out examples without a secret, by model."""
    loss_unit: str
    gain: float | None
    """The share of what unprotected training gains on held-out text that the protected model gains too."""
    tagged_losses: dict[str, float | None]
    """The same on examples with a secret that were held back; released WITHOUT noise, as the config asks."""
    reused: bool
    """Nothing was trained: the model and its certificate are those of an earlier run."""
    redacted: RedactedRow | None = None
    against: AgainstChampion | None = None
    """The version that is champion now, beside this one."""
    audit: str | None = None
    """What `hush audit` came to, in words; None where it was not run with the job."""
    audit_refuted: bool = False
    audit_picture: str | None = None
    warnings: list[str]

    @property
    def tagged_gain(self) -> float | None:
        """The share of what unprotected training gains on held-back text with a secret that certified rounds gain;
        None where that was not measured, or nothing is gained."""
        losses = (self.tagged_losses.get(name) for name in ("before its rounds", "protected", "unprotected"))
        before, protected, unprotected = losses
        if before is None or protected is None or unprotected is None or unprotected >= before:
            return None
        return (before - protected) / (before - unprotected)
