"""Every secret's bound after one run: from binomials on a grid, where there are too many for bounds of their own.

Coarse dominating profiles first, finer ones for those that miss their target, their own rates for those that
still do: each row says which profile its bound was computed for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.accountant import Accountant, Dominating, Heirs
from hush_core.accounting.many_secrets.dominance import binomials, dominating_binomials, on_grid_of_priors
from hush_core.accounting.many_secrets.dominated import lower_bounds
from hush_core.accounting.many_secrets.each_curve import curves_of_groups
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

    Returns: secret_id · examples (edges with a positive rate) · expected_participation (Σρ) · prior ·
        posterior (the target) · bound · method · numerical_error · lower (least for proofs from the pair alone, by
        the own rates or by a binomial that they dominate; null where not computed) · dominating_examples ·
        dominating_rate · dominating_prior (the binomial whose bound the secret inherits; null where the bound is by
        its own rates) · noise_needed (null here), by secret_id.

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
        noise_multiplier: float,
        rounds: int,
        method: BoundMethod,
        progress: Progress | None = None,
    ) -> None:
        self.profiles, self.mechanism = profiles, {"noise_multiplier": noise_multiplier, "rounds": rounds}
        history = profiles.history(noise_multiplier, rounds)
        super().__init__(history, profiles.prior, profiles.posterior, method, progress)

    def name(self, secret: int) -> str:
        return self.profiles.label(secret)

    def are_few(self, drawn: np.ndarray) -> bool:
        return len(drawn) <= OWN

    def inherit_first(self, drawn: np.ndarray) -> None:
        self.inherit_on_grid(self.inherit_on_grid(drawn, _GRID), _COARSER)

    def left_for_own(self, near: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
        alone = self.inherit_on_grid(near, _FINER)
        near = self.missing(near)
        # without a dominating profile near by on the finest grid, a coarser one's bound says little
        alone = np.intersect1d(alone, near)
        near = np.setdiff1d(near, alone)
        near = near[self.ratio(near) <= _HOPELESS]
        near = near[np.argsort(self.ratio(near))[:_MOST_OWN]]
        return self.history.alike(np.concatenate([alone, near]))

    def certify(self) -> None:
        super().certify()
        heirs = np.flatnonzero(self.group >= 0)
        if self.asked in ("best", "blow_up"):
            self.lower[heirs] = lower_bounds(
                self.profiles.hazard[heirs], self.profiles.largest_rate[heirs], self.priors[heirs], ratio=_LOWER, method=self.asked, progress=self.progress, **self.mechanism,
            )  # fmt: skip

    def inherit_on_grid(self, secrets: np.ndarray, ratio: float) -> np.ndarray:
        """`inherit` from binomials on a grid of step `ratio`; one that is refused gives nothing."""
        return self.inherit(secrets, self._heirs(secrets, ratio)) if len(secrets) else secrets

    def _heirs(self, secrets: np.ndarray, ratio: float) -> Iterator[Heirs]:
        laws, law = self.profiles.laws, self.profiles.law[secrets]
        shapes = dominating_binomials(laws.hazard[law], laws.examples[law], laws.mean[law], ratio)
        found = [
            (members, Dominating(np.array([count]), np.array([rate])))
            for count, rate, members in binomials(*shapes)
        ]
        priors = on_grid_of_priors(self.priors[secrets], ratio, upwards=True)
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
        inherited = self.group[of] >= 0
        shapes = np.array([(d.examples[0], d.rate[0]) for d in self.groups] or [(0, 0.0)])[self.group]
        needed = np.full(len(of), np.nan) if noise_needed is None else noise_needed

        def where_inherited(values: np.ndarray, dtype: type[pl.DataType]) -> pl.Series:
            return pl.Series(np.where(inherited, values[of], np.nan), nan_to_null=True).cast(dtype)

        return pl.DataFrame(
            {
                "secret_id": secrets["secret_id"],
                "examples": profiles.examples[of].astype(np.uint32),
                "expected_participation": profiles.mean[of].astype(np.float64),
                "prior": secrets["prior"],
                "posterior": secrets["posterior"],
                "bound": self.bound[of],
                "method": pl.Series(self.method[of].astype(str), dtype=pl.String),
                "numerical_error": self.numerical_error[of],
                "lower": pl.Series(self.lower[of], nan_to_null=True),
                "dominating_examples": where_inherited(shapes[:, 0], pl.UInt32),
                "dominating_rate": where_inherited(shapes[:, 1], pl.Float64),
                "dominating_prior": where_inherited(self.group_prior, pl.Float64),
                "noise_needed": pl.Series(needed, nan_to_null=True),
            }
        )
