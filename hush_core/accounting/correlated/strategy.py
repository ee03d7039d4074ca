"""The strategy of correlated noise: a lower-triangular banded Toeplitz matrix with small error of the prefix sums.

    strategy = banded_strategy(rounds=1000, bands=20)
    strategy.mean_error(1000)                 # of independent noise of the same guarantee: banded_strategy(1000, 1)

With gradients G (T×d) the rounds release Y = C·G + Z, Z independent noise, and from that C⁻¹·Y = G + C⁻¹·Z. After t
rounds of plain descent a model is the t-th prefix sum of it. So the error of a strategy is that of the rows of
A·C⁻¹·Z, A the lower-triangular matrix of ones. Sources: Kairouz et al. 2021, DP-FTRL; Choquette-Choo et al. 2023,
banded factorisations for several epochs.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hush_core.errors import InputError


@dataclass(frozen=True)
class Strategy:
    """C with C[t, t−s] = coefficients[s], a round's own coefficient being 1.

    Attributes:
        coefficients: c_0 = 1, c_1, …, c_{b−1} ≥ 0; b is the number of bands.

    Raises:
        InputError: a coefficient is negative or not finite, or c_0 is not 1: the sensitivity of `sensitivity.py`
            is that of non-negative coefficients.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        c = np.asarray(self.coefficients, dtype=np.float64)
        if not len(c) or c[0] != 1 or not np.all(np.isfinite(c) & (c >= 0)):
            raise InputError(
                "the strategy's coefficients", "do not begin with 1, or are negative", "use banded_strategy"
            )

    @property
    def bands(self) -> int:
        """b: the released row of a round mixes its own sum with those of the b − 1 rounds before."""
        return len(self.coefficients)

    @cached_property
    def norm(self) -> float:
        """‖c‖₂, the norm of a whole column of C."""
        return float(np.linalg.norm(self.coefficients))

    def inverse(self, rounds: int) -> np.ndarray:
        """(T,): the first column of C⁻¹, a Toeplitz matrix too."""
        return _inverse(self.coefficients, rounds)

    def mean_error(self, rounds: int) -> float:
        """√ of the mean variance over the T prefix sums, for noise of variance 1 in Z."""
        sums = np.cumsum(self.inverse(rounds))
        return math.sqrt(float(np.arange(rounds, 0, -1) @ sums**2) / rounds)


def banded_strategy(rounds: int, bands: int) -> Strategy:
    """The strategy of at most so many bands with the least mean error × ‖c‖ over T rounds.

    An example that takes part k times, at least `bands` rounds apart, has sensitivity √k·‖c‖ at most, so this is
    the error at an equal guarantee; the number of epochs does not matter.

    Raises:
        InputError: no rounds, no bands, or more bands than rounds.

    Guarantee: none is needed of the search: whatever it ends in is a strategy, and is certified as it is.
    """
    if rounds < 1 or not 1 <= bands <= rounds:
        raise InputError(
            "mechanism.bands",
            f"{bands} are not between 1 and the {rounds} rounds",
            "give fewer, or more rounds",
        )
    start = square_root_coefficients(bands)[1:]
    if not len(start):
        return Strategy((1.0,))
    from scipy.optimize import minimize

    found = minimize(
        _error, start, args=(rounds,), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start),
        options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-10},
    )  # fmt: skip
    best = found.x if found.fun <= _error(start, rounds)[0] else start
    return Strategy((1.0, *np.maximum(best, 0.0).tolist()))


def square_root_coefficients(count: int) -> np.ndarray:
    """(count,): binom(2j, j)/4^j, those of 1/√(1−x): C·C = A (Fichtenberger, Henzinger, Upadhyay 2023)."""
    j = np.arange(1, count)
    return np.concatenate([[1.0], np.cumprod((2 * j - 1) / (2 * j))])


def _error(free: np.ndarray, rounds: int) -> tuple[float, np.ndarray]:
    """log of (mean error)²·‖c‖² and its gradient in c_1, …, c_{b−1}.

    With v the coefficients of 1/c(x): ∂v_t/∂c_s = −(v∗v)_{t−s}.
    """
    from scipy.signal import fftconvolve

    c = np.concatenate([[1.0], free])
    v = _inverse(c, rounds)
    sums, left = np.cumsum(v), np.arange(rounds, 0, -1.0)
    error, size = float(left @ sums**2), float(c @ c)
    by_v = np.cumsum((2 * left * sums)[::-1])[::-1]
    squared = fftconvolve(v, v)[:rounds]
    by_c = -np.array([by_v[s:] @ squared[: rounds - s] for s in range(1, len(c))])
    return math.log(error * size), by_c / error + 2 * free / size


def _inverse(coefficients: ArrayLike, rounds: int) -> np.ndarray:
    from scipy.signal import lfilter  # half a second of imports, which only cycles need

    return lfilter([1.0], coefficients, np.eye(1, rounds)[0])
