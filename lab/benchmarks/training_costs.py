"""What `training_speed.py` times apart from the steps: the noise of one release, and the draw of one batch."""

from __future__ import annotations

import statistics
import time

import numpy as np

from hush_core.training import WeightedPoissonSampler
from hush_core.training.noise import SecureGaussian, add_noise

EXPECTED, EXAMPLES = 2048, 1_700_000


def noise_cost(size: int, ms_per_example: float) -> dict[str, float]:
    """Our noise alone on `size` parameters, and its share of a step at B = 2048: extrapolated."""
    noise, total, seen = SecureGaussian(), np.zeros(size, dtype=np.float32), []
    for counter in range(4):
        start = time.process_time()
        add_noise(total, noise, counter, scale=1.0, clip_norm=1.0)
        seen.append(time.process_time() - start)
    ms = 1e3 * statistics.median(seen[1:])
    return {"parameters": size, "noise_ms": ms, "noise_share_at_2048": ms / (ms + EXPECTED * ms_per_example)}


def sampler_cost(steps: int) -> dict[str, float]:
    """ms a draw at n = 1.7M and B = 2048; ours and the dense draw weighted, Opacus' without weights."""
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    rng = np.random.default_rng(0)
    weights = rng.random(EXAMPLES) ** 2
    rates = weights / weights.sum() * EXPECTED
    ours = WeightedPoissonSampler(rates)
    theirs = iter(
        UniformWithReplacementSampler(num_samples=EXAMPLES, sample_rate=EXPECTED / EXAMPLES, steps=1 << 30)
    )
    rounds = iter(range(1 << 30))
    ways = {
        "hush": lambda: ours.draw(next(rounds)),
        "dense numpy": lambda: np.flatnonzero(rng.random(EXAMPLES) < rates),
        "Opacus, unweighted": lambda: next(theirs),
    }
    out = {}
    for name, draw in ways.items():
        seen = []
        for _ in range(steps):
            start = time.process_time()
            draw()
            seen.append(time.process_time() - start)
        out[name] = 1e3 * statistics.median(seen)
    return out
