"""Random bits → Gaussian draws rounded to whole numbers, each exactly as the real number would be rounded.

Box-Muller: for independent uniforms u, v on [0, 1) with endless binary digits, spread·√(-2·log u)·cos(2πv) and
the same with sin are two independent draws of N(0, spread²). 64 digits of each are read first, and the draw is
computed with a proven bound on its error. Where the nearest half-integer lies farther off than the bound, the
rounding is settled: all but a few in 100,000. For the others the same is done in extended precision, and where
that does not settle it either, in interval arithmetic, with as many further digits as it takes. So no digit is
ever cut off: the law of what comes out is that of round(N(0, spread²)), in the tails too (docs/mathematics.md §5).
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import mpf_floor, to_int

from hush_core.errors import InputError

MOST_SPREAD = 2.0**48
"""Above this a draw could pass 2^53, where float64 does not hold every whole number."""
BLOCKS = 256
"""Blocks of further digits that a pair owns. Each holds 64 of u and 64 of v; the second is seldom looked at."""
More = Callable[[int, int], tuple[int, int]]
"""(pair, block) → the block's 64 further digits of u and of v, as whole numbers; the same ones each time."""

_LEAST, _MOST = math.ceil(math.exp(-8.0) * 2**63), math.floor(math.exp(-(2.0**-11)) * 2**63)
"""u·2^63 for radius 4 and radius 1/32: the range in which one bound does for all in float64."""
_FAST = 136 * 2.0**-53
"""There the error of a draw, as a share of the spread, is at most (32·radius + 4/radius) round-offs ≤ 136."""
_LONG = np.longdouble
_TURN = _LONG("6.283185307179586476925286766559005768394")
_ROUND_OFF = max(float(np.finfo(_LONG).eps) / 2, 2.0**-64)
"""Of the widest float, and no less than what 64 digits leave open."""


def check_spread(spread: float) -> None:
    """Refuse a spread that is not in (0, 2^48], in steps of the grid.

    Raises:
        InputError: there float64 does not hold every whole number that may be drawn.
    """
    if not 0 < spread <= MOST_SPREAD:
        raise InputError(
            "noise",
            f"has a standard deviation of {spread:.3g} grid steps; whole numbers are exact up to {MOST_SPREAD:.3g}",
            "lower the noise multiplier or train fewer parameters",
        )


def rounded_normals(u: np.ndarray, v: np.ndarray, spread: float, more: More) -> np.ndarray:
    """round(spread·z) for (2n,) independent standard normals z: first all cosines, then all sines.

    Args:
        u, v: (n,) uint64, the first 64 binary digits of each uniform.
        more: further digits, asked for where these do not settle a rounding.

    Returns:
        (2n,) float64, whole numbers.

    Raises:
        InputError: spread is not in (0, 2^48].

    Guarantee: exact, given that log, sin and cos are within 4 ulp: numpy's log, torch's sin and cos in float64,
    numpy's in extended precision (each is below 2 where `test_noise.py` measures it).
    """
    check_spread(spread)
    half = (u >> np.uint64(1)).view(np.int64)
    radius = half.astype(np.float64)
    radius *= 2.0**-63
    with np.errstate(divide="ignore", invalid="ignore"):  # u = 0 is settled below
        np.log(radius, out=radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        radius *= spread
        angle = v.view(np.int64).astype(np.float64)
        angle *= 2.0 * math.pi * 2.0**-64
        out = np.empty(2 * len(u))
        for place, wave in enumerate((torch.cos, torch.sin)):
            part = out[place * len(u) : (place + 1) * len(u)]
            wave(torch.from_numpy(angle), out=torch.from_numpy(part))
            part *= radius
        near = out.copy()
        np.rint(out, out=out)
        near -= out
        np.abs(near, out=near)
    unsettled = near > 0.5 - _FAST * spread
    unsettled |= np.tile((half < _LEAST) | (half > _MOST), 2)
    places = np.flatnonzero(unsettled)
    out[places] = _extended(u, v, places, spread, more)
    return out


def _extended(u: np.ndarray, v: np.ndarray, places: np.ndarray, spread: float, more: More) -> np.ndarray:
    """The same at these places of the result, in numpy's widest float."""
    pair, sine = places % len(u), places >= len(u)
    first = u[pair].astype(_LONG)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        radius = np.sqrt(-2 * np.log(first * _LONG(2) ** -64))
        angle = v[pair].view(np.int64).astype(_LONG) * (_TURN * _LONG(2) ** -64)
        exact = radius * np.where(sine, np.sin(angle), np.cos(angle)) * spread
        out = np.rint(exact)
        error = spread * (32 * _ROUND_OFF * radius + 2 * (_ROUND_OFF + 1 / first) / radius)
        settled = (np.abs(exact - out) < 0.5 - error) & (first >= 2**20) & (radius >= 2.0**-10)
    for place in np.flatnonzero(~settled):
        i = int(pair[place])
        out[place] = exactly_rounded(
            int(u[i]), int(v[i]), bool(sine[place]), spread, lambda block, i=i: more(i, block)
        )
    return out.astype(np.float64)


def exactly_rounded(u: int, v: int, sine: bool, spread: float, more: Callable[[int], tuple[int, int]]) -> int:
    """The same for one draw, in interval arithmetic, with further digits until both ends round alike."""
    interval = MPIntervalContext()
    for block in range(BLOCKS):
        further = more(block)
        u, v, digits = u << 64 | further[0], v << 64 | further[1], 128 + 64 * block
        if u == 0:
            continue
        interval.prec = 128 + digits
        scaled = interval.mpf(1) / (1 << digits)
        radius = interval.sqrt(-2 * interval.log(interval.mpf([u, u + 1]) * scaled))
        turn = 2 * interval.pi * (interval.mpf([v, v + 1]) * scaled)
        draw = spread * radius * (interval.sin(turn) if sine else interval.cos(turn)) + interval.mpf(0.5)
        low, high = (to_int(mpf_floor(end, interval.prec)) for end in draw._mpi_)
        if low == high:
            return low
    raise ArithmeticError("no rounding after 16,448 digits: the further digits are not random")
