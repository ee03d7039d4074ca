"""How it is weighed, trained, attacked and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from hush_core.config.section import MOST_EXAMPLES, MOST_ROUNDS, Examples, Noise, Rate, Rounds, Section

Method = Literal["kl", "renyi", "blow_up", "best"]
Capacities = Literal["paper", "matched", "equalised"]
LearningRate = Rate
ClipNorm = Annotated[float, Field(ge=1e-6, le=1e6)]
"""Well inside float32 on both sides, with a batch of them added up."""
Schedule = Literal["constant", "linear", "cosine"]
WarmUp = Annotated[int, Field(ge=0, le=MOST_ROUNDS)]
Optimizer = Literal["adamw", "adamw_bc", "sgd", "preconditioned"]
UntaggedBatch = Annotated[int, Field(ge=0, le=MOST_EXAMPLES)]
Average = Literal["none", "ema", "tail"]


class WeightsConfig(Section):
    """How much each secret may weigh (`docs/mathematics.md` §7)."""

    capacities: Capacities = "matched"
    """How a secret's capacity grows with its target. `matched` follows the certificate's Gaussian limit.
    `equalised` follows it exactly, worthwhile below σ of about 2. `paper` is the paper's rule."""
    c: Annotated[float, Field(ge=1e-9, le=1)] | None = None
    """The share of the largest useful capacity, c_max, that is used. Otherwise the plan chooses."""
    noise_multiplier: Noise | None = None
    """In place of `c`, with `equalised`: keep as much weight as this σ can certify. The run's σ is at most
    0.5 % below it."""
    objective: Literal["weight", "distinct"] = "weight"
    """What the weights maximise: their sum (`weight`), or the expected number of distinct examples drawn, at
    0.9 of that sum or more (`distinct`)."""
    without_secret: Literal["noise", "plain", "drop"] | None = None
    """Examples without a secret. `noise`: in the private rounds. `plain`: trained on before them, without
    noise. `drop`: left out. Default: `noise` if an entry, `promise` or `mechanism` asks for private rounds,
    else `plain`. `plain` gives a secret that no entry names no noise."""

    @field_validator("without_secret", mode="before")
    @classmethod
    def _keep(cls, given: Any) -> Any:
        if given == "keep":
            raise ValueError("without_secret: keep is now called noise; write that, or plain")
        return given

    def conflicts(self) -> Iterator[str]:
        if self.noise_multiplier is not None:
            if self.capacities != "equalised":
                yield "noise_multiplier needs capacities: equalised; set that, or give c instead"
            if self.c is not None:
                yield "c and noise_multiplier are both given; keep one of them"


class PretrainConfig(Section):
    """Ordinary training on the code named as public, before any protected example is read."""

    steps: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Optimiser steps on public text; 0 starts from a fresh model."""
    batch: Examples = 32
    """Examples a step."""
    learning_rate: Rate = 1e-3
    """AdamW's. For `huggingface` the default is 5e-5, with adapters 3e-4."""


class UntaggedConfig(Section):
    """Ordinary training on the examples that no edge of the graph names, before the certified rounds. Of use with
    `weights.without_secret: plain` only."""

    steps: Rounds = 2000
    """Most optimiser steps. The rate falls to 0 over the last fifth."""
    batch: Examples = 16
    """Expected examples a step."""
    learning_rate: LearningRate | Annotated[tuple[LearningRate, ...], Field(min_length=2)] | None = None
    """AdamW's. Of several, successive halving picks the best on validation text. Otherwise 0.003 for
    `byte_gpt`, 1e-4 for `huggingface`, with adapters 1e-3."""
    evaluate_every: Rounds = 50
    """Steps between two evaluations on validation text: every 20th untagged example, never trained on. The
    best state is kept."""
    patience: Rounds = 5
    """Evaluations without a new best before it stops."""

    @model_validator(mode="after")
    def _looks(self) -> Self:
        if self.evaluate_every > self.steps:
            raise ValueError("evaluate_every is above steps, so nothing would be chosen; lower it")
        return self


class EarlyStopping(Section):
    """Stop when the loss on PUBLIC text no longer falls. The certificate still covers every planned round."""

    patience: Rounds = 3
    """Evaluations without a new best before the run stops."""
    min_delta: Annotated[float, Field(ge=0, le=1e3)] = 0.0
    """Bits by which a new best must improve."""


class Execution(Section):
    """How a private run is done this time. Nothing in it changes what is released or promised, so a run that is
    resumed with other such settings is the same run, and its releases are counted on."""

    micro_batch: int
    processes: int
    checkpoint_every: int
    evaluate_every: int | None


class TrainConfig(Section):
    """The private run: T rounds of DP-SGD under weighted Poisson sampling (paper, Algorithm 2)."""

    rounds: Rounds | None = None
    """T, how many noisy gradients are released. More rounds need more noise. Otherwise the plan chooses."""
    start: Literal["public", "champion"] = "public"
    """`champion`: from a promise's second run on, continue from the version that a review approved. Needs
    `promise`; not with `protect: redact`."""
    later_rounds: Rounds | None = None
    """With `start: champion`: the rounds of every later run. Warm-up and `evaluate_every` shrink in
    proportion."""
    batch: Examples | None = None
    """B, the expected number of examples a round; the realised number is random and never used. Otherwise the
    plan chooses. A batch that the weights do not allow is replaced by the largest that they do."""
    clip_norm: ClipNorm = 1.0
    """C, the most that one example's gradient counts for."""
    learning_rate: LearningRate | Annotated[tuple[LearningRate, ...], Field(min_length=2)] = 1e-3
    """Of the private rounds. For `huggingface` the default is 5e-5, with adapters 3e-4; for `byte_gpt` with
    `preconditioned` the plan takes 0.01. Several are rehearsed on public text (40 examples or more), and the
    best is used; nothing of that is released."""
    schedule: Schedule = "constant"
    """How the rate falls to 0 over the rounds."""
    warmup_rounds: WarmUp = 0
    """Rounds over which the rate rises."""
    optimizer: Optimizer | None = None
    """`adamw_bc` subtracts the known variance of the noise from AdamW's second moments. `preconditioned`, with
    `plain`: SGD on gradients that are scaled, before the clip, by second moments of untagged text. Otherwise the
    plan chooses."""
    untagged_batch: UntaggedBatch | None = None
    """With `plain`: this many untagged examples join each round's update after its release, without noise.
    Otherwise the plan chooses."""
    average: Average = "none"
    """What is kept: the last iterate, an exponential average, or the mean over the second half. No bound
    changes."""
    average_decay: Annotated[float, Field(gt=0, lt=1)] = 0.98
    """Decay of `ema` a round."""
    freeze: tuple[Literal["embedding", "matrices"], ...] = ()
    """What the private rounds leave unchanged. With both, only biases and scales are trained; fewer numbers
    take up less noise."""
    keep: Literal["last", "best"] = "last"
    """`best`: of all evaluations, the model with the lowest loss on untagged validation text (with `plain`),
    else on public text. Needs `evaluate_every`."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of the forward and backward pass. Weights, sums and noise stay in float32 or better."""
    processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Data-parallel processes, one a GPU if there are any, here or on `HUSH_HOSTS`. Each holds the whole
    model."""
    micro_batch: Annotated[int, Field(ge=1, le=1 << 20)] = 32
    """Most examples computed at once in a process, and at most a sixteenth of the batch. Affects memory, not
    privacy."""
    checkpoint_every: Rounds = 20
    """Rounds between checkpoints. Rounds lost to a kill count as released."""
    evaluate_every: Rounds | None = None
    """Rounds between two points of the learning curve, on public text kept out of pre-training (a twentieth,
    20 to 400 examples; none of fewer than 40) and, with `plain`, on untagged validation text."""
    early_stopping: EarlyStopping | None = None
    """Stop when that loss no longer falls. The bounds remain those of all planned rounds."""

    def essential(self) -> TrainConfig:
        """What run it is: the same, but for what decides only how the work is done (`execution`)."""
        looks = self.early_stopping or self.keep == "best"
        keys = set(Execution.model_fields) - ({"evaluate_every"} if looks else set())
        return self.model_copy(update={key: type(self).model_fields[key].default for key in keys})

    def execution(self) -> Execution:
        """How it is done. `essential().done_by(execution())` is the whole again."""
        return Execution(**{key: getattr(self, key) for key in Execution.model_fields})

    def done_by(self, execution: Execution) -> TrainConfig:
        """The same run, done so."""
        return self.model_copy(update=dict(execution))

    def of_later_run(self) -> TrainConfig:
        """The same for a run after the first of a promise: its rounds, and what is said in rounds in proportion."""
        rounds, shorter = self.later_rounds, self.later_rounds / self.rounds
        every = self.evaluate_every and max(1, min(rounds, round(self.evaluate_every * shorter)))
        warm_up = int(self.warmup_rounds * shorter)
        return self.model_copy(update={"rounds": rounds, "warmup_rounds": warm_up, "evaluate_every": every})

    def conflicts(self) -> Iterator[str]:
        if (self.start == "champion") != (self.later_rounds is not None):
            yield (
                "start: champion and later_rounds go together; give both, or leave both out for runs that "
                "start from the public model"
            )
        if self.rounds and self.warmup_rounds >= self.rounds:
            yield "warmup_rounds is not below rounds; lower it"
        if self.rounds and self.evaluate_every and self.evaluate_every > self.rounds:
            yield "evaluate_every is above rounds, so nothing is evaluated; lower it"
        if self.early_stopping and self.evaluate_every is None:
            yield "early_stopping needs evaluate_every; say after how many rounds to look"
        if self.keep == "best" and self.evaluate_every is None:
            yield "keep: best needs evaluate_every; say after how many rounds to look"


class AuditConfig(Section):
    """The attack on the trained model."""

    alternatives: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Strings of the same form among which each true value is ranked."""
    held_back: bool = False
    """Keep every twentieth example with a secret out of training, and publish the loss on them before and
    after the private rounds. It is released WITHOUT noise."""
    unprotected: bool = False
    """Also train the model without protection, and publish its loss and ranks: NO bound covers them. For
    planted secrets only. About doubles the time."""


class TrackingConfig(Section):
    experiment: Annotated[str, Field(min_length=1, max_length=250, pattern=r"\S")] = "hush"
    """MLflow experiment."""
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)] = "hush-model"
    """Name in the model registry; each certificate is a version of it."""
