"""The noise of a release: its scale on every batch, its source, never the same twice, counted before it exists."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from hush_core.training.noise import SecureGaussian, grid_step
from lab.code_audit.check import Check
from lab.code_audit.recording import BATCH, Left, Setup
from lab.code_audit.sum_checks import Sums

KEY = bytes(range(32))
"""Public: what it draws is known, so that the noise of a replay can be taken off again."""
_ERROR = 1e-9
"""The probability, over keys, that a right noise misses the interval of its scale; with this key it does not."""


def noise_checks(setup: Setup, sums: Sums) -> list[Check]:
    """Four releases with the noise of a known key: of no example, of all, of none again, of the first."""
    ids = list(range(len(setup.sequences)))
    left = setup.run([[], ids, [], ids[:1]], setup.parts.noise(KEY))
    totals = [sums.none, sums.all, sums.none, sums.alone[0]]
    noises = [r.double() - t / BATCH for r, t in zip(left.releases, totals, strict=True)]
    return [*_scale(setup, noises), _fresh(noises), _source(setup, noises), _counted(left)]


def scale_interval(size: int) -> tuple[float, float]:
    """In which the root mean square of so many standard normals lies but for one case in 10^9."""
    low, high = stats.chi2.interval(1 - _ERROR, size)
    return float(np.sqrt(low / size)), float(np.sqrt(high / size))


def alike(one: Tensor, other: Tensor) -> float:
    """|cosine| of two noises, 0 where one is nothing."""
    lengths = float(one.norm()) * float(other.norm())
    return abs(float(one @ other)) / lengths if lengths else 0.0


def _scale(setup: Setup, noises: list[Tensor]) -> list[Check]:
    low, high = scale_interval(noises[0].numel())
    ratios = [float(noise.square().mean().sqrt()) / setup.scale for noise in noises]
    said = "standard deviation {} of sigma C / B"
    return [
        Check(
            name,
            all(low < ratio < high for ratio in some),
            said.format(" and ".join(f"{ratio:.4g}" for ratio in some)),
        )
        for name, some in (("noise", ratios[1::2]), ("noise of an empty batch", ratios[0::2]))
    ]


def _fresh(noises: list[Tensor]) -> Check:
    most = max(alike(a, b) for a, b in combinations(noises, 2))
    bound = 7.0 / np.sqrt(noises[0].numel())
    silent = sum(float(noise.norm()) == 0 for noise in noises)
    return Check(
        "noise is fresh",
        most < bound and not silent,
        f"noises of two rounds have a cosine of at most {most:.3g} (chance alone: below {bound:.3g})"
        + (f"; {silent} rounds have none" if silent else ""),
    )


def _source(setup: Setup, noises: list[Tensor]) -> Check:
    size = noises[0].numel()
    grid = grid_step(setup.clip_norm, size)
    known = SecureGaussian(KEY)
    worst = 0.0
    for counter, noise in enumerate(noises):
        draws = known.stream(counter, setup.noise_multiplier * setup.clip_norm / grid)
        want = torch.from_numpy(
            np.concatenate([draws(min(1 << 16, size - at)) for at in range(0, size, 1 << 16)])
        )
        worst = max(worst, float((noise - want * grid / BATCH).norm()) / (setup.scale * np.sqrt(size)))
    return Check(
        "noise source",
        worst < 1e-5,
        f"it is what SecureGaussian draws for this key and round, within {worst:.2g} of its length",
    )


def _counted(left: Left) -> Check:
    counters = [counter for counter, _ in left.counted]
    late = sum(released != counter + 1 for counter, released in left.counted)
    rounds = len(left.releases)
    return Check(
        "counted first",
        counters == list(range(rounds)) and not late and left.released == rounds,
        f"{rounds} releases, {left.released} in the ledger, {len(counters)} asked for noise, {late} of them "
        "before they were counted",
    )
