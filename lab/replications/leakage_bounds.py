"""Figures 1 and 2 of "Defending against Reconstruction Attacks with Rényi DP": bits of a secret that can leak."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from hush_core.accounting import Participation, posterior_bound
from hush_core.errors import CertificationError
from lab import figures
from lab.divergences.leakage import absolute_leakage_bits, epsilon_from_renyi, leakage_bits
from lab.replications.claims import Claim
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

SECRET = Participation.binomial(count=1, rate=2.81e-4)
ROUNDS, DELTA = 186_000, 3e-7
NOISE = (0.3, 0.4, 0.5)
LENGTHS = (1, 2, 3, 5, 7, *range(10, 100, 5), 99, 100)
FIXED_LENGTH, FIXED_NOISE = 40, 0.4
STEPS = np.unique(np.append(np.geomspace(1e3, 1e7, 25).round().astype(int), [100_000, ROUNDS, 10**6]))


def cells(size: Size) -> list[Cell]:
    noise, steps = (NOISE, STEPS) if size != "tiny" else (NOISE[1:], STEPS[::9])
    lengths = list(LENGTHS if size != "tiny" else LENGTHS[::6])
    return [
        *(Cell("by_length", {"noise_multiplier": sigma, "rounds": ROUNDS, "lengths": lengths}) for sigma in noise),
        *(Cell("by_rounds", {"noise_multiplier": FIXED_NOISE, "rounds": int(r), "lengths": [FIXED_LENGTH]})
          for r in steps),
    ]  # fmt: skip


def leakage(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The usual bound min h, the paper's L (its eq. 3) and ours, in bits, for each length."""
    run = {name: settings[name] for name in ("noise_multiplier", "rounds")}
    lengths = settings["lengths"]
    usual = absolute_leakage_bits(SECRET, **run, secret_bits=lengths)
    papers = leakage_bits(SECRET, **run, secret_bits=lengths)
    epsilon = epsilon_from_renyi(SECRET, **run, delta=DELTA)
    return [
        {
            "secret_bits": length,
            "epsilon": float(epsilon),
            "min_h": float(h),
            "paper": float(bits),
            "blow_up": _tight(run, length),
        }
        for length, h, bits in zip(lengths, usual, papers, strict=True)
    ]


def _tight(run: Mapping[str, Any], length: int) -> float | None:
    """b + log2 r; nothing where no certificate is given, as for priors below 1e-30."""
    try:
        bound = posterior_bound(SECRET, **run, prior=2.0**-length, method="blow_up")
    except CertificationError:
        return None
    return length + math.log2(bound.value)


def claims(rows: Rows) -> list[Claim]:
    lengths, steps = rows["by_length"], rows["by_rounds"]
    every = [*lengths, *steps]
    tight = [row for row in every if row["blow_up"] is not None]
    long = {row["noise_multiplier"]: row for row in lengths if row["secret_bits"] >= FIXED_LENGTH}
    gains = [row["min_h"] / row["paper"] for _, row in sorted(long.items())]
    vacuous = [row["rounds"] for row in steps if row["min_h"] >= FIXED_LENGTH]
    partial = [row["rounds"] for row in steps if row["paper"] < FIXED_LENGTH - 0.01]
    longer = [row for row in lengths if row["noise_multiplier"] == max(NOISE)]
    shares = [row["paper"] / row["secret_bits"] for row in longer]
    return [
        Claim("the paper's bound L is below the usual one, min h, at every point: L / min h, at most", 1.0,
              max(row["paper"] / row["min_h"] for row in every), "at_most", why="somewhere it is not"),
        Claim("L keeps from total disclosure: σ at which it leaves bits of the longest secret, of those swept",
              float(len({row["noise_multiplier"] for row in lengths})),
              float(len({r["noise_multiplier"] for r in lengths if r["paper"] < r["secret_bits"] - 0.01})), "equal",
              why="at some σ all of it may leak"),
        Claim("the gain over min h is larger at lower noise: smallest step of min h / L towards less noise", 0.0,
              min((a - b for a, b in pairwise(gains)), default=None), "at_least",
              why="it does not grow"),
        Claim("a longer secret leaks a smaller share of itself: largest step of L / b upwards", 0.0,
              max((b - a for a, b in pairwise(shares)), default=None), "at_most", 1e-9,
              why="somewhere the share grows"),
        Claim("40 bits, σ = 0.4: min h is vacuous after some number of rounds (1: yes)", 1.0,
              float(bool(vacuous)), "equal", why="not within the rounds swept"),
        Claim("where min h is vacuous, L still is not: last number of rounds with L below 40 bits, over the "
              "first with "
              "min h at 40 or more", 1.0, max(partial) / min(vacuous) if vacuous and partial else None, "at_least",
              why="L is as vacuous there"),
        Claim("blow_up is never above L: most bits by which it is", 0.0,
              max(row["blow_up"] - row["paper"] for row in tight), "at_most", 1e-3, target=True,
              why="a bound of ours is the looser one there"),
        Claim("bits that blow_up takes off L, at most: what L leaves to gain", 0.0,
              max(row["paper"] - row["blow_up"] for row in tight), "more", target=True, why="L is tight here"),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    names = (
        ("usual bound, min h", "min_h"),
        ("the paper's bound, L", "paper"),
        ("blow_up, tight", "blow_up"),
    )

    def curves(found: list[Row], across: str) -> list[figures.Curve]:
        found = sorted(found, key=lambda row: row[across])
        return [figures.Curve(n, [r[across] for r in found], [r[key] for r in found]) for n, key in names]

    panels = []
    for sigma in sorted({row["noise_multiplier"] for row in rows["by_length"]}):
        found = [row for row in rows["by_length"] if row["noise_multiplier"] == sigma]
        panels.append(figures.Panel(f"σ = {sigma:g} (ε = {found[0]['epsilon']:.3g})", "length (bits)",
                                    "leaks at most (bits)", curves(found, "secret_bits"), ylim=(0, 125),
                                    diagonal=True))  # fmt: skip
    steps = curves(list(rows["by_rounds"]), "rounds")
    panels.append(figures.Panel("40 bits, σ = 0.4", "rounds", "", steps,
                                (("all of the secret", FIXED_LENGTH),), "log", ylim=(0, 60)))  # fmt: skip
    return figures.draw_panels("How many bits of a secret can leak", panels, path)


COLUMNS = (("min_h", "min h", ".2f"), ("paper", "L (the paper)", ".2f"), ("blow_up", "blow_up", ".2f"))
REPLICATION = Replication(
    name="leakage_bounds",
    title="Bits of a secret that can leak, by length and by rounds",
    source="reconstruction_rdp.txt, Figures 1 and 2",
    about="""\
One example at rate 2.81e-4 and 186,000 rounds (its §4.3), ε at δ = 3e-7. The text does not say which σ Figure 1
shows; 0.3, 0.4 and 0.5 span the range of §4.3. All in bits: the usual bound min h (Mironov et al. 2019), the
paper's L (its eq. 3), and b + log2 r of our tight posterior, down to priors of 1e-30 (99 bits).
`docs/auditing.md` has the proofs.""",
    seed=0,
    cells=cells,
    compute={"by_length": leakage, "by_rounds": leakage},
    views=(
        View("by_length", "By the secret's length",
             (("noise_multiplier", "σ", "g"), ("epsilon", "ε", ".3g"), ("secret_bits", "bits", "d"), *COLUMNS),
             keep=lambda row: row["secret_bits"] in (1, 5, 10, 20, 40, 60, 80, 99)),
        View("by_rounds", "By rounds: a secret of 40 bits, σ = 0.4", (("rounds", "rounds", ",d"), *COLUMNS)),
    ),
    claims=claims,
    draw=draw,
)  # fmt: skip
