"""What a certificate promises at other priors than the secrets' own: what an attack among N candidates is held
to."""

import numpy as np
import polars as pl

from hush_core.certificate.document import Facts
from hush_core.certificate.redaction import REDACTED
from hush_core.certificate.released import all_runs_again, bounds_again, earlier_of
from hush_core.history.bounds import FILTER

UNLIKELY = 0.05
"""What is called unlikely of an exposure."""
DRAWN = ("credentials", "canaries")
"""Kinds of secrets whose values a machine drew, where their prior says so."""
LEAST_BITS = 30.0
"""Of entropy, measured, of a credential that counts as drawn: passwords that people chose claim ten at most."""
_DRAWN = pl.col("kind").is_in(DRAWN) & (pl.col("prior").log(2) <= -LEAST_BITS)


def bounds_at(facts: Facts, tables: dict[str, pl.DataFrame], priors: np.ndarray) -> np.ndarray:
    """(m,) the bound of each secret at the prior given for it, of the certificate's model.

    For a model that continues from an earlier run's, that is the bound of all runs. It is 1, no promise, where the
    certificate promises nothing over all runs, or only at the secret's own prior (`renyi_filter`).

    Args:
        facts, tables: of a certificate that verifies. priors: (m,) in (0, 1).

    Guarantee: as of `posterior_bound`, at these priors.
    """
    plan, edges = facts.plan, tables["edges.parquet"]
    secrets = tables["secrets.parquet"].sort("secret_id")
    asked = secrets.with_columns(prior=pl.Series(np.asarray(priors, float)))
    asked = asked.with_columns(posterior=(1 + pl.col("prior")) / 2)  # any: nothing is held to it here
    weights = tables["weights.parquet"]["weight"].to_numpy()
    bounds = bounds_again(plan, weights, edges, asked)
    if facts.training.started_from is None:
        return bounds.sort("secret_id")["bound"].to_numpy()
    earlier = earlier_of(facts.unknown_runs, tables)
    together = all_runs_again(plan, weights, edges, bounds, earlier).sort("secret_id")
    proved = pl.when(pl.col("all_runs_method") != FILTER).then(pl.col("all_runs")).otherwise(None)
    return together.select(proved.fill_null(1.0)).to_series().to_numpy()


def own_bounds(facts: Facts, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """secret_id · name · prior · lower · bound · allowed_bits · random, by secret_id.

    `bound`: what the certificate promises of the model at the secrets' own priors; 1 where it promises nothing.
    `lower`: no bound from the dominating pair alone is smaller; null where not computed. `allowed_bits`: this
    exposure or more has probability at most 0.05, by the curve of this run alone; null for a model that continues
    from an earlier run's.
    `random`: whether a machine drew the value (`DRAWN`).
    """
    alone = facts.training.started_from is None
    bound, lower = ("bound", "lower") if alone else ("all_runs", "all_runs_lower")
    rows = tables["bounds.parquet"].select(
        "secret_id", "prior", "curve", lower=pl.col(lower), bound=pl.col(bound).fill_null(1.0)
    )
    allowed = tables["curves.parquet"].filter(pl.lit(alone) & (pl.col("bound") <= UNLIKELY))
    allowed = allowed.group_by("curve").agg(allowed_bits=-pl.col("prior").max().log(2))
    named = rows.join(tables["secrets.parquet"].select("secret_id", "name", "kind"), on="secret_id")
    named = named.join(allowed, on="curve", how="left").sort("secret_id")
    return named.select("secret_id", "name", "prior", "lower", "bound", "allowed_bits", random=_DRAWN)


def own_redacted(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The same for redacted secrets: the model was never shown the value, so every bound is its prior."""
    return tables[REDACTED].select(
        secret_id="redacted_id",
        name="name",
        prior="prior",
        lower="prior",
        bound="bound",
        allowed_bits=-pl.lit(UNLIKELY).log(2),
        random=_DRAWN,
    )
