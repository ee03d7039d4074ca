"""Gaussian noise from AES-256, and the fixed grid on which a noisy sum is released."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hush_core.errors import InputError

SOURCE = "AES-256-CTR, key from the operating system, float64 Box-Muller, fixed grid"
"""How the noise is made, in words for the certificate."""
_CHUNK = 1 << 18
"""Coordinates at once: their float64 working copies stay in the cache, and memory does not grow with p."""


class SecureGaussian:
    """Standard normal draws from a secret key; the same counter is never used twice.

    Args:
        key: 32 secret bytes, fresh from the operating system unless given. Never log or store it.

    Each counter owns 2^64 AES blocks. 53-bit uniforms go through Box-Muller in float64, so draws reach
    ±8.57; the tail beyond has probability below 2e-17 a draw.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else bytes(key)
        if len(self._key) != 32:
            raise InputError("noise key", "must be 32 bytes", "leave it out: a fresh one is drawn")
        self._last = -1

    def __repr__(self) -> str:
        return "SecureGaussian()"

    def stream(self, counter: int) -> Callable[[int], np.ndarray]:
        """A function that gives the next (size,) float64 standard normals of this counter at each call.

        Raises:
            InputError: a counter that is not above every earlier one: its noise would cancel in a difference.
        """
        if counter <= self._last:
            raise InputError(
                "noise counter", f"{counter} was used before", "count up; take a fresh key to resume"
            )
        self._last = counter
        start = modes.CTR((counter << 64).to_bytes(16, "big"))
        stream = Cipher(algorithms.AES(self._key), start).encryptor()

        def draw(size: int) -> np.ndarray:
            pairs = (size + 1) // 2
            words = np.frombuffer(stream.update(bytes(16 * pairs)), dtype="<u8")
            uniform = (words >> 11).astype(np.float64)
            radius = np.sqrt(-2.0 * np.log((uniform[:pairs] + 1.0) * 2.0**-53))
            angle = uniform[pairs:] * (2.0 * math.pi * 2.0**-53)
            out = np.empty(2 * pairs)
            np.multiply(radius, np.cos(angle), out=out[:pairs])
            np.multiply(radius, np.sin(angle), out=out[pairs:])
            return out[:size]

        return draw


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
    grid, normals = grid_step(clip_norm, len(total)), noise.stream(counter)
    for start in range(0, len(total), _CHUNK):
        part = total[start : start + _CHUNK]
        normal = normals(len(part))
        normal *= scale / grid
        part[:] = (np.rint(part.astype(np.float64) / grid) + np.rint(normal)) * grid
