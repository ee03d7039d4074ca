"""From bounds to noise: the smallest σ for one secret, and one σ with a certificate for every secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtri

from hush_core.accounting.bounds import Bound, BoundMethod, check_mechanism, posterior_bound
from hush_core.accounting.participation import Participation
from hush_core.errors import CertificationError, InputError

Progress = Callable[[str, int, int], None]

PRECISION = 2e-4
"""Relative precision of a smallest noise multiplier; it errs upwards."""
LEAST, MOST = 1e-3, 1e7
"""Noise multipliers that are tried."""


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


def smallest_noise(
    participation: Participation, *, rounds: int, prior: float, posterior: float, method: BoundMethod = "best"
) -> float:
    """The smallest σ whose bound is at most `posterior`, to PRECISION; 0 where nothing is ever sampled.

    Guarantee: `posterior_bound` was evaluated at the very σ that is returned, and met the target.

    Raises:
        InputError: posterior ≤ prior or out of range. CertificationError: no σ in [LEAST, MOST] is certified.
    """
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    _check_target("posterior", prior, posterior)
    if participation.silent:
        return 0.0

    def holds(sigma: float) -> bool:
        try:
            bound = posterior_bound(
                participation, noise_multiplier=sigma, rounds=rounds, prior=prior, method=method
            )
        except CertificationError:
            return False
        return bound.value <= posterior

    low, high = _bracket(holds, _guess(participation, rounds, prior, posterior))
    while high > low * (1 + PRECISION):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


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
        if progress:
            progress("certifying", done, len(profiles))
        bounds.append(_named(secrets, profile, posterior_bound, prior=profile.prior, **mechanism))
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
        edges: example_id, secret_id. rates: (n,) ρ_i by example_id. secrets: secret_id, prior, posterior, name.

    Secrets are tried in the order of their Gaussian-limit need; one that the current σ already certifies cannot
    be the maximum, and its own need is not computed (`noise_needed` is null).

    Raises:
        InputError: names the secret; also where no secret has an example. CertificationError: none is certified.
    """
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    profiles = _profiles(edges, rates, secrets)
    heard = [p for p in profiles if not p.participation.silent]
    if not heard:
        raise InputError("the graph", "no secret has an example with a weight above 0", "nothing needs protection")
    heard.sort(key=lambda p: _guess(p.participation, rounds, p.prior, p.posterior), reverse=True)
    sigma, needed = 0.0, {}
    for done, profile in enumerate(heard):
        if progress:
            progress("calibrating", done, len(heard))
        if sigma and _certified(profile, sigma, rounds, method):
            continue
        need = _named(
            secrets, profile, smallest_noise,
            rounds=rounds, prior=profile.prior, posterior=profile.posterior, method=method,
        )  # fmt: skip
        needed[profile.secrets[0]] = need
        sigma = max(sigma, need)
    table = certify(
        edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=method, progress=progress
    )
    missed = table.filter(pl.col("bound") > pl.col("posterior"))
    if missed.height:
        raise CertificationError(f"{missed.height} secrets miss their target at the calibrated noise")
    column = pl.Series("noise_needed", [needed.get(i) for i in table["secret_id"]], dtype=pl.Float64)
    return Calibration(sigma, table.with_columns(column))


def _guess(participation: Participation, rounds: int, prior: float, posterior: float) -> float:
    """The σ of the Gaussian limit: √T·Σρ / (Φ⁻¹(r) − Φ⁻¹(p)); a place to start, never a certificate."""
    return float(np.sqrt(rounds) * participation.mean / (ndtri(posterior) - ndtri(prior)))


def _bracket(holds: Callable[[float], bool], guess: float) -> tuple[float, float]:
    high = float(np.clip(guess, LEAST, MOST))
    if holds(high):
        low = high / 1.5
        while low > LEAST and holds(low):
            low, high = low / 1.5, low
        return low, high
    low = high
    while True:
        high = low * 1.5
        if high > MOST:
            raise CertificationError(f"no noise multiplier up to {MOST:g} is certified")
        if holds(high):
            return low, high
        low = high


def _certified(profile: _Profile, sigma: float, rounds: int, method: BoundMethod) -> bool:
    """Whether σ already certifies the profile; the cheap Rényi bound is asked first where it may answer."""
    cheap: tuple[BoundMethod, ...] = ("renyi",) if method in ("best", "blow_up") else ()
    for tried in (*cheap, method):
        try:
            bound = posterior_bound(
                profile.participation, noise_multiplier=sigma, rounds=rounds, prior=profile.prior, method=tried
            )
        except CertificationError:
            continue
        if bound.value <= profile.posterior:
            return True
    return False


def _profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame) -> list[_Profile]:
    """Group the secrets; every one of `secrets` is in exactly one profile."""
    rates = np.asarray(rates, dtype=np.float64)
    if not np.all((rates >= 0) & (rates <= 1)):
        raise InputError("rates", "a sampling rate is outside [0, 1] or not a number", "see sampling_rates")
    members = dict(edges.group_by("secret_id").agg("example_id").iter_rows())
    groups: dict[tuple[bytes, float], list[int]] = {}
    for index, (secret, prior, posterior) in enumerate(
        secrets.select("secret_id", "prior", "posterior").iter_rows()
    ):
        if secret != index:
            raise InputError("secrets", "are not numbered densely from 0 in order", "sort them by secret_id")
        _check_target(f"secret {_label(secrets, index)}", prior, posterior)
        own = rates[np.asarray(members.get(secret, []), dtype=np.int64)]
        groups.setdefault((np.sort(own[own > 0]).tobytes(), prior), []).append(index)
    targets = secrets["posterior"].to_list()
    return [
        _Profile(
            Participation.from_rates(np.frombuffer(key)), prior, min(targets[i] for i in members), tuple(members)
        )
        for (key, prior), members in groups.items()
    ]


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


def _check_target(where: str, prior: float, posterior: float) -> None:
    if not 0 < prior < posterior < 1:
        raise InputError(
            where,
            f"prior {prior:g} and target {posterior:g} are not 0 < prior < target < 1",
            "raise the target, or lower the prior by declaring more bits",
        )
