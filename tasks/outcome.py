"""A finished job as one value: what each part of it came to, and the numbers that are read off it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hush_core import figures
from hush_core.certificate import read_tables
from hush_core.config import ByteGptModel, HuggingFaceModel, HushConfig, TrainConfig
from tasks.attack import Attacked
from tasks.calibration import Calibrated
from tasks.champion import Champion
from tasks.earlier_runs import Before
from tasks.extraction import Extracted
from tasks.models import Model, base_name
from tasks.ordinary_training import PlainlyTrained
from tasks.rate_search import TriedRate
from tasks.runtime.store import Ref, open_store
from tasks.texts import TextsByRole
from tasks.training import Trained
from tasks.weighing import Weighed


@dataclass(frozen=True)
class Planned:
    """What is settled before anything is trained: who holds what, how often it is drawn, how much noise."""

    config: HushConfig
    train: TrainConfig
    """Of this run: a later one of a promise may have fewer rounds."""
    extracted: Extracted
    """With the secrets that only earlier runs of the promise named."""
    weighed: Weighed
    job: str
    before: Before | None
    calibrated: Calibrated
    by_method: dict[str, Calibrated | None]
    """The same by each method, for comparison; empty under a promise of several runs."""
    by_paper: float | None
    """σ by the paper's method on the paper's own program, at equal retained weight."""

    @property
    def champion(self) -> Champion | None:
        """The promoted version that this run continues from; None: the public start."""
        return self.before.champion if self.before else None

    @property
    def start_name(self) -> str:
        """What the model is called that a run begins with."""
        if self.champion:
            return "champion"
        if self.config.pretrain.steps and self.extracted.n_public:
            return "pretrained"
        return "base model" if isinstance(self.config.model, HuggingFaceModel) else "untrained"

    @property
    def model_in_words(self) -> str:
        """The config's model in a few words; of a folder, its name alone."""
        model = self.config.model
        if isinstance(model, ByteGptModel):
            size = f"{model.layers}x{model.width}, {model.heads} heads, {self.config.chunk_bytes} bytes"
            return f"{model.kind} {size}"
        name = base_name(model)
        return f"{name}, LoRA rank {model.lora.rank}" if model.lora else f"{name}, all parameters"


@dataclass(frozen=True)
class Start:
    """What the certified rounds begin with."""

    texts: TextsByRole
    begun: Model
    """Trained on public text alone, or the champion."""
    untagged: PlainlyTrained | None
    """Rounds without noise, on text that no entry names; None where there was none."""

    @property
    def start(self) -> Model:
        return self.untagged.model if self.untagged else self.begun


@dataclass(frozen=True)
class TrainedRounds:
    """The protected model, and at which rate it was trained."""

    trained: Trained
    learning_rate: float | None
    """None where no certified round was made."""
    tried: tuple[TriedRate, ...]
    """Each learning rate rehearsed on public text; empty where the config names one rate."""


@dataclass(frozen=True)
class Attacks:
    """What the same attacks got out of each model."""

    before_attacked: Attacked
    attacked: Attacked
    redacted_before: Attacked | None
    redacted_attacked: Attacked | None
    """The same at placeholders; None where nothing was redacted."""
    unprotected: Model | None
    unprotected_attacked: Attacked | None
    tagged_bits: dict[str, float | None]
    """Loss on examples with a secret that were held back, by model; empty unless the config asks for it."""


@dataclass(frozen=True)
class AllRuns:
    """What the certificate says of this run and the earlier ones of the store together, over all secrets."""

    earlier: int
    """Runs before this one that trained on any of them, or may have."""
    secrets: int
    """With an earlier run."""
    most: int
    """The most earlier runs of any secret."""
    above: int
    """Whose bound of all runs is above their target."""
    nothing: int
    """Of which nothing is promised over all runs."""
    worst: float | None
    """The largest bound/target of all runs; None where nothing is promised of any secret."""


@dataclass(frozen=True)
class Outcome(Planned, Start, TrainedRounds, Attacks):
    """Everything that a finished job has to show. Report, page, registry text, tags and metrics are views of it."""

    certificate: Ref

    def read(self, table: Ref) -> pl.DataFrame:
        return open_store().read_frame(table)

    @cached_property
    def coverage(self) -> dict[str, Any]:
        return open_store().read_json(self.extracted.coverage)

    @property
    def certificate_dir(self) -> Path:
        return open_store().path(self.certificate)

    @cached_property
    def certified(self) -> dict[str, pl.DataFrame]:
        """The certificate's tables."""
        return read_tables(self.certificate_dir)

    @property
    def losses(self) -> dict[str, float]:
        """Bits per `trained.model.unit` on held-out examples without a secret, by model."""
        models = {
            self.start_name: self.begun,
            "without secrets": self.untagged.model if self.untagged else None,
            "protected": self.trained.model,
            "unprotected": self.unprotected,
        }
        return {name: m.bits for name, m in models.items() if m and m.bits is not None}

    @property
    def gain(self) -> float | None:
        """(start − protected)/(start − unprotected) on held-out text; None where it was not measured, or nothing is
        to be gained."""
        start, protected, unprotected = map(self.losses.get, (self.start_name, "protected", "unprotected"))
        if start is None or protected is None or unprotected is None or unprotected >= start:
            return None
        return (start - protected) / (start - unprotected)

    @property
    def learning_table(self) -> pl.DataFrame:
        """run · rounds · bits: loss on public text of the protected run, and of each rehearsal of its rate."""
        runs = {f"rehearsal, rate {one.learning_rate:g}": one.curve for one in self.tried}
        runs[figures.RUN] = self.trained.curve
        rows = [(name, rounds, bits) for name, curve in runs.items() for rounds, bits in curve]
        kinds = {"run": pl.String, "rounds": pl.UInt32, "bits": pl.Float64}
        return pl.DataFrame(rows, schema=kinds, orient="row")

    @cached_property
    def worst_ratio(self) -> float:
        """The largest bound/target over all secrets: at most 1; 0 where none is left."""
        bounds = self.read(self.calibrated.bounds)
        return float((bounds["bound"] / bounds["posterior"]).max() or 0.0)

    @cached_property
    def all_runs(self) -> AllRuns:
        """Read off the certificate."""
        bounds = self.certified["bounds.parquet"]
        ratio = bounds["all_runs"] / bounds["posterior"]
        worst = ratio.max()
        return AllRuns(
            earlier=self.certified["runs.parquet"].height + self.trained.others.unknown,
            secrets=int((bounds["earlier_runs"] > 0).sum()),
            most=self.trained.others.most,
            above=int((ratio > 1).sum()),
            nothing=ratio.null_count(),
            worst=None if worst is None else float(str(worst)),
        )
