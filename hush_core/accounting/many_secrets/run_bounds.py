"""Every secret's bound after all its runs, for any number of secrets and runs.

Groups of secrets with like histories first, under binomials that dominate them; finer groups for those that miss
their target, their own rates for those that still do. Every number is a bound whatever the groups are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve, curve_of_runs
from hush_core.accounting.many_secrets.dominance import on_grid_of_priors
from hush_core.accounting.many_secrets.each_curve import Asked, each_curve
from hush_core.accounting.many_secrets.groups import (
    Cases,
    Dominating,
    batches,
    dominating,
    grouped,
    growth,
    log_bound,
)
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.shared_laws import SharedLaws
from hush_core.accounting.noise_search import check_target
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

OWN = 64
"""Up to so many different histories, every one gets a bound by its own rates; and so many of those that groups
leave above their target."""
_FAR, _FAR_LOOSENESS = 3.0, 0.15
"""Where a secret's bound seems to be below its target by this factor, it may be inherited so much too high."""
_LOOSENESS, _FINER = 0.04, 0.003
"""The same for others; for those that miss their target. All in the Gaussian limit."""
_FIRST = (_LOOSENESS, _FAR_LOOSENESS)
_STEPS = 0.4
"""Binomials are rounded up to a grid that adds this share of the allowed looseness at most."""
_BEYOND = 2.0
"""A bound that is so many times the target would still be above it in a finer group."""
_HOPELESS = 1.05
"""A bound by the finest groups that is this much above the target would still be above it by the own rates."""
_COARSER = 1300.0
"""Grids that add so many times the usual share (5e-5 or so) for each unit of looseness will do for groups."""
_FEW = 4
"""Fewer groups than this share no laws."""
_PRIORS_STEP = 1.005


@dataclass(frozen=True, eq=False)
class RunBounds:
    """`table`: one row a secret: secret · runs (that drew it) · prior · posterior (the target) · bound · method ·
        numerical_error · lower (by own rates; null where inherited) · group · group_prior (null where the bound is
        by the own rates).
    `groups`: group · run · examples · rate: in each run, the binomial that dominates all members' counts.
        `bound_of_runs` of these, at group_prior, gives the bound again, to the width of the grid.
    """

    table: pl.DataFrame
    groups: pl.DataFrame

    @property
    def missing(self) -> np.ndarray:
        """The secrets whose bound is above their target."""
        over = self.table["bound"].to_numpy() > self.table["posterior"].to_numpy()
        return self.table["secret"].to_numpy()[over]


@dataclass(eq=False)
class _Rows:
    """Bounds under construction, by secret; group −1: by own rates."""

    bound: np.ndarray
    method: np.ndarray
    error: np.ndarray
    lower: np.ndarray
    group: np.ndarray
    group_prior: np.ndarray

    @classmethod
    def empty(cls, size: int) -> _Rows:
        nan = [np.full(size, np.nan) for _ in range(2)]
        names = np.full(size, "", dtype=object)
        return cls(np.full(size, np.inf), names, np.zeros(size), nan[0], np.full(size, -1), nan[1])


def certify_runs(
    history: History,
    priors: np.ndarray,
    targets: np.ndarray,
    *,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> RunBounds:
    """The bound of every secret after all runs of its history, whether or not it meets the target.

    Args:
        history: see `History`; secrets without a row in it were in no run: their bound is the prior.
        priors, targets: (m,) p and r by secret, 0 < p < r < 1.

    Guarantee: as of `bound_of_runs`, for a history that dominates the secret's (docs/guarantee.md §8). Inherited
        bounds lie above the secrets' own, by 2 % (median) within a factor of 3 of the target and by 9 % elsewhere
        (lab/benchmarks/runs_scale.py).

    Raises:
        InputError: names the secret by its place. CertificationError: no method certifies a secret.
    """
    priors, targets = _checked(history, priors, targets)
    rows = _Rows.empty(len(priors))
    groups: list[Dominating] = []
    drawn = np.unique(history.secret)
    untouched = np.setdiff1d(np.arange(len(priors)), drawn)
    rows.bound[untouched] = rows.lower[untouched] = priors[untouched]
    rows.method[untouched] = "blow_up" if method == "best" else method
    by_history = _alike(history, drawn)
    if len(by_history) > OWN:
        for which, looseness in zip(_near_and_far(history, drawn, priors, targets), _FIRST, strict=True):
            _inherit(history, which, priors, targets, rows, groups, looseness, method, progress)
        ratio = rows.bound[drawn] / targets[drawn]
        near = drawn[(ratio > 1) & ((ratio <= _BEYOND) | np.isinf(ratio))]
        ratio = _inherit(history, near, priors, targets, rows, groups, _FINER, method, progress)
        order = np.argsort(ratio, kind="stable")
        close = near[order][(ratio[order] > 1) & (ratio[order] <= _HOPELESS)]
        left = np.concatenate([close, drawn[np.isinf(rows.bound[drawn])]])
        by_history = _alike(history, left)
        by_history = by_history[:OWN] if np.all(np.isfinite(rows.bound[drawn])) else by_history
    _own_bounds(history, by_history, priors, rows, method, progress)
    return RunBounds(_table(history, priors, targets, rows), _group_table(groups, rows))


def _checked(history: History, priors: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    priors, targets = np.asarray(priors, np.float64), np.asarray(targets, np.float64)
    if priors.ndim != 1 or priors.shape != targets.shape:
        raise InputError("priors and targets", "differ in shape", "give one of each a secret")
    for i in np.flatnonzero(~((priors > 0) & (priors < targets) & (targets < 1)))[:1]:
        check_target(f"secret {i}", float(priors[i]), float(targets[i]))
    if len(history.secret) and history.secret.max() >= len(priors):
        raise InputError("history", "names a secret that has no prior", "give priors and targets by secret")
    return priors, targets


def _alike(history: History, secrets: np.ndarray) -> list[np.ndarray]:
    """These secrets, those with equal histories together."""
    order, starts = history.rows
    keys = np.stack([history.run[order], history.profile[order]], axis=1).astype(np.int64)
    found: dict[bytes, list[int]] = {}
    for secret in secrets.tolist():
        found.setdefault(keys[starts[secret] : starts[secret + 1]].tobytes(), []).append(secret)
    return [np.array(each) for each in found.values()]


def _near_and_far(
    history: History, secrets: np.ndarray, priors: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By the Gaussian limit, which may be far off: it decides how loose a bound is, and no more."""
    cases = Cases(history, secrets, priors[secrets])
    far = log_bound(cases.priors, np.sqrt(cases.pull.sum(axis=1))) < np.log(targets[secrets] / _FAR)
    return secrets[~far], secrets[far]


def _inherit(
    history: History,
    secrets: np.ndarray,
    priors: np.ndarray,
    targets: np.ndarray,
    rows: _Rows,
    groups: list[Dominating],
    looseness: float,
    method: BoundMethod,
    progress: Progress | None,
) -> np.ndarray:
    """Fill in what dominating groups prove, where that is better. Returns: bound/target by secret."""
    if not len(secrets):
        return np.empty(0)
    raised = on_grid_of_priors(priors, _PRIORS_STEP, upwards=True)
    cases = Cases(history, secrets, raised[secrets])
    mu = np.sqrt(cases.pull.sum(axis=1))
    found = grouped(cases, np.full(len(secrets), looseness * (1 - _STEPS)))
    coarser, done = _COARSER * looseness, 0
    for batch, middle in batches(cases, found):
        most = max(float(growth(cases.priors[own], mu[own]).max()) for own in batch)
        step = 1 + _STEPS * looseness / max(most, 0.05)
        rivals = [dominating(cases, own, step) for own in batch]
        least = float(min(cases.priors[own].min() for own in batch))
        shared = _shared(rivals[middle].runs(history), least, method, coarser) if len(batch) >= _FEW else None
        for own, rival in zip(batch, rivals, strict=True):
            done += 1
            asked, back = np.unique(cases.priors[own], return_inverse=True)
            curve = _curve(rival.runs(history), asked, method, shared, coarser)
            if curve is None:
                continue
            place = secrets[own]
            better = curve.values[back] < rows.bound[place]
            place, back = place[better], back[better]
            rows.bound[place], rows.method[place] = curve.values[back], curve.methods[back]
            rows.error[place], rows.group_prior[place] = curve.numerical_errors[back], asked[back]
            rows.group[place] = len(groups)
            groups.append(rival)
            if progress:
                progress("bounds of all runs", done, len(found))
    return rows.bound[secrets] / targets[secrets]


def _shared(guide: list[Run], prior: float, method: BoundMethod, coarser: float) -> SharedLaws | None:
    if method not in ("best", "blow_up"):
        return None
    try:
        return SharedLaws(guide, prior, coarser)
    except CertificationError:
        return None


def _curve(
    runs: list[Run], priors: np.ndarray, method: BoundMethod, shared: SharedLaws | None, coarser: float
) -> PosteriorCurve | None:
    """By laws that are composed already where that is certified, else by itself; None where that is refused."""
    if shared is not None:
        try:
            return shared.curve(runs, priors)
        except CertificationError:
            pass
    try:
        return curve_of_runs(runs, priors=priors, method=method, coarser=coarser)
    except CertificationError:
        return None


def _own_bounds(
    history: History,
    alike: list[np.ndarray],
    priors: np.ndarray,
    rows: _Rows,
    method: BoundMethod,
    progress: Progress | None,
) -> None:
    places = [np.unique(priors[own], return_inverse=True) for own in alike]
    asked = [
        Asked(history.runs_of(int(own[0])), at, lower=True)
        for own, (at, _) in zip(alike, places, strict=True)
    ]
    curves = each_curve(asked, method=method)
    for done, (own, (_, back), curve) in enumerate(zip(alike, places, curves, strict=True)):
        if isinstance(curve, CertificationError):
            if np.all(np.isfinite(rows.bound[own])):
                continue
            raise CertificationError(f"secret {own[0]}: {curve}") from None
        better = curve.values[back] <= rows.bound[own]
        place, back = own[better], back[better]
        rows.bound[place], rows.method[place] = curve.values[back], curve.methods[back]
        rows.error[place], rows.lower[place] = curve.numerical_errors[back], curve.lower[back]
        rows.group[place], rows.group_prior[place] = -1, np.nan
        if progress:
            progress("bounds by own rates", done + 1, len(alike))


def _table(history: History, priors: np.ndarray, targets: np.ndarray, rows: _Rows) -> pl.DataFrame:
    group = pl.Series(rows.group, dtype=pl.Int64)
    return pl.DataFrame(
        {
            "secret": np.arange(len(priors), dtype=np.uint32),
            "runs": np.bincount(history.secret, minlength=len(priors)).astype(np.uint32),
            "prior": priors,
            "posterior": targets,
            "bound": rows.bound,
            "method": pl.Series(rows.method.astype(str), dtype=pl.String),
            "numerical_error": rows.error,
            "lower": pl.Series(rows.lower, nan_to_null=True),
            "group": group.set(group < 0, None).cast(pl.UInt32),
            "group_prior": pl.Series(rows.group_prior, nan_to_null=True),
        }
    )


def _group_table(groups: list[Dominating], rows: _Rows) -> pl.DataFrame:
    frames = []
    for group in np.unique(rows.group[rows.group >= 0]):
        rival = groups[group]
        drawn = np.flatnonzero(rival.examples)
        frames.append(
            pl.DataFrame(
                {
                    "group": np.full(len(drawn), group, dtype=np.uint32),
                    "run": drawn.astype(np.uint32),
                    "examples": rival.examples[drawn].astype(np.uint32),
                    "rate": rival.rate[drawn],
                }
            )
        )
    schema = {"group": pl.UInt32, "run": pl.UInt32, "examples": pl.UInt32, "rate": pl.Float64}
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
