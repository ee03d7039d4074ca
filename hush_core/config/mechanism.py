"""What a private round draws, and how its noise is planned: one key of the config (docs/mechanisms.md)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, Tag, model_validator

from hush_core.config.section import MOST_EXAMPLES, Section, kind_or

Perplexity = Literal["highest_perplexity", "lowest_perplexity"]
"""That of the public start model."""
Ranked = Literal["longest", "shortest", Perplexity]
"""Those that look at the records' text."""
Selection = Literal["random", Ranked]
"""Which of a unit's records are used."""
PERPLEXITY, RANKED = get_args(Perplexity), get_args(Ranked)
NO_ROUND = "no private round is made"
RecordsUsed = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]


class Mechanism(Section):
    """What each kind says of itself beside its keys."""

    makes_noise: ClassVar[bool]
    """Whether it has private rounds at all."""
    composes_over_runs: ClassVar[bool] = False
    """Whether the noise of several runs can be planned together: their rounds are sampled."""
    examples_by_themselves: ClassVar[bool] = True
    """Whether every item is one example with its own text, chosen without looking at text with a secret."""
    records_a_round: ClassVar[int] = 1
    """How many records of an item a round averages (`ProtectionPlan.records`)."""
    unit_dp: ClassVar[tuple[float, float] | None] = None
    """(ε, δ) that the noise is planned for; None: for the secrets' levels."""
    words: ClassVar[str]
    """What a round draws, with its keys in braces."""
    drawn: ClassVar[str] = "{sampler}"
    """How items and their text are drawn, in a certificate; `sampler`: how a round samples items."""

    @property
    def in_words(self) -> str:
        """What a round draws, in a few words; empty for hush at the secrets' levels."""
        words = self.words.format(**self.model_dump()).replace("_", " ")
        if self.unit_dp is None:
            return words
        return f"{words or 'hush'}, planned for ({self.epsilon:g}, {self.delta:g})-DP of every secret"

    def how_drawn(self, sampler: str) -> str:
        """How items and their text are drawn, for `facts.training.sampler`."""
        return self.drawn.format(sampler=sampler, **self.model_dump())


class NoiseMechanism(Mechanism):
    """A mechanism that adds noise: planned for the secrets' targets, or for (ε, δ) of every one of them."""

    makes_noise, composes_over_runs = True, True
    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    """With `delta`: the noise is planned for (ε, δ)-DP of every secret instead of its target."""
    delta: Annotated[float, Field(ge=1e-30, lt=0.5)] | None = None
    """The δ of `epsilon`."""

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.epsilon is None) != (self.delta is None):
            raise ValueError("epsilon and delta go together; give both, or neither for the secrets' levels")
        return self

    @property
    def unit_dp(self) -> tuple[float, float] | None:
        return None if self.epsilon is None or self.delta is None else (self.epsilon, self.delta)


class HushMechanism(NoiseMechanism):
    """Examples, drawn by the weights of a linear program (paper, Algorithm 2)."""

    kind: Literal["hush"] = "hush"
    words = ""


class DpSgdMechanism(NoiseMechanism):
    """Examples, all drawn at one rate (paper, Algorithm 1)."""

    kind: Literal["dp_sgd"]
    words = "DP-SGD: every example is drawn alike"


class GroupPrivacyMechanism(NoiseMechanism):
    """At most `records` examples of every secret, all drawn at one rate (Chua et al. 2024, Algorithm 1)."""

    kind: Literal["group_privacy"]
    words = "group privacy: at most {records} examples of a secret ({select})"
    drawn = "{sampler}; an item is one record of its pool ({select})"
    records: RecordsUsed = 4
    """k, the most examples of a unit."""
    select: Selection = "random"
    """Which of a unit's examples are used. Perplexity is that of the public start model."""

    @property
    def examples_by_themselves(self) -> bool:
        return self.select == "random"


class UserWiseMechanism(NoiseMechanism):
    """Whole units at one rate; a round averages up to `records` gradients of a unit, then clips (Chua et al.
    2024, Algorithm 2)."""

    kind: Literal["user_wise"]
    examples_by_themselves = False
    words = "user-wise DP-SGD: whole units, {records} records a round ({select})"
    drawn = "{sampler}; of each item drawn, up to {records} of its records, averaged ({select})"
    records: RecordsUsed = 4
    """k, the most examples of a unit."""
    select: Literal[Selection, "chunks"] = "random"
    """Which of a unit's examples are used. Perplexity is that of the public start model. `chunks`
    (`user_wise` only) joins a unit's text and cuts it into pieces of `chunk_bytes`."""

    @property
    def records_a_round(self) -> int:
        return self.records


class CorrelatedMechanism(Mechanism):
    """Examples in a public cycle, none sampled; later noise cancels part of earlier noise (DP-FTRL,
    docs/mechanisms.md)."""

    kind: Literal["correlated"]
    makes_noise = True
    words = "correlated noise (DP-FTRL): examples by a public cycle, none sampled"
    drawn = "a public cycle: every item takes part once in each turn of it, none is sampled"
    bands: Annotated[int, Field(ge=1, le=64)] | None = None
    """How many rounds one release mixes; otherwise the least error among 1, 2, 4, …, 64."""


class RedactionMechanism(Mechanism):
    """No noise: every value is replaced by a placeholder, the rest is trained on without noise."""

    kind: Literal["redaction"]
    makes_noise, drawn = False, NO_ROUND
    words = "redaction: values replaced, other tagged examples left out, no noise"


class DroppingMechanism(Mechanism):
    """No noise: every example with a secret is left out, the rest is trained on without noise."""

    kind: Literal["dropping"]
    makes_noise, drawn = False, NO_ROUND
    words = "dropping: every example with a secret left out, no noise"


MechanismConfig = Annotated[
    Annotated[HushMechanism, Tag("hush")]
    | Annotated[DpSgdMechanism, Tag("dp_sgd")]
    | Annotated[GroupPrivacyMechanism, Tag("group_privacy")]
    | Annotated[UserWiseMechanism, Tag("user_wise")]
    | Annotated[CorrelatedMechanism, Tag("correlated")]
    | Annotated[RedactionMechanism, Tag("redaction")]
    | Annotated[DroppingMechanism, Tag("dropping")],
    kind_or("hush"),
]
MECHANISMS: Mapping[str, type[Mechanism]] = {
    tag.tag: kind for kind, tag in map(get_args, get_args(get_args(MechanismConfig)[0]))
}
"""Every kind, by its name."""
