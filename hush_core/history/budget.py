"""A plan for a promise of several runs: the least noise with which this run, the earlier ones and those still to
come keep every target together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting import TargetsSpent, bound_secrets, noise_for_all, noise_for_runs
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.config import MechanismConfig, Method
from hush_core.errors import InputError
from hush_core.history.bounds import bounds_of_all_runs, by_settings, history_of
from hush_core.history.earlier import Earlier
from hush_core.history.filtered import noise_by_filter
from hush_core.mechanisms import refuse_unless_sampled
from hush_core.plan import ProtectionPlan
from hush_core.progress import Progress
from hush_core.weights import sampling_rates

WHERE = "promise.runs"
_NAMED = 5
_NO_ROUND = {"noise_multiplier": 1.0, "rounds": 1}
"""Any mechanism: nothing is drawn."""


@dataclass(frozen=True)
class PromisedRuns:
    """A promise over several runs: so many `runs` in all, those of `earlier` and this one included.

    settings: this run's (`RunText`). later_rounds: of each run still to come; None: as many as this one has.
    """

    runs: int
    earlier: Earlier
    settings: str
    later_rounds: int | None = None


def plan_of_runs(
    mechanism: MechanismConfig,
    weights: np.ndarray,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    promised: PromisedRuns,
    *,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    method: Method,
    progress: Progress | None = None,
) -> ProtectionPlan:
    """The plan of this run, one of those that are promised. The runs still to come are taken to draw like it.

    Where an earlier run was planned otherwise, the rest is planned by a Rényi filter, for every secret.

    Guarantee: with as many such runs as are left, every secret's bound of all runs is at most its target,
    evaluated at the plan's σ (docs/mathematics.md §8). `certificates` are those of this run alone.

    Raises:
        InputError: the mechanism's rounds are not sampled, all runs are spent, an earlier run cannot be counted in,
            or the earlier runs leave nothing of a target; it names the secrets. CertificationError: no method can
            certify a secret.
    """
    refuse_unless_sampled(mechanism)
    secrets, earlier = secrets.sort("secret_id"), promised.earlier
    names = secrets["name"].to_list()
    alike, unlike = _rows_by_settings(earlier, promised.settings, names, promised.runs)
    rates = sampling_rates(weights, expected_batch)
    profiles = group_profiles(edges, rates, secrets)
    to_follow = (promised.runs - earlier.runs.height - 1) * (promised.later_rounds or rounds)
    how = {"method": method, "progress": progress}
    if unlike.height:
        own = [profiles.participation(place) for place in range(len(profiles))]
        sigma, spent = noise_by_filter(unlike, own, profiles.of_secret, secrets, rounds=rounds + to_follow)
        _refuse_spent(spent, names)
        sigma = max(sigma, noise_for_all(edges, rates, secrets, rounds=rounds, **how))
    else:
        priors, targets = secrets["prior"].to_numpy(), secrets["posterior"].to_numpy()
        runs = history_of(earlier, alike), profiles.as_run(1.0, rounds)
        try:
            sigma = noise_for_runs(*runs, priors, targets, to_follow=to_follow, **how).noise_multiplier
        except TargetsSpent as error:
            _refuse_spent(error.secrets, names)
    certificates = bound_secrets(edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, **how)
    return ProtectionPlan(
        rates, sigma, rounds, expected_batch, clip_norm, method, certificates, mechanism.records_a_round
    )


def bounds_at_priors(edges: pl.DataFrame, secrets: pl.DataFrame, *, method: Method) -> pl.DataFrame:
    """The rows of `bound_secrets` without any round: nothing is drawn, so each bound is its prior."""
    return bound_secrets(edges, _never(edges), secrets.sort("secret_id"), method=method, **_NO_ROUND)


def _never(edges: pl.DataFrame) -> np.ndarray:
    return np.zeros(1 + int(edges["example_id"].max() or 0))


def bounds_without_rounds(
    edges: pl.DataFrame, secrets: pl.DataFrame, *, method: Method, settings: str, earlier: Earlier
) -> pl.DataFrame:
    """The rows of `bound_secrets` for a run under `promise` that makes no certified round.

    It draws nothing of a secret, so each bound is its prior, and the bounds of all runs stay what they were
    (docs/mathematics.md §8).

    Raises:
        InputError: nothing is promised of a secret over all runs, so there is no promise to keep; or the earlier
            runs, each by the binomial that it noted, are above a target.
    """
    secrets = secrets.sort("secret_id")
    names = secrets["name"].to_list()
    _rows_by_settings(earlier, settings, names)
    bounds = bounds_at_priors(edges, secrets, method=method)
    together = bounds_of_all_runs(
        edges, _never(edges), bounds, earlier, settings=settings, method=method, promised=True, **_NO_ROUND
    )
    kept = (together["all_runs"] <= bounds["posterior"]).fill_null(False)
    _refuse_spent(np.flatnonzero(~kept.to_numpy()).tolist(), names)
    return bounds


def _rows_by_settings(
    earlier: Earlier, settings: str, names: list[str], runs: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The earlier runs' rows: all of them first, if all were planned as this run is, else second. All promised what
    this one does. `runs`: so many are promised, this one among them.

    Raises:
        InputError: nothing can be promised of a secret over all runs.
    """
    if runs is not None and earlier.runs.height >= runs:
        raise InputError(
            WHERE,
            f"{earlier.runs.height} runs of this store have released what was promised for {runs}",
            "raise the number; where these leave nothing of an entry's target, also write `protect: drop` in it",
        )
    if earlier.unknown:
        raise InputError(
            WHERE,
            f"{earlier.unknown} runs of this store do not say how they drew which text",
            "leave the key out; a fresh HUSH_HOME counts from zero, honest only if all earlier models are gone",
        )
    alike, unlike = by_settings(earlier, settings, promised=True)
    for found, why, hint in (
        (
            np.flatnonzero(earlier.noise_free).tolist(),
            "an earlier run trained WITHOUT noise, or was refuted by an audit, on text of",
            "name all of their text, as earlier runs did; where an earlier run used it, drop or redact these "
            "secrets: the earlier models stay as they are",
        ),
        (
            unlike.filter(~pl.col("same_promise"))["secret_id"].unique().sort().to_list(),
            "an earlier run promised another prior or target, or nothing, with",
            "go back to that level; a fresh HUSH_HOME counts from zero, which is honest only if all earlier models "
            "are gone",
        ),
    ):
        if found:
            raise InputError(WHERE, f"{why} {_some([names[secret] for secret in found])}", hint)
    return alike, unlike


def _refuse_spent(secrets: Sequence[int], names: list[str]) -> None:
    """Raise InputError where there are any."""
    if len(secrets):
        raise InputError(
            WHERE,
            f"the earlier runs leave nothing of the target of {_some([names[secret] for secret in secrets])}",
            "write `protect: drop` in their entries: their text is left out from now on",
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
