"""The settings that are compared on arXiv, each with the smallest noise certified for the same promise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from arxiv_data import Arxiv

from hush_core.accounting import noise_for_all
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.weights import (
    RULE,
    Mechanism,
    WeightSettings,
    capacity_rule,
    expected_distinct,
    recommended,
    sampling_rates,
    weigh,
)

CLIP_NORM = 1.0
"""The paper's."""


@dataclass(frozen=True)
class Setting:
    """How noise and weights are found; no capacities: every weight is 1."""

    name: str
    method: str
    capacities: str | None
    sweep: tuple[float, ...] = ()


SETTINGS = (
    Setting("paper: kl, no program", "kl", None),
    Setting("paper: kl, program", "kl", "paper", (0.02, 0.05, 0.1, 0.2, 0.4)),
    Setting("ours: blow_up, equalised", "blow_up", "equalised", (0.2, 0.4)),
)


def plans(data: Arxiv, *, rounds: int, batch: int, work: Path) -> dict[str, ProtectionPlan]:
    """One plan a setting, c by the rule of `hush plan`; weights and calibrations are kept in `work`."""
    print(f"c by the rule: {RULE}")
    return {setting.name: _plan(data, setting, rounds, batch, work) for setting in SETTINGS}


def describe(plan: ProtectionPlan) -> dict[str, float]:
    """Weight retained (the mean weight), and the expected number of distinct examples in all rounds."""
    # the largest weight is 1 where a program keeps as much as it can
    retained = float(plan.rates.sum() / plan.rates.max() / len(plan.rates))
    return {
        "noise_multiplier": plan.noise_multiplier,
        "retained": retained,
        "distinct": expected_distinct(plan.rates, plan.rounds),
        "largest_bound_over_target": float(
            (plan.certificates["bound"] / plan.certificates["posterior"]).max()
        ),
    }


def _plan(data: Arxiv, setting: Setting, rounds: int, batch: int, work: Path) -> ProtectionPlan:
    folder = work / f"plan {setting.name} {rounds} {batch}"
    if not (folder / "plan.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        plan = make_plan(
            _weights(data, setting, rounds, batch, folder), data.edges, data.secrets,
            rounds=rounds, expected_batch=batch, clip_norm=CLIP_NORM, method=setting.method,
        )  # fmt: skip
        np.save(folder / "rates.npy", plan.rates)
        plan.certificates.write_parquet(folder / "certificates.parquet")
        (folder / "plan.json").write_text(json.dumps({"noise_multiplier": plan.noise_multiplier}))
    plan = ProtectionPlan(
        np.load(folder / "rates.npy"), json.loads((folder / "plan.json").read_text())["noise_multiplier"],
        rounds, batch, CLIP_NORM, setting.method, pl.read_parquet(folder / "certificates.parquet"),
    )  # fmt: skip
    certified = (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
    if not (certified and plan.certificates["posterior"].equals(data.secrets["posterior"])):
        raise SystemExit(f"{folder} does not hold the promise that is compared: remove it")
    print(f"  {setting.name}: {describe(plan)}", flush=True)
    return plan


def _weights(data: Arxiv, setting: Setting, rounds: int, batch: int, folder: Path) -> np.ndarray:
    """All ones, or the best point of the sweep over c."""
    n = len(data.private)
    if setting.capacities is None:
        return np.ones(n)
    points = [_point(data, setting, c, rounds, batch, folder) for c in setting.sweep]
    table = pl.DataFrame([row for _, row in points])
    table.write_csv(folder / "sweep.csv")
    return points[recommended(table)][0]


def _point(
    data: Arxiv, setting: Setting, c: float, rounds: int, batch: int, folder: Path
) -> tuple[np.ndarray, dict[str, float]]:
    """Weights at one c, and the row of the sweep."""
    path = folder / f"weights {c}.npy"
    if not path.with_suffix(".json").exists():
        settings = WeightSettings(
            rule=capacity_rule(setting.capacities, setting.method),
            c=c,
            mechanism=Mechanism(rounds=rounds, expected_batch=batch, method=setting.method),
        )
        found = weigh(data.edges, data.secrets, n_examples=len(data.private), settings=settings)
        weights = found.weights.copy()
        # held out there without a secret; here the texts to measure on were set apart before
        weights[~found.trainable] = 1.0
        rates = sampling_rates(weights, batch)
        sigma = noise_for_all(data.edges, rates, data.secrets, rounds=rounds, method=setting.method)
        protected = float(weights[data.edges["example_id"].unique().to_numpy()].mean())
        np.save(path, weights)
        row = {"c": c, "noise_multiplier": sigma, "protected_retained": protected}
        path.with_suffix(".json").write_text(json.dumps(row))
    row = json.loads(path.with_suffix(".json").read_text())
    print(f"    {row}", flush=True)
    return np.load(path), row
