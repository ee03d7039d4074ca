"""Figures 1a and 1c of the paper: what its linear program keeps, and the noise that the promise then takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hush_core.accounting import noise_for_all
from hush_core.files import whole_file
from hush_core.weights import sampling_rates
from lab import figures
from lab.replications.claims import Claim
from lab.replications.rare_word_graph import BINDS_NONE, FREQUENCY, Graph, rare_word_graph
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

ROUNDS = 2000
BATCH_RATE = 2048 / 1.2e6
"""B over the examples that hold a secret: the paper's, so that rates and noise multipliers are comparable."""
POWERS = tuple(range(-6, BINDS_NONE + 1))
AROUND, FEW = (-2, -1), (0,)
"""In the short size: about the weight that our capacities retain at FEW, so that curves meet."""
RIVALS = {
    "kl, paper's program": ("paper", "kl"),
    "PLD, paper's program": ("paper", "pld"),
    "blow_up, paper's program": ("paper", "blow_up"),
    "blow_up, matched": ("matched", "blow_up"),
    "blow_up, equalised": ("equalised", "blow_up"),
}
SHORT = {
    "kl, paper's program": POWERS,
    "PLD, paper's program": AROUND,
    "blow_up, paper's program": POWERS,
    "blow_up, matched": FEW,
    "blow_up, equalised": FEW,
}
"""Which k, by what they cost: one of PLD or of equalised capacities takes half a minute to a minute."""
SIZES = {"tiny": (1500, 40), "short": (6000, 4), "full": (None, 1)}
"""Abstracts (all), and how manieth rare word is a secret."""
LARGER = (20_000, 1)
"""The same for what the program alone saves, in the short size: there an abstract holds 5.3 secrets, in the paper
100,000 of 75 abstracts each in 1.2 million, 6.2; in the smaller graph 3."""
SEED = 0


def cells(size: Size) -> list[Cell]:
    abstracts, one_in = SIZES[size]
    found = []
    for name, (capacities, method) in RIVALS.items():
        few = SHORT[name]
        powers = {"tiny": few[-1:] if method != "pld" else (), "full": POWERS}.get(size, few)
        found += [
            Cell("noise", {"rival": name, "capacities": capacities, "method": method, "k": k,
                           "abstracts": abstracts, "one_in": one_in, "seed": SEED})
            for k in powers
        ]  # fmt: skip
    if size == "short":
        given = dict(zip(("abstracts", "one_in"), LARGER, strict=True))
        found += [Cell("larger", {**cell.settings, **given}) for cell in found[: len(POWERS)]]
    return found


def noise(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """What the program keeps at one c, and the smallest σ by one method."""
    graph = rare_word_graph(
        place.data["arxiv_private"], place.work, abstracts=settings["abstracts"], one_in=settings["one_in"],
        frequency=FREQUENCY if settings["abstracts"] != SIZES["tiny"][0] else (10, 30), seed=settings["seed"],
    )  # fmt: skip
    n = len(graph.rows)
    batch = max(1, round(BATCH_RATE * n))
    weights = _weights(settings, place, graph, batch)
    rates = sampling_rates(weights, batch)
    row = {"examples": n, "secrets": graph.secrets.height, "batch": batch, "retained": float(weights.mean())}
    row |= {"nonzero": float((weights > 1e-9).mean())}
    if settings["method"] == "pld":
        return [row | {"noise_multiplier": graph.noise_by_pld(rates, ROUNDS)}]
    sigma = noise_for_all(graph.edges, rates, graph.secrets, rounds=ROUNDS, method=settings["method"])
    return [row | {"noise_multiplier": sigma}]


def _weights(settings: Mapping[str, Any], place: Place, graph: Graph, batch: int) -> np.ndarray:
    """(n,) of the program; the rivals that share its capacities share them."""
    capacities, k = settings["capacities"], settings["k"]
    name = f"weights-{capacities}-{k}-{settings['abstracts']}-{settings['one_in']}-{settings['seed']}.npy"
    path = place.work / name
    if not path.exists():
        with whole_file(path) as file:
            np.save(file, graph.weights(capacities, k, rounds=ROUNDS, batch=batch))
    return np.load(path)


def claims(rows: Rows) -> list[Claim]:
    by = {name: _of(rows, name) for name in RIVALS}
    denser = sorted(rows.get("larger") or rows["noise"], key=lambda row: row["k"])
    denser = [row["noise_multiplier"] for row in denser if row["rival"] == "kl, paper's program"]
    paper, equal, matched = by["kl, paper's program"], by["blow_up, equalised"], by["blow_up, matched"]
    most = [row for row in paper if row["k"] == max(POWERS)]
    public = by["PLD, paper's program"]
    floors = " and ".join(
        f"{floor:.1f}"
        for floor in (
            min((row["noise_multiplier"] for row in paper), default=math.nan),
            min(denser, default=math.nan),
        )
    )
    return [
        Claim("c = 2^4 keeps all: share of examples with a weight above 0", 1.0,
              most[0]["nonzero"] if most else None, "equal", 1e-6, why="the program still binds"),
        Claim("least noise over c against none of the program (kl): times less noise", 8.0,
              denser[-1] / min(denser) if denser else None, "more", 0.1,
              why="once every secret binds, a smaller c only scales the weights and B stays: σ has a floor, "
              f"{floors} on the small and the larger graph; the paper's is sixty times as large"),
        Claim("the same promise without the program, kl over blow_up: times less noise", 8.0,
              _ratio(paper, by["blow_up, paper's program"], max(POWERS)), "at_least", target=True,
              why="the secrets of this graph stand in too few examples"),
        Claim("paper's method over equalised and blow_up at equal retained weight: times less noise, at "
              "least", 10.0,
              _least_ratio(paper, equal), "more", target=True,
              why="at the small end of the sweep both need little noise"),
        Claim("matched against the paper's capacities, both by blow_up, at equal retained weight: times less "
              "noise, at "
              "least", 1.0, _least_ratio(by["blow_up, paper's program"], matched), "more", 1e-2, target=True,
              why="too few c in the short size: the curves do not meet in retained weight"),
        Claim("best public (the paper's program by PLD) over equalised and blow_up at equal retained weight: "
              "times less "
              "noise, at least", 1.0, _least_ratio(public, equal) if public else None, "more", 1e-2, target=True,
              why="too few c in the short size: the curves do not meet in retained weight"),
    ]  # fmt: skip


def _of(rows: Rows, name: str) -> list[Row]:
    found = [row for row in rows["noise"] if row["rival"] == name and row["noise_multiplier"] is not None]
    return sorted(found, key=lambda row: row["retained"])


def _ratio(over: list[Row], under: list[Row], k: int) -> float | None:
    a, b = ([row["noise_multiplier"] for row in side if row["k"] == k] for side in (over, under))
    return a[0] / b[0] if a and b else None


def _least_ratio(over: list[Row], under: list[Row]) -> float | None:
    """The least of σ/σ at equal retained weight, on the weights that both reach; lines between logarithms."""
    (a, sa), (b, sb) = (
        np.log([[row["retained"], row["noise_multiplier"]] for row in side]).T for side in (over, under)
    )
    at = np.linspace(max(a[0], b[0]), min(a[-1], b[-1]), 50)
    return float(np.exp((np.interp(at, a, sa) - np.interp(at, b, sb)).min())) if at[-1] >= at[0] else None


def draw(rows: Rows, path: Path) -> Path:
    def curves(x: str, y: str) -> list[figures.Curve]:
        found = [(name, sorted(_of(rows, name), key=lambda row: row[x])) for name in RIVALS]
        return [figures.Curve(name, [r[x] for r in own], [r[y] for r in own]) for name, own in found if own]

    def both(y: str) -> list[figures.Curve]:
        """And the larger graph."""
        own = sorted(rows.get("larger", ()), key=lambda row: row["k"])
        larger = (
            [figures.Curve("kl, larger graph", [r["k"] for r in own], [r[y] for r in own])] if own else []
        )
        return [*curves("k", y), *larger]

    panels = [
        figures.Panel("(a) kept", "c = 2^k", "share of examples, weight > 0", both("nonzero")),
        figures.Panel("(c) noise", "c = 2^k", "noise multiplier", both("noise_multiplier"), yscale="log"),
        figures.Panel("at equal retained weight", "weight retained", "", curves("retained", "noise_multiplier"),
                      xscale="log", yscale="log"),
    ]  # fmt: skip
    return figures.draw_panels("What the program keeps, and what noise it takes", panels, path, height=4.8)


REPLICATION = Replication(
    name="weights_and_noise",
    title="Fraction retained and noise multiplier",
    source="hush.txt, Figure 1a and 1c",
    about="""\
arXiv abstracts; every word in 50 to 100 of them is a secret (in the short size every fourth such word of 6,000
abstracts), p = 1e-10, r uniform in [2e-4, 1e-3]; abstracts without one are left out, as in the paper. T = 2000
and B so that B over the number of examples is the paper's 2048/1.2e6: then rates, and noise multipliers, are of
the paper's size. c = 2^k, counted so that k = 4 binds nothing, as there. The paper's method: its capacities
(μ_j) and σ by `kl`. Beside it, on the paper's own weights, the best public accounting (PLD of dp_accounting,
connect-the-dots, read downwards) and `blow_up`; then ours with `matched` and `equalised` capacities. By PLD σ
is searched for the secret that takes the most noise. What the program alone saves is taken from a larger graph in
the short size: all such words of 20,000 abstracts, about as many secrets an abstract as in the paper. There PLD
stands at two c about the weight that our capacities retain at c = 2^0, and those there alone.""",
    seed=SEED,
    cells=cells,
    compute={"noise": noise, "larger": noise},
    views=(
        View("noise", "By c and method",
             (("rival", "method and capacities", ""), ("k", "k", "d"), ("examples", "examples", ",d"),
              ("secrets", "secrets", ",d"), ("batch", "B", "d"), ("nonzero", "weight > 0", ".1%"),
              ("retained", "weight retained", ".2%"), ("noise_multiplier", "σ", ".4g"))),
        View("larger", "The paper's method on the larger graph",
             (("k", "k", "d"), ("examples", "examples", ",d"), ("secrets", "secrets", ",d"), ("batch", "B", "d"),
              ("nonzero", "weight > 0", ".1%"), ("retained", "weight retained", ".2%"),
              ("noise_multiplier", "σ", ".4g"))),
    ),
    claims=claims,
    draw=draw,
    data=("arxiv_private",),
)  # fmt: skip
