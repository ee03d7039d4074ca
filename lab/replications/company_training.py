"""The models of each way to train on a company's repository, and what each knows; finished ones are kept.

All are trained from the same public start, at rates that fall to 0, and all but the start and the plain one work
through equally many examples in expectation. Only those under a plan protect anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.accounting import Participation, smallest_noise
from hush_core.auditing.exposure import exposure
from hush_core.auditing.k_extraction import k_extraction
from hush_core.config import TrainConfig, UntaggedConfig
from hush_core.corpus import PLACEHOLDER
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
    Weighing,
    check_untagged,
    largest_batch,
    tagged_examples,
    weigh,
    weight_settings,
    with_role,
)
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION
from lab.replications.company_measures import bits_and_bytes
from lab.replications.company_repository import Data

START, PLAIN_ONLY, PROTECTED, TEN_NIGHTS = "start", "plain", "protected", "protected_ten"
DROPPED, REDACTED, RETAINED, UNPROTECTED = "dropped", "redacted", "retained", "unprotected"
RECORD, DP_SGD = "record", "dp_sgd"
WAYS: Mapping[str, str] = {
    UNPROTECTED: "unprotected: all as it stands",
    START: "public start, nothing of the company",
    PLAIN_ONLY: "hush before its certified rounds",
    PROTECTED: "hush",
    TEN_NIGHTS: "hush, with the noise of ten nightly runs",
    RETAINED: "no noise, on what hush draws",
    DROPPED: "whatever holds a secret left out",
    REDACTED: "credentials redacted, owners' files as they stand",
    RECORD: "record-level DP, level 1e-4 for one example",
    DP_SGD: "DP-SGD on all, every secret at its level",
}
"""Name → what it is, in the order of the table."""
PRIVATE = (PROTECTED, TEN_NIGHTS, RECORD, DP_SGD)
PLACES = 20
"""An example that the plain phase sees as often as any other has so many places in the list of retained data."""
NIGHTS = 10
FEW = ("embedding", "matrices")
CANDIDATES = ((FEW, 3e-3), ((), 3e-4))
"""(frozen, learning rate) of certified rounds: each is trained, and the better one on validation text is taken."""
SHOWN, ASKED, MOST_TEXTS = 64, 16, 300
"""k-extraction: bytes shown and asked for, of so many texts with a secret."""


@dataclass(frozen=True, eq=False)
class Runs:
    """All ways on one corpus; `seed` is of the initial state and of every batch without noise."""

    data: Data
    work: Path
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
    def _weighing(self) -> Weighing:
        settings = weight_settings(self.data.config)
        return weigh(self.data.edges, self.data.secrets, n_examples=len(self.data.texts), settings=settings)

    def plan(self, name: str, nights: int = 1) -> ProtectionPlan:
        """What a way releases in a night: certified for so many nights together; of RECORD for one example."""
        train, data = self.train, self.data
        certified = name in (PROTECTED, TEN_NIGHTS)
        nights = NIGHTS if name == TEN_NIGHTS else nights
        rounds = train.rounds if certified else self.rounds_on_all
        batch = train.batch if certified else round(self.examples_seen / rounds)
        if name == RECORD:
            n = len(self.on_all)
            level = {
                "prior": float(data.secrets["prior"].min()),
                "posterior": float(data.secrets["posterior"].min()),
            }
            one = Participation.binomial(1, batch / n)
            sigma = smallest_noise(one, rounds=nights * rounds, **level)
            rates = np.where(np.isin(np.arange(len(data.texts)), self.on_all), batch / n, 0.0)
            none = pl.DataFrame()
            return ProtectionPlan(rates, sigma, rounds, batch, train.clip_norm, data.config.method, none)
        weights = self._weighing.weights
        if name == DP_SGD:
            weights = np.isin(np.arange(len(data.texts)), self.on_all).astype(np.float64)
        plan = make_plan(
            weights, data.edges, data.secrets, rounds=nights * rounds, expected_batch=batch,
            clip_norm=train.clip_norm, method=data.config.method,
        )  # fmt: skip
        return replace(plan, rounds=rounds)

    @property
    def on_all(self) -> np.ndarray:
        """Ids of all but what is only measured on."""
        return np.setdiff1d(np.arange(len(self.data.texts)), self.ids(VALIDATION, HELD_OUT))

    @property
    def rounds_on_all(self) -> int:
        """Of DP-SGD on all examples: its batch is about twice that of hush's rounds."""
        return max(1, round(self.examples_seen / (2 * self.train.batch)))

    @property
    def examples_seen(self) -> int:
        """By hush, in expectation: its plain phase and its rounds."""
        untagged = self.data.config.untagged
        return untagged.steps * untagged.batch + self.train.rounds * self.train.batch

    def ids(self, *roles: str) -> np.ndarray:
        return with_role(self.roles, *roles)

    def pick(self, ids: Sequence[int] | np.ndarray) -> list[bytes]:
        return [self.data.texts[i] for i in ids]

    def retained(self) -> np.ndarray:
        """Ids, each as often as the protected model expects to draw it, relative to the untagged ones' `PLACES`."""
        untagged, plain, plan = self.data.config.untagged, self.ids(PLAIN), self.plan(PROTECTED)
        epochs = untagged.steps * untagged.batch / len(plain)
        draws = plan.rates * plan.rounds
        draws[plain] = epochs
        return np.repeat(np.arange(len(draws)), np.rint(PLACES * draws / epochs).astype(int))

    def redacted(self) -> list[bytes]:
        """All texts that may be trained on, each copy of a credential that was found replaced."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for example, start, end in self.data.occurrences.select("example_id", "start", "end").iter_rows():
            spans.setdefault(example, []).append((start, end))
        return [_without(self.data.texts[i], spans.get(i, ())) for i in self.on_all]

    def model(self, name: str) -> LanguageModel:
        """The finished model; trained now if it is not kept."""
        folder = self.work / "models" / name
        if not (folder / "done").exists():
            save_model(self._make(name, folder), folder / "model")
            (folder / "done").touch()
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
        if name in PRIVATE:
            return self._rounds(name, folder)
        longer = untagged.model_copy(update={"steps": round(self.examples_seen / untagged.batch)})
        if name == REDACTED:
            return self._ordinary(self.redacted(), longer)
        seen = {RETAINED: self.retained, UNPROTECTED: lambda: self.on_all, DROPPED: lambda: self.ids(PLAIN)}[
            name
        ]
        return self._ordinary(self.pick(seen()), longer)

    def _ordinary(self, texts: list[bytes], settings: UntaggedConfig) -> LanguageModel:
        validation = self.pick(self.ids(VALIDATION))
        return fit_untagged(
            texts, validation, self.model(START), settings, micro_batch=16, seed=self.seed
        ).model

    def _rounds(self, name: str, folder: Path) -> LanguageModel:
        """By the plan, after the plain phase where the rest is trained on plainly; the better of `CANDIDATES`."""
        plan, validation = self.plan(name), self.pick(self.ids(VALIDATION))
        before = PLAIN_ONLY if name in (PROTECTED, TEN_NIGHTS) else START
        tried = []
        for frozen, rate in CANDIDATES:
            update = {
                "freeze": frozen,
                "learning_rate": rate,
                "rounds": plan.rounds,
                "batch": plan.expected_batch,
            }
            train, place = self.train.model_copy(update=update), folder / f"run-{len(frozen)}"
            model = fit_private(plan, self.data.texts, self.model(before), train, place).model
            tried.append((model.evaluate(validation, max_examples=len(validation)), len(tried), model))
        return min(tried)[2]

    def scores(self, name: str) -> dict[str, np.ndarray]:
        """(n, 2) bits and bytes of each text, without a secret and with one, that no model was trained on."""
        path = self.work / "models" / name / "scores.npz"
        if not path.exists():
            model = self.model(name)
            np.savez(path, **{kind: bits_and_bytes(model, some) for kind, some in self.measured.items()})
        with np.load(path) as kept:
            return dict(kept)

    @property
    def measured(self) -> dict[str, list[bytes]]:
        """Texts that are only measured on: without a secret, and with one."""
        return {"untagged": self.pick(self.ids(HELD_OUT)), "tagged": self.data.tagged_back}

    def attack(self, name: str) -> pl.DataFrame:
        """Rank, exposure and extraction of every planted value, shown what stands before it."""
        data = self.data
        return exposure(
            self.model(name), data.texts, data.occurrences, data.secrets, seed=7,
            alternatives=data.config.audit.alternatives, max_contexts=4,
        )  # fmt: skip

    def memorised(self, name: str) -> tuple[float, float]:
        """Shares of tagged training texts that the model, and the public start, go on with word for word."""
        texts = sorted(set(self.pick(self.ids(CERTIFIED))))
        chosen = np.random.default_rng(7).permutation(len(texts))[:MOST_TEXTS]
        some, start = [texts[i] for i in chosen], self.model(START)
        found = k_extraction(self.model(name), start, some, prefix=SHOWN, length=ASKED, windows=4)
        return found.trained.value, found.start.value


def _without(text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + PLACEHOLDER + text[end:]
    return text
