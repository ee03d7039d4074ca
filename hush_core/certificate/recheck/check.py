"""Every stated bound against the second route: own grouping of the secrets, own rates, own counts.

A secret's own rates give its tight bound, which must not be above the stated one. If more profiles are stated than
OWN_PROFILES, this is done for those nearest to their target. Any other that inherits the bound of a binomial is
checked by that binomial: it must dominate (docs/mathematics.md, Proposition 7), and its tight bound must not be
above the stated one. A bound stated by a secret's own rates is always checked by them.

Of all runs together: own rates of this run, binomials of the earlier ones.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from hush_core.certificate.recheck.counts import NotConfirmed, rates_of
from hush_core.certificate.recheck.inversion import Drawn, posterior_of_runs

OWN_PROFILES = 512
"""So many distinct profiles (sets of rates, and prior) take the second route by their own rates at least."""
CURVE_POINTS = 200
"""So many points of all curves together, spread over each; at least the ends of each curve."""
AGREEMENT = 1e-4
"""Relative: the second route may lie this much above a stated bound, its own accuracy included."""
BY_OWN, BY_BINOMIAL, NOT_SURE = "own rates", "a binomial that dominates", "not accurate enough"
_ROUND_OFF = 1e-9
_REPORT_EVERY = 64


@dataclass(frozen=True)
class SampledRun:
    """σ and T."""

    noise_multiplier: float
    rounds: int


@dataclass(eq=False)
class Recheck:
    """`second`, `route`: by secret, (m,); NaN where the second route is not accurate enough to say anything.
    `points`, `all_runs`: (confirmed, looked at, in all) of the curves and of the bounds of all runs.
    `failures`: what does not hold."""

    second: np.ndarray
    route: np.ndarray
    points: tuple[int, int, int] = (0, 0, 0)
    all_runs: tuple[int, int, int] = (0, 0, 0)
    failures: list[str] = field(default_factory=list)

    def count(self, route: str) -> int:
        """How many secrets."""
        return int((self.route == route).sum())


class Secrets:
    """Each secret's positive rates as (distinct rates, how many of each), from weights and edges alone."""

    def __init__(self, weights: np.ndarray, expected_batch: float, edges: pl.DataFrame, size: int) -> None:
        rates = rates_of(weights, expected_batch)
        own: list[list[float]] = [[] for _ in range(size)]
        for example, secret in zip(edges["example_id"].to_list(), edges["secret_id"].to_list(), strict=True):
            if rates[example] > 0:
                own[secret].append(min(float(rates[example]), 1.0))
        self.rates = [tuple(sorted(each)) for each in own]

    def profile(self, secret: int) -> tuple[np.ndarray, np.ndarray]:
        """(distinct rates, times)."""
        return np.unique(np.array(self.rates[secret], np.float64), return_counts=True)

    def drawn(self, secret: int, mechanism: SampledRun) -> Drawn:
        """What this run drew of it."""
        return *self.profile(secret), mechanism.noise_multiplier, mechanism.rounds

    def hazard(self, secret: int) -> float:
        """Σ −log(1 − ρ), infinite where a rate is 1."""
        return math.fsum(-math.log1p(-r) if r < 1 else math.inf for r in self.rates[secret])

    def dominated(self, secret: int, examples: float, rate: float) -> bool:
        """Whether Binomial(examples, rate) is at least the secret's count in stochastic order (Proposition 7)."""
        if rate >= 1:
            return examples >= len(self.rates[secret])
        enough = -examples * math.log1p(-rate) >= self.hazard(secret) * (1 - _ROUND_OFF)
        each = rate >= max(self.rates[secret], default=0.0) * (1 - _ROUND_OFF)
        return examples >= len(self.rates[secret]) and (enough or each)


def recheck_bounds(
    own: Secrets,
    secrets: pl.DataFrame,
    bounds: pl.DataFrame,
    mechanism: SampledRun,
    progress: Callable[..., None],
) -> Recheck:
    """The second route of every secret's bound; `secrets` and `bounds` in the order of their ids."""
    found = Recheck(np.full(secrets.height, np.nan), np.full(secrets.height, NOT_SURE, dtype=object))
    rows = list(bounds.iter_rows(named=True))
    names = secrets["name"].to_list()
    order = sorted(
        range(len(rows)),
        key=lambda j: (
            rows[j]["dominating_examples"] is not None,
            -rows[j]["bound"] / rows[j]["posterior"],
            j,
        ),
    )
    done: dict[tuple, float | None] = {}
    binomials: dict[tuple, float | None] = {}
    for place, j in enumerate(order):
        row, key = rows[j], (own.rates[j], rows[j]["prior"])
        inherited = row["dominating_examples"] is not None
        if inherited and not (
            own.dominated(j, row["dominating_examples"], row["dominating_rate"])
            and row["dominating_prior"] >= row["prior"]
        ):
            found.failures.append(
                f"{names[j]}: the binomial whose bound it states does not dominate its rates"
            )
            continue
        if key in done or not inherited or len(done) < OWN_PROFILES:
            if key not in done:
                if not len(done) % _REPORT_EVERY:
                    progress("second route", place, len(order))
                done[key] = _bound([own.drawn(j, mechanism)], row["prior"])
            second, route = done[key], BY_OWN
        else:
            shape = (row["dominating_examples"], row["dominating_rate"], row["dominating_prior"])
            if shape not in binomials:
                binomials[shape] = _bound([_binomial(*shape[:2], mechanism)], shape[2])
            second, route = binomials[shape], BY_BINOMIAL
        if second is None:
            continue
        found.second[j], found.route[j] = second, route
        if problem := _problem(row, second, tight=not inherited and row["method"] == "blow_up"):
            found.failures.append(f"{names[j]}: {problem}")
    progress("second route", len(order), len(order))
    return found


def recheck_curves(
    own: Secrets,
    of_secret: np.ndarray,
    curves: pl.DataFrame,
    mechanism: SampledRun,
    progress: Callable[..., None],
) -> tuple[list[str], tuple[int, int, int]]:
    """(what does not hold, (points confirmed, looked at, in all))."""
    failures: list[str] = []
    confirmed = looked = 0
    total = curves["curve"].n_unique()
    for done, (number, members, points) in enumerate(points_of_curves(of_secret, curves, failures)):
        examples, rate = points[0]["examples"], points[0]["rate"]
        if examples is None and any(own.rates[j] != own.rates[members[0]] for j in members):
            failures.append(f"curve {number}: is of secrets with different rates")
        if examples is not None and not all(own.dominated(j, examples, rate) for j in members):
            failures.append(f"curve {number}: its binomial does not dominate the rates of its secrets")
        if not done % _REPORT_EVERY:
            progress("second route of the curves", done, total)
        drawn = (
            own.drawn(int(members[0]), mechanism)
            if examples is None
            else _binomial(examples, rate, mechanism)
        )
        for row in points:
            looked += 1
            if row["bound"] >= 1 - 1e-6:  # states nothing
                confirmed += 1
                continue
            second = _bound([drawn], row["prior"])
            confirmed += second is not None
            tight = row["method"] == "blow_up" and examples is None
            if second is not None and (problem := _problem(row, second, tight=tight)):
                failures.append(f"curve {number} at prior {row['prior']:.3g}: {problem}")
    progress("second route of the curves", total, total)
    return failures, (confirmed, looked, curves.height)


def points_of_curves(
    of_secret: np.ndarray, curves: pl.DataFrame, failures: list[str]
) -> Iterator[tuple[int, np.ndarray, list[dict]]]:
    """Of every curve: its number, its secrets, and the points to look at, the first by prior among them. What does
    not hold of a curve by itself is added to `failures`."""
    tables = curves.partition_by("curve", maintain_order=True)
    share = max(2, CURVE_POINTS // max(len(tables), 1))
    for table in tables:
        number, rows = table["curve"][0], table.sort("prior")
        members = np.flatnonzero(of_secret == number)
        if not len(members):
            failures.append(f"curve {number}: is of no secret")
            continue
        if not (rows["bound"].is_sorted() and (rows["bound"] >= rows["prior"] * (1 - _ROUND_OFF)).all()):
            failures.append(f"curve {number}: a bound is below its prior, or falls where the prior rises")
        places = np.unique(np.linspace(0, rows.height - 1, min(share, rows.height)).round().astype(int))
        yield number, members, [rows.row(int(i), named=True) for i in places]


def recheck_all_runs(
    own: Secrets,
    secrets: pl.DataFrame,
    bounds: pl.DataFrame,
    history: pl.DataFrame,
    runs: pl.DataFrame,
    mechanism: SampledRun,
    progress: Callable[..., None],
) -> tuple[list[str], tuple[int, int, int]]:
    """(what does not hold, (secrets confirmed, looked at, in all)): of those with earlier runs and a number.

    The OWN_PROFILES distinct histories nearest to their targets are looked at.
    """
    failures: list[str] = []
    before = _before(history, runs)
    rows = [row for row in bounds.iter_rows(named=True) if row["all_runs"] and row["secret_id"] in before]
    rows = [row for row in rows if row["all_runs_method"] in ("blow_up", "renyi", "kl")]
    confirmed = looked = 0
    done: dict[tuple, float | None] = {}
    names, most = secrets["name"].to_list(), min(len(rows), OWN_PROFILES)
    for row in sorted(rows, key=lambda row: -row["all_runs"] / row["posterior"]):
        secret = row["secret_id"]
        key = (own.rates[secret], before[secret], row["prior"])
        if key not in done:
            if len(done) >= OWN_PROFILES:
                continue
            if not len(done) % _REPORT_EVERY:
                progress("second route of all runs", len(done), most)
            earlier = [_binomial(*shape, SampledRun(*run)) for *shape, run in before[secret]]
            done[key] = _bound([own.drawn(secret, mechanism), *earlier], row["prior"])
        second, stated, lower = done[key], row["all_runs"], row["all_runs_lower"]
        looked += 1
        if second is None:
            continue
        confirmed += 1
        if not second <= stated * (1 + AGREEMENT):
            failures.append(f"{names[secret]}: all_runs {stated:.6g}, but {second:.6g} by the second route")
        if lower is not None and not lower <= second * (1 + AGREEMENT):
            failures.append(
                f"{names[secret]}: all_runs_lower lies above {second:.6g}, the second route's bound"
            )
    if done:
        progress("second route of all runs", most, most)
    return failures, (confirmed, looked, len(rows))


def _before(history: pl.DataFrame, runs: pl.DataFrame) -> dict[int, tuple]:
    """By secret: (examples, rate, (σ, T)) of each earlier run."""
    mechanisms = list(runs.select("noise_multiplier", "rounds").iter_rows())
    found: dict[int, tuple] = {}
    for run, secret, examples, rate in history.select("run", "secret_id", "examples", "rate").iter_rows():
        found[secret] = (*found.get(secret, ()), (examples, rate, mechanisms[run]))
    return found


def _problem(row: dict, second: float, *, tight: bool) -> str:
    bound, lower = row["bound"], row["lower"]
    if not second <= bound * (1 + AGREEMENT):
        return f"bound {bound:.6g}, but {second:.6g} by the second route"
    if lower is not None and not lower <= second * (1 + AGREEMENT):
        return f"lower {lower:.6g}, but the tight bound is {second:.6g} by the second route"
    if tight:
        explained = AGREEMENT * bound + row["numerical_error"] + (0.0 if lower is None else bound - lower)
        if not bound - second <= explained:
            return f"bound {bound:.6g} is stated as tight, but {second:.6g} is so by the second route"
    return ""


def _binomial(examples: float, rate: float, mechanism: SampledRun) -> Drawn:
    return np.array([rate]), np.array([int(examples)]), mechanism.noise_multiplier, mechanism.rounds


def _bound(runs: Sequence[Drawn], prior: float) -> float | None:
    """The tight bound of these runs together; None where the second route is not accurate."""
    try:
        with np.errstate(all="ignore"):
            return posterior_of_runs(runs, prior=prior).value
    except (NotConfirmed, ArithmeticError, ValueError):
        return None
