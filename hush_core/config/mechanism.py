"""What a private round draws, and how its noise is planned: one key of the config (docs/mechanisms.md)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from hush_core.config.section import MOST_EXAMPLES, Section

Selection = Literal["random", "longest", "shortest", "highest_perplexity", "lowest_perplexity"]
"""Which of a unit's records are used; perplexity is that of the public start model."""
RANKED = ("longest", "shortest", "highest_perplexity", "lowest_perplexity")
"""Those that look at the records' text."""
RecordsUsed = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]


class NoiseMechanism(Section):
    """A mechanism that adds noise: planned for the secrets' targets, or for (ε, δ) of every one of them."""

    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    """With `delta`, in place of the secrets' levels: zero-out (ε, δ)-DP of every secret."""
    delta: Annotated[float, Field(ge=1e-30, lt=0.5)] | None = None

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.epsilon is None) != (self.delta is None):
            raise ValueError("epsilon and delta go together; give both, or neither for the secrets' levels")
        return self


class HushMechanism(NoiseMechanism):
    """Examples, drawn by the weights of the linear program (paper, Algorithm 2)."""

    kind: Literal["hush"] = "hush"


class DpSgdMechanism(NoiseMechanism):
    """Examples, all drawn alike (paper, Algorithm 1)."""

    kind: Literal["dp_sgd"]


class GroupPrivacyMechanism(NoiseMechanism):
    """At most `records` examples of every secret, all drawn alike (Chua et al. 2024, Algorithm 1)."""

    kind: Literal["group_privacy"]
    records: RecordsUsed = 4
    select: Selection = "random"


class UserWiseMechanism(NoiseMechanism):
    """Whole units, all drawn alike; a round averages up to `records` of a unit's examples before it clips (Chua et
    al. 2024, Algorithm 2)."""

    kind: Literal["user_wise"]
    records: RecordsUsed = 4
    select: Selection | Literal["chunks"] = "random"
    """`random`: any of the unit's, drawn anew each round. `chunks`: the same of pieces of all of its text, joined.
    The others: always the same ones."""


class CorrelatedMechanism(Section):
    """Examples by a public cycle, none sampled; the noise of later rounds takes back that of earlier ones (DP-FTRL,
    docs/mathematics.md). The strategy is found for the secrets' levels."""

    kind: Literal["correlated"]
    bands: Annotated[int, Field(ge=1, le=64)] | None = None
    """Rounds that are mixed in a release; None: of 1, 2, 4, …, 64 those with the least error."""


class RedactionMechanism(Section):
    """Every value is replaced by a placeholder, and the rest is trained on without noise."""

    kind: Literal["redaction"]


class DroppingMechanism(Section):
    """Every example with a secret is left out, and the rest is trained on without noise."""

    kind: Literal["dropping"]


def _kind(value: Any) -> str:
    return str(value.get("kind", "hush") if isinstance(value, dict) else getattr(value, "kind", "hush"))


MechanismConfig = Annotated[
    Annotated[HushMechanism, Tag("hush")]
    | Annotated[DpSgdMechanism, Tag("dp_sgd")]
    | Annotated[GroupPrivacyMechanism, Tag("group_privacy")]
    | Annotated[UserWiseMechanism, Tag("user_wise")]
    | Annotated[CorrelatedMechanism, Tag("correlated")]
    | Annotated[RedactionMechanism, Tag("redaction")]
    | Annotated[DroppingMechanism, Tag("dropping")],
    Discriminator(_kind),
]
MECHANISM_KINDS = ("hush", "dp_sgd", "group_privacy", "user_wise", "correlated", "redaction", "dropping")


def examples_by_themselves(mechanism: MechanismConfig) -> bool:
    """Whether every item is one example with its own text, chosen without looking at text that holds a secret."""
    if isinstance(mechanism, GroupPrivacyMechanism):
        return mechanism.select == "random"
    return not isinstance(mechanism, UserWiseMechanism)


def composes_over_runs(mechanism: MechanismConfig) -> bool:
    """Whether the noise of several runs can be planned together: their rounds are sampled."""
    return isinstance(mechanism, NoiseMechanism)


def unit_dp(mechanism: MechanismConfig) -> tuple[float, float] | None:
    """(ε, δ) that the noise is planned for; None: for the secrets' levels."""
    if not isinstance(mechanism, NoiseMechanism) or mechanism.epsilon is None or mechanism.delta is None:
        return None
    return mechanism.epsilon, mechanism.delta


def makes_noise(mechanism: MechanismConfig) -> bool:
    """Whether it has private rounds at all."""
    return isinstance(mechanism, NoiseMechanism | CorrelatedMechanism)
