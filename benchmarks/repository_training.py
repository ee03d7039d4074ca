"""The models that real_repository.py compares, and what each knows; finished ones are kept.

All are trained from the same public start, at rates that fall to 0 (`fit_untagged`), and all but the start and the
plain one work through equally many examples in expectation. Only the protected ones protect anything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from arxiv_rows import bits_and_bytes
from repository_data import Data

from hush_core.auditing.exposure import exposure
from hush_core.config import TrainConfig, UntaggedConfig
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.training import (
    LanguageModel,
    byte_gpt,
    fit_plain,
    fit_private,
    fit_untagged,
    load_model,
    save_model,
    split_public,
)
from hush_core.weights import (
    check_untagged,
    largest_batch,
    tagged_examples,
    weigh,
    weight_settings,
    with_role,
)
from hush_core.weights.roles import HELD_OUT, PLAIN, VALIDATION

START, PLAIN_ONLY, PROTECTED, RETAINED, EVERYTHING = "start", "plain", "protected", "retained", "all"
LONGER, FASTER, QUIET = "plain-longer", "protected-faster", "no-noise"
LABELS = {
    START: "public start",
    PLAIN_ONLY: "plain: without the certified rounds",
    PROTECTED: "protected",
    RETAINED: "non-private on the retained data",
    EVERYTHING: "non-private on all",
    LONGER: "plain, with the rounds' examples too",
    FASTER: "protected, three times the rate",
    QUIET: "control: the same rounds without noise",
}
"""Name → what it is, in the order of the table."""
PLACES = 20
"""An example that the plain phase sees as often as any other has so many places in the list of retained data."""


@dataclass(frozen=True, eq=False)
class Runs:
    """One share and one repetition; `seed` is of the initial state and of every batch without noise."""

    data: Data
    work: Path
    share: int
    seed: int

    @cached_property
    def roles(self) -> pl.Series:
        return self._weighing.roles

    @cached_property
    def train(self) -> TrainConfig:
        """As the config, its batch such that tagged text is drawn as often as untagged text is in the plain phase,
        as far as the weights allow."""
        train, untagged = self.data.config.train, self.data.config.untagged
        tagged = int(tagged_examples(self.data.edges, len(self.data.texts)).sum())
        draws = untagged.steps * untagged.batch / len(self.ids(PLAIN)) * tagged
        batch = min(max(1, round(draws / train.rounds)), largest_batch(self._weighing.weights))
        return train.model_copy(update={"batch": batch})

    @cached_property
    def plan(self) -> ProtectionPlan:
        """Certified for every secret at its target."""
        train, data = self.train, self.data
        return make_plan(
            self._weighing.weights, data.edges, data.secrets, rounds=train.rounds, expected_batch=train.batch,
            clip_norm=train.clip_norm, method=data.config.method,
        )  # fmt: skip

    @cached_property
    def _weighing(self):
        settings = weight_settings(self.data.config)
        return weigh(self.data.edges, self.data.secrets, n_examples=len(self.data.texts), settings=settings)

    def ids(self, *roles: str) -> np.ndarray:
        return with_role(self.roles, *roles)

    def pick(self, ids: Sequence[int] | np.ndarray) -> list[bytes]:
        return [self.data.texts[i] for i in ids]

    def retained(self) -> np.ndarray:
        """Ids, each as often as the protected model expects to draw it, relative to the untagged ones' `PLACES`."""
        untagged, plain = self.data.config.untagged, self.ids(PLAIN)
        epochs = untagged.steps * untagged.batch / len(plain)
        draws = self.plan.rates * self.plan.rounds
        draws[plain] = epochs
        return np.repeat(np.arange(len(draws)), np.rint(PLACES * draws / epochs).astype(int))

    def model(self, name: str) -> LanguageModel:
        """The finished model; trained now if it is not kept."""
        folder = self.work / (f"start-{self.seed}" if name == START else f"{self.share}-{self.seed}") / name
        if not (folder / "done.json").exists():
            began = time.process_time()
            model = self._make(name, folder)
            save_model(model, folder / "model")
            (folder / "done.json").write_text(json.dumps({"cpu_seconds": round(time.process_time() - began)}))
        return load_model(folder / "model")

    def _make(self, name: str, folder: Path) -> LanguageModel:
        config, untagged = self.data.config, self.data.config.untagged
        if name == START:
            model, pre = byte_gpt(config.model, config.chunk_bytes, seed=self.seed), config.pretrain
            public, _ = split_public(self.data.public)
            return fit_plain(
                public, model, steps=pre.steps, batch=pre.batch, learning_rate=pre.learning_rate, micro_batch=16,
                seed=self.seed,
            )  # fmt: skip
        if name == PLAIN_ONLY:
            check_untagged(self.ids(PLAIN, VALIDATION, HELD_OUT), self.data.edges)
            return self._ordinary(self.pick(self.ids(PLAIN)), untagged)
        if name in (PROTECTED, FASTER, QUIET):
            return self._rounds(name, folder)
        steps = untagged.steps + round(self.plan.rounds * self.plan.expected_batch / untagged.batch)
        longer = untagged.model_copy(update={"steps": steps})
        everything = np.setdiff1d(np.arange(len(self.data.texts)), self.ids(VALIDATION, HELD_OUT))
        seen = {RETAINED: self.retained(), EVERYTHING: everything, LONGER: self.ids(PLAIN)}[name]
        return self._ordinary(self.pick(seen), longer)

    def _ordinary(self, texts: list[bytes], settings: UntaggedConfig) -> LanguageModel:
        validation = self.pick(self.ids(VALIDATION))
        model = self.model(START)
        fit = fit_untagged(texts, validation, model, settings, micro_batch=16, seed=self.seed)
        print(
            f"    best after {fit.steps} of {settings.steps} steps: {[round(loss, 3) for _, loss in fit.curve]}"
        )
        return fit.model

    def _rounds(self, name: str, folder: Path) -> LanguageModel:
        """By the plan; QUIET by one of no promise whose noise is a thousandth."""
        plan, train = self.plan, self.train
        if name == QUIET:
            none = plan.certificates.clear()
            plan = replace(plan, noise_multiplier=plan.noise_multiplier / 1000, certificates=none)
        if name == FASTER:
            train = train.model_copy(update={"learning_rate": 3 * train.learning_rate})
        return fit_private(plan, self.data.texts, self.model(PLAIN_ONLY), train, folder / "run").model

    def has(self, name: str) -> bool:
        """Whether it was measured."""
        return self._kept(name, "exposure.parquet").exists() and self._kept(name, "scores.npz").exists()

    def scores(self, name: str) -> dict[str, np.ndarray]:
        """(n, 2) bits and bytes of each text, without a secret and with one, that no model was trained on."""
        texts = {"untagged": self.pick(self.ids(HELD_OUT)), "tagged": self.data.tagged_back}
        path = self._kept(name, "scores.npz")
        if not path.exists():
            model = self.model(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, **{kind: bits_and_bytes(model, some) for kind, some in texts.items()})
        with np.load(path) as kept:
            return dict(kept)

    def attack(self, name: str) -> pl.DataFrame:
        """Rank, exposure and extraction of every planted value."""
        path = self._kept(name, "exposure.parquet")
        if not path.exists():
            data = self.data
            path.parent.mkdir(parents=True, exist_ok=True)
            exposure(
                self.model(name), data.texts, data.occurrences, data.secrets, seed=7,
                alternatives=data.config.audit.alternatives,
            ).write_parquet(path)  # fmt: skip
        return pl.read_parquet(path)

    def _kept(self, name: str, file: str) -> Path:
        return self.work / f"{self.share}-{self.seed}" / name / file


def interval(
    statistic: Callable[[np.ndarray], float], count: int, *, resamples: int = 2000
) -> tuple[float, float]:
    """95 % by bootstrap over `count` texts: `statistic` is given the ids that were drawn."""
    drawn = np.random.default_rng(0)
    values = [statistic(drawn.integers(count, size=count)) for _ in range(resamples)]
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
