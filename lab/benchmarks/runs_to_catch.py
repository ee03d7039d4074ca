"""How many trainings it takes to catch a broken one by what it releases, beside one replay of its step.

    python lab/benchmarks/runs_to_catch.py [--seeds 5] [--most 1600] [--json FILE]

The game of `hush audit --statistics`: a secret of 12 values in 4 examples, drawn anew in each run of 6 rounds at
σ = 1, and named by the best guess of who sees every noisy step of a right training. After 25, 50, 100, ... runs the
share named is held, by its exact lower limit, against what is certified; the looks share an error of 0.01. So a
right training is called broken once in a hundred at most, however long one looks. A mistake that this adversary
does not profit from is never caught so: the last column names the check of `hush audit --code` that catches it, by
a replay of the step.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hush_core.training.noise import SecureGaussian, add_noise
from hush_core.training.sampler import WeightedPoissonSampler
from lab.statistical_audits import named_in_runs
from lab.statistical_audits.battery import Mechanism, certified_named, play_named

FIRST, ERROR, SIGMA = 25, 0.01, 1.0


def scaled(noise: float = 1.0, gradients: float = 1.0) -> Callable[..., None]:
    """Noise at another scale, or gradients that are too long."""

    def add(total: Any, source: Any, counter: int, *, scale: float, clip_norm: float) -> None:
        total *= gradients
        add_noise(total, source, counter, scale=noise * scale, clip_norm=clip_norm)

    return add


def again(total: Any, source: Any, counter: int, *, scale: float, clip_norm: float) -> None:
    """The same noise in every round: of a key of its own, as the library's own source refuses a counter twice."""
    add_noise(total, SecureGaussian(bytes(32)), 0, scale=scale, clip_norm=clip_norm)


def unless_empty(total: Any, source: Any, counter: int, *, scale: float, clip_norm: float) -> None:
    if np.any(total):
        add_noise(total, source, counter, scale=scale, clip_norm=clip_norm)


class Everybody(WeightedPoissonSampler):
    """Draws everyone in every round."""

    def __init__(self, rates: np.ndarray, *, key: bytes) -> None:
        super().__init__(np.ones_like(rates), key=key)


class OneDraw(WeightedPoissonSampler):
    """The batch of the first round, in all."""

    def draw(self, round: int) -> np.ndarray:
        return super().draw(0)


TRAININGS: dict[str, tuple[Mechanism, str]] = {
    "right": (Mechanism(), "none: it holds"),
    "noise at 2/3 of its scale": (Mechanism(add=scaled(noise=2 / 3)), "noise"),
    "noise at half of its scale": (Mechanism(add=scaled(noise=1 / 2)), "noise"),
    "no noise to speak of": (Mechanism(add=scaled(noise=1e-3)), "noise"),
    "the same noise in every round": (Mechanism(add=again), "noise is fresh"),
    "clipped per layer, 4 layers: twice as long": (Mechanism(add=scaled(gradients=2.0)), "clipping"),
    "everybody in every round": (Mechanism(sampler=Everybody), "Poisson sampling"),
    "one batch in every round": (Mechanism(sampler=OneDraw), "Poisson sampling"),
    "no noise where the batch is empty": (Mechanism(add=unless_empty), "noise of an empty batch"),
}


def looks(most: int) -> list[int]:
    found = [FIRST]
    while found[-1] * 2 <= most:
        found.append(found[-1] * 2)
    return found


def runs_until_refuted(mechanism: Mechanism, *, seed: int, most: int) -> tuple[int | None, float]:
    """After how many runs the share named exceeds what is certified (None: not by `most`), and the share then."""
    chance, certified, named, made = np.random.default_rng(seed), certified_named(SIGMA), 0, 0
    for runs in looks(most):
        named += sum(play_named(SIGMA, chance, mechanism) for _ in range(runs - made))
        made = runs
        if named_in_runs(named=named, runs=runs, confidence=1 - ERROR / len(looks(most))).value > certified:
            return runs, named / runs
    return None, named / made


def main(arguments: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=1600)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    print(f"certified: {certified_named(SIGMA):.3f}; looks at {looks(given.most)}")
    rows = []
    for name, (mechanism, check) in TRAININGS.items():
        found = [runs_until_refuted(mechanism, seed=seed, most=given.most) for seed in range(given.seeds)]
        row = {
            "training": name, "runs": [runs for runs, _ in found],
            "named": float(np.mean([share for _, share in found])), "code_check": check,
        }  # fmt: skip
        rows.append(row)
        print(f"{name}: runs {row['runs']}, named {row['named']:.3f}, hush audit --code: {check}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


if __name__ == "__main__":
    main()
