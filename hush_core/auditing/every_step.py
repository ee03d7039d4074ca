"""The best guess of an adversary that sees every noisy step, at a certificate's own rates, noise and rounds.

It attacks the numbers of a certificate, and no model: with worst-case gradients, what do σ, the rates and T reveal?
It shares only the list of rates with the accountant, so a bound that it exceeds is wrong for any training. Where it
stays below, it shows how much of the bound is the mechanism's own (docs/mathematics.md, Proposition 10).
"""

import math

import numpy as np
import polars as pl

from hush_core.accounting import Participation
from hush_core.auditing.best_guess import computed_success
from hush_core.auditing.refutation import Evidence

EVERY_STEP = "best guess at every noisy step"
SCHEMA = {"secret_id": pl.UInt32, "bound": pl.Float64, "every_step": pl.Float64}
MOST = 40
"""Different secrets that are attacked, those nearest to their targets first."""
_ROUND_OFF = 1e-6
"""Of the attack's number and of the bound, relative; far above what either is off."""


def attack_every_step(
    edges: pl.DataFrame, rates: np.ndarray, bounds: pl.DataFrame, *, noise_multiplier: float, rounds: int
) -> pl.DataFrame:
    """How likely that adversary names each secret.

    Args:
        edges: example_id, secret_id. rates: (n,) by example. bounds: secret_id, prior, posterior, bound (of these
            rounds). noise_multiplier, rounds: σ and T of sampled rounds.

    Returns:
        SCHEMA, one row a secret of the first `MOST` different ones (rates and prior) and of their likes. A secret
        of prior p has ⌈1/p⌉ equally likely values.
    """
    ranked = bounds.sort(pl.col("bound") / pl.col("posterior"), descending=True)
    pairs = edges.select("example_id", "secret_id").unique()
    drawn = pairs.join(pl.DataFrame({"rate": rates}).with_row_index("example_id"), on="example_id")
    drawn = drawn.filter(pl.col("rate") > 0).group_by("secret_id").agg(pl.col("rate").sort())
    own = dict(zip(drawn["secret_id"].to_list(), drawn["rate"].to_list(), strict=True))
    known: dict[tuple, float] = {}
    rows = []
    for secret, prior, bound in ranked.select("secret_id", "prior", "bound").iter_rows():
        what = (tuple(own.get(secret, ())), prior)
        if what not in known:
            if len(known) == MOST:
                continue
            known[what] = _named(*what, noise_multiplier, rounds)
        rows.append((secret, bound, known[what]))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("secret_id")


def evidence_of_steps(table: pl.DataFrame) -> Evidence:
    """The test: an attack above a bound refutes it for certain, and no chance enters. Of the largest ratio."""
    ratio, most = (table["every_step"] / table["bound"]).max(), (1 / table["bound"]).max()
    value, ceiling = (0.0 if one is None else float(one) for one in (ratio, most))  # of no secret
    return Evidence(EVERY_STEP, table.height, value, ceiling, 1 + _ROUND_OFF)


def _named(rates: tuple[float, ...], prior: float, sigma: float, rounds: int) -> float:
    values = max(2, math.ceil(1 / prior * (1 - 1e-12)))
    if not rates:
        return 1 / values
    participation = Participation.from_rates(np.array(rates))
    return computed_success(participation, noise_multiplier=sigma, rounds=rounds, candidates=values)
