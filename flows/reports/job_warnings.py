"""What a reader of a job's report should know before trusting or using the model."""

from __future__ import annotations

from flows.reports.coverage_notes import coverage_notes
from flows.reports.job_report import SecretRow
from hush_core.config import HushConfig
from tasks.description import runs_in_words
from tasks.outcome import Outcome, all_runs, losses
from tasks.runtime.store import Store
from tasks.wording import counted

BITS_OF_A_BYTE = 8.0


def warnings_of(config: HushConfig, outcome: Outcome, store: Store, rows: list[SecretRow]) -> list[str]:
    """In words, the most serious first; no value and no path."""
    trained, coverage = outcome.trained, store.read_json(outcome.extracted.coverage)
    leaked = sum(bool(row.extracted) for row in rows)
    notes = []
    if leaked:
        notes.append(
            f"{counted(leaked, 'value')} came out of the PROTECTED model word for word: look at "
            "the edges and priors"
        )
    together = all_runs(store, outcome)
    if together.above or together.nothing:
        notes.append(runs_in_words(together, trained.others.unknown))
    if trained.rounds_released < outcome.calibrated.rounds:
        notes.append(
            f"stopped early: {trained.rounds_released} of {outcome.calibrated.rounds} rounds were released"
        )
    if config.weights.without_secret == "plain":
        notes.append(
            f"{outcome.weighed.trained_plain:,} examples that no secret names were trained on WITHOUT noise: what "
            "no entry names, or no search found, may be memorised (`without_secret: noise` noises all text)"
        )
    if worthless := no_better(outcome):
        notes.append(worthless)
    notes += coverage_notes(coverage)
    if unranked := not_attacked(rows):
        said = "was not attacked: it is" if unranked == 1 else "were not attacked: they are"
        notes.append(
            f"{counted(unranked, 'value')} {said} whole in no example (cut where chunks meet: "
            "larger chunk_bytes cut fewer; or encoded), or fewer than four letters and digits are free"
        )
    failed = [m for m, c in outcome.by_method.items() if c is None]
    if failed:
        notes.append(f"no noise multiplier could be certified by {', '.join(failed)}, for comparison")
    if config.pretrain.steps and not outcome.extracted.n_public:
        notes.append("nothing was pre-trained on: no example is public")
    return notes


def no_better(outcome: Outcome) -> str:
    """Said where the protected model predicts no better than what it began with, or than none at all."""
    bits, start = losses(outcome), outcome.begun_as
    protected = bits.get("protected")
    if protected is None:
        return ""
    if outcome.trained.model.unit == "byte" and protected >= BITS_OF_A_BYTE:
        return f"the protected model is no better than none: {protected:.3f} bits per byte, of 8 by guessing"
    before = bits.get("without secrets", bits.get(start))
    if before is not None and protected >= before and outcome.calibrated.rounds:
        return (
            f"the protected model is no better than before its certified rounds: {protected:.3f}, was {before:.3f} "
            f"bits per {outcome.trained.model.unit}; `hush plan` says what a larger batch would do"
        )
    return ""


def not_attacked(rows: list[SecretRow]) -> int:
    """Credentials and literals in some example that no attack could rank."""
    return sum(
        row.rank is None and row.examples > 0 and row.kind in ("credentials", "literals") for row in rows
    )
