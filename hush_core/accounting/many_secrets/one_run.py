"""Every secret's bound after one run: from binomials on a grid, if there are too many secrets for their own bounds.

Coarse dominating profiles come first, finer ones for secrets that miss their target, and then their own rates. Each
row says for which profile its bound was computed.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.accountant import Accountant, Dominated, Dominating
from hush_core.accounting.many_secrets.dominance import (
    binomials,
    dominating_binomials,
    lower_bounds,
    on_grid_of_priors,
)
from hush_core.accounting.many_secrets.each_curve import curves_of_groups
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError
from hush_core.progress import Progress

OWN = 256
"""Up to so many profiles, every one gets a bound of its own."""
_GRID, _COARSER, _FINER = 1.005, 1.02, 1.001
"""Steps of the grids of dominating profiles: for all; where rates are so large that the first has none near by; for
those that miss their target."""
_LOWER = 1.01
"""Step of the grid of dominated profiles, for lower bounds of secrets that inherit."""
_HOPELESS = 1.1
"""A bound by the finest grid that is this much above the target would still be above it by the own rates."""
_MOST_OWN = 1024
"""Own bounds for so many profiles, at most, of those that the grids leave above their target."""


def bound_secrets(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The bound of every secret at a given σ, whether or not it meets the target.

    Args:
        edges: example_id, secret_id.
        rates: (n,) ρ_i by example_id.
        secrets: secret_id, prior, posterior.
        noise_multiplier: σ > 0, relative to the clip norm. rounds: T ≥ 1.

    Returns:
        secret_id · examples (edges with a positive rate) · expected_participation (Σρ) · prior · posterior (the
        target) · bound · method · numerical_error · lower (least for proofs from the pair alone, by the own rates
        or by a binomial that they dominate; null if not computed) · dominating_examples · dominating_rate ·
        dominating_prior (the binomial whose bound the secret inherits; null for a bound by its own rates) ·
        noise_needed (null here), by secret_id.

    Guarantee: as of `posterior_bound`, for the secret's own rates or a binomial that dominates their count
    (docs/mathematics.md, Proposition 7).

    Raises:
        InputError: names the secret and the value. CertificationError: no method certifies a secret.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    found = OneRun(group_profiles(edges, rates, secrets), noise_multiplier, rounds, method, progress)
    found.certify()
    return found.table(secrets)


class OneRun(Accountant):
    """Its secrets are the profiles."""

    beyond, own_is_final = 4.0, True

    def __init__(
        self,
        profiles: Profiles,
        sigma: float,
        rounds: int,
        method: BoundMethod,
        progress: Progress | None = None,
    ) -> None:
        self.profiles = profiles
        history = History.of_run(sigma, rounds, np.arange(len(profiles)), profiles)
        super().__init__(history, profiles.prior, profiles.target, method, progress)

    def name(self, secret: int) -> str:
        return self.profiles.label(secret)

    def alike(self, secrets: np.ndarray) -> list[np.ndarray]:
        return self.profiles.equal(secrets)

    def all_by_own_rates(self, drawn: np.ndarray) -> bool:
        return len(drawn) <= OWN

    def inherit_first(self, drawn: np.ndarray) -> None:
        self.inherit(self.inherit(drawn, _GRID), _COARSER)

    def tighten(self, near: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
        alone = self.inherit(near, _FINER)
        near = self.missing(near)
        # without a dominating profile near by on the finest grid, a coarser one's bound says little
        alone = np.intersect1d(alone, near)
        near = np.setdiff1d(near, alone)
        near = near[self.ratio(near) <= _HOPELESS]
        near = near[np.argsort(self.ratio(near))[:_MOST_OWN]]
        return self.alike(np.concatenate([alone, near]))

    def certify(self) -> None:
        super().certify()
        inherited = np.flatnonzero(self.group >= 0)
        if self.asked in ("best", "blow_up"):
            self.lower[inherited] = lower_bounds(
                self.profiles.hazard[inherited], self.profiles.largest_rate[inherited], self.priors[inherited],
                ratio=_LOWER,
                noise_multiplier=self.history.noise_multiplier[0], rounds=self.history.rounds[0],
                method=self.asked, progress=self.progress,
            )  # fmt: skip

    def dominated(self, secrets: np.ndarray, looseness: float) -> Iterator[Dominated]:
        """Of binomials on a grid of step `looseness`; one that is refused gives nothing."""
        own, profiles = secrets, self.profiles
        shapes = dominating_binomials(
            profiles.hazard[own], profiles.examples[own], profiles.mean[own], looseness
        )
        found = [
            (members, Dominating(np.array([count]), np.array([rate])))
            for count, rate, members in binomials(*shapes)
        ]
        priors = on_grid_of_priors(self.priors[secrets], looseness, upwards=True)
        curves = curves_of_groups(
            [(members, dominating.runs(self.history)) for members, dominating in found],
            priors, method=self.asked, stage="dominating profiles", progress=self.progress,
        )  # fmt: skip
        for (_, dominating), (members, curve) in zip(found, curves, strict=True):
            if not isinstance(curve, CertificationError):
                yield secrets[members], dominating, curve

    def table(self, secrets: pl.DataFrame, noise_needed: np.ndarray | None = None) -> pl.DataFrame:
        """The rows of `bound_secrets`; `noise_needed`: (secrets,), NaN where it was not computed."""
        of, profiles = self.profiles.of_secret, self.profiles
        shapes = np.array([(d.examples[0], d.rate[0]) for d in self.dominating] or [(0, 0.0)])[self.group]
        shapes[self.group < 0] = np.nan
        needed = np.full(len(of), np.nan) if noise_needed is None else noise_needed
        return pl.DataFrame(
            {
                "secret_id": secrets["secret_id"],
                "examples": profiles.examples[of].astype(np.uint32),
                "expected_participation": profiles.mean[of],
                "prior": secrets["prior"],
                "posterior": secrets["posterior"],
                **self.columns(of),
                "dominating_examples": pl.Series(shapes[of, 0], nan_to_null=True).cast(pl.UInt32),
                "dominating_rate": pl.Series(shapes[of, 1], nan_to_null=True),
                "dominating_prior": pl.Series(self.group_prior[of], nan_to_null=True),
                "noise_needed": pl.Series(needed, nan_to_null=True),
            }
        )
