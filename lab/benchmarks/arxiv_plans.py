"""The plans that are compared on arXiv, each with the smallest noise certified for the same promise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from arxiv_data import Arxiv

from hush_core.plan import ProtectionPlan, make_plan
from hush_core.weights import RoundSettings, WeightSettings, capacity_rule, expected_distinct, weigh
from hush_core.weights.roles import tagged_examples

CLIP_NORM = 1.0
"""The paper's."""


@dataclass(frozen=True)
class Recipe:
    """How weights and noise are found.

    Attributes:
        capacities, c: of the program; None: every weight is 1.
        tagged_only: abstracts without a secret word are not drawn; else they have weight 1, noised like the rest.
    """

    method: str
    capacities: str | None
    c: float | None
    rounds: int
    batch: int
    tagged_only: bool = False

    @property
    def label(self) -> str:
        how = "all 1" if self.capacities is None else f"{self.capacities} {self.c:g}"
        return f"{self.method} {how}, {self.rounds} x {self.batch}" + " tagged" * self.tagged_only


def plan_of(data: Arxiv, recipe: Recipe, work: Path) -> ProtectionPlan:
    """The recipe's plan; what is found is kept in `work`, and checked against the promise whenever it is read."""
    folder = work / "plans" / recipe.label
    if not (folder / "plan.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        plan = make_plan(
            _weights(data, recipe, work), data.edges, data.secrets, rounds=recipe.rounds,
            expected_batch=recipe.batch, clip_norm=CLIP_NORM, method=recipe.method,
        )  # fmt: skip
        np.save(folder / "rates.npy", plan.rates)
        plan.certificates.write_parquet(folder / "certificates.parquet")
        (folder / "plan.json").write_text(json.dumps({"noise_multiplier": plan.noise_multiplier}))
    plan = ProtectionPlan(
        np.load(folder / "rates.npy"), json.loads((folder / "plan.json").read_text())["noise_multiplier"],
        recipe.rounds, recipe.batch, CLIP_NORM, recipe.method,
        pl.read_parquet(folder / "certificates.parquet"),
    )  # fmt: skip
    certified = (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
    if not (certified and plan.certificates["posterior"].equals(data.secrets["posterior"])):
        raise SystemExit(f"{folder} does not hold the promise that is compared: remove it")
    return plan


def describe(plan: ProtectionPlan, data: Arxiv) -> dict[str, float]:
    """σ, the tagged abstracts' mean weight, and the expected number of distinct examples in all rounds."""
    # the largest weight is 1 where a program keeps as much as it can
    tagged = plan.rates[tagged_examples(data.edges, len(plan.rates))]
    worst = (plan.certificates["bound"] / plan.certificates["posterior"]).max()
    return {
        "noise_multiplier": plan.noise_multiplier,
        "retained": float(tagged.mean() / plan.rates.max()),
        "distinct": expected_distinct(plan.rates, plan.rounds),
        "largest_bound_over_target": float(worst),
    }


def _weights(data: Arxiv, recipe: Recipe, work: Path) -> np.ndarray:
    """(n,): the program's for tagged abstracts, 1 or 0 for the others, which no capacity binds."""
    n = len(data.private)
    tagged = tagged_examples(data.edges, n)
    weights = np.ones(n)
    if recipe.capacities is not None:
        weights[tagged] = _program(data, recipe, work)[tagged]
    if recipe.tagged_only:
        weights[~tagged] = 0.0
    return weights


def _program(data: Arxiv, recipe: Recipe, work: Path) -> np.ndarray:
    """The weights of all recipes with these capacities and c; `equalised` is solved for T and B of the first."""
    path = work / "plans" / f"weights {recipe.method} {recipe.capacities} {recipe.c:g}.npy"
    if not path.exists():
        settings = WeightSettings(
            rule=capacity_rule(recipe.capacities, recipe.method),
            c=recipe.c,
            without_secret="drop",
            mechanism=RoundSettings(rounds=recipe.rounds, expected_batch=recipe.batch, method=recipe.method),
        )
        np.save(
            path, weigh(data.edges, data.secrets, n_examples=len(data.private), settings=settings).weights
        )
    return np.load(path)
