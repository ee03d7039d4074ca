"""Noise: the right scale and no other, independent across rounds, never drawn twice, on the grid."""

import itertools

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from hush_core.errors import InputError
from hush_core.training import noise as noise_module
from hush_core.training.noise import SecureGaussian, add_noise, clip_within_grid, grid_step

KEY, SIZE, SPREAD = b"n" * 32, 200_001, 2.0**40


def normals(counter, size=SIZE, key=KEY, kind=SecureGaussian):
    """Fine enough to count as real numbers: steps of 2^-40."""
    return kind(key).stream(counter, SPREAD)(size) / SPREAD


def normal_with(x: np.ndarray, sigma: float, error: float = 1e-6) -> bool:
    """Accepts N(0, σ²) draws but for `error`: the variance by χ², the shape by Kolmogorov-Smirnov."""
    low, high = stats.chi2.interval(1 - error / 2, len(x))
    return bool(low < np.sum((x / sigma) ** 2) < high and stats.kstest(x / sigma, "norm").pvalue > error / 2)


@pytest.mark.parametrize("counter", [0, 1, 10**6])
def test_scale_is_sigma_and_neither_two_thirds_nor_three_halves(counter):
    x = 1.7 * normals(counter)
    assert normal_with(x, 1.7)
    assert not normal_with(x * 2 / 3, 1.7) and not normal_with(x * 3 / 2, 1.7)
    assert not normal_with(np.clip(x, -3, 3), 1.7)


def test_coordinates_and_rounds_are_independent():
    x, y = normals(0), normals(1)
    half = (SIZE + 1) // 2
    for one, other in ((x, y), (x[:-1], x[1:]), (x[: SIZE - half], x[half:]), (x**2, y**2)):
        assert stats.pearsonr(one, other).pvalue > 1e-6


class ShiftedByEight(SecureGaussian):
    """Wrong: a counter owns 256 blocks, so a round's noise begins within the noise of the round before."""

    def _encryptor(self, counter, block):
        start = modes.CTR(((counter << 8) + block).to_bytes(16, "big"))
        return Cipher(algorithms.AES(self._key), start).encryptor().update


def shared(kind) -> int:
    """Draws that two counters have in common, at steps so fine that chance makes none (below 1e-3)."""
    rounds = [np.abs(kind(KEY).stream(counter, 2.0**48)(20_000)) for counter in (0, 1, 2, 255, 256, 1 << 32)]
    return sum(len(np.intersect1d(*pair)) for pair in itertools.combinations(rounds, 2))


def test_no_two_rounds_share_noise():
    """Who subtracts two releases that share noise reads the difference of their sums in the clear."""
    assert shared(SecureGaussian) == 0
    assert shared(ShiftedByEight) > 10_000


def test_every_counter_and_block_has_an_aes_block_of_its_own():
    """Block b of counter c is AES(key, c·2^64 + b), computed here by another mode; further digits lie in the
    upper half of a counter's blocks, 256 a pair, whatever the size of the pieces drawn."""
    noise, plain = SecureGaussian(KEY), Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
    aes = lambda c, b: plain.update(c.to_bytes(8, "big") + b.to_bytes(8, "big"))  # noqa: E731
    for counter, block in ((0, 0), (0, 1 << 63), (7, 5), (1 << 40, (1 << 63) + 256 * 9 + 3)):
        assert noise._encryptor(counter, block)(bytes(16)) == aes(counter, block)
    asked = []
    real = noise._encryptor
    noise._encryptor = lambda c, b: asked.append((c, b)) or real(c, b)
    draw = noise.stream(3, SPREAD)
    draw(4), draw(6)
    further = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            noise_module, "rounded_normals", lambda u, v, s, more: further.append(more(2, 1)) or np.zeros(8)
        )
        draw(8)
    assert asked == [(3, 0), (3, (1 << 63) + 256 * (2 + 3 + 2) + 1)]
    block = aes(*asked[1])
    assert further == [(int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little"))]


def test_a_draw_is_the_same_however_the_slow_way_asks():
    """All draws of this spread look at further digits or the extended float; twice the same."""
    one, other = (SecureGaussian(KEY).stream(1, 2.0**48)(5000) for _ in range(2))
    assert np.array_equal(one, other) and len(np.unique(one)) == 5000


def test_no_counter_twice_and_fresh_keys_differ():
    noise = SecureGaussian(KEY)
    noise.stream(5, SPREAD)(3)
    for counter in (5, 4):
        with pytest.raises(InputError, match="used before"):
            noise.stream(counter, SPREAD)(3)
    assert not np.array_equal(normals(0, key=None), normals(0, key=None))
    assert np.array_equal(normals(2), normals(2))
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
    size = noise_module._CHUNK
    total = np.zeros(3 * size + 5, dtype=np.float32)
    add_noise(total, SecureGaussian(KEY), 0, scale=1.0, clip_norm=1.0)
    pieces = [total[i : i + size] for i in range(0, len(total), size)]
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
