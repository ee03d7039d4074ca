"""Training on arXiv through the project's own path: phases one after another, each finished one kept in a folder.

A folder of a phase stands in that of the phase before it, so settings that begin alike share what they share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from arxiv_data import Arxiv
from arxiv_plans import Recipe, plan_of

from hush_core.config import ByteGptModel, TrainConfig, UntaggedConfig
from hush_core.plan import ProtectionPlan
from hush_core.progress import Progress
from hush_core.training import (
    LanguageModel,
    byte_gpt,
    fit_plain,
    fit_private,
    fit_untagged,
    load_model,
    save_model,
)

LAYERS, WIDTH, HEADS = 1, 128, 4
MICRO_BATCH = 32
FALLING = ((3e-3, 0.85), (1e-3, 0.15))
"""Learning rate and share of the steps."""
ANNEALED = ((1e-3, 0.4), (3e-4, 0.4), (1e-4, 0.2))
"""To low rates: in batches of 16 the state at 1e-3 is far from the best one nearby, and certified rounds would seem
to gain what only a lower rate gains."""
SCALE = 16
"""A rehearsal has so many times fewer texts, and batches so many times smaller."""
_LOOKS = 13
"""At validation text in a phase that stops by it."""


@dataclass(frozen=True)
class Plain:
    """Ordinary training, neither clipped nor noised.

    Attributes:
        texts: a key of `texts_of`. drawn_as: the recipe whose rates they are drawn by, in proportion.
        to_best: by `fit_untagged`, so it ends in the state that is best on untagged validation text.
    """

    texts: str
    steps: int
    batch: int = 16
    rates: tuple[tuple[float, float], ...] = FALLING
    to_best: bool = False
    drawn_as: Recipe | None = None

    @property
    def label(self) -> str:
        names = {FALLING: "", ANNEALED: " annealed"}
        rates = names.get(self.rates, f" {'-'.join(f'{rate:g}' for rate, _ in self.rates)}")
        kind = " to best" * self.to_best + " retained" * (self.drawn_as is not None)
        return f"{self.texts} {self.steps} x {self.batch}{rates}{kind}"


@dataclass(frozen=True)
class Private:
    """Certified rounds by a recipe's plan."""

    recipe: Recipe
    rate: float

    @property
    def label(self) -> str:
        return f"certified {self.recipe.label} {self.rate:g}"


Phase = Plain | Private


@dataclass(frozen=True, eq=False)
class Bench:
    """What all runs share: data, folder, and how many bytes of an abstract the model reads."""

    data: Arxiv
    work: Path
    context: int

    def after(self, phases: Sequence[Phase], start: int) -> LanguageModel:
        """The model after these phases; `start` numbers the repetition: another initial state, other batches."""
        folder, model = self.folder(phases, start), None
        if (folder / "done.json").exists():
            return load_model(folder / "model")
        if phases[:-1]:
            model = self.after(phases[:-1], start)
        else:
            kind = ByteGptModel(layers=LAYERS, width=WIDTH, heads=HEADS)
            model = byte_gpt(kind, self.context, seed=start)
        began, cpu = time.perf_counter(), time.process_time()
        examples = self._fit(phases[-1], model, start, folder)
        save_model(model, folder / "model")
        done = {
            "examples": examples,
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
        }
        (folder / "done.json").write_text(json.dumps(done))
        return model

    def folder(self, phases: Sequence[Phase], start: int) -> Path:
        return self.work / "runs" / str(start) / Path(*(phase.label for phase in phases))

    def examples(self, phases: Sequence[Phase], start: int) -> int:
        """How many examples all of them worked through, in expectation; steps that were not kept count."""
        each = (self.folder(phases[: i + 1], start) / "done.json" for i in range(len(phases)))
        return sum(json.loads(path.read_text())["examples"] for path in each)

    def _fit(self, phase: Phase, model: LanguageModel, start: int, folder: Path) -> int:
        show = _progress(f"{start}: {phase.label}")
        if isinstance(phase, Private):
            plan = plan_of(self.data, phase.recipe, self.work)
            certified(plan, self.data.private, model, phase.rate, folder / "run", show)
            return plan.rounds * plan.expected_batch
        texts = texts_of(self.data, phase.texts)
        if phase.to_best:
            return phase.batch * self._to_best(phase, texts, model, start, show)
        drawn = None
        if phase.drawn_as is not None:
            plan = plan_of(self.data, phase.drawn_as, self.work)
            drawn = plan.rates * (phase.batch / plan.expected_batch)
        for stage, (rate, share) in enumerate(phase.rates):
            fit_plain(
                texts, model, steps=max(1, round(share * phase.steps)), batch=phase.batch, learning_rate=rate,
                micro_batch=MICRO_BATCH, rates=drawn, seed=stage + 100 * start, progress=show,
            )  # fmt: skip
        return phase.steps * phase.batch

    def _to_best(self, phase: Plain, texts: list[bytes], model: LanguageModel, start: int, show) -> int:
        """Steps that were taken."""
        data, steps = self.data, 0
        for stage, (rate, share) in enumerate(phase.rates):
            most = max(1, round(share * phase.steps))
            every = max(1, phase.steps // _LOOKS)
            settings = UntaggedConfig(
                steps=most, batch=phase.batch, learning_rate=rate, evaluate_every=min(every, most), patience=3
            )
            fit = fit_untagged(
                texts, [data.private[i] for i in data.plain_validation], model, settings,
                micro_batch=MICRO_BATCH, seed=stage + 100 * start, progress=show,
            )  # fmt: skip
            steps += fit.curve[-1][0]
            print(f"      best after {fit.steps}: {[round(loss, 4) for _, loss in fit.curve]}", flush=True)
        return steps


def texts_of(data: Arxiv, name: str) -> list[bytes]:
    """The texts that a phase without noise trains on."""
    untagged = [data.private[i] for i in data.plain]
    return {
        "start": data.public,
        "public": data.public + data.rehearsal,
        "untagged": untagged,
        "public and untagged": data.public + data.rehearsal + untagged,
        "private": data.private,
        "redacted": data.redacted,
    }[name]


def certified(
    plan: ProtectionPlan,
    texts: Sequence[bytes],
    model: LanguageModel,
    learning_rate: float,
    folder: Path,
    progress: Progress | None = None,
) -> None:
    """The certified rounds, in place; they go on where they stood if they were stopped."""
    config = TrainConfig(
        rounds=plan.rounds, batch=plan.expected_batch, clip_norm=plan.clip_norm, learning_rate=learning_rate,
        micro_batch=MICRO_BATCH, checkpoint_every=10,
    )  # fmt: skip
    fitted = fit_private(plan, texts, model, config, folder, progress)
    if fitted.rounds_applied < plan.rounds:
        print(f"    {folder}: {plan.rounds - fitted.rounds_applied} rounds were lost to a kill")


def scaled_down(plan: ProtectionPlan, texts: int) -> tuple[ProtectionPlan, int]:
    """The plan for fewer stand-ins, and how many: every 16th rate, 1/16 of the batch and of its noise.

    So the noise for each example drawn, the rounds, and how the draws are spread over examples stay the same. It
    protects nothing.
    """
    rates = np.sort(plan.rates[plan.rates > 0])[SCALE // 2 :: SCALE]
    batch = max(1, round(plan.expected_batch / SCALE))
    if len(rates) > texts:
        raise SystemExit(f"{texts} stand-ins are too few for {len(rates)} rates")
    small = replace(
        plan,
        rates=np.minimum(rates * (batch / rates.sum()), 1.0),
        noise_multiplier=plan.noise_multiplier * batch / plan.expected_batch,
        expected_batch=batch,
        certificates=plan.certificates.clear(),
    )
    return small, len(rates)


def _progress(name: str) -> Progress:
    def show(_: str, done: int, total: int) -> None:
        if done % max(1, total // 4) == 0:
            print(f"    {name}: {done}/{total}", flush=True)

    return show
