"""Figures 3 and 7 of "Mind the Privacy Unit!": the concentration filter's noise and user-wise DP-SGD's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hush_core.accounting import Participation
from hush_core.mechanisms import noise_of
from lab import figures
from lab.replications.claims import Claim
from lab.replications.concentration import break_even, noise_scale
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

SHAPES = {"Enron": (18_195, 1024), "BookSum": (184, 64)}
"""Units N, units of a round n: records over their mean number a unit (Table 1); n is ours."""
DELTA = 1e-5
EPSILONS, ROUNDS = (0.5, 1.0, 3.0, 8.0), (100, 1000)
RATIOS = (0.01, 0.03, 0.1, 0.3, 1.0)


def cells(size: Size) -> list[Cell]:
    epsilons = EPSILONS if size != "tiny" else (3.0,)
    rounds = ROUNDS if size == "full" else ROUNDS[:1]
    return [
        Cell("noise", {"data": name, "rounds": r, "epsilon": e})
        for name in (SHAPES if size != "tiny" else ("BookSum",))
        for r in rounds
        for e in epsilons
    ]


def noise(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """Noise on the mean of both at one (ε, δ) of a unit, C = 1: user-wise draws n of N and adds σ/n; the filter
    takes all N and adds what is proportional to τ."""
    units, batch = SHAPES[settings["data"]]
    promise = {"rounds": settings["rounds"], "epsilon": settings["epsilon"], "delta": DELTA}
    drawn = Participation.binomial(1, batch / units)
    sigma = noise_of(drawn, **promise)
    row: Row = {"units": units, "batch": batch, "noise_multiplier": sigma, "user_wise": sigma / batch}
    row["break_even"] = break_even(sigma / batch, units=units, **promise)
    return [row | {f"filter at {ratio:g}": noise_scale(ratio, units=units, **promise) for ratio in RATIOS}]


def claims(rows: Rows) -> list[Claim]:
    found = rows["noise"]
    return [
        Claim("τ/C must be below 0.1 for the filter to add less noise: largest τ/C at which it does", 0.1,
              max(row["break_even"] for row in found), "at_most", why="our batch makes user-wise noise larger"),
        Claim("at the data's τ/C of about 1 the filter's noise over user-wise DP-SGD's, at least", 1.0,
              min(row["filter at 1"] / row["user_wise"] for row in found), "at_least",
              why="the filter would be worth it"),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    panels = []
    for name in SHAPES:
        found = [row for row in rows["noise"] if row["data"] == name and row["rounds"] == min(ROUNDS)]
        epsilon = [row["epsilon"] for row in found]
        curves = [figures.Curve("user-wise DP-SGD", epsilon, [row["user_wise"] for row in found])]
        curves += [
            figures.Curve(f"filter, τ/C = {ratio:g}", epsilon, [row[f"filter at {ratio:g}"] for row in found])
            for ratio in RATIOS
        ]
        title = f"{name}, {min(ROUNDS)} rounds"
        panels.append(figures.Panel(title, "ε of a unit", "noise on the mean, over C", curves,
                                    (), "log", "log"))  # fmt: skip
    return figures.draw_panels(
        "Noise of user-wise DP-SGD and of the concentration filter", panels, path, height=4.6
    )


REPLICATION = Replication(
    name="concentration_filter",
    title="When the concentration filter adds less noise",
    source="user_level_dp.txt, Figures 3 and 7",
    about="""\
At equal (ε, δ = 1e-5) of a unit and equal rounds. User-wise DP-SGD draws n of N units a round, σ by the tight
accounting of Poisson sampling (by PLD, dp_accounting, as in the paper); the filter of Asi and Liu 2024 takes
all N, and its noise is proportional to τ, the distance within which four fifths of the units' gradients must
lie. N follows from the paper's Table 1; n and the rounds are ours. What τ/C is on data was not measured here:
the paper finds about 1.""",
    seed=0,
    cells=cells,
    compute={"noise": noise},
    views=(
        View("noise", "Noise on the mean, over C",
             (("data", "data", ""), ("units", "N", "d"), ("batch", "n", "d"), ("rounds", "rounds", "d"),
              ("epsilon", "ε", "g"), ("noise_multiplier", "σ", ".3f"), ("user_wise", "user-wise", ".5f"),
              ("filter at 0.1", "filter, τ/C = 0.1", ".5f"), ("filter at 1", "filter, τ/C = 1", ".5f"),
              ("break_even", "equal at τ/C", ".3f"))),
    ),
    claims=claims,
    draw=draw,
)  # fmt: skip
