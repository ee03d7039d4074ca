"""The second route of the bounds of all runs together: own rates of this run, binomials of the earlier ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from hush_core.certificate.recheck.check import AGREEMENT, OWN_PROFILES, Mechanism, Secrets
from hush_core.certificate.recheck.counts import NotConfirmed
from hush_core.certificate.recheck.inversion import Drawn, posterior_of_runs

_TOLD = 64


def recheck_all_runs(
    own: Secrets,
    secrets: pl.DataFrame,
    bounds: pl.DataFrame,
    history: pl.DataFrame,
    runs: pl.DataFrame,
    mechanism: Mechanism,
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
            if not len(done) % _TOLD:
                progress("second route of all runs", len(done), most)
            mine = (*own.profile(secret), mechanism.noise_multiplier, mechanism.rounds)
            done[key] = _posterior([mine, *map(_drawn, before[secret])], row["prior"])
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
    """By secret: (examples, rate, σ, T) of each earlier run."""
    mechanisms = list(runs.select("noise_multiplier", "rounds").iter_rows())
    found: dict[int, tuple] = {}
    for run, secret, examples, rate in history.select("run", "secret_id", "examples", "rate").iter_rows():
        found[secret] = (*found.get(secret, ()), (examples, rate, *mechanisms[run]))
    return found


def _drawn(run: tuple[int, float, float, int]) -> Drawn:
    examples, rate, sigma, rounds = run
    return np.array([rate]), np.array([examples]), sigma, rounds


def _posterior(runs: list[Drawn], prior: float) -> float | None:
    try:
        with np.errstate(all="ignore"):
            return posterior_of_runs(runs, prior=prior).value
    except (NotConfirmed, ArithmeticError, ValueError):
        return None
