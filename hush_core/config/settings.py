"""How it is weighed, trained, attacked and recorded."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hush_core.config.section import Section

Method = Literal["kl", "renyi", "blow_up", "best"]
Capacities = Literal["paper", "matched", "equalised"]


class WeightsConfig(Section):
    """How much each secret may weigh (`docs/guarantee.md` §7)."""

    capacities: Capacities = "matched"
    c: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Relative to c_max, the smallest c at which every weight is 1."""
    noise_multiplier: Annotated[float, Field(gt=0)] | None = None
    """In place of c: keep as much as this σ can certify (`equalised` only)."""
    without_secret: Literal["keep", "drop"] = "keep"
    """Whether examples without a secret are trained on."""

    @model_validator(mode="after")
    def _one_scale(self) -> Self:
        if self.noise_multiplier is not None:
            if self.capacities != "equalised":
                raise ValueError("noise_multiplier needs capacities: equalised; set that, or give c instead")
            if "c" in self.model_fields_set:
                raise ValueError("c and noise_multiplier are both given; keep one of them")
        return self


class ModelConfig(Section):
    """A byte-level GPT: no tokenizer is learned from protected data. One example is one sequence."""

    kind: Literal["byte_gpt"] = "byte_gpt"
    layers: Annotated[int, Field(ge=1)] = 4
    width: Annotated[int, Field(ge=8)] = 256
    heads: Annotated[int, Field(ge=1)] = 4


class PretrainConfig(Section):
    """Ordinary training on the code named as public, before any protected example is read."""

    steps: Annotated[int, Field(ge=0)] = 0
    batch: Annotated[int, Field(ge=1)] = 32
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3


class TrainConfig(Section):
    """The private run: T rounds of DP-SGD under weighted Poisson sampling (paper, Algorithm 2)."""

    rounds: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    """The EXPECTED batch size B; the realised one is random and never used."""
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    optimizer: Literal["adamw", "sgd"] = "adamw"
    micro_batch: Annotated[int, Field(ge=1)] = 32
    checkpoint_every: Annotated[int, Field(ge=1)] = 20


class AuditConfig(Section):
    """The attack on the trained model."""

    alternatives: Annotated[int, Field(ge=1)] = 1000
    """Equally long strings of the same language that each secret's value is ranked among."""
    unprotected: bool = False
    """Also train the same model on the same data without protection, to show what would have leaked."""


class TrackingConfig(Section):
    experiment: str = "hush"
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "hush-model"
