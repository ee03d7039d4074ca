"""A verified certificate in the words of differential privacy: (ε, δ) and the trade-off curve per secret.

For those who must report DP. hush's own promise is the bound on the posterior; ε says less about a secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting import Participation, privacy_profile
from hush_core.accounting.many_secrets.dominance import dominating_poisson
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.certificate.verify import Verification
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

MOST_PROFILES = 8
"""So many distinct profiles, those that take part most first, are composed by dp_accounting (seconds each)."""
FALSE_POSITIVE_RATES = np.concatenate([[0.0], np.geomspace(1e-6, 1e-2, 17), np.linspace(0.02, 1.0, 50)])


@dataclass(frozen=True)
class PrivacyReport:
    """Rows, one a secret: secret_id · name · examples · expected_participation · delta · epsilon (null where
    dp_accounting cannot say) · inherited (ε is that of a profile that dominates the secret's).
    trade_off: secret_id · name · false_positive_rate · false_negative_rate (certified from below), for the
    secrets whose own profile was composed."""

    rows: pl.DataFrame
    trade_off: pl.DataFrame


def privacy_report(
    verification: Verification,
    *,
    delta: float,
    secrets: Sequence[str] = (),
    progress: Progress = lambda *_: None,
) -> PrivacyReport:
    """(ε, δ)-DP and f-DP of every secret, by dp_accounting with connect-the-dots.

    The neighbouring relation is zero-out of the secret: all examples tagged with it contribute, or none does.

    Args:
        verification: of a certificate that verifies.
        delta: δ in (0, 1).
        secrets: names whose own profiles are composed; by default those that take part most. All others inherit the
            ε of one dominating profile.

    Guarantee: (ε, δ) holds for this run's rounds alone, in both orders of the neighbours, at the certificate's σ,
    rates and T. For rounds in a cycle these are of sampled rounds that reveal at least as much. ε is null where
    numerics refuse.

    Raises:
        InputError: δ out of range, or an unknown name.
    """
    if not 0 < delta < 1:
        raise InputError("delta", f"{delta!r} does not lie between 0 and 1", "give δ, as 1e-6")
    plan, tables = verification.certificate.facts.plan, verification.tables
    table = tables["secrets.parquet"]
    unknown = sorted(set(secrets) - set(table["name"]))
    if unknown:
        raise InputError(f"secret {unknown[0]}", "is not in the certificate", "name one of its secrets")
    weights = tables["weights.parquet"].sort("example_id")["weight"].to_numpy()
    rates, sigma, rounds = plan.as_run(weights, tables["edges.parquet"])
    profiles = group_profiles(tables["edges.parquet"], rates, table)
    mechanism = {"noise_multiplier": sigma, "rounds": rounds}

    epsilon = np.where(profiles.mean == 0, 0.0, np.nan)
    curves: dict[int, np.ndarray] = {}
    chosen = _chosen(profiles, table, secrets)
    for done, number in enumerate(chosen):
        progress("composing by dp_accounting", done, len(chosen) + 1)
        try:
            found = privacy_profile(profiles.participation(number), resolution=delta, **mechanism)
            epsilon[number], curves[number] = found.epsilon(delta), found.trade_off(FALSE_POSITIVE_RATES)
        except CertificationError:
            continue
    inherited = np.isnan(epsilon)
    if inherited.any():
        progress("composing by dp_accounting", len(chosen), len(chosen) + 1)
        epsilon[inherited] = _dominating_epsilon(profiles, inherited, delta, mechanism)
    progress("composing by dp_accounting", len(chosen) + 1, len(chosen) + 1)
    of = profiles.of_secret
    rows = table.select("secret_id", "name").with_columns(
        examples=pl.Series(profiles.examples[of], dtype=pl.UInt32),
        expected_participation=pl.Series(profiles.mean[of]),
        delta=pl.lit(delta),
        epsilon=pl.Series(epsilon[of], nan_to_null=True),
        inherited=pl.Series(inherited[of]),
    )
    return PrivacyReport(rows, _trade_off(table, of, curves))


def _chosen(profiles: Profiles, table: pl.DataFrame, names: Sequence[str]) -> list[int]:
    if names:
        ids = table.filter(pl.col("name").is_in(list(names)))["secret_id"].to_numpy()
        wanted = dict.fromkeys(int(i) for i in profiles.of_secret[ids])
    else:
        wanted = dict.fromkeys(int(i) for i in np.argsort(-profiles.mean, kind="stable"))
    sampled = [i for i in wanted if profiles.mean[i] > 0]
    return sampled if names else sampled[:MOST_PROFILES]


def _dominating_epsilon(profiles: Profiles, which: np.ndarray, delta: float, mechanism: dict) -> float:
    count, rate = dominating_poisson(float(profiles.hazard[which].max()), int(profiles.examples[which].max()))
    try:
        found = privacy_profile(Participation.binomial(count, rate), resolution=delta, **mechanism)
        return found.epsilon(delta)
    except CertificationError:
        return np.nan


def _trade_off(table: pl.DataFrame, of_secret: np.ndarray, curves: dict[int, np.ndarray]) -> pl.DataFrame:
    frames = [
        pl.DataFrame(
            {"false_positive_rate": FALSE_POSITIVE_RATES, "false_negative_rate": curves[number]}
        ).select(pl.lit(secret, dtype=pl.UInt32).alias("secret_id"), pl.lit(name).alias("name"), pl.all())
        for secret, (name, number) in enumerate(zip(table["name"], of_secret.tolist(), strict=True))
        if number in curves
    ]
    schema = {
        "secret_id": pl.UInt32, "name": pl.String, "false_positive_rate": pl.Float64,
        "false_negative_rate": pl.Float64,
    }  # fmt: skip
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
