"""One round's privacy loss L = log P/Q and its moments M(z) = E_P[e^{zL}] at complex z.

P = Σ_k Pr[K = k]·N(k, σ²), Q = N(0, σ²). M(z) = ∫ Q(x)·e^{(1+z)·L(x)} dx by the trapezoid rule, on a line ABOVE
the real axis. For Im z ≥ 0 the factor e^{i·Im z·L} falls with Im x, so one coarse grid serves every frequency. Its
error is at most about e^{−2πy/h} of the integral at Im z = 0, whatever Im z is. L is analytic for
|Im x| < πσ²: as a polynomial in e^{x/σ²}, P/Q has negative roots only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush_core.certificate.recheck.counts import Counts, NotConfirmed

_EXPONENT = 38.0
"""e^{−38} of an integral is nothing."""
_MOST_NODES = 60_000
_UP = 64
"""Points on the way up from the real axis."""
_LARGEST = 400_000
"""Numbers in one block of a table."""


class RoundLoss:
    """The loss of one round at noise multiplier σ."""

    def __init__(self, counts: Counts, sigma: float) -> None:
        self.sigma = sigma
        self.k = counts.first + np.arange(len(counts.probability), dtype=np.float64)
        self.weight = counts.probability
        self.height = min(math.pi * sigma**2 / 2, 2 * sigma)
        self.step = self.height * 2 * math.pi / _EXPONENT

    @property
    def least(self) -> float:
        """inf L, −∞ where an example is always drawn."""
        return math.log(self.weight[0]) if self.k[0] == 0 else -math.inf

    def loss(self, x: np.ndarray) -> np.ndarray:
        """L at real points, or along a path of complex ones that begins on the real axis, (n,)."""
        x = np.asarray(x)
        found = np.empty(x.shape, x.dtype)
        slope = np.empty(x.shape, x.dtype)
        block = max(1, _LARGEST // len(self.k))
        for i in range(0, len(x), block):
            power = (x[i : i + block, None] - self.k / 2) * (self.k / self.sigma**2)
            top = (power.real + np.log(self.weight)).max(axis=1)
            parts = self.weight * np.exp(power - top[:, None])
            total = parts.sum(axis=1)
            logs = np.log(total) + top
            small = np.abs(logs) < 0.5
            if small.any():
                logs[small] = np.log1p(np.expm1(power[small]) @ self.weight)
            found[i : i + block], slope[i : i + block] = logs, parts @ self.k / total / self.sigma**2
        if np.iscomplexobj(x):  # the logarithm continues from point to point: its slope says by how much
            due = ((slope[1:] + slope[:-1]) / 2 * np.diff(x)).imag
            turns = np.round((due - np.diff(found.imag)) / (2 * np.pi))
            found.imag[1:] += 2 * np.pi * np.cumsum(turns)
        return found

    def table(self, tilt: float) -> MomentTable:
        """Where M(tilt + iω) can be read for every ω ≥ 0."""
        low, high = self._range(tilt)
        size = int((high - low) / self.step) + 2
        if size > _MOST_NODES:
            raise NotConfirmed("the loss needs too fine a table")
        x = low + self.step * np.arange(size) + 1j * self.height
        log_q = -((x / self.sigma) ** 2) / 2 + math.log(self.step / (self.sigma * math.sqrt(2 * math.pi)))
        up = low + 1j * self.height * np.arange(_UP) / _UP
        loss = self.loss(np.concatenate([up, x]))[_UP:]
        return MomentTable(loss, log_q + (1 + tilt) * loss)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """log M and its first two derivatives at a real z = tilt."""
        low, high = self._range(tilt)
        step = min(self.step, self.sigma / 8)
        if (high - low) / step > _MOST_NODES:
            raise NotConfirmed("the loss needs too fine a table")
        x = np.arange(low, high + step, step)
        loss = self.loss(x)
        log_mass = -((x / self.sigma) ** 2) / 2 + (1 + tilt) * loss
        top = log_mass.max()
        mass = np.exp(log_mass - top)
        total = mass.sum()
        mean = float(mass @ loss / total)
        scale = math.log(step / (self.sigma * math.sqrt(2 * math.pi)))
        return top + math.log(total) + scale, mean, float(mass @ (loss - mean) ** 2 / total)

    def _range(self, tilt: float) -> tuple[float, float]:
        """Where Q·e^{(1+tilt)L} is not negligible: from a coarse look."""
        low, end = -10 * self.sigma, (1 + max(tilt, 0.0)) * self.k[-1] + 10 * self.sigma
        size = max(400, math.ceil((end - low) / self.sigma))
        if size * len(self.k) > 100 * _LARGEST:
            raise NotConfirmed("the loss needs too fine a table")
        coarse = np.linspace(low, end, size)
        height = -((coarse / self.sigma) ** 2) / 2 + (1 + tilt) * self.loss(coarse)
        significant = coarse[height > height.max() - _EXPONENT - 4]
        width = coarse[1] - coarse[0]
        return min(significant[0], -9 * self.sigma) - width, significant[-1] + width


class MomentTable:
    """M(tilt + iω) from losses (n,) on a line and the logarithms of their tilted masses."""

    def __init__(self, loss: np.ndarray, log_mass: np.ndarray) -> None:
        self.top = float(log_mass.real.max())
        self.loss, self.mass = loss, np.exp(log_mass - self.top)

    @property
    def log_total(self) -> float:
        """log M(tilt)."""
        return math.log(self.mass.sum().real) + self.top

    def log_moment(self, frequency: np.ndarray) -> np.ndarray:
        """log M(tilt + iω)/M(tilt), (n,) complex; any branch."""
        with np.errstate(divide="ignore"):
            return np.log(self._means(_exp, frequency, self.loss, self.mass.sum()))

    def atom(self, least: float, width: float) -> tuple[float, float]:
        """(log of the tilted mass, mean) of the losses within `width` of the least one."""
        near = np.abs(self.loss - least) <= width
        total = self.mass[near].sum().real
        if not total > 0:
            raise NotConfirmed("no loss is near the least one")
        return math.log(total) + self.top, float((self.mass[near] @ self.loss[near]).real / total)

    def log_beyond(self, frequency: np.ndarray, log_mass: float, mean: float) -> np.ndarray:
        """log of M(tilt + iω) over that of the atom, e^{log_mass + iω·mean}; accurate where it is near 0."""
        size = math.exp(log_mass - self.top)
        rest = self.mass.sum().real / size - 1  # the other losses' masses
        return np.log1p(self._means(_expm1, frequency, self.loss - mean, size) + rest)

    def _means(self, kernel: Kernel, frequency: np.ndarray, loss: np.ndarray, size: complex) -> np.ndarray:
        """Σ mass·kernel(iω·loss)/size, (n,)."""
        found = np.empty(len(frequency), np.complex128)
        block = max(1, _LARGEST // len(loss))
        for i in range(0, len(frequency), block):
            found[i : i + block] = kernel(frequency[i : i + block], loss) @ self.mass
        return found / size


Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _exp(frequency: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """e^{iω·loss}, (frequencies, losses)."""
    return np.exp(1j * frequency[:, None] * loss)


def _expm1(frequency: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """e^{iω·loss} − 1, accurate near 0; numpy's own is slow for complex numbers."""
    grown = np.expm1(-frequency[:, None] * loss.imag)
    half = frequency[:, None] * (loss.real / 2)
    sine, cosine = np.sin(half), np.cos(half)
    found = np.empty(grown.shape, np.complex128)
    found.real = grown - 2 * sine**2 * (grown + 1)
    found.imag = 2 * sine * cosine * (grown + 1)
    return found
