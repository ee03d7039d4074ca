"""One secret, one run or several: certified bounds on the posterior, with the method that proved them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from hush_core.accounting.blow_up import blow_up_posteriors
from hush_core.accounting.kl import kl_posteriors
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi import renyi_posteriors
from hush_core.accounting.runs import Run, merged
from hush_core.errors import CertificationError, InputError

BoundMethod = Literal["kl", "renyi", "renyi_preservation", "blow_up", "best"]

LEAST_NOISE, MOST_NOISE = 0.05, 1e6
"""The noise multipliers, and below them the rounds and priors, for which the numerics are meant and
tested."""
MOST_ROUNDS = 10_000_000
LEAST_PRIOR = 1e-30
CUT = 1e-8
"""Mass that all rounds together may lose in the tails of K and of the loss, relative to the prior. It is
added to r."""
DIVERGENCE_CUT = 1e-28
"""Mass of K's tail, per round, that the divergences do without. Rare large K are what makes them loose, so
any cut
would be valid and a larger one tighter; this one gives the reference values of docs/mathematics.md §3."""
_TIGHT = 1e-3
"""`best` asks no other method where this share of the tight bound, at most, is for cuts and round-off."""
_CLOSE = 1.005
"""Nor where the tight bound is at most so many times the lower one."""


@dataclass(frozen=True)
class Bound:
    """A certified upper bound on the posterior.

    Attributes:
        value: the bound, p ≤ value ≤ 1; it includes `numerical_error`.
        method: what proved it; never "best".
        numerical_error: how much of it represents what the numerics cut or rounded.
        note: why another method than the one asked for stepped in, else empty.
        lower: no proof from the dominating pair alone can give less, as a test of the pair reaches it; null where
            it was not computed.
    """

    value: float
    method: str
    numerical_error: float = 0.0
    note: str = ""
    lower: float | None = None


@dataclass(frozen=True, eq=False)
class PosteriorCurve:
    """The bound as a function of the prior: concave, non-decreasing; between two priors the larger one's holds.

    Attributes: arrays of one length: priors, values, numerical_errors, methods (object), lower (NaN where
        not computed); note as in `Bound`.
    """

    priors: np.ndarray
    values: np.ndarray
    methods: np.ndarray
    numerical_errors: np.ndarray
    lower: np.ndarray
    note: str = ""

    def at(self, place: int) -> Bound:
        """One point of the curve."""
        lower = float(self.lower[place])
        return Bound(
            float(self.values[place]),
            str(self.methods[place]),
            float(self.numerical_errors[place]),
            self.note,
            None if np.isnan(lower) else lower,
        )

    def at_places(self, places: np.ndarray) -> PosteriorCurve:
        """Its points at these places."""
        columns = (self.priors, self.values, self.methods, self.numerical_errors, self.lower)
        return PosteriorCurve(*(column[places] for column in columns), self.note)


def posterior_bound(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    prior: float,
    method: BoundMethod = "best",
    lower: bool = False,
) -> Bound:
    """No adversary who sees T rounds names the secret with probability above the returned value.

    Args:
        participation: how the secret's examples enter a round.
        noise_multiplier: σ > 0, relative to the clip norm. rounds: T ≥ 1. prior: p in (0, 1).
        method: "kl" (the paper's), "renyi" (Lemma 3.2), "renyi_preservation", "blow_up" (tight), or "best". "best"
            is blow_up; if that refuses or is not tight, the least of all, with a note.
        lower: also compute the lower bound, by the power of an attack (docs/mathematics.md §5).

    Guarantee: Definition 3.1 of Hush! for arbitrary changes of the secret's examples (docs/mathematics.md §2-3).
    All error of discretisation is upwards; truncated mass is added.

    Raises:
        InputError: an argument out of range. CertificationError: the method cannot certify here.
    """
    return bound_of_runs(
        [Run(participation, noise_multiplier, rounds)], prior=prior, method=method, lower=lower
    )


def bound_of_runs(
    runs: Sequence[Run], *, prior: float, method: BoundMethod = "best", lower: bool = False
) -> Bound:
    """No adversary who sees the releases of all runs names the secret with probability above the returned value.

    Args:
        runs: all runs that released anything, in any order; without any the bound is the prior.
        prior: p in (0, 1), that of someone who has seen no run. method, lower: as for `posterior_bound`.

    Guarantee: Definition 3.1 of Hush! for the runs together. A candidate is what the secret's examples hold in
    every run; rates, σ and T of each run must not depend on the releases of another (docs/mathematics.md §8,
    Proposition 13; for those that do, `renyi_filter.py`). For one run it is `posterior_bound`, and k equal runs are
    one of k times the rounds, to the last digit.

    Raises:
        InputError: an argument out of range. CertificationError: the method cannot certify here.
    """
    return curve_of_runs(runs, priors=prior, method=method, lower=lower).at(0)


def curve_of_runs(
    runs: Sequence[Run],
    *,
    priors: ArrayLike,
    method: BoundMethod = "best",
    lower: bool = False,
    coarser: float = 1.0,
) -> PosteriorCurve:
    """`bound_of_runs` for many priors at once.

    Args:
        priors: (k,) in (0, 1).
        coarser: 1 or more; a coarser grid of losses adds that many times the usual share (1e-4 or so) to the tight
            bound. The bound stays valid and is several times faster.
    """
    priors = np.atleast_1d(np.asarray(priors, dtype=np.float64))
    wrong = ~((priors > 0) & (priors < 1))
    if priors.ndim != 1 or not len(priors) or wrong.any():
        what = f"{priors[wrong][0]:g} does not lie strictly between 0 and 1" if wrong.any() else "is empty"
        raise InputError("prior", what, "give the best blind guess")
    if method not in get_args(BoundMethod):
        raise InputError("method", "is not a known method", f"take one of {', '.join(get_args(BoundMethod))}")
    runs = merged(runs)
    if not runs:  # the releases do not depend on the secret
        return one_method(priors, priors, "blow_up" if method == "best" else method, lower=priors)
    if not (
        all(LEAST_NOISE <= run.noise_multiplier <= MOST_NOISE for run in runs)
        and sum(run.rounds for run in runs) <= MOST_ROUNDS
        and priors.min() >= LEAST_PRIOR * (1 - 1e-9)
    ):
        raise CertificationError(
            f"certified are noise multipliers in [{LEAST_NOISE:g}, {MOST_NOISE:g}], at most {MOST_ROUNDS} "
            f"rounds and priors from {LEAST_PRIOR:g}"
        )
    if method == "best":
        return _rising(_best(runs, priors, lower, coarser))
    return _rising(_by(method, runs, priors, lower, coarser))


def _rising(curve: PosteriorCurve) -> PosteriorCurve:
    """The same, never falling in the prior: what is certified for a larger prior holds for a smaller one, and a
    lower bound at a smaller prior for a larger one."""
    order = np.argsort(curve.priors, kind="stable")
    values, lower = curve.values.copy(), curve.lower.copy()
    values[order] = np.minimum.accumulate(values[order][::-1])[::-1]
    lower[order] = np.fmax.accumulate(lower[order])
    lower[np.isnan(curve.lower)] = np.nan
    return replace(curve, values=values, lower=lower)


def _best(runs: Sequence[Run], priors: np.ndarray, lower: bool, coarser: float) -> PosteriorCurve:
    """The exact blow-up function is below every divergence's bound, so the others can only win by its error."""
    found, note = [], ""
    for each in ("blow_up", "renyi", "kl"):
        try:
            found.append(_by(each, runs, priors, lower, coarser))
        except CertificationError as refusal:
            note = note or f"{each} refused: {refusal}"
            continue
        if each == "blow_up":
            tight = found[0].numerical_errors <= _TIGHT * found[0].values
            # where no lower one is known, the attempts were close by their own estimate
            if np.all(tight & ~(found[0].values > _CLOSE * found[0].lower)):
                return found[0]
    if not found:
        raise CertificationError(note)
    values = np.array([curve.values for curve in found])
    least = values.argmin(axis=0)
    picked = [curve.at(i) for i, curve in enumerate(found[j] for j in least)]
    return PosteriorCurve(
        priors,
        values.min(axis=0),
        np.array([bound.method for bound in picked], dtype=object),
        np.array([bound.numerical_error for bound in picked]),
        found[0].lower,
        note,
    )


def _by(
    method: str, runs: Sequence[Run], priors: np.ndarray, lower: bool, coarser: float = 1.0
) -> PosteriorCurve:
    cut = CUT * float(priors.min()) / sum(run.rounds for run in runs)
    trimmed = cut if method == "blow_up" else min(cut, DIVERGENCE_CUT)
    counts = [run.participation.distribution.trimmed(trimmed) for run in runs]
    parts = [
        (DominatingPair(own, run.noise_multiplier), run.rounds) for own, run in zip(counts, runs, strict=True)
    ]
    # P = (1 − tail)·pair + tail·(certain detection), in each round
    truncated = sum(run.rounds * own.tail for own, run in zip(counts, runs, strict=True))
    errors, least = np.full(len(priors), truncated), np.full(len(priors), np.nan)
    if method == "blow_up":
        result = blow_up_posteriors(parts, priors, cut=cut, lower=lower, coarser=coarser)
        values, errors = result.upper, errors + result.cut
        known = lower | (result.lower > 0)
        least = np.where(known, np.maximum(result.lower, priors), least)
    elif method == "kl":
        values = kl_posteriors(parts, priors)
    else:
        values = renyi_posteriors(parts, priors, preservation=method == "renyi_preservation")
    if not np.all(np.isfinite(values)):
        raise CertificationError(f"{method} gave no finite number")
    errors = np.where(values < 1, errors, 0.0)
    curve = one_method(priors, np.minimum(np.maximum(values, priors) + truncated, 1.0), method, errors, least)
    if np.any(curve.lower > curve.values):
        raise CertificationError("the lower bound is above the upper one; one of the two is wrong")
    return curve


def one_method(
    priors: np.ndarray,
    values: np.ndarray,
    method: str,
    errors: np.ndarray | None = None,
    lower: np.ndarray | None = None,
) -> PosteriorCurve:
    """A curve that one method proved; `lower`: NaN by default."""
    none = np.zeros(len(priors))
    return PosteriorCurve(
        priors,
        values,
        np.full(len(priors), method, dtype=object),
        none if errors is None else errors,
        none * np.nan if lower is None else lower,
    )
