"""A plan for a promise of several runs: the least noise with which this run, the earlier ones and those still to
come keep every target together."""

from __future__ import annotations

import numpy as np
import polars as pl

from hush_core.accounting import NextRun, TargetsSpent, bound_secrets, noise_for_runs
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.config import Method
from hush_core.errors import InputError
from hush_core.history.bounds import by_settings, history_of
from hush_core.history.earlier import Earlier
from hush_core.plan import ProtectionPlan
from hush_core.progress import Progress
from hush_core.weights import sampling_rates

WHERE = "promise.runs"
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
    later_rounds: int | None = None,
    progress: Progress | None = None,
) -> ProtectionPlan:
    """The plan of this run, of `runs` in all, those of `earlier` included.

    The runs still to come are taken to draw like this one, `later_rounds` each (None: as many as this one).
    `settings`: this run's (`RunText`).

    Guarantee: with as many such runs as are left, every secret's bound of all runs is at most its target,
    evaluated at the plan's σ (docs/guarantee.md §8). `certificates` are those of this run alone.

    Raises:
        InputError: all runs are spent, an earlier run cannot be counted in, or the earlier runs leave nothing of a
            target; it names the secrets. CertificationError: no method can certify a secret.
    """
    secrets = secrets.sort("secret_id")
    names = secrets["name"].to_list()
    alike = _counted(earlier, settings, runs, names)
    rates = sampling_rates(weights, expected_batch)
    profiles = group_profiles(edges, rates, secrets)
    own = [profiles.participation(place) for place in range(len(profiles))]
    to_follow = (runs - earlier.runs.height - 1) * (later_rounds or rounds)
    coming = NextRun(np.arange(secrets.height), profiles.of_secret, own, rounds, to_follow=to_follow)
    priors, targets = secrets["prior"].to_numpy(), secrets["posterior"].to_numpy()
    try:
        found = noise_for_runs(
            history_of(earlier, alike), coming, priors, targets, method=method, progress=progress
        )
    except TargetsSpent as error:
        spent = [names[secret] for secret in error.secrets]
        raise InputError(
            WHERE, f"the earlier runs leave nothing of the target of {_some(spent)}", "raise their level"
        ) from None
    sigma = found.noise_multiplier
    certificates = bound_secrets(
        edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=method, progress=progress
    )
    return ProtectionPlan(rates, sigma, rounds, expected_batch, clip_norm, method, certificates)


def bounds_without_rounds(
    edges: pl.DataFrame, secrets: pl.DataFrame, *, method: Method, settings: str, earlier: Earlier
) -> pl.DataFrame:
    """The rows of `bound_secrets` for a run of the promise that makes no certified round: nothing of a secret is
    drawn, each bound is its prior, and the bounds of all runs stay what they were (docs/guarantee.md §8).

    Raises:
        InputError: of a secret nothing is promised over all runs, so that there is no promise to stay within.
    """
    secrets = secrets.sort("secret_id")
    _alike(earlier, settings, secrets["name"].to_list())
    never = np.zeros(1 + edges["example_id"].max())
    return bound_secrets(edges, never, secrets, noise_multiplier=1.0, rounds=1, method=method)


def _counted(earlier: Earlier, settings: str, runs: int, names: list[str]) -> pl.DataFrame:
    """The earlier runs' rows, all of which can be counted in, and one run more."""
    if earlier.runs.height >= runs:
        raise InputError(
            WHERE,
            f"{earlier.runs.height} runs of this store have released what was promised for {runs}",
            "raise the targets or protect by redaction; a larger number here is another promise than was made",
        )
    return _alike(earlier, settings, names)


def _alike(earlier: Earlier, settings: str, names: list[str]) -> pl.DataFrame:
    """The earlier runs' rows, all of which were planned as this run is."""
    if earlier.unknown:
        raise InputError(
            WHERE,
            f"{earlier.unknown} runs of this store do not say how they drew which text",
            "leave the key out; a fresh HUSH_HOME counts anew, which is honest only if all earlier models are gone",
        )
    alike, unlike = by_settings(earlier, settings)
    bare = np.flatnonzero(earlier.bare).tolist()
    for found, why, mend in (
        (
            bare,
            "an earlier run trained, or this one would train, WITHOUT noise on text of",
            "name all of their text, as earlier runs did; where an earlier run used it, drop or redact these "
            "secrets: the earlier models stay as they are",
        ),
        (
            unlike["secret_id"].unique().sort().to_list(),
            "an earlier run was planned otherwise (rounds, batch, weights, method, levels or promise), or promised "
            "otherwise or nothing, with",
            "go back to those settings; a fresh HUSH_HOME counts anew, which is honest only if all earlier models "
            "are gone",
        ),
    ):
        if found:
            raise InputError(WHERE, f"{why} {_some([names[secret] for secret in found])}", mend)
    return alike


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
