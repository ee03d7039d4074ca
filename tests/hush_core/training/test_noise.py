"""Noise: the right scale and no other, independent across rounds, never drawn twice, on the grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from hush_core.errors import InputError
from hush_core.training.noise import SecureGaussian, add_noise, clip_within_grid, grid_step

KEY, SIZE = b"n" * 32, 200_001


def normal_with(x: np.ndarray, sigma: float, error: float = 1e-6) -> bool:
    """Accepts N(0, σ²) draws but for `error`: the variance by χ², the shape by Kolmogorov-Smirnov."""
    low, high = stats.chi2.interval(1 - error / 2, len(x))
    return bool(low < np.sum((x / sigma) ** 2) < high and stats.kstest(x / sigma, "norm").pvalue > error / 2)


@pytest.mark.parametrize("counter", [0, 1, 10**6])
def test_scale_is_sigma_and_neither_two_thirds_nor_three_halves(counter):
    x = 1.7 * SecureGaussian(KEY).stream(counter)(SIZE)
    assert normal_with(x, 1.7)
    assert not normal_with(x * 2 / 3, 1.7) and not normal_with(x * 3 / 2, 1.7)
    assert not normal_with(np.clip(x, -3, 3), 1.7)


def test_coordinates_and_rounds_are_independent():
    noise = SecureGaussian(KEY)
    x, y = noise.stream(0)(SIZE), noise.stream(1)(SIZE)
    half = (SIZE + 1) // 2
    for one, other in ((x, y), (x[:-1], x[1:]), (x[: SIZE - half], x[half:]), (x**2, y**2)):
        assert stats.pearsonr(one, other).pvalue > 1e-6


def test_no_counter_twice_and_fresh_keys_differ():
    noise = SecureGaussian(KEY)
    noise.stream(5)(3)
    for counter in (5, 4):
        with pytest.raises(InputError, match="used before"):
            noise.stream(counter)(3)
    assert not np.array_equal(SecureGaussian().stream(0)(8), SecureGaussian().stream(0)(8))
    assert np.array_equal(SecureGaussian(KEY).stream(2)(8), SecureGaussian(KEY).stream(2)(8))
    with pytest.raises(InputError, match="32 bytes"):
        SecureGaussian(b"short")
    assert "n" * 8 not in repr(noise)


def test_a_noisy_sum_lies_on_the_grid_and_has_the_scale():
    rng = np.random.default_rng(0)
    total = rng.normal(size=SIZE) / np.sqrt(SIZE)
    out = total.copy()
    add_noise(out, SecureGaussian(KEY), 0, scale=3.0, clip_norm=0.5)
    grid = grid_step(0.5, SIZE)
    assert np.array_equal(out / grid, np.rint(out / grid))
    assert normal_with(out - total, 3.0) and not normal_with(out - total, 2.0)
    single = total.astype(np.float32)
    add_noise(single, SecureGaussian(KEY), 0, scale=3.0, clip_norm=0.5)
    np.testing.assert_allclose(single, out, atol=2 * grid, rtol=1e-7)


def test_pieces_of_a_long_sum_have_noise_of_their_own():
    """Larger than a piece, not a multiple of it: no noise is missing, doubled or repeated."""
    total = np.zeros(3 * (1 << 18) + 5, dtype=np.float32)
    add_noise(total, SecureGaussian(KEY), 0, scale=1.0, clip_norm=1.0)
    pieces = [total[i : i + (1 << 18)] for i in range(0, len(total), 1 << 18)]
    assert normal_with(total, 1.0) and all(normal_with(piece, 1.0) for piece in pieces[:3])
    for one, other in itertools.pairwise(pieces[:3]):
        assert stats.pearsonr(one, other).pvalue > 1e-6
    assert np.count_nonzero(total) > len(total) - 10


@pytest.mark.parametrize("size", [1, 1000, 124_000_000])
@pytest.mark.parametrize("clip", [1e-3, 1.0, 7.5])
def test_what_the_grid_costs_is_charged(size, clip):
    grid = grid_step(clip, size)
    assert np.log2(grid) == np.rint(np.log2(grid))
    assert clip_within_grid(clip, size) + np.sqrt(size) * grid <= clip * (1 + 1e-15)
    assert np.sqrt(size) * grid <= 1e-6 * clip
