"""Section 5.1 of the paper: the blow-up function that it gave up as infeasible, and the reading that is stable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism
from scipy.optimize import brentq
from scipy.stats import binom

from hush_core.accounting import Participation, posterior_bound, smallest_noise
from hush_core.accounting.dp.differential_privacy import privacy_profile
from hush_core.accounting.dp.hockey_stick import dense_masses
from hush_core.errors import CertificationError
from lab import figures
from lab.replications.claims import Claim
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

RATE, ROUNDS, PRIOR = 2048 / 1.2e6, 2000, 1e-10
NOISE = (103.83, 43.90, 24.2, 10.38, 4.39, 2.83, 2.47, 2.0, 1.7, 1.52, 1.3)
"""By kl for r = 2e-4 and 1e-3, with the paper's linear program; two of them with ten times less noise (the paper's
footnote 1); by blow_up for the same two r; and on downwards."""
SETTINGS = (("dots", 1e-4), ("dots", 1e-3), ("buckets", 1e-4), ("buckets", 1e-3))
MOST_POINTS = {"dots": 100_000, "buckets": 20_000}
"""Points of one round's loss; what needs more is skipped: dp_accounting takes 0.1 to 0.3 ms a point."""
PROMISES = ((100, RATE, 2e-4), (100, RATE, 1e-3), (20, 2048 / 6e5, 2e-4), (100, 2e-4, 2e-4), (1, RATE, 2e-4))
EXPLODED = 2e4
"""What the paper saw in place of 1."""
WITHIN, PRECISION = 0.05, 2e-4
"""Where the PLD's σ is searched for, beside ours, and to what share of itself."""


def cells(size: Size) -> list[Cell]:
    noise, settings = (NOISE, SETTINGS) if size != "tiny" else ((103.83,), (("dots", 1e-3),))
    sums = [
        Cell("sums", {"examples": m, "noise_multiplier": s, "discretisation": d, "step": h})
        for m in (1, 100)
        for s in noise
        for d, h in settings
    ]
    stable = [Cell("stable", {"examples": m, "noise_multiplier": s}) for m in (1, 100) for s in noise]
    promises = PROMISES if size != "tiny" else ()
    least = [Cell("least_noise", {"examples": m, "rate": q, "posterior": r}) for m, q, r in promises]
    return sums + stable + least


def sums(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The whole sum of e^v·p, by the paper's recipe, in both orders; nothing where dp_accounting is too slow."""
    found = _composed(**settings)
    orders = (("B_P,Q", found and found._pmf_add), ("B_Q,P", found and found._pmf_remove))
    return [{"order": order, **_recipe(masses)} for order, masses in orders if masses is not None]


def _composed(examples: int, noise_multiplier: float, discretisation: str, step: float):
    """dp_accounting's composed distribution by its public constructor, or None where it is too slow."""
    counts = np.arange(examples + 1, dtype=float)
    law = binom.pmf(counts, examples, RATE)
    ends = mechanism.MixtureGaussianPrivacyLoss(noise_multiplier, counts, law).connect_dots_bounds()
    if (ends.epsilon_upper - ends.epsilon_lower) / step > MOST_POINTS[discretisation]:
        return None
    one_round = pld.from_mixture_gaussian_mechanism(
        noise_multiplier,
        counts,
        law,
        value_discretization_interval=step,
        use_connect_dots=discretisation == "dots",
    )
    return one_round.self_compose(ROUNDS)


def _recipe(masses) -> dict[str, float]:
    """The paper's whole sum; its r at p by linear interpolation; and the sum with the loss NOT negated.

    dp_accounting's loss is log(upper/lower) under the upper distribution; for the sum to be 1 the p_i must be the
    reference's masses, so its loss is negated: ADD gives B_{P,Q} and REMOVE gives B_{Q,P}.
    """
    step, first, reference, _ = dense_masses(masses)
    loss = (first + np.arange(len(reference))) * step
    with np.errstate(over="ignore"):
        other = np.exp(-loss) * reference  # ascending loss: from the largest v downwards
        unnegated = float((np.exp(loss) * reference).sum())
    x, blow_up = np.cumsum(reference), np.cumsum(other)
    j = int(np.argmax(x >= PRIOR))
    start, value = (x[j - 1], blow_up[j - 1]) if j else (0.0, 0.0)
    r = value + (PRIOR - start) / (x[j] - start) * (blow_up[j] - value)
    return {"sum": float(blow_up[-1]), "recipe_r": float(r), "unnegated_sum": unnegated}


def stable(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The same r read downwards from P: ours with both its ends, and dp_accounting's connect-the-dots."""
    k = Participation.binomial(settings["examples"], RATE)
    sigma = settings["noise_multiplier"]
    run = {"noise_multiplier": sigma, "rounds": ROUNDS, "prior": PRIOR}
    row: Row = {"kl": posterior_bound(k, **run, method="kl").value}
    row |= {"blow_up": None, "lower": None, "numerical_error": None, "pld": None}
    try:
        bound = posterior_bound(k, **run, method="blow_up", lower=True)
        row |= {"blow_up": bound.value, "lower": bound.lower, "numerical_error": bound.numerical_error}
    except CertificationError:
        pass
    try:
        profile = privacy_profile(k, noise_multiplier=sigma, rounds=ROUNDS, resolution=PRIOR)
        row["pld"] = profile.posterior(PRIOR).value
    except CertificationError:
        pass
    return [row]


def least_noise(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The smallest σ of one promise, by the paper's method, by ours, and by the best public accounting (PLD)."""
    k = Participation.binomial(settings["examples"], settings["rate"])
    promise = {"rounds": ROUNDS, "prior": PRIOR, "posterior": settings["posterior"]}
    row: Row = {m: smallest_noise(k, **promise, method=m) for m in ("kl", "renyi", "blow_up")}
    row["pld"] = least_noise_by_pld(k, settings["posterior"], near=row["blow_up"])
    return [{**row, "ratio": row["kl"] / row["blow_up"]}]


def least_noise_by_pld(
    k: Participation, posterior: float, *, near: float, rounds: int = ROUNDS
) -> float | None:
    """The smallest σ, found to PRECISION of itself, at which dp_accounting's connect-the-dots promises the
    posterior; None where it does not certify, or not within 5 % of `near`."""

    def above(log_sigma: float) -> float:
        profile = privacy_profile(k, noise_multiplier=math.exp(log_sigma), rounds=rounds, resolution=PRIOR)
        return math.log(profile.posterior(PRIOR).value / posterior)

    try:
        ends = (math.log(near * (1 - WITHIN)), math.log(near * (1 + WITHIN)))
        return math.exp(brentq(above, *ends, xtol=PRECISION / 2) + PRECISION / 2)
    except (CertificationError, ValueError):  # ValueError: of one sign at both ends
        return None


def claims(rows: Rows) -> list[Claim]:
    summed = [row for row in rows["sums"] if row["discretisation"] == "dots"]
    one = [abs(row["sum"] - 1) for row in summed if row["examples"] == 1]
    many = [abs(row["sum"]) for row in summed if row["examples"] == 100]
    upwards = [row for row in rows["sums"] if row["examples"] == 100 and row["noise_multiplier"] >= 2.4]
    found = [row for row in rows["stable"] if row["examples"] == 100]
    refused = sum(row["blow_up"] is None for row in found)
    wide = [row["blow_up"] / row["lower"] - 1 for row in found if row["blow_up"] is not None]
    least = rows.get("least_noise", ())
    paper = [row for row in least if row["examples"] > 1]
    public = [row["blow_up"] / row["pld"] for row in least if row["pld"] is not None]
    return [
        Claim(
            "secret in one example: the recipe's sum is 1 (largest distance from it)",
            0.0, max(one), "equal", 1e-3, why="somewhere along the sweep it is further off, see the table",
        ),
        Claim(
            "secret in about 100 examples: somewhere the sum is 2e4 or more",
            EXPLODED, max(many), "at_least", why="no setting of this size explodes",
        ),
        Claim(
            "the same at the noise of Figure 1c (we take σ ≥ 2.4), with the loss not negated",
            EXPLODED, max((row["unnegated_sum"] for row in upwards), default=None), "at_least",
            why="no setting of this size explodes",
        ),
        Claim(
            "blow-up bounds are infeasible for 100 examples; ours: settings refused, of those above",
            0.0, float(refused), "at_most", target=True, why="the numerics could not certify them",
        ),
        Claim(
            "ours, for 100 examples: the proved upper end over the proved lower one, less 1, at most",
            0.01, max(wide, default=None), "at_most", target=True,
            why="the discretisation is too coarse there",
        ),
        Claim(
            "smallest σ by the paper's kl over ours by blow_up, secrets of 20 to 100 examples, at least",
            8.0, min((row["ratio"] for row in paper), default=None), "at_least", target=True,
            why="only at sizes that leave these secrets out",
        ),
        Claim(
            "smallest σ by ours over that by the best public accounting (PLD), at most",
            1.0, max(public, default=None), "at_most", 2e-3, target=True, why="its step is the finer one there",
        ),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    def curve(label: str, key: str) -> figures.Curve:
        found = sorted(
            (row for row in rows["stable"] if row["examples"] == 100), key=lambda row: row["noise_multiplier"]
        )
        return figures.Curve(label, [r["noise_multiplier"] for r in found], [r[key] for r in found])

    def summed(order: str) -> figures.Curve:
        found = sorted(
            (
                r
                for r in rows["sums"]
                if (r["examples"], r["discretisation"], r["order"]) == (100, "dots", order)
            ),
            key=lambda row: row["noise_multiplier"],
        )
        return figures.Curve(
            f"recipe's |sum|, {order}", [r["noise_multiplier"] for r in found], [abs(r["sum"]) for r in found],
            points=True,
        )  # fmt: skip

    left = figures.Panel(
        "the recipe's whole sum, 100 examples: must be 1", "noise multiplier", "|Σ e^v·p|",
        [summed("B_P,Q"), summed("B_Q,P")], (("1", 1.0),), "log", "log",
    )  # fmt: skip
    right = figures.Panel(
        "the posterior for p = 1e-10, 100 examples", "noise multiplier", "at most",
        [curve("kl (the paper)", "kl"), curve("PLD, read downwards", "pld"), curve("blow_up", "blow_up")],
        (), "log", "log",
    )  # fmt: skip
    return figures.draw_panels("The blow-up function: what explodes, and what does not", [left, right], path)


REPLICATION = Replication(
    name="infeasibility",
    title="The blow-up function: infeasible, and the cure",
    source="hush.txt, section 5.1, \"Infeasibility of the Blow-Up Function\"",
    about="""\
B = 2048, 1.2e6 examples, T = 2000, p = 1e-10. The paper takes dp_accounting's composed losses v and masses p,
and Σ e^v·p must be 1. Its text names neither the noise multipliers of Figure 1c nor the settings, so we sweep
both: both discretisations, two steps, both orders. Where one round has too many points the setting is left out.
`docs/mathematics.md` says why the sum explodes and why reading downwards does not.""",
    seed=0,
    cells=cells,
    compute={"sums": sums, "stable": stable, "least_noise": least_noise},
    views=(
        View(
            "least_noise",
            "Smallest σ of one promise (p = 1e-10, T = 2000)",
            (
                ("examples", "examples", "d"), ("rate", "rate", ".2e"), ("posterior", "r", ".0e"),
                ("kl", "kl (the paper)", ".2f"), ("renyi", "renyi", ".3f"), ("pld", "PLD (public)", ".3f"),
                ("blow_up", "blow_up", ".3f"), ("ratio", "kl / blow_up", ".1f"),
            ),
        ),
        View(
            "stable",
            "The posterior, read downwards",
            (
                ("examples", "examples", "d"), ("noise_multiplier", "σ", "g"), ("kl", "kl", ".3e"),
                ("blow_up", "blow_up", ".4e"), ("lower", "at least", ".4e"),
                ("numerical_error", "numerical error", ".0e"), ("pld", "PLD (public)", ".4e"),
            ),
        ),
        View(
            "sums",
            "The recipe's sum, 100 examples, connect-the-dots",
            (
                ("noise_multiplier", "σ", "g"), ("step", "step", ".0e"), ("order", "order", ""),
                ("sum", "sum", ".5g"), ("recipe_r", "r by the recipe", ".4g"),
                ("unnegated_sum", "sum, loss not negated", ".3g"),
            ),
            keep=lambda row: row["examples"] == 100 and row["discretisation"] == "dots",
        ),
    ),
    claims=claims,
    draw=draw,
)  # fmt: skip
