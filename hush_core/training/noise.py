"""Gaussian noise from AES-256, and the fixed grid on which a noisy sum is released.

`CorrelatedRows` makes rows of C·G on the grid, and reads the released ones.

    rows = CorrelatedRows(strategy, size=p, grid=grid)
    row = rows.mix(total)                # Σ_s c_s·g_{t−s}, every term on the grid: add rounded noise to it, release
    gradient = rows.read(released)       # g_t + (C⁻¹·Z)_t: from released rows alone

The sum is exact: integers meet integer noise, as without correlation (docs/mathematics.md §5). Between rounds the
clipped sums of the last b − 1 rounds are kept; they are protected and live in memory alone. After a kill a run
resumes with an empty past, which only takes bands away from C (Proposition C3).
"""

import math
import os
from collections import deque
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hush_core.accounting.correlated.strategy import Strategy
from hush_core.errors import InputError
from hush_core.training.rounded_gaussian import BLOCKS, rounded_normals

SOURCE = "AES-256-CTR, key from the operating system; Gaussian rounded exactly to a fixed grid"
"""How the noise is made, in words for the certificate."""
_CHUNK = 1 << 16
"""Coordinates at once: their float64 working copies stay in the cache, and memory does not grow with p."""
_FURTHER = 1 << 63
"""The AES block of a counter at which further digits begin: pair j owns 256 blocks from 256·j on."""


class SecureGaussian:
    """Gaussian draws from a secret key, rounded to whole numbers; the same counter is never used twice.

    Args:
        key: 32 secret bytes, fresh from the operating system unless given. Never log or store it.

    Guarantee: with AES's output taken for random bits, a draw has exactly the law of a rounded Gaussian
    (`rounded_gaussian.py`). Each counter owns 2^64 AES blocks: the first half for the first digits, one block a
    pair, the second for further ones. No block serves two draws of different pairs, or two counters.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else bytes(key)
        if len(self._key) != 32:
            raise InputError("noise key", "must be 32 bytes", "leave it out: a fresh one is drawn")
        self._last = -1

    def __repr__(self) -> str:
        return "SecureGaussian()"

    def stream(self, counter: int, spread: float) -> Callable[[int], np.ndarray]:
        """A function that gives round(N(0, spread²)), (size,) float64, the next of this counter at each call.

        Raises:
            InputError: a counter that is not above every earlier one: its noise would cancel in a difference.
        """
        if counter <= self._last:
            raise InputError(
                "noise counter", f"{counter} was used before", "count up; take a fresh key to resume"
            )
        self._last = counter
        encrypt, done = self._encryptor(counter, 0), 0

        def draw(size: int) -> np.ndarray:
            nonlocal done
            pairs, first = (size + 1) // 2, done
            digits = np.frombuffer(encrypt(bytes(16 * pairs)), dtype="<u8")
            done += pairs

            def more(pair: int, block: int) -> tuple[int, int]:
                place = _FURTHER + BLOCKS * (first + pair) + block
                further = self._encryptor(counter, place)(bytes(16))
                return int.from_bytes(further[:8], "little"), int.from_bytes(further[8:], "little")

            return rounded_normals(digits[:pairs], digits[pairs:], spread, more)[:size]

        return draw

    def _encryptor(self, counter: int, block: int) -> Callable[[bytes], bytes]:
        start = modes.CTR(((counter << 64) + block).to_bytes(16, "big"))
        return Cipher(algorithms.AES(self._key), start).encryptor().update


def grid_step(clip_norm: float, size: int) -> float:
    """The grid: the greatest power of two ≤ 2^-20·C/√p. It depends on no data."""
    return 2.0 ** math.floor(math.log2(clip_norm / math.sqrt(size)) - 20)


def clip_within_grid(clip_norm: float, size: int) -> float:
    """The norm to clip to, so that rounding the sum to the grid keeps the sensitivity ≤ clip_norm.

    Rounding moves the difference of two sums by at most √p·grid ≤ 1e-6·C in l2: that is charged here.
    """
    return clip_norm - math.sqrt(size) * grid_step(clip_norm, size)


def add_noise(
    total: np.ndarray, noise: SecureGaussian, counter: int, *, scale: float, clip_norm: float
) -> None:
    """total += N(0, scale²·I) in place, every coordinate on the fixed grid before its last rounding.

    Args:
        total: (p,) float32 or float64, the clipped sum, clipped to `clip_within_grid(clip_norm, p)`.
        scale: σ·C, in the units of `total`.

    Guarantee: sum and noise are rounded to integers before they meet, and added exactly: the low bits of a
    release tell nothing about the sum (Mironov 2012). The result equals rounding (rounded sum + exact noise),
    which is post-processing, and so is the rounding to float32.
    """
    grid = grid_step(clip_norm, len(total))
    draw = noise.stream(counter, scale / grid)
    for start in range(0, len(total), _CHUNK):
        part = total[start : start + _CHUNK]
        part[:] = (np.rint(part.astype(np.float64) / grid) + draw(len(part))) * grid


class CorrelatedRows:
    """The rows of one attempt at a run.

    Args:
        strategy: C. size: p, trained numbers. grid: the step of the fixed grid (`training.noise.grid_step`).
    """

    def __init__(self, strategy: Strategy, size: int, grid: float) -> None:
        if not (grid > 0 and math.frexp(grid)[0] == 0.5):
            raise InputError("grid", "is not a power of two", "use training.noise.grid_step")
        self._size, self._grid = size, grid
        self._mixing = strategy.coefficients[1:]
        self._sums: deque[np.ndarray] = deque(maxlen=len(self._mixing))
        self._read: deque[np.ndarray] = deque(maxlen=len(self._mixing))

    def __repr__(self) -> str:
        return f"CorrelatedRows(bands={len(self._mixing) + 1}, size={self._size})"

    def mix(self, total: np.ndarray) -> np.ndarray:
        """The row of this round, (p,) float64 multiples of the grid.

        Args:
            total: (p,) float64 multiples of the grid, the clipped sum of this round.
        """
        self._check(total)
        row = total.copy()
        for coefficient, past in zip(self._mixing, self._sums, strict=False):
            row += np.rint(past * (coefficient / self._grid)) * self._grid
        self._sums.appendleft(total.copy())
        return row

    def read(self, released: np.ndarray) -> np.ndarray:
        """(p,) float64: the noisy clipped sum of this round, from this row and those released before."""
        self._check(released)
        noisy = released.astype(np.float64)
        for coefficient, past in zip(self._mixing, self._read, strict=False):
            noisy -= coefficient * past
        self._read.appendleft(noisy)
        return noisy.copy()

    def _check(self, vector: np.ndarray) -> None:
        if vector.shape != (self._size,):
            raise InputError(
                "a row", f"has shape {vector.shape}, not ({self._size},)", "pass one number a parameter"
            )


def rounding_allowance(strategy: Strategy, rounds: int, size: int, grid: float) -> float:
    """By how much rounding the mixed terms may move all rows together beyond `sensitivities`, in the sum's units.

    A term of two neighbouring runs is rounded twice, by half a step each: a row moves by at most (b − 1)·√p·grid
    further.
    """
    return (strategy.bands - 1) * math.sqrt(size) * grid * math.sqrt(rounds)
