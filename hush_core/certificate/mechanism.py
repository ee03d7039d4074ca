"""What the certificate says of the mechanism, and its check: the items are recomputed from the graph.

A rule that chooses items looks at the graph alone, so anyone with the tables can apply it again. An item too many,
or a missing tag, shows without any key.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from hush_core.config import MECHANISMS, HushMechanism, MechanismConfig
from hush_core.errors import CertificationError
from hush_core.mechanisms.items import items_of
from hush_core.mechanisms.unit_privacy import delta_of, dominating_participations, implied_posterior

_CONFIGS: TypeAdapter[MechanismConfig] = TypeAdapter(MechanismConfig)
AGREES = 1e-9
"""Relative: a target that (ε, δ) implies, on another machine."""
HOLDS = 1e-6
"""Relative: a δ computed on another machine."""


class MechanismFacts(BaseModel):
    """Which mechanism, and what a round averages of an item."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    kind: Literal[tuple(MECHANISMS)] = "hush"
    records: Annotated[int, Field(ge=1, strict=True)] | None = None
    """group_privacy: the most items that hold a secret. user_wise: the most examples of an item that a round
    averages. null of all others."""
    bands: Annotated[int, Field(ge=1, strict=True)] | None = None
    """correlated: the most that were asked for; null: as many as were best."""
    select: str | None = None
    """What fills an item, of these two."""
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """With delta: every secret is (ε, δ)-DP by this run, and its target is what that implies; null: not said."""
    delta: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None

    @classmethod
    def of(cls, config: MechanismConfig) -> MechanismFacts:
        return cls(**config.model_dump())

    @property
    def config(self) -> MechanismConfig:
        """The mechanism itself."""
        return _CONFIGS.validate_python(self.model_dump(exclude_none=True))

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        whole = {**dict.fromkeys(type(self).model_fields), **self.config.model_dump()}
        if whole != self.model_dump():
            raise ValueError("mechanism: a key is missing that its kind has")
        return self


def check_mechanism(
    facts: MechanismFacts, edges: pl.DataFrame, secrets: pl.DataFrame, weights: pl.DataFrame
) -> list[str]:
    """The weights and the graph of items again, by the mechanism's rule; nothing of `hush`, whose weights are held
    against capacities. The tables are well-formed, and every role is checked."""
    config = facts.config
    if isinstance(config, HushMechanism):
        return []
    items = items_of(config, edges, secrets, weights["role"])
    failures = []
    wrong = items.weights != weights["weight"].to_numpy()
    if wrong.any():
        failures.append(
            f"weights.parquet: weight: {wrong.sum()} examples, {wrong.argmax()} among them, do not name the items "
            f"that mechanism {facts.kind} has in this graph"
        )
    pair = ["example_id", "secret_id"]
    if not items.edges.select(pair).sort(pair).equals(edges.select(pair).sort(pair)):
        failures.append(
            "edges.parquet: an item is not tagged with every secret that its pool holds, or with more"
        )
    held = np.bincount(
        edges["secret_id"].to_numpy(), weights["weight"].to_numpy()[edges["example_id"].to_numpy()],
        minlength=secrets.height,
    )  # fmt: skip
    failures += [
        f"{name}: is in more items than mechanism {facts.kind} allows"
        for name in secrets["name"].filter(pl.Series(held > items.most))
    ]
    return failures


def check_unit_privacy(
    facts: MechanismFacts,
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    sigma: float,
    rounds: int,
) -> list[str]:
    """(ε, δ) of every secret again, by dp_accounting, and the targets that it implies."""
    implied = implied_posterior(secrets["prior"].to_numpy(), facts.epsilon, facts.delta)
    far = ~np.isclose(secrets["posterior"].to_numpy(), implied, rtol=AGREES, atol=0)
    failures = [
        f"{name}: its target is not what mechanism.epsilon and mechanism.delta imply"
        for name in secrets["name"].filter(pl.Series(far))
    ]
    for one in dominating_participations(edges, rates):
        try:
            found = delta_of(one, facts.epsilon, facts.delta, sigma, rounds)
        except CertificationError as error:
            return [*failures, f"mechanism.epsilon: cannot be proved again: {error}"]
        if not found <= facts.delta * (1 + HOLDS):
            return [*failures, f"mechanism.epsilon: at it δ is {found:.3g}, not {facts.delta:g}"]
    return failures
