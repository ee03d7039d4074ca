"""`best` against an independent computation, on random mechanisms over the declared range.

Nothing of hush_core.accounting is used but the function under test. K's law is scipy's binomial pmf, convolved
where there are two rates; the loss is a plain log-sum-exp. The exact r is P(S > t) where Q(S > t) = p, S the sum of
T losses:

- by inversion of the moment-generating function M(s) = E_P[e^{sL}] along a line Re s = θ through the saddle point,
  an integral over x for every s, with no grid of losses at all;
- where M does not fall along the line (a rare event or none), by plain convolutions of both laws on a uniform grid
  above the least loss, each loss shared linearly between two points, extrapolated to width 0 (undecided where
  halving it still moves r by 2 %: then only the bound's own gap is judged);
- one round in closed form; and r = p to 1e-4 where the χ² divergence allows no more.

Mechanisms: σ in [0.05, 1e6], T up to 1e7, p from 1e-30, up to 10^4 examples, rates from 1e-16 to 1, log-uniform; a
quarter with Σρ near σ/√T, a quarter with σ < 2 and T·Σρ from 1e-9 to 3, a quarter with T·Σρ from 1e-3 to 100.

Prints the excess of the bound over the exact value, and each violation: a bound below it, or more than 1 % above.
A lower bound may not be above it either. The computation's own accuracy, and so the slack of "below", is `SLACK`.
"""

import argparse
import time

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri
from scipy.stats import binom

from hush_core.accounting import Participation, posterior_bound

SLACK, CLOSE = 2e-3, 1e-2
NODES = 4000
"""Points along the line; beyond it, squaring."""
POINTS = 6000
"""Of the finest grid that is squared."""


def draw(rng: np.random.Generator) -> dict:
    """One mechanism: counts and rates of its examples, σ, T and p."""
    sigma, rounds = 10 ** rng.uniform(np.log10(0.05), 6), int(10 ** rng.uniform(0, 7))
    prior, examples = 10 ** rng.uniform(-30, np.log10(0.5)), int(10 ** rng.uniform(0, 4))
    kind = rng.integers(4)
    if kind in (2, 3):
        sigma = 10 ** rng.uniform(np.log10(0.05), 0.3 if kind == 2 else 1.5)
    rate = {
        0: 10 ** rng.uniform(-16, 0),
        1: sigma / np.sqrt(rounds) * 10 ** rng.uniform(-1.3, 1) / examples,
        2: 10 ** rng.uniform(-9, 0.5) / rounds / examples,
        3: 10 ** rng.uniform(-3, 2) / rounds / examples,
    }[int(kind)]
    counts, rates = [examples], [min(rate, 1.0)]
    if rng.random() < 0.3:
        counts.append(int(10 ** rng.uniform(0, 2)))
        rates.append(min(rate * 10 ** rng.uniform(-2, 1), 1.0))
    return {"counts": counts, "rates": rates, "sigma": float(sigma), "rounds": rounds, "prior": float(prior)}


def count_law(counts: list[int], rates: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """(k, log P(K = k)), down to 1e-60."""
    first, law = 0, np.ones(1)
    for count, rate in zip(counts, rates, strict=True):
        mean, deviation = count * rate, np.sqrt(count * rate * (1 - rate))
        k = np.arange(max(0, int(mean - 20 * deviation - 5)), min(count, int(mean + 20 * deviation + 60)) + 1)
        first, law = first + int(k[0]), np.convolve(law, binom.pmf(k, count, rate))
    kept = np.flatnonzero(law > 1e-60)
    law, first = law[kept[0] : kept[-1] + 1], first + int(kept[0])
    with np.errstate(divide="ignore"):
        return first + np.arange(len(law), dtype=float), np.log(law / law.sum())


class Loss:
    """One round: x on a uniform grid, log P(x)·dx and L(x)."""

    def __init__(self, k: np.ndarray, log_law: np.ndarray, sigma: float, rounds: int, prior: float) -> None:
        def loss(x: np.ndarray) -> np.ndarray:
            chunk = max(1, 4_000_000 // len(k))
            parts = [x[i : i + chunk, None] for i in range(0, len(x), chunk)]
            return np.concatenate([_log_ratio(log_law, (k * y - k**2 / 2) / sigma**2) for y in parts])

        self.loss, self.sigma, self.last = loss, sigma, float(k[-1])
        self.k, self.log_law = k, log_law
        # what lies beyond in any round weighs 1e-6·p in all: it is left out, and the moments exist
        log_missed = np.log(1e-6 * prior / rounds)
        self.end = brentq(
            lambda x: logsumexp(log_law + log_ndtr((k - x) / sigma)) - log_missed,
            -10 * sigma,
            k[-1] + 60 * sigma,
        )

    def table(self, tilt: float, step: float) -> tuple[np.ndarray, np.ndarray]:
        """(log P(x)·dx, L) where e^{tilt·L}·P counts."""
        mean = float(np.exp(self.log_law) @ self.k)
        reach = 13 * self.sigma
        ends = np.linspace(-reach, self.end, 4001)
        weight = self._log_p(ends, self.loss(ends)) + tilt * self.loss(ends)
        counts = np.flatnonzero(weight > weight.max() - 90)
        low, high = ends[max(counts[0] - 1, 0)], ends[min(counts[-1] + 1, len(ends) - 1)]
        low, high = min(low, mean - reach), min(max(high, mean + reach), self.end)
        x = np.arange(low, high, step)
        found = self.loss(x)
        return self._log_p(x, found) + np.log(step), found

    def _log_p(self, x: np.ndarray, loss: np.ndarray) -> np.ndarray:
        return loss - 0.5 * (x / self.sigma) ** 2 - np.log(self.sigma * np.sqrt(2 * np.pi))


def _log_ratio(log_law: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """log Σ w·e^x; by Σ w·(e^x − 1) where that is small."""
    small = np.abs(exponent).max(axis=1) < 1
    with np.errstate(over="ignore"):
        near = np.log1p((np.exp(log_law) * np.expm1(np.where(small[:, None], exponent, 0))).sum(axis=1))
    rest = logsumexp(exponent + log_law, axis=1)
    # where one term is huge and rare: log(w₀ + rest) with w₀ near 1
    return np.where(small, near, np.where(np.abs(rest) > 1e-6, rest, _shifted(log_law, exponent)))


def _shifted(log_law: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    terms = np.exp(log_law) * np.expm1(np.minimum(exponent, 500))
    return np.log1p(np.clip(terms.sum(axis=1), -0.5, 1.0))


def by_inversion(one: Loss, rounds: int, prior: float) -> float | None:
    """None where M does not fall along the line."""
    step = one.sigma * min(1.0, one.sigma) / 5
    log_p, loss = one.table(0.0, step)

    def moments(theta: float) -> tuple[float, float, float]:
        weight = log_p + theta * loss
        total = logsumexp(weight)
        share = np.exp(weight - total)
        mean = float(share @ loss)
        return float(total), mean, float(share @ (loss - mean) ** 2)

    def excess(theta: float) -> float:
        log_m, mean, _ = moments(theta)
        return rounds * ((theta + 1) * mean - log_m) + np.log(prior)

    low, high = -0.999, 1.0
    if excess(low) > 0:
        return None
    while excess(high) < 0:
        high *= 4
        if high > 1e40:
            return None
        log_p, loss = one.table(high, step)
    theta = brentq(excess, low, high, xtol=1e-9, rtol=1e-9)
    log_p, loss = one.table(theta, step)
    spread = np.sqrt(rounds * moments(theta)[2])
    away = 0.3 / spread
    theta = theta if abs(theta) > away else away
    theta = max(theta, -1 + away) if theta < 0 else theta
    if theta <= -1 or abs(theta) < away / 2:
        return None
    log_m, mean, _ = moments(theta)
    centre = rounds * mean
    share = np.exp(log_p + theta * loss - log_m)
    kept = share > 1e-18
    share, loss = share[kept], loss[kept]
    if len(loss) * NODES > 6e7:
        return None
    omega = (np.arange(NODES) + 0.5) * (2 * np.pi / (60 * spread))
    phi = np.concatenate([np.exp(1j * w[:, None] * (loss - mean)) @ share for w in np.array_split(omega, 20)])
    falls = np.abs(phi) ** rounds
    if falls[-200:].max() > 1e-11:
        return None
    power = np.exp(rounds * np.log(phi))
    s = theta + 1j * omega

    def tail(t: float, pole: float) -> float:
        """∫ M^T e^{−(s+pole)t}/(s+pole): P's tail for pole 0, Q's for 1."""
        integrand = (power * np.exp(-1j * omega * (t - centre)) / (s + pole)).real
        scale = rounds * log_m - (theta + pole) * t
        value = integrand.sum() * (omega[1] - omega[0]) / np.pi * np.exp(scale)
        return float(value + (1.0 if theta + pole < 0 else 0.0))

    spans = [centre + d * spread for d in np.linspace(-8, 8, 65)]
    levels = np.array([tail(t, 1.0) for t in spans])
    place = np.flatnonzero((levels[:-1] > prior) & (levels[1:] <= prior))
    if not len(place):
        return None
    i = int(place[0])
    t = brentq(
        lambda t: np.log(max(tail(t, 1.0), 1e-300) / prior), spans[i], spans[i + 1], xtol=1e-12 * spread
    )
    found = tail(t, 0.0)
    # what rounding of the integrand may weigh; and levels that do not fall are rounding only
    noise = [1e-13 * np.exp(rounds * log_m - (theta + pole) * t) for pole in (0, 1)]
    if noise[0] > 1e-4 * found or noise[1] > 1e-4 * prior or np.any(np.diff(levels[i - 1 : i + 3]) >= 0):
        return None
    return float(np.clip(found, prior, 1.0))


def by_squaring(one: Loss, rounds: int, prior: float) -> float:
    """Both laws on one uniform grid above the least loss, by plain convolutions; three widths, extrapolated."""
    log_p, loss = one.table(0.0, one.sigma * min(1.0, one.sigma) / 100)
    p, q = np.exp(log_p), np.exp(log_p - loss)
    counts = np.cumsum(p[::-1])[::-1] > 1e-7 * prior / rounds
    spread = np.sqrt(rounds * float(p @ loss**2 / p.sum()))
    origin, high = float(loss.min()), 1.3 * float(loss[counts].max()) + 12 * spread
    top, found = min(np.log(1 / prior) + 12, high), 1.0
    for points in (POINTS // 8, POINTS // 4, POINTS // 2, POINTS):
        step = (top - rounds * origin) / points
        before, found = found, _power_on_grid(loss - origin, p, q, rounds, prior, step, points)
        top = min(np.log(found / prior) + 12, high)
    return float(
        np.clip(2 * found - before, prior, 1.0)
    )  # the error falls with the step: the mode spreads by it


def _power_on_grid(
    loss: np.ndarray, p: np.ndarray, q: np.ndarray, rounds: int, prior: float, step: float, points: int
) -> float:
    laws = []
    for mass in (p, q):
        place = np.minimum(loss / step, points + 1.0)
        index = np.floor(place).astype(int)
        up = place - index
        law = np.bincount(index, mass * (1 - up), points + 3) + np.bincount(index + 1, mass * up, points + 3)
        laws.append(_power(law, rounds, points + 1))
    level, power = (np.cumsum(law[::-1]) for law in laws[::-1])
    return float(np.interp(prior, level, power))


def _power(law: np.ndarray, rounds: int, last: int) -> np.ndarray:
    """What lies above `last` stays at the end: found for sure."""

    def added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        joint = np.convolve(a, b)
        joint[last + 1] = joint[last + 1 :].sum()
        joint = joint[: last + 2]
        joint[joint < 1e-140] = 0.0
        return joint

    result = None
    while rounds:
        if rounds & 1:
            result = law if result is None else added(result, law)
        rounds >>= 1
        if rounds:
            law = added(law, law)
    return result


def exact(
    counts: list[int], rates: list[float], sigma: float, rounds: int, prior: float
) -> tuple[float, str]:
    """(r, by which way)."""
    k, log_law = count_law(counts, rates)
    if rounds == 1:
        return float(np.exp(log_law) @ ndtr(k / sigma + ndtri(prior))), "closed form"
    # P(A) − Q(A) is at most the root of χ²·Q(A) (Cauchy and Schwarz), and 1 + χ² is multiplicative
    with np.errstate(over="ignore"):
        moved = np.expm1(np.minimum(np.outer(k, k) / sigma**2, 700)) * np.exp(np.add.outer(log_law, log_law))
        more = np.sqrt(np.expm1(np.minimum(rounds * moved.sum(), 700)) * prior)
    if more < 1e-4 * prior:
        return prior, "χ²"
    one = Loss(k, log_law, sigma, rounds, prior)
    found = by_inversion(one, rounds, prior)
    return (found, "inversion") if found is not None else (by_squaring(one, rounds, prior), "squaring")


def compare(case: dict) -> dict:
    """The bound, the attack and the exact value of one mechanism."""
    rates = np.repeat(case["rates"], case["counts"])
    began = time.perf_counter()
    bound = posterior_bound(
        Participation.from_rates(rates), noise_multiplier=case["sigma"], rounds=case["rounds"],
        prior=case["prior"], lower=True,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    value, way = exact(**case)
    return case | {
        "bound": bound.value, "lower": bound.lower, "method": bound.method, "exact": value, "way": way,
        "excess": bound.value / value - 1, "gap": bound.value / bound.lower - 1 if bound.lower else np.inf,
        "seconds": seconds, "check_seconds": time.perf_counter() - began - seconds,
    }  # fmt: skip


def violates(row: dict) -> bool:
    """Below the exact value, or more than CLOSE above; 3 % where T·Σρ < 1e-6 and p < 1e-24 (docs/guarantee.md)."""
    tiny = row["rounds"] * np.dot(row["counts"], row["rates"]) < 1e-6 and row["prior"] < 1e-24
    close = 3 * CLOSE if tiny else CLOSE
    too_low = row["bound"] < row["exact"] * (1 - SLACK)
    return too_low or row["gap"] > close or row["excess"] > close or row["lower"] > row["exact"] * (1 + SLACK)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mechanisms", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="print every mechanism")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    rows = []
    for _ in range(arguments.mechanisms):
        row = compare(draw(rng))
        rows.append(row)
        if violates(row) or arguments.all:
            kind = "VIOLATION " if violates(row) else ""
            print(
                kind
                + " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()),
                flush=True,
            )
    for way in ("closed form", "χ²", "inversion", "squaring"):
        excess = np.array([row["excess"] for row in rows if row["way"] == way and np.isfinite(row["exact"])])
        if len(excess):
            print(
                f"{way:>12}: {len(excess):4d} mechanisms, excess median {np.median(excess):9.2e}, "
                f"least {excess.min():9.2e}, largest {excess.max():9.2e}"
            )
    gaps = np.array([row["gap"] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    print(f"bound/lower − 1: median {np.median(gaps):.2e}, largest {gaps.max():.2e}")
    print(f"seconds a bound with its lower one: median {np.median(seconds):.2g}, largest {seconds.max():.2g}")
    print(f"undecided by this computation: {sum(np.isnan(row['exact']) for row in rows)}")
    print(f"{len(rows)} mechanisms, {sum(map(violates, rows))} violations")


if __name__ == "__main__":
    main()
