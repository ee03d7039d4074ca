"""T rounds, of one law or of several: powers by FFT, under an Esscher tilt, with every error bounded.

A `TiltedLaw` holds masses weighted by e^{θv}; the weight is undone where the masses are read. θ puts the
tilted mean at the threshold that matters, so that the FFT's absolute round-off is relative to the result
however far in the tail that lies. Many rounds are composed in two stages, the second on a coarser grid (connect
the dots again, so still pessimistic): the cost then hardly grows with T.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from hush_core.accounting.discretise import connect_the_dots
from hush_core.errors import CertificationError

LONGEST_FFT = 1 << 20
_STAGED = 1 << 16
"""Windows longer than this are composed in two stages."""
_WRAPPED = 1e-13
"""Tilted mass on either side of the window; what lies there wraps around."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class TiltedLaw:
    """mass(v_i) = masses[i]·e^{scale − tilt·v_i} at v_i = (first + i)·step.

    Attributes:
        error: how far each of `masses` may be from the truth.
        aliasing: how far all of them together may be, beyond `error`: what wrapped around, what lay outside.
        truncated: a bound on mass (not tilted) that belongs above the window and is in none of the masses.
        added_variance: the variance that sharing losses between grid points added, about; for accuracy only.
    """

    step: float
    first: int
    masses: np.ndarray
    tilt: float
    scale: float
    error: float = 0.0
    aliasing: float = 0.0
    truncated: float = 0.0
    added_variance: float = 0.0
    growth: ClassVar[float] = 0.0
    fires: ClassVar[float] = 0.0

    @property
    def cut(self) -> float:
        """`truncated` is a bound, so all of it may represent nothing."""
        return self.truncated

    @classmethod
    def of(cls, step: float, first: int, mass: np.ndarray, tilt: float) -> TiltedLaw:
        """The law of masses as they are, at multiples of `step` from `first` on."""
        kept = np.flatnonzero(mass > 0)
        mass, first = mass[kept[0] : kept[-1] + 1], first + int(kept[0])
        with np.errstate(divide="ignore"):
            logs = np.log(mass) + tilt * step * (first + np.arange(len(mass)))
        top = logs.max()
        masses = np.exp(logs - top)
        total = float(masses.sum())
        return cls(step, first, masses / total, tilt, float(top + np.log(total)), added_variance=step**2 / 6)

    @property
    def last(self) -> int:
        return self.first + len(self.masses) - 1

    @cached_property
    def values(self) -> np.ndarray:
        return (self.first + np.arange(len(self.masses))) * self.step

    @cached_property
    def _positive(self) -> tuple[np.ndarray, np.ndarray]:
        kept = self.masses > 0
        return self.values[kept], self.masses[kept]

    def log_moment(self, shift: float) -> float:
        """log Σ masses·e^{shift·v}: the cumulant of the tilted law."""
        values, masses = self._positive
        exponent = shift * values
        top = exponent.max()
        return float(top + np.log(masses @ np.exp(exponent - top)))

    @cached_property
    def variance(self) -> float:
        """Of the tilted law."""
        mean = float(self.masses @ self.values)
        return float(self.masses @ (self.values - mean) ** 2)

    def coarsened(self, factor: int) -> TiltedLaw:
        """The same law, pessimistic, on a grid `factor` times coarser. Entries are raised by `error` first."""
        raised = np.maximum(self.masses, 0.0) + self.error
        first, (masses,) = connect_the_dots(self.values, self.step * factor, (raised,), (self.tilt,))
        total = float(masses.sum())
        aliasing = (self.aliasing + 2 * self.error * len(raised)) / float(raised.sum())
        scale = self.scale + float(np.log(total))
        step = self.step * factor
        return TiltedLaw(
            step, first, masses / total, self.tilt, scale, aliasing=aliasing, truncated=self.truncated,
            added_variance=self.added_variance + step**2 / 6,
        )  # fmt: skip


class WindowTooLong(CertificationError):
    """The composed law does not fit the longest FFT; `excess` is by how much its grid is too fine."""

    def __init__(self, excess: float) -> None:
        super().__init__("the composed privacy loss does not fit the longest FFT; use method renyi")
        self.excess = excess


Parts = list[tuple[TiltedLaw, int]]
"""Independent laws on one grid and under one tilt, and how many rounds of each."""


@dataclass(frozen=True)
class Window:
    """Grid indices of the composed law to keep.

    above: a bound on the mass (not tilted) above them. outside: a bound on the tilted mass on either side.
    """

    first: int
    last: int
    above: float
    outside: float

    def __len__(self) -> int:
        return self.last - self.first + 1


Cumulants = tuple[Sequence[tuple[float, float]], Sequence[tuple[float, float]]]
"""(s, cumulant of the sum at s) for shifts s up, and (s, cumulant at −s) down."""


def find_window(parts: Parts, log_negligible: float, cumulants: Cumulants | None = None) -> Window:
    """Where the composed law lies: outside is tilted mass below 1e-13, above is mass below `log_negligible`.

    Chernoff's bounds, computed from the very masses that are composed, so rigorous for them. `cumulants`: those of
    `parts`, where they are known already.
    """
    step, tilt, scale = _common(parts)
    rising, falling = cumulants or _chernoff(parts)
    ends = [(log - np.log(_WRAPPED)) / s for s, log in rising]
    # a bound on mass without the tilt needs an exponent above 0
    upwards = [(s, log) for s, log in rising if tilt + s > 0]
    ends_untilted = [(scale + log - log_negligible) / (tilt + s) for s, log in upwards]
    starts = [(np.log(_WRAPPED) - log) / s for s, log in falling]
    smallest, largest = _support(parts)
    last = min(int(np.ceil(max(min(ends), min(ends_untilted)) / step)) + 1, largest)
    first = min(max(int(np.floor(max(starts) / step)) - 1, smallest), last)
    above = min(scale + log - (tilt + s) * last * step for s, log in upwards)
    above = 0.0 if last == largest else float(np.exp(min(above, 0.0)))
    return Window(first, last, above, _outside(parts, first, last, rising, falling))


def _common(parts: Parts) -> tuple[float, float, float]:
    step, tilt = parts[0][0].step, parts[0][0].tilt
    return step, tilt, sum(n * law.scale for law, n in parts)


def _support(parts: Parts) -> tuple[int, int]:
    """The composed law's smallest and largest grid index."""
    return sum(n * law.first for law, n in parts), sum(n * law.last for law, n in parts)


def _chernoff(parts: Parts) -> Cumulants:
    spread = np.sqrt(sum(n * law.variance for law, n in parts))
    shifts = np.geomspace(0.02, 20.0, 12)
    if spread > 0:
        shifts = np.concatenate([shifts, np.geomspace(1.0, 40.0, 8) / spread])
    rising = [(float(s), sum(n * law.log_moment(s) for law, n in parts if n)) for s in shifts]
    falling = [(float(s), sum(n * law.log_moment(-s) for law, n in parts if n)) for s in shifts]
    return rising, falling


def fitted(parts: Parts, window: Window) -> Window:
    """The same window for another law: with a bound on what that law has outside."""
    outside = _outside(parts, window.first, window.last, *_chernoff(parts))
    return Window(window.first, window.last, window.above, outside)


def _outside(parts: Parts, first: int, last: int, rising: list, falling: list) -> float:
    step = parts[0][0].step
    smallest, largest = _support(parts)
    above = -np.inf if last >= largest else min(log - s * last * step for s, log in rising)
    below = -np.inf if first <= smallest else min(log + s * first * step for s, log in falling)
    return float(np.exp(min(above, 0.0)) + np.exp(min(below, 0.0)))


def convolve(parts: Parts, window: Window) -> TiltedLaw:
    """The law of the sum of n independent draws of every part, on the window's grid indices.

    Errors: `CertificationError` where the masses contradict the bound on their round-off.
    """
    step, tilt, scale = _common(parts)
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]  # one round needs no FFT, and none of its round-off
    size = next_fast_len(len(window), real=True)
    # the standard bound for a radix-r FFT, |error| ≤ c·log2(n)·eps·‖input‖_1, with c = 4 and ‖input‖_1 = 1
    one = 4 * _EPS * (np.log2(size) + 2)
    spectrum, log_grown, rounds_error = np.ones(size // 2 + 1, dtype=np.complex128), 0.0, 0.0
    aliasing, rounds = 0.0, 0
    for law, n in parts:
        if not n:
            continue
        places = np.mod(law.first + np.arange(len(law.masses)), size)
        own = rfft(np.bincount(places, law.masses, size))
        grown = np.minimum(np.abs(own) + one, 1 + one)
        log_grown = log_grown + n * np.log(grown)
        rounds_error = rounds_error + n * one / grown
        spectrum *= _power(own, n)
        aliasing += n * law.aliasing
        rounds += n
    masses = irfft(spectrum, size)
    grown = np.exp(log_grown)
    grown_error = grown * (rounds_error + 8 * _EPS * rounds) + grown * one
    doubled = np.full(len(grown), 2.0)
    doubled[0] = 1.0
    error = float(doubled @ grown_error) / size
    total = float(masses.sum())
    if not (np.all(np.isfinite(masses)) and abs(total - 1) <= (rounds + 1) * (one + 8 * _EPS)):
        raise CertificationError(f"the composed masses sum to {total!r} after tilting, not 1")
    if masses.min() < -error:
        raise CertificationError(
            f"a composed mass is {masses.min():.1e}, more than round-off ({error:.1e}) below 0"
        )
    masses = masses[np.mod(window.first + np.arange(size), size)]
    kept = sum(n * np.log1p(-min(law.truncated, 1 - _EPS)) for law, n in parts)
    truncated = -float(np.expm1(kept)) + window.above
    aliasing = float(np.expm1(aliasing)) + window.outside
    added_variance = sum(n * law.added_variance for law, n in parts)
    return TiltedLaw(step, window.first, masses, tilt, scale, error, aliasing, truncated, added_variance)


def _power(spectrum: np.ndarray, rounds: int) -> np.ndarray:
    """spectrum^rounds by repeated squaring: relative error at most 2·rounds·eps per entry."""
    result, square = None, spectrum
    while rounds:
        if rounds & 1:
            result = square if result is None else result * square
        rounds >>= 1
        if rounds:
            square = square * square
    return result


def compose(laws: Sequence[Parts], log_negligible: float) -> list[TiltedLaw]:
    """Each law of all its parts' rounds, on the window of the first one; a part has as many rounds in each.

    Errors: `WindowTooLong`; `CertificationError` where a check fails.
    """
    window = find_window(laws[0], log_negligible)
    counts = [n for _, n in laws[0]]
    rounds = sum(counts)
    block = 4 ** int(np.log2(max(rounds, 1)) // 4 + 1)
    if len(window) <= _STAGED or block * 16 > rounds:
        return _composed(laws, window)
    stages: list[Parts] = [[] for _ in laws]
    for batch, times in _batches(counts, block):
        inner_parts: list[Parts] = [[(parts[i][0], n) for i, n in batch] for parts in laws]
        inner = find_window(inner_parts[0], log_negligible - np.log(rounds // block))
        for stage, law in zip(stages, _composed(inner_parts, inner), strict=True):
            stage.append((law.coarsened(int(np.sqrt(block))), times))
    return _composed(stages, find_window(stages[0], log_negligible))


def _batches(counts: Sequence[int], block: int) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """All rounds in batches of at most `block`: (how many of which part, how often). Rests of parts share one, so
    that the coarser grid is reached as seldom as with one part."""
    batch: list[tuple[int, int]] = []
    for i, n in enumerate(counts):
        repeats, rest = divmod(n, block)
        if repeats:
            yield [(i, block)], repeats
        if sum(m for _, m in batch) + rest > block:
            yield batch, 1
            batch = []
        if rest:
            batch.append((i, rest))
    if batch:
        yield batch, 1


def _composed(laws: Sequence[Parts], window: Window) -> list[TiltedLaw]:
    """Each law on the window of the first."""
    if len(window) > LONGEST_FFT:
        raise WindowTooLong(len(window) / LONGEST_FFT)
    windows = [window, *(fitted(parts, window) for parts in laws[1:])]
    return [convolve(parts, own) for parts, own in zip(laws, windows, strict=True)]
