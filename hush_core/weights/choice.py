"""`protect: auto`: which way each entry goes, and the numbers of the rounds that nobody gave.

Values are redacted. Other secrets are learned under noise if the law (`law.py`) predicts a gain over leaving them
out; else they are left out. What a person wrote stays, whatever is predicted. All of it follows from the graph, the
config and public numbers, so it is the same for every candidate of a secret. A rehearsal writes what it measured
into plan.yaml, as a person would (docs/planning.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel

from hush_core.config import HushConfig, HushMechanism, SecretEntry
from hush_core.config.changes import can_redact, redacted_by_plan
from hush_core.config.secrets import Protect
from hush_core.weights.law import MOST_OVERESTIMATE, REDACTED_GAIN, UNLIKE_ERROR, Law, shifts

ROUNDS = 20
EPOCHS = 4
"""What is drawn by rounds that nobody gave numbers for: each example so often on average."""
SCALED_RATE = 0.01
"""Learning rate of rounds that scale the gradient. Of gcc's change logs 0.006 was best beside older ones, and 0.048
beside code alone. The demo's letters gain as much at 0.012 as at 0.024, at less harm (lab/docs/utility.md)."""
WIDE = 10
"""An entry is left out if its secrets hold, on average, more than this many times as much text each as those of all
entries. The rounds would draw a tenth as much of its text as of the others'."""
FEWEST = 40
"""Fewer examples than this are nothing to train on (one in twenty is held out, one in twenty validates)."""
Taken = Literal["noise", "redact", "drop"]


class Way(BaseModel, frozen=True):
    """Which way an entry goes, and what the three ways are predicted to gain.

    A gain is a share of what training without protection gains on its text; None if a way is not open, or nothing
    is predicted."""

    entry: str
    asked: Protect
    taken: Taken
    why: str
    """Half a sentence."""
    little: bool
    """Whether it is learned under noise though rounds are predicted to gain nothing."""
    secrets: int
    examples: int
    noise: float | None
    drop: float = 0.0
    redact: float | None


@dataclass(frozen=True)
class EntryFacts:
    """What the graph says of one entry. shift: the sum of its secrets' κ (`law.shifts`). unlike: those of its
    examples whose kind of text (`language`) the text without a secret has not."""

    entry: SecretEntry
    secrets: int
    examples: int
    shift: float
    unlike: int = 0

    @property
    def is_unlike(self) -> bool:
        """Whether most of its text is of such a kind."""
        return 2 * self.unlike > self.examples

    @property
    def margin(self) -> float:
        """Bits a byte by which what the law predicts of its text may be too high."""
        return UNLIKE_ERROR if self.is_unlike else MOST_OVERESTIMATE


@dataclass(frozen=True)
class Predicted:
    """What the law needs of the job besides its entries.

    signal: B√T/σ of rounds over all entries that are or may be learned under noise. numbers: how many the model
    has; None if unknown. examples: all that may be trained on. tagged: those that hold a secret of such an entry.
    """

    signal: float
    numbers: int | None
    examples: int
    tagged: int

    @property
    def free(self) -> int:
        """Examples that stay where all of those entries are left out."""
        return self.examples - self.tagged

    @property
    def nothing_left(self) -> bool:
        """Whether leaving out leaves next to nothing to train on."""
        return self.free < FEWEST and 2 * self.free < self.examples


def values_redacted(config: HushConfig) -> HushConfig:
    """The job with what is decided before any text is read: `redact` for values that say `auto`; `noise`, where a
    person asks for certified rounds."""
    if config.mechanism.makes_noise and config.asks_for_noise:
        return taking(config, {entry.id: "noise" for entry in config.secrets if entry.protect == "auto"})
    return taking(config, dict.fromkeys(redacted_by_plan(config), "redact"))


def left_out_for_sure(config: HushConfig, numbers: int | None, law: Law | None = None) -> float | None:
    """The largest B√T/σ that a job's rounds could have, if it is too little for any text; None if the graph must
    decide. The graph always decides if an entry that may be learned under noise can be several secrets.

    Args:
        config: with its values redacted. numbers: of the model.
    """
    noised = [entry for entry in config.secrets if entry.protect in ("auto", "noise")]
    if any(not entry.one_secret for entry in noised):
        return None
    targets = pl.DataFrame({
        "prior": [config.prior(entry) for entry in noised],
        "posterior": [config.target(entry) for entry in noised],
    }, schema={"prior": pl.Float64, "posterior": pl.Float64})  # fmt: skip
    signal, law = float(shifts(targets).sum()), law or Law()
    least = (
        0.0 if numbers is None else min(law.signal_needed(numbers, unlike=unlike) for unlike in (False, True))
    )
    return signal if numbers is None or signal < least else None


def taking(config: HushConfig, ways: dict[str, Taken]) -> HushConfig:
    """The job with these entries protected so."""
    entries = tuple(
        entry.model_copy(update={"protect": ways[entry.id]}) if entry.id in ways else entry
        for entry in config.secrets
    )
    return config if entries == config.secrets else config.model_copy(update={"secrets": entries})


def decide(
    asked: HushConfig, facts: Sequence[EntryFacts], predicted: Predicted, law: Law | None = None
) -> tuple[Way, ...]:
    """The way of each entry, in their order.

    Args:
        asked: the job as the file says it.
        facts: of each entry; with its secrets' κ, where it may be learned under noise.
    """
    by_id = {one.entry.id: one for one in facts}
    return tuple(_way(asked, entry, by_id[entry.id], predicted, law or Law()) for entry in asked.secrets)


def _way(asked: HushConfig, entry: SecretEntry, facts: EntryFacts, predicted: Predicted, law: Law) -> Way:
    taken, why = _taken(asked, entry, facts, predicted, law)
    applies = asked.mechanism == HushMechanism() and asked.without_secret == "plain"
    predictable = applies and predicted.numbers is not None
    little = applies and taken == "noise" and facts.secrets > 0 and not _gains(law, predicted, facts)
    share = law.share_gained(predicted.signal, predicted.numbers or 0, unlike=facts.is_unlike)
    return Way(
        entry=entry.id, asked=entry.protect, taken=taken,
        why=f"{why}; {_little(law, predicted, facts)}" if little else why, little=little,
        secrets=facts.secrets, examples=facts.examples, noise=share if predictable else None,
        redact=REDACTED_GAIN if can_redact(entry) else None,
    )  # fmt: skip


def _taken(
    asked: HushConfig, entry: SecretEntry, facts: EntryFacts, predicted: Predicted, law: Law
) -> tuple[Taken, str]:
    if entry.protect != "auto":
        return entry.protect, "the config says so"
    if asked.asks_for_noise:
        other = "; `protect: redact` replaces every copy that is found instead" if can_redact(entry) else ""
        return "noise", f"the config asks for certified rounds by {asked.asks_for_noise}{other}"
    if can_redact(entry):
        return "redact", "its secrets are values: every copy that the search finds is replaced, at no noise"
    if not facts.secrets:
        return "drop", "no text holds it"
    if predicted.nothing_left:
        return "noise", f"without it {predicted.free} examples are left, too few to train on"
    if not _gains(law, predicted, facts):
        return "drop", _little(law, predicted, facts)
    each, average = facts.examples / facts.shift, predicted.tagged / predicted.signal
    if each > WIDE * average:
        return "drop", (
            f"its secrets hold {each / average:.0f} times as much text each as all do on average, and rounds draw "
            "as much of each"
        )
    gained = law.gained(predicted.signal, predicted.numbers or 0, unlike=facts.is_unlike)[0]
    kind = ", which is of a kind that other text is not" if facts.is_unlike else ""
    return (
        "noise",
        f"B√T/σ = {predicted.signal:,.0f}: about {gained:.3f} bits a byte are gained on its text{kind}",
    )


def _gains(law: Law, predicted: Predicted, facts: EntryFacts) -> bool:
    if predicted.numbers is None:
        return False
    tagged = predicted.tagged / max(predicted.examples, 1)
    worth = law.worth(predicted.signal, predicted.numbers, tagged, unlike=facts.is_unlike)
    return worth > facts.margin


def _little(law: Law, predicted: Predicted, facts: EntryFacts) -> str:
    """Why rounds are predicted to gain nothing."""
    if predicted.numbers is None:
        return "of a model of unknown size nothing is predicted (`hush plan --rehearse` measures it)"
    needed = law.signal_needed(predicted.numbers, unlike=facts.is_unlike)
    if predicted.signal < needed:
        return (
            f"certified rounds are predicted to gain nothing: B√T/σ is {predicted.signal:,.3g} of the "
            f"{needed:,.0f} that this model needs"
        )
    gained, lost = law.gained(predicted.signal, predicted.numbers, unlike=facts.is_unlike)
    return (
        f"certified rounds are predicted to gain {gained:.3f} bits a byte on the "
        f"{predicted.tagged / max(predicted.examples, 1):.0%} of the text that holds a secret, and to lose "
        f"{lost:.3f} on the rest. Over all that is at most {facts.margin}, by which predictions may be too high"
    )


def rounds_for(config: HushConfig) -> int:
    """T of a job that gives none: enough for what else is said in rounds."""
    train = config.train
    return train.rounds or max(ROUNDS, train.evaluate_every or 0, 2 * train.warmup_rounds)


def step_for(config: HushConfig) -> dict[str, Any]:
    """`train.optimizer` and `train.untagged_batch` of a job that leaves them open, with its batch; empty if it says
    both.

    If all numbers of a model are trained and there is text to train on without noise, that text scales the
    gradients. Each round then mixes in as many of its examples as it draws, and the learning rate is `SCALED_RATE`
    unless a person gave one. Else it is AdamW, and nothing is mixed
    in: frozen parts and adapters were not measured.
    """
    train, chosen = config.train, {}
    if train.optimizer is None:
        whole = not train.freeze and getattr(config.model, "lora", None) is None
        plain = config.weights.without_secret == "plain"
        chosen["train.optimizer"] = "preconditioned" if whole and plain else "adamw"
    scaled = chosen.get("train.optimizer", train.optimizer) == "preconditioned"
    if scaled and "learning_rate" not in train.model_fields_set:
        chosen["train.learning_rate"] = SCALED_RATE
    if train.untagged_batch is None:
        chosen["train.untagged_batch"] = train.batch if scaled else 0
    return chosen


def batch_for(config: HushConfig, drawn: int, largest: int) -> tuple[int, str]:
    """B of a job, and a sentence where the one that a person gave cannot be.

    Args:
        drawn: examples that the rounds may draw. largest: the largest B that the weights allow, at least 1.
    """
    given = config.train.batch
    if given is None:
        return min(max(1, EPOCHS * drawn // rounds_for(config)), largest), ""
    if given <= largest:
        return given, ""
    return largest, (
        f"train.batch: {given:,} cannot be drawn from these weights; {largest:,}, the most that can, is taken"
    )
