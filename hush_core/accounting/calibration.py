"""One noise multiplier for all secrets, and a certificate for each at that very number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting.bounds import Bound, BoundMethod, check_mechanism, posterior_bound
from hush_core.accounting.noise import PRECISION, check_target, gaussian_noise, smallest_noise
from hush_core.accounting.participation import Participation
from hush_core.errors import CertificationError, InputError

Progress = Callable[[str, int, int], None]

_PASSES = 5


@dataclass(frozen=True)
class Calibration:
    """`noise_multiplier`: σ for all secrets. `table`: one certified row a secret, see `certify`."""

    noise_multiplier: float
    table: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Profile:
    """Secrets whose examples have the same rates and the same prior share every bound."""

    participation: Participation
    prior: float
    posterior: float
    """The least target among them."""
    secrets: tuple[int, ...]


def certify(
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
        posterior (the target) · bound · method · numerical_error · noise_needed (null here), by secret_id.

    Raises:
        InputError: names the secret. CertificationError: no method certifies a secret.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    profiles = _profiles(edges, rates, secrets)
    mechanism = {"noise_multiplier": noise_multiplier, "rounds": rounds, "method": method}
    bounds: list[Bound] = []
    for done, profile in enumerate(profiles):
        bounds.append(_named(secrets, profile, posterior_bound, prior=profile.prior, **mechanism))
        if progress:
            progress("certifying", done + 1, len(profiles))
    return _table(secrets, profiles, bounds)


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

    Args:
        edges: example_id, secret_id. rates: (n,) ρ_i by example_id. secrets: secret_id, prior, posterior,
        name.

    Secrets are tried in the order of their Gaussian-limit need; one that the current σ already certifies
    cannot be the maximum, and its own need is not computed (`noise_needed` is null).

    Raises:
        InputError: names the secret; also where no secret has an example. CertificationError: none is
        certified.
    """
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    profiles = _profiles(edges, rates, secrets)
    heard = [p for p in profiles if p.participation.mean > 0]
    if not heard:
        raise InputError(
            "the graph", "no secret has an example with a weight above 0", "nothing needs protection"
        )
    heard.sort(key=lambda p: gaussian_noise(p.participation, rounds, p.prior, p.posterior), reverse=True)
    needed: dict[int, float] = {}
    certified_at = {"rounds": rounds, "method": method}

    def need(profile: _Profile) -> float:
        target = {"prior": profile.prior, "posterior": profile.posterior}
        least = _named(secrets, profile, smallest_noise, **target, **certified_at)
        needed.update((i, least) for i in profile.secrets if targets[i] == profile.posterior)
        return least

    targets = secrets["posterior"].to_list()
    sigma = 0.0
    for done, profile in enumerate(heard):
        if not sigma or not _certified(profile, sigma, rounds, method):
            sigma = max(sigma, need(profile))
        if progress:
            progress("calibrating", done + 1, len(heard))
    for _ in range(_PASSES):
        table = certify(edges, rates, secrets, noise_multiplier=sigma, progress=progress, **certified_at)
        missed = set(table.filter(pl.col("bound") > pl.col("posterior"))["secret_id"])
        if not missed:
            break
        # the cheap bound let one pass that the method itself, on its grid, puts a hair above the target
        sigma = max([sigma * (1 + PRECISION), *(need(p) for p in heard if missed.intersection(p.secrets))])
    else:
        raise CertificationError(f"{len(missed)} secrets miss their target at the calibrated noise")
    silent = {i: 0.0 for p in profiles if p.participation.mean == 0 for i in p.secrets}
    column = [silent.get(i, needed.get(i)) for i in table["secret_id"]]
    return Calibration(sigma, table.with_columns(pl.Series("noise_needed", column, dtype=pl.Float64)))


def _certified(profile: _Profile, sigma: float, rounds: int, method: BoundMethod) -> bool:
    """Whether σ already certifies the profile; the cheap Rényi bound is asked first where it may answer."""
    cheap: tuple[BoundMethod, ...] = ("renyi",) if method in ("best", "blow_up") else ()
    for tried in (*cheap, method):
        try:
            bound = posterior_bound(
                profile.participation,
                noise_multiplier=sigma,
                rounds=rounds,
                prior=profile.prior,
                method=tried,
            )
        except CertificationError:
            continue
        if bound.value <= profile.posterior:
            return True
    return False


def _profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame) -> list[_Profile]:
    """Group the secrets; every one of `secrets` is in exactly one profile."""
    rates = np.asarray(rates, dtype=np.float64)
    _check_graph(edges, rates, secrets)
    members = dict(edges.group_by("secret_id").agg("example_id").iter_rows())
    groups: dict[tuple[bytes, float], list[int]] = {}
    targets = secrets["posterior"].to_list()
    for index, (prior, posterior) in enumerate(zip(secrets["prior"], targets, strict=True)):
        check_target(f"secret {_label(secrets, index)}", prior, posterior)
        own = rates[np.asarray(members.get(index, []), dtype=np.int64)]
        groups.setdefault((np.sort(own[own > 0]).tobytes(), prior), []).append(index)
    return [
        _Profile(
            Participation.from_rates(np.frombuffer(key)), prior, min(targets[i] for i in own), tuple(own)
        )
        for (key, prior), own in groups.items()
    ]


def _check_graph(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame) -> None:
    if secrets["secret_id"].to_list() != list(range(secrets.height)):
        raise InputError("secrets", "are not numbered densely from 0 in order", "sort them by secret_id")
    if not edges.height:
        raise InputError(
            "edges", "the graph is empty: no example is tagged with a secret", "check the detectors"
        )
    if edges["secret_id"].max() >= secrets.height:
        raise InputError(
            "edges", "name a secret that is not among the secrets", "pass both of one extraction"
        )
    ids = edges["example_id"]
    if rates.ndim != 1 or ids.max() >= len(rates):
        raise InputError(
            "rates", "an example of the edges has no rate", "give one rate an example, by example_id"
        )
    if edges.select("example_id", "secret_id").is_duplicated().any():
        raise InputError("edges", "hold a pair twice, which would count an example twice", "make them unique")
    wrong = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if len(wrong):
        tagged = edges.filter(pl.col("example_id") == int(wrong[0]))["secret_id"].to_list()
        of = f" of secret {_label(secrets, min(tagged))}" if tagged else ""
        raise InputError(f"rates[{wrong[0]}]{of}", "is outside [0, 1] or not a number", "see sampling_rates")


def _table(secrets: pl.DataFrame, profiles: list[_Profile], bounds: list[Bound]) -> pl.DataFrame:
    rows = [
        (secret, p.participation.examples, p.participation.mean, b.value, b.method, b.numerical_error)
        for p, b in zip(profiles, bounds, strict=True)
        for secret in p.secrets
    ]
    schema = {
        "secret_id": pl.UInt32, "examples": pl.UInt32, "expected_participation": pl.Float64,
        "bound": pl.Float64, "method": pl.String, "numerical_error": pl.Float64,
    }  # fmt: skip
    found = pl.DataFrame(rows, schema=schema, orient="row")
    targets = secrets.select("secret_id", "prior", "posterior")
    joined = targets.join(found, on="secret_id", how="left", validate="1:1").sort("secret_id")
    return joined.select(
        "secret_id", "examples", "expected_participation", "prior", "posterior", "bound", "method",
        "numerical_error", noise_needed=pl.lit(None, dtype=pl.Float64),
    )  # fmt: skip


def _named(secrets: pl.DataFrame, profile: _Profile, function: Callable, **arguments):
    """Call for a profile; a refusal names the first of its secrets."""
    try:
        return function(profile.participation, **arguments)
    except CertificationError as error:
        raise CertificationError(f"secret {_label(secrets, profile.secrets[0])}: {error}") from None


def _label(secrets: pl.DataFrame, index: int) -> str:
    return secrets["name"][index] if "name" in secrets.columns else str(index)
