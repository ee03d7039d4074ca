"""What may be changed of a job for one run, by a person or by its plan."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from hush_core.config.job import HushConfig
from hush_core.config.secrets import SecretEntry
from hush_core.config.section import Examples, Noise, Rate, Rounds, Section
from hush_core.config.settings import Average, ClipNorm, Method, Optimizer, Schedule, UntaggedBatch, WarmUp


def _in_order(schema: dict[str, Any]) -> None:
    """A database may keep the fields of a form in another order; Prefect's goes by this."""
    for place, one in enumerate(schema["properties"].values()):
        one["position"] = place


class Changes(Section):
    """For this run alone; the file stays. Under a promise another method, c, noise_multiplier, rounds, batch or
    without_secret makes a run *planned otherwise*, which may end the promise (docs/retraining.md)."""

    model_config = ConfigDict(json_schema_extra=_in_order)

    method: Method | None = Field(None, description="certificate method, instead of the file's")
    c: float | None = Field(None, ge=1e-9, le=1, description="weights.c, relative to c_max")
    noise_multiplier: Noise | None = Field(
        None, description="weights.noise_multiplier, in place of c; capacities become equalised"
    )
    rounds: Rounds | None = Field(None, description="train.rounds")
    batch: Examples | None = Field(None, description="train.batch, the expected batch size")
    learning_rate: Rate | None = Field(None, description="train.learning_rate")
    clip_norm: ClipNorm | None = Field(None, description="train.clip_norm")
    schedule: Schedule | None = Field(None, description="train.schedule")
    warmup_rounds: WarmUp | None = Field(None, description="train.warmup_rounds")
    optimizer: Optimizer | None = Field(None, description="train.optimizer")
    untagged_batch: UntaggedBatch | None = Field(
        None, description="train.untagged_batch, with weights.without_secret: plain"
    )
    average: Average | None = Field(None, description="train.average")
    without_secret: Literal["noise", "plain", "drop"] | None = Field(
        None, description="weights.without_secret"
    )
    protect: dict[str, Literal["noise", "redact", "drop"]] | None = Field(
        None, description="by the id of an entry that says `protect: auto`: which way it goes"
    )

    def over(self, other: Changes) -> Changes:
        """These, and the other's where these say nothing; c and noise_multiplier take each other's place."""
        given = self.model_dump(exclude_none=True)
        scales = {"c", "noise_multiplier"}
        kept = other.model_dump(exclude_none=True, exclude=scales if scales & given.keys() else set())
        return Changes(**kept | given)

    def applied_to(self, config: HushConfig) -> HushConfig:
        """The config with these in place of its own values.

        Raises:
            ValidationError: the values do not go together.
        """
        data = config.model_dump(exclude_unset=True)
        for key, value in self.overrides().items():
            *section, name = key.split(".")
            place = data.setdefault(section[0], {}) if section else data
            if value is None:
                place.pop(name, None)
            else:
                place[name] = value
        self.protects(data.get("secrets"))
        return HushConfig.model_validate(data)

    def protects(self, entries: Any) -> None:
        """Write the ways of `protect` into the entries of a file that say `auto`; what a person wrote stays."""
        ways = self.protect or {}
        for entry in entries if isinstance(entries, list | tuple) else ():
            undecided = isinstance(entry, dict) and entry.get("protect", "auto") == "auto"
            if undecided and (way := ways.get(str(entry.get("id")))):
                entry["protect"] = way

    def overrides(self) -> dict[str, Any]:
        """Dotted keys of the file → the values that replace them; None takes a key away."""
        given = self.model_dump(exclude_none=True, exclude={"protect"})
        section = {
            "method": "method", "c": "weights.c", "noise_multiplier": "weights.noise_multiplier",
            "without_secret": "weights.without_secret",
        }  # fmt: skip
        keys: dict[str, Any] = {section.get(key, f"train.{key}"): value for key, value in given.items()}
        if self.noise_multiplier is not None:
            keys = {"weights.capacities": "equalised", "weights.c": None} | keys
        elif self.c is not None:
            keys["weights.noise_multiplier"] = None
        return keys


def redacted_by_plan(config: HushConfig) -> list[str]:
    """The entries whose values a plan redacts because they say `protect: auto`; none where a person asks for
    certified rounds. Credentials with `weak: refuse` wait: they are a gate, and pass it first."""
    if not config.mechanism.makes_noise or config.asks_for_noise:
        return []
    values = [entry for entry in config.secrets if entry.protect == "auto" and can_redact(entry)]
    return [entry.id for entry in values if getattr(entry, "weak", "") != "refuse"]


def can_redact(entry: SecretEntry) -> bool:
    """Whether its copies can be replaced: they are values, and none of them is called documentation."""
    return entry.are_values and not getattr(entry, "documentation", ())
