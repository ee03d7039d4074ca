"""How it is weighed, trained, attacked and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from hush_core.config.calendar import MOST_RUNS, UTC, runs_between
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
    """How much each secret may weigh (`docs/guarantee.md` §7)."""

    capacities: Capacities = "matched"
    c: Annotated[float, Field(ge=1e-9, le=1)] | None = None
    """Relative to c_max, the smallest c at which every weight is 1. None: the plan chooses."""
    noise_multiplier: Noise | None = None
    """In place of c: keep as much as this σ can certify (`equalised` only)."""
    objective: Literal["weight", "distinct"] = "weight"
    """What the weights make largest: their sum, or the expected number of distinct examples that are drawn."""
    without_secret: Literal["noise", "plain", "drop"] | None = None
    """Examples without a secret: in the certified rounds with all others, trained on as usual before them, or left
    out. `plain` gives far better models under the same promise, and no noise to a secret that no entry names.
    None: `noise` where a person asks for certified rounds, else `plain` (`HushConfig.asks_for_noise`)."""

    @field_validator("without_secret", mode="before")
    @classmethod
    def _keep(cls, given: Any) -> Any:
        if given == "keep":
            raise ValueError("without_secret: keep is now called noise; write that, or plain")
        return given

    @model_validator(mode="after")
    def _one_scale(self) -> Self:
        if self.noise_multiplier is not None:
            if self.capacities != "equalised":
                raise ValueError("noise_multiplier needs capacities: equalised; set that, or give c instead")
            if self.c is not None:
                raise ValueError("c and noise_multiplier are both given; keep one of them")
        return self


class PromiseConfig(Section):
    """How many runs the targets are to hold for (docs/retraining.md): a number, or a schedule between two days."""

    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    """After so many runs of this store every secret's bound of all runs together is at most its target. The noise
    is that of all of them; a run beyond them is refused before it trains."""
    since: date | None = None
    until: date | None = None
    """The first and the last day on which `cron` starts runs."""
    cron: str | None = None
    """Five fields. With both days it says how many runs there are; `hush serve` starts runs by it."""
    timezone: str | None = None
    """Of the days and of `cron`; UTC unless given."""

    @model_validator(mode="before")
    @classmethod
    def _count(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not {"since", "until", "cron", "timezone"} & given.keys():
            return given
        days, zone = {key: given.get(key) for key in ("since", "until", "cron")}, given.get("timezone")
        if all(value is None for value in (*days.values(), zone)):
            return given
        if missing := [key for key, value in days.items() if value is None]:
            raise ValueError(f"{missing[0]} is missing; a schedule needs since, until and cron, or give runs")
        runs = runs_between(**days, timezone=UTC if zone is None else zone)
        if given.get("runs", runs) != runs:
            raise ValueError(f"runs is not the {runs} of the schedule; keep one of the two")
        return {**given, "runs": runs, "timezone": zone or UTC}

    @property
    def schedule(self) -> tuple[str | None, str | None]:
        """(cron, time zone) that the runs are counted by; None where a number is promised."""
        return self.cron, self.timezone


class ByteGptModel(Section):
    """A byte-level GPT: no tokenizer is learned from protected data. One example is one sequence."""

    kind: Literal["byte_gpt"] = "byte_gpt"
    layers: Annotated[int, Field(ge=1, le=1024)] = 4
    width: Annotated[int, Field(ge=8, le=65536)] = 256
    heads: Annotated[int, Field(ge=1, le=1024)] = 4

    @model_validator(mode="after")
    def _even_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError("model.width must be a multiple of model.heads")
        return self

    def parameters(self, chunk_bytes: int, frozen: Sequence[str] = ()) -> int:
        """How many numbers are trained: 12·width² a block, its biases and scales, and the embeddings; less what
        `train.freeze` names."""
        matrices = 0 if "matrices" in frozen else 12 * self.width**2
        embedding = 0 if "embedding" in frozen else 259 + chunk_bytes + 1
        return self.layers * (matrices + 13 * self.width) + (embedding + 2) * self.width


class LoraConfig(Section):
    """Low-rank adapters in place of full fine-tuning (Hu et al. 2021); all other parameters are frozen."""

    rank: Annotated[int, Field(ge=1, le=65536)] = 8
    alpha: Annotated[float, Field(ge=1e-6, le=1e6)] = 16
    """The adapter's output is scaled by alpha / rank."""
    targets: Annotated[tuple[str, ...], Field(min_length=1)] | Literal["all-linear"] | None = None
    """Names of the layers that get an adapter; None: the attention projections usual for the architecture, or all
    linear layers where none are known."""
    use_dora: bool = False
    """DoRA (Liu et al. 2024): each row's length is trained apart from its direction, one number a row."""


class HuggingFaceModel(Section):
    """A causal or masked language model with its tokenizer, both made without the protected data."""

    kind: Literal["huggingface"]
    name: Annotated[str, Field(min_length=1)]
    """A folder (relative to this file), or a name on the hub."""
    revision: str | None = None
    """Of a hub name: a commit, tag or branch."""
    objective: Literal["causal", "masked"] | None = None
    """None: what the model's own config names as its architecture."""
    context: Annotated[int, Field(ge=2, le=1 << 24)] | None = None
    """Most tokens of an example, the rest is cut off and counted; None: what the model can read."""
    lora: LoraConfig | None = None


def _kind(value: Any) -> str:
    """Of what is no mapping, one of them, which then says so."""
    return str(
        value.get("kind", "byte_gpt") if isinstance(value, dict) else getattr(value, "kind", "byte_gpt")
    )


ModelConfig = Annotated[
    Annotated[ByteGptModel, Tag("byte_gpt")] | Annotated[HuggingFaceModel, Tag("huggingface")],
    Discriminator(_kind),
]


class PretrainConfig(Section):
    """Ordinary training on the code named as public, before any protected example is read."""

    steps: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    batch: Examples = 32
    learning_rate: Rate = 1e-3


class UntaggedConfig(Section):
    """Ordinary training on the examples that no edge of the graph names, before the certified rounds. Of use with
    `weights.without_secret: plain` only."""

    steps: Rounds = 2000
    """At most."""
    batch: Examples = 16
    learning_rate: LearningRate | Annotated[tuple[LearningRate, ...], Field(min_length=2)] | None = None
    """One rate, or several: the best of them on validation text. None: what is usual for the kind of model."""
    evaluate_every: Rounds = 50
    """Steps between two looks at validation text, which is untagged too and never trained on."""
    patience: Rounds = 5
    """Looks without a new best before it stops."""

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
    """Bits by which a new best must be below the last one."""


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
    """With `start: champion`, of the first run of the promise. None: the plan chooses, as it does `batch`."""
    start: Literal["public", "champion"] = "public"
    """What a run goes on from: the public start every time, or, from the second run of a promise on, the version
    that a review promoted, whose releases are counted already."""
    later_rounds: Rounds | None = None
    """With `start: champion`, of every run of the promise after the first."""
    batch: Examples | None = None
    """The EXPECTED batch size B; the realised one is random and never used."""
    clip_norm: ClipNorm = 1.0
    learning_rate: LearningRate | Annotated[tuple[LearningRate, ...], Field(min_length=2)] = 1e-3
    """One rate, or several: the best of them in a rehearsal on public text, with the plan's own noise."""
    schedule: Schedule = "constant"
    """How the rate falls to 0 over the rounds, after the warm-up."""
    warmup_rounds: WarmUp = 0
    optimizer: Optimizer | None = None
    """adamw_bc: AdamW that subtracts the known variance of the noise from its second moments. preconditioned: SGD
    on gradients that are scaled, before they are clipped, by second moments of untagged text (AdaDPS).
    None: the plan chooses (`weights.choice.step_for`); adamw where there is no plan."""
    untagged_batch: UntaggedBatch | None = None
    """So many untagged examples are mixed into each certified round's update, without noise. None: the plan's."""
    average: Average = "none"
    """What is kept: the iterate itself, an exponential average of all, or the mean over the second half."""
    average_decay: Annotated[float, Field(gt=0, lt=1)] = 0.98
    """Of `ema`, a round."""
    freeze: tuple[Literal["embedding", "matrices"], ...] = ()
    """What these rounds leave as it is; both: only biases and scales are trained."""
    keep: Literal["last", "best"] = "last"
    """best: of all evaluations, the model that was best on untagged validation text, or on public text."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of forward and backward pass; weights, clipping sums and noise are fp32 or better."""
    processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Data-parallel processes; each holds the whole model."""
    micro_batch: Annotated[int, Field(ge=1, le=1 << 20)] = 32
    checkpoint_every: Rounds = 20
    evaluate_every: Rounds | None = None
    """Rounds between two points of the learning curve, on public text only."""
    early_stopping: EarlyStopping | None = None

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

    @model_validator(mode="after")
    def _later(self) -> Self:
        if (self.start == "champion") != (self.later_rounds is not None):
            raise ValueError(
                "start: champion and later_rounds go together; give both, or leave both out for runs that "
                "begin anew"
            )
        return self

    @model_validator(mode="after")
    def _curve(self) -> Self:
        if self.rounds and self.warmup_rounds >= self.rounds:
            raise ValueError("warmup_rounds is not below rounds; lower it")
        if self.rounds and self.evaluate_every and self.evaluate_every > self.rounds:
            raise ValueError("evaluate_every is above rounds, so nothing is evaluated; lower it")
        if self.early_stopping and self.evaluate_every is None:
            raise ValueError("early_stopping needs evaluate_every; say after how many rounds to look")
        if self.keep == "best" and self.evaluate_every is None:
            raise ValueError("keep: best needs evaluate_every; say after how many rounds to look")
        return self


class AuditConfig(Section):
    """The attack on the trained model."""

    alternatives: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """Equally long strings of the same language that each secret's value is ranked among."""
    held_back: bool = False
    """Keep every twentieth example with a secret out of training, and publish the loss on them before and after the
    certified rounds. That loss is released WITHOUT noise: no bound covers it."""
    unprotected: bool = False
    """Also train the same model on the same data without protection, to show what would have leaked."""


class TrackingConfig(Section):
    experiment: Annotated[str, Field(min_length=1, max_length=250, pattern=r"\S")] = "hush"
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)] = "hush-model"
