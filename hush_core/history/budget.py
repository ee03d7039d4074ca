"""A plan for a promise of several runs: the least noise with which this run, the earlier ones and those still to
come keep every target together."""

from __future__ import annotations

import numpy as np
import polars as pl

from hush_core.accounting import Participation, Run, bound_of_runs, bound_secrets, noise_for_all
from hush_core.accounting.noise_search import falling_root
from hush_core.config import Method
from hush_core.errors import CertificationError, InputError
from hush_core.history.bounds import bounds_of_all_runs, by_secret
from hush_core.history.earlier import Earlier
from hush_core.plan import ProtectionPlan
from hush_core.progress import Progress
from hush_core.weights import sampling_rates

WHERE = "promise.runs"
_WORST = 32
"""So many secrets nearest to their targets settle σ; then all are looked at again."""
_PASSES = 20
_COARSE = 1e-4
"""Relative precision of σ; it errs upwards."""
_NAMED = 5


def plan_for_runs(
    weights: np.ndarray,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    method: Method,
    settings: str,
    earlier: Earlier,
    runs: int,
    progress: Progress | None = None,
) -> ProtectionPlan:
    """The plan of this run, of `runs` in all, those of `earlier` included.

    The runs still to come are taken to be like this one. `settings`: this run's (`RunText`).

    Guarantee: with as many runs like this one as are left, every secret's bound of all runs is at most its target,
    evaluated at the plan's σ (docs/guarantee.md §8). `certificates` are those of this run alone.

    Raises:
        InputError: all runs are spent, an earlier run cannot be counted in, or the earlier runs leave nothing of a
            target; it names the secrets. CertificationError: no method can certify a secret.
    """
    left = runs - earlier.runs.height
    _check(earlier, secrets, settings, runs)
    rates = sampling_rates(weights, expected_batch)
    sigma = noise_for_all(edges, rates, secrets, rounds=rounds * left, method=method, progress=progress)

    def together(sigma: float, of: pl.DataFrame) -> np.ndarray:
        """Bound/target over all runs, of these secrets in the order of their ids."""
        found = bounds_of_all_runs(
            edges, rates, of, earlier, noise_multiplier=sigma, rounds=rounds, settings=settings, method=method,
            times=left,
        )  # fmt: skip
        return (found["all_runs"] / of.sort("secret_id")["posterior"]).to_numpy()

    asked = secrets.select("secret_id", "prior", "posterior").sort("secret_id")
    for _ in range(_PASSES):
        ratios = together(sigma, asked)
        if np.all(ratios <= 1):
            break
        worst = asked[np.sort(np.argsort(-ratios, kind="stable")[:_WORST])]

        def gap(log_sigma: float, worst: pl.DataFrame = worst) -> float:
            try:
                return float(np.log(together(float(np.exp(log_sigma)), worst).max()))
            except CertificationError:
                return np.inf

        sigma = float(np.exp(falling_root(gap, float(np.log(sigma)), _COARSE)))
        if progress:
            progress(f"noise for {left} runs more", 0, 0)
    else:
        raise CertificationError("secrets miss their target over all runs at the calibrated noise")
    certificates = bound_secrets(
        edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=method, progress=progress
    )
    return ProtectionPlan(rates, sigma, rounds, expected_batch, clip_norm, method, certificates)


def _check(earlier: Earlier, secrets: pl.DataFrame, settings: str, runs: int) -> None:
    if earlier.runs.height >= runs:
        raise InputError(
            WHERE,
            f"{earlier.runs.height} runs of this store have released what was promised for {runs}",
            "raise the targets or protect by redaction; a larger number here is another promise than was made",
        )
    if earlier.unknown:
        raise InputError(
            WHERE,
            f"{earlier.unknown} runs of this store do not say how they drew which text",
            "promise several runs from a fresh HUSH_HOME on, or leave the key out",
        )
    names = dict(secrets.select("secret_id", "name").iter_rows())
    others = by_secret(earlier, settings)
    bare = np.flatnonzero(earlier.bare).tolist()
    unlike = [secret for secret, before in others.items() if before is None]
    for found, why, mend in (
        (bare, "an earlier run trained WITHOUT noise on text of", "drop or redact these secrets"),
        (
            unlike,
            "an earlier run was planned otherwise (rounds, batch, weights, method, levels or promise) with",
            "go back to those settings, or start a promise anew in a fresh HUSH_HOME",
        ),
        (_spent(others, secrets), "the earlier runs leave nothing of the target of", "raise their level"),
    ):
        if found:
            raise InputError(WHERE, f"{why} {_some([names[secret] for secret in found])}", mend)


def _spent(others: dict[int, tuple | None], secrets: pl.DataFrame) -> list[int]:
    """Secrets whose earlier runs alone reach the target."""
    promises = {row[0]: row[1:] for row in secrets.select("secret_id", "prior", "posterior").iter_rows()}
    done: dict[tuple, float] = {}
    spent = []
    for secret, before in others.items():
        prior, target = promises[secret]
        if (before, prior) not in done:
            runs = [Run(Participation.binomial(n, rate), sigma, t) for sigma, t, n, rate in before or ()]
            done[before, prior] = bound_of_runs(runs, prior=prior).value
        if done[before, prior] >= target:
            spent.append(secret)
    return spent


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
