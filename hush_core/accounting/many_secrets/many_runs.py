"""Every secret's bound after all its runs, for any number of secrets and runs.

Groups of secrets with like histories first, under binomials that dominate them; finer groups for those that miss
their target, their own rates for those that still do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve, curve_of_runs
from hush_core.accounting.many_secrets.accountant import Accountant, Dominated
from hush_core.accounting.many_secrets.dominance import on_grid_of_priors
from hush_core.accounting.many_secrets.groups import Cases, batches, dominating, grouped, growth, log_bound
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.shared_laws import SharedLaws
from hush_core.accounting.noise_search import check_target
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

OWN = 64
"""Up to this many different histories, every one gets a bound by its own rates; so do this many of those whose
group is above their target."""
_FAR, _FAR_LOOSENESS = 3.0, 0.15
"""Where a secret's bound seems to be below its target by this factor, it may be inherited so much too high."""
_LOOSENESS, _FINER = 0.04, 0.003
"""The same for others; for those that miss their target. All in the Gaussian limit."""
_FIRST = (_LOOSENESS, _FAR_LOOSENESS)
_STEPS = 0.4
"""Binomials are rounded up to a grid that adds this share of the allowed looseness at most."""
_HOPELESS = 1.05
"""A bound by the finest groups that is this much above the target would still be above it by the own rates."""
_COARSER = 1300.0
"""Grids that add so many times the usual share (5e-5 or so) for each unit of looseness will do for groups."""
_FEW = 4
"""Fewer groups than this share no laws."""
_PRIORS_STEP = 1.005


def certify_runs(
    history: History,
    priors: np.ndarray,
    targets: np.ndarray,
    *,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> ManyRuns:
    """The bound of every secret after all runs of its history, whether or not it meets the target.

    Args:
        history: see `History`; secrets without a row in it were in no run: their bound is the prior.
        priors, targets: (m,) p and r by secret, 0 < p < r < 1.

    Guarantee: as of `bound_of_runs`, for a history that dominates the secret's (docs/mathematics.md §8). Inherited
        bounds lie above the secrets' own, by 2 % (median) within a factor of 3 of the target and by 9 % elsewhere
        (lab/benchmarks/runs_scale.py).

    Raises:
        InputError: names the secret by its place. CertificationError: no method certifies a secret.
    """
    priors, targets = np.asarray(priors, np.float64), np.asarray(targets, np.float64)
    if priors.ndim != 1 or priors.shape != targets.shape:
        raise InputError("priors and targets", "differ in shape", "give one of each a secret")
    for i in np.flatnonzero(~((priors > 0) & (priors < targets) & (targets < 1)))[:1]:
        check_target(f"secret {i}", float(priors[i]), float(targets[i]))
    if len(history.secret) and history.secret.max() >= len(priors):
        raise InputError("history", "names a secret that has no prior", "give priors and targets by secret")
    found = ManyRuns(history, priors, targets, method, progress)
    found.certify()
    return found


class ManyRuns(Accountant):
    """Its secrets are the history's own."""

    beyond = 2.0

    def all_by_own_rates(self, drawn: np.ndarray) -> bool:
        return len(self.alike(drawn)) <= OWN

    def inherit_first(self, drawn: np.ndarray) -> None:
        cases = Cases(self.history, drawn, self.priors[drawn])
        # by the Gaussian limit, which may be far off: it decides how loose a bound is, and no more
        far = log_bound(cases.priors, np.sqrt(cases.pull.sum(axis=1))) < np.log(self.targets[drawn] / _FAR)
        for which, looseness in zip((drawn[~far], drawn[far]), _FIRST, strict=True):
            self.inherit(which, looseness)

    def tighten(self, near: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
        self.inherit(near, _FINER)
        ratio = self.ratio(near)
        order = np.argsort(ratio, kind="stable")
        close = near[order][(ratio[order] > 1) & (ratio[order] <= _HOPELESS)]
        refused = drawn[np.isinf(self.bound[drawn])]
        alike = self.alike(np.concatenate([close, refused]))
        return alike if len(refused) else alike[:OWN]

    def dominated(self, secrets: np.ndarray, looseness: float) -> Iterator[Dominated]:
        """Groups of these secrets, each with the bound of what dominates it; one that is refused gives nothing."""
        raised = on_grid_of_priors(self.priors, _PRIORS_STEP, upwards=True)
        cases = Cases(self.history, secrets, raised[secrets])
        mu = np.sqrt(cases.pull.sum(axis=1))
        found = grouped(cases, np.full(len(secrets), looseness * (1 - _STEPS)))
        coarser, done = _COARSER * looseness, 0
        for batch, middle in batches(cases, found):
            most = max(float(growth(cases.priors[own], mu[own]).max()) for own in batch)
            step = 1 + _STEPS * looseness / max(most, 0.05)
            rivals = [dominating(cases, own, step) for own in batch]
            least = float(min(cases.priors[own].min() for own in batch))
            guide = rivals[middle].runs(self.history)
            shared = self._shared(guide, least, coarser) if len(batch) >= _FEW else None
            for own, rival in zip(batch, rivals, strict=True):
                priors, back = np.unique(cases.priors[own], return_inverse=True)
                curve = self._curve(rival.runs(self.history), priors, shared, coarser)
                done += 1
                if curve is not None:
                    yield secrets[own], rival, curve.at_places(back)
                    if self.progress:
                        self.progress("bounds of all runs", done, len(found))

    def _shared(self, guide: list[Run], prior: float, coarser: float) -> SharedLaws | None:
        if self.asked not in ("best", "blow_up"):
            return None
        try:
            return SharedLaws(guide, prior, coarser)
        except CertificationError:
            return None

    def _curve(
        self, runs: list[Run], priors: np.ndarray, shared: SharedLaws | None, coarser: float
    ) -> PosteriorCurve | None:
        """By laws that are composed already where that is certified, else by itself; None where that is refused."""
        if shared is not None:
            try:
                return shared.curve(runs, priors)
            except CertificationError:
                pass
        try:
            return curve_of_runs(runs, priors=priors, method=self.asked, coarser=coarser)
        except CertificationError:
            return None

    @property
    def table(self) -> pl.DataFrame:
        """One row a secret: secret · runs (that drew it) · prior · posterior (the target) · bound · method ·
        numerical_error · lower (by own rates; null where inherited) · group · group_prior (null where the bound is
        by the own rates)."""
        secrets, group = np.arange(len(self.priors), dtype=np.uint32), pl.Series(self.group)
        return pl.DataFrame(
            {
                "secret": secrets,
                "runs": np.bincount(self.history.secret, minlength=len(secrets)).astype(np.uint32),
                "prior": self.priors,
                "posterior": self.targets,
                **self.columns(secrets),
                "group": group.set(group < 0, None).cast(pl.UInt32),
                "group_prior": pl.Series(self.group_prior, nan_to_null=True),
            }
        )

    @property
    def groups(self) -> pl.DataFrame:
        """group · run · examples · rate: in each run, the binomial that dominates all members' counts. For these,
        `bound_of_runs` at group_prior gives the bound of `table` again, to the width of the grid."""
        used = np.unique(self.group[self.group >= 0])
        shape = (len(used), len(self.history.rounds))
        examples = np.array([self.dominating[g].examples for g in used], np.uint32).reshape(shape)
        rate = np.array([self.dominating[g].rate for g in used], np.float64).reshape(shape)
        row, run = np.nonzero(examples)
        columns = {"group": used[row], "run": run, "examples": examples[row, run], "rate": rate[row, run]}
        return pl.DataFrame(columns).cast({pl.Int64: pl.UInt32})
