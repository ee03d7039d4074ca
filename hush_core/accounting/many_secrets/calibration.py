"""One noise multiplier for all secrets, and a certificate for each at that number: for a single run, or for the
next run, given the earlier ones and equal ones to follow.

How σ is found: `least_noise.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.least_noise import FEW, SearchOfNextRun, SearchOfOneRun
from hush_core.accounting.many_secrets.many_runs import certify_runs
from hush_core.accounting.many_secrets.one_run import OWN
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.noise_search import PRECISION
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress


@dataclass(frozen=True)
class Calibration:
    """`noise_multiplier`: σ for all secrets. `least`: no smaller σ is certified by this method for those that were
    searched by themselves. `table`: one certified row a secret, see `bound_secrets` and `ManyRuns.table`."""

    noise_multiplier: float
    least: float
    table: pl.DataFrame


class TargetsSpent(CertificationError):
    """Runs that are over already leave nothing of these targets, whatever noise the next one has.

    secrets: their places, (n,), the worst first.
    """

    def __init__(self, secrets: np.ndarray) -> None:
        super().__init__(f"the runs so far leave {len(secrets)} secrets nothing of their target")
        self.secrets = secrets


def calibrate(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Calibration:
    """The smallest σ for which every secret's bound is at most its target, and every secret's row at that σ.

    A secret that a dominating profile certifies cannot need more noise. If very many secrets need nearly the same,
    σ is some tenths of a percent above `least`; with up to OWN profiles it is `least` to PRECISION.

    Args:
        edges: example_id, secret_id.
        rates: (n,) ρ_i by example_id.
        secrets: secret_id, prior, posterior, name.

    Guarantee: as of `bound_secrets`, at the returned σ itself.

    Raises:
        InputError: names the secret; also if no secret has an example.
        CertificationError: no σ is certified.
    """
    search = SearchOfOneRun(_profiles(edges, rates, secrets, rounds), rounds, method, progress, OWN)
    sigma, least, found = search.certified()
    of, targets = search.profiles.of_secret, search.profiles.target
    # a profile's need is that of its most demanding secret
    needed = np.where(secrets["posterior"].to_numpy() != targets[of], np.nan, search.needed[of])
    return Calibration(sigma, least * (1 - 2 * PRECISION), found.table(secrets, needed))


def noise_for_all(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> float:
    """A σ at which every secret's bound is at most its target, without the table: for plans, several times faster.

    Arguments and errors as of `calibrate`. The search certified the answer for every secret; it is at most some
    tenths of a percent above the smallest such σ.
    """
    return SearchOfOneRun(_profiles(edges, rates, secrets, rounds), rounds, method, progress, FEW).noise()[0]


def noise_for_runs(
    history: History,
    coming: History,
    priors: np.ndarray,
    targets: np.ndarray,
    *,
    to_follow: int = 0,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Calibration:
    """The smallest σ of the next run for which every secret's bound is at most its target after all planned runs.

    Args:
        history: the earlier runs.
        coming: the next run; its σ is ignored.
        priors, targets: (m,) p and r by secret.
        to_follow: rounds of all further runs, which draw what it draws with the same noise; 0 or more. Runs that
            differ in their rounds alone are one with the sum of them, so the plan is one run more in the history.

    Guarantee: as of `certify_runs`, at the returned σ itself.

    Raises:
        InputError: names what is wrong.
        TargetsSpent: holds, as `secrets`, those whose target is missed without the next run.
        CertificationError: no σ is certified.
    """
    if int(to_follow) != to_follow or to_follow < 0:
        raise InputError(
            "to_follow", f"{to_follow!r} is no whole number of 0 or more", "give the rounds to follow"
        )
    coming = replace(coming, rounds=coming.rounds + int(to_follow))
    priors, targets = np.asarray(priors, float), np.asarray(targets, float)
    search = SearchOfNextRun(history, coming, priors, targets, method, progress)
    if not len(search.drawn):
        raise InputError("the next run", "draws no secret", "nothing needs protection")
    try:
        sigma, least, found = search.certified()
        return Calibration(sigma, least, found.table)
    except CertificationError:
        # whether the runs before alone are why; with a σ, they are not, as a bound does not fall with a run more
        before = certify_runs(history, priors, targets, method=method, progress=progress)
        if len(spent := before.missing()):
            raise TargetsSpent(spent[np.argsort(-before.ratio(spent))]) from None
        raise


def _profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame, rounds: int) -> Profiles:
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    profiles = group_profiles(edges, rates, secrets)
    if not profiles.mean.any():
        raise InputError(
            "the graph", "no secret has an example with a weight above 0", "nothing needs protection"
        )
    return profiles
