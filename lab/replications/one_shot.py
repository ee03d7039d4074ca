"""The one-shot table of "Navigating Privacy Risks": analytical ε, and ε as random canaries of one run show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab import figures
from lab.replications.claims import Claim
from lab.replications.noisy_rounds import abstracts, dimension, gradient_sum, set_gradients, small_model
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View
from lab.statistical_audits import RandomCanaries, one_shot_all, one_shot_final
from lab.statistical_audits.gaussian import epsilon_of_shift

CLIENTS = 341_000
DELTA = CLIENTS**-1.1
"""Andrew et al. 2023 take δ = n^−1.1."""
SLIDES = {
    0.0: (None, 45_800, 4.60),
    0.050: (300, 382, 1.97),
    0.099: (100, 89.4, 1.18),
    0.232: (30, 2.693, 0.569),
}
"""Noise multiplier → analytical ε, estimate from all iterates, estimate from the final one."""
SUM_NOISE, SUM_DELTA, SUM_ROUNDS = (0.5, 1.0, 2.0, 4.0), 1e-6, 8
TRAINING = {
    "tiny": {"layers": 1, "width": 32, "context": 32, "rounds": 20, "clients": 2, "canaries": 20},
    "short": {"layers": 1, "width": 64, "context": 64, "rounds": 2048, "clients": 4, "canaries": 1000},
    "full": {"layers": 4, "width": 128, "context": 128, "rounds": 2048, "clients": 40, "canaries": 1000},
}
"""341,000 clients in rounds of 167 are 2,042 of them; 1,000 canaries are the slides' and their code's."""
SUMS = {"tiny": (20_000, 50), "short": (200_000, 500), "full": (1_000_000, 1000)}
MOMENTUM = 0.9
"""The server's, in the command that the authors publish with their code; they take the cosines with the model's
steps, which momentum mixes out of many rounds."""
LEARNING_RATE, SEED = 0.05, 1


def cells(size: Size) -> list[Cell]:
    noise = list(SLIDES) if size != "tiny" else [0.0, 0.05]
    d, k = SUMS[size]
    sums = [Cell("sums", {"dimension": d, "canaries": k, "seed": SEED})]
    analytical = [Cell("analytical", {"noise_multiplier": z}) for z in SLIDES if z]
    return (
        analytical
        + sums
        + [
            Cell("training", {"noise_multiplier": z, **TRAINING[size], "momentum": MOMENTUM, "seed": SEED})
            for z in noise
        ]
    )


def analytical(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """ε of one participation in a Gaussian sum: an adversary that sees every round, a client in one of them."""
    return [{"analytical": epsilon_of_shift(1 / settings["noise_multiplier"], DELTA)}]


def training(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """One epoch of federated training with a canary client in some rounds, and the estimates of ε.

    A client is one abstract and its clipped gradient; every client, and every canary, takes part once. All iterates
    are each step of the model, the final one is their sum.
    """
    s = settings
    model = small_model(s["layers"], s["width"], s["context"], s["seed"])
    d, rounds = dimension(model), s["rounds"]
    texts = abstracts(place.data["arxiv_private"], rounds * s["clients"], s["context"], s["seed"])
    examples, _ = model.encode(texts)
    canaries = RandomCanaries(s["canaries"], d, s["seed"])
    generator = np.random.default_rng((s["seed"], 1))
    when = generator.permutation(np.arange(s["canaries"]) % rounds)
    steps, step = np.zeros((rounds + 1, d), np.float32), np.zeros(d, np.float32)
    optimizer = torch.optim.SGD(model.network.parameters(), lr=LEARNING_RATE)
    for t in range(rounds):
        total = gradient_sum(model, examples[t * s["clients"] : (t + 1) * s["clients"]], 1.0)
        canaries.add_to(total, 1.0, np.flatnonzero(when == t))
        total += np.float32(s["noise_multiplier"]) * generator.standard_normal(d, dtype=np.float32)
        step = np.float32(s["momentum"]) * step + total
        steps[t] = step
        steps[rounds] += step
        set_gradients(model, step / s["clients"])
        optimizer.step()
        place.progress(f"noise {s['noise_multiplier']:g}", t + 1, rounds)
    cosines, others = canaries.cosines(steps), RandomCanaries(s["canaries"], d, s["seed"] + 1000)
    final = one_shot_final(cosines[:, rounds], dimension=d, delta=DELTA)
    unused = others.cosines(steps[:rounds])
    every = one_shot_all(cosines[:, :rounds], dimension=d, delta=DELTA, unused=unused)
    return [
        {
            "dimension": d,
            "all": every.epsilon, "all_low": every.low, "all_high": every.high,
            "final": final.epsilon, "final_low": final.low, "final_high": final.high,
        }
    ]  # fmt: skip


def sums(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The theorem of the slides: many canaries in a Gaussian sum of many dimensions recover its ε."""
    d = settings["dimension"]
    canaries = RandomCanaries(settings["canaries"], d, settings["seed"])
    total = np.zeros(d, dtype=np.float32)
    canaries.add_to(total, 1.0)
    generator = np.random.default_rng(settings["seed"] + 1)
    vectors = []
    for sigma in SUM_NOISE:
        releases = [
            total + np.float32(sigma) * generator.standard_normal(d, dtype=np.float32)
            for _ in range(SUM_ROUNDS)
        ]
        vectors += [*releases, sum(release / np.linalg.norm(release) for release in releases)]
    cosines = canaries.cosines(np.array(vectors)).reshape(
        settings["canaries"], len(SUM_NOISE), SUM_ROUNDS + 1
    )
    rows = []
    for place_, sigma in enumerate(SUM_NOISE):
        seen, common = cosines[:, place_], {"dimension": d, "delta": SUM_DELTA}
        once, whole = one_shot_final(seen[:, 0], **common), one_shot_final(seen[:, SUM_ROUNDS], **common)
        largest = one_shot_all(seen[:, :SUM_ROUNDS], **common)
        one, every = (epsilon_of_shift(math.sqrt(n) / sigma, SUM_DELTA) for n in (1, SUM_ROUNDS))
        rows.append({"noise_multiplier": sigma, "true": one, "estimate": once.epsilon, "low": once.low,
                     "high": once.high, "true_all": every, "sum": whole.epsilon, "largest": largest.epsilon,
                     "ceiling": once.ceiling})  # fmt: skip
    return rows


def claims(rows: Rows) -> list[Claim]:
    exact = {row["noise_multiplier"]: row["analytical"] for row in rows["analytical"]}
    trained = {row["noise_multiplier"]: row for row in rows["training"]}
    found = [
        Claim(f"analytical ε at noise {z:g}", paper[0], exact.get(z), "equal", 0.03, why="another δ")
        for z, paper in SLIDES.items()
        if z
    ]
    clear = (
        "without noise it grows with the dimension over the length of a round's sum: of this model and data"
    )
    way = "without noise it falls with the length of the whole way: of this model and data"
    canaries = max((row["canaries"] for row in rows["training"]), default=1)
    chance = f"the chance of {canaries} canaries, which measure both laws"

    def by_noise(z: float, rounds: int) -> str:
        """What the noise of all rounds leaves of one canary in the final model."""
        epsilon, further = (epsilon_of_shift(1 / (z * math.sqrt(rounds)) + more, DELTA)
                            for more in (0.0, 1 / math.sqrt(canaries)))  # fmt: skip
        return (
            f"noise alone foretells {epsilon:.2f} after {rounds} rounds, and the chance of one run's {canaries} "
            f"canaries is {further - epsilon:.2f} (a standard error)"
        )

    for z, (_, every, final) in SLIDES.items():
        row = trained.get(z, {})
        found.append(
            Claim(
                f"ε estimated from all iterates, noise {z:g}",
                every,
                row.get("all"),
                "equal",
                0.3,
                why=chance if z else clear,
            )
        )
        found.append(Claim(f"ε estimated from the final model, noise {z:g}", final, row.get("final"), "equal", 0.3,
                          why=by_noise(z, row.get("rounds", 1)) if z else way))  # fmt: skip
    found.append(
        Claim("the final model tells far less than all iterates: ε-final / ε-all, noise 0.05, at most",
              1.97 / 382, trained[0.05]["final"] / trained[0.05]["all"], "at_most", 0.3,
              why="the estimate from all iterates is smaller here")
    )  # fmt: skip
    close = [row["estimate"] / row["true"] for row in rows["sums"] if row["noise_multiplier"] <= 1]
    found.append(
        Claim("a Gaussian sum's ε is recovered with high probability: estimate / true, furthest from 1 (σ of 0.5 "
              "and 1)",
              1.0, max(close, key=lambda share: abs(share - 1)), "equal", 0.1, why="too few canaries or dimensions")
    )  # fmt: skip
    return found


def draw(rows: Rows, path: Path) -> Path:
    trained = [row for row in rows["training"] if row["noise_multiplier"]]
    noise, shown = [row["noise_multiplier"] for row in trained], [z for z in SLIDES if z]
    curves = [
        figures.Curve("analytical", [r["noise_multiplier"] for r in rows["analytical"]],
                      [r["analytical"] for r in rows["analytical"]]),
        figures.Curve("estimate, all iterates", noise, [r["all"] or None for r in trained]),
        figures.Curve("estimate, final model", noise, [r["final"] or None for r in trained]),
        figures.Curve("slides, all iterates", shown, [SLIDES[z][1] for z in shown], points=True),
        figures.Curve("slides, final model", shown, [SLIDES[z][2] for z in shown], points=True),
    ]  # fmt: skip
    left = figures.Panel("training, canaries of one run", "noise multiplier", "ε", curves, (), "log", "log")
    sums = rows["sums"]
    right = figures.Panel(
        "a Gaussian sum", "σ", "ε",
        [figures.Curve("analytical", [r["noise_multiplier"] for r in sums], [r["true"] for r in sums]),
         figures.Curve("estimate, one release", [r["noise_multiplier"] for r in sums],
                       [r["estimate"] for r in sums], [r["low"] for r in sums], [r["high"] for r in sums])],
        (), "log", "log",
    )  # fmt: skip
    return figures.draw_panels("ε of one run, by random canaries", [left, right], path)


REPLICATION = Replication(
    name="one_shot",
    title="ε from one run, by random canaries",
    source="privacy_risks_slides.txt, the one-shot table (Andrew et al. 2023)",
    about="""\
The slides: a model of 4.1M parameters, 341,000 clients of StackOverflow, one epoch, canaries of one
participation. The analytical ε is that of one Gaussian sum, δ = n^−1.1. Ours: a byte GPT on arXiv abstracts, a
client one abstract; the size stands in the table. As in the authors' code the server has momentum 0.9, all iterates
are the steps of the model (not the noisy sums), and the law of directions that were not used is measured, on as
many canaries that no round had. Momentum leaves a canary √(1 − 0.81) = 0.44 of its share of a step. What should
then come out at T = 2,048 follows from noise alone, on paper and before the run: all iterates 331, 85 and 2.1 (of
1,000 canaries 308 to 358, 72 to 96 and 0.7 to 4.0 in nine of ten runs), the final model 1.99, 0.95 and 0.38, each
with a standard error of 0.16. An earlier run of ours without momentum, by the noisy sums, had 1581, 466 and 95.
Without noise the estimates rest on the model: that from all iterates grows with d over the squared length of a
round's sum, that from the final model falls with the length of the whole way over √d. The analytical column is
exact; an ESTIMATE is no bound. The last table is the slides' theorem: k canaries in a Gaussian sum of d
dimensions.""",
    seed=SEED,
    cells=cells,
    compute={"analytical": analytical, "training": training, "sums": sums},
    views=(
        View("analytical", "Analytical ε", (("noise_multiplier", "noise", "g"), ("analytical", "ε", ".2f"))),
        View("training", "Training: ε estimated",
             (("noise_multiplier", "noise", "g"), ("dimension", "parameters", ",d"), ("rounds", "rounds", "d"),
              ("clients", "clients a round", "d"), ("canaries", "canaries", "d"), ("all", "all iterates", ".4g"),
              ("all_low", "from", ".4g"), ("all_high", "to", ".4g"), ("final", "final model", ".3g"),
              ("final_low", "from", ".3g"), ("final_high", "to", ".3g"))),
        View("sums", "A Gaussian sum with canaries",
             (("noise_multiplier", "σ", "g"), ("true", "true ε, one release", ".2f"),
              ("estimate", "estimate", ".2f"),
              ("low", "from", ".2f"), ("high", "to", ".2f"), ("true_all", "true ε, eight", ".2f"),
              ("sum", "by their sum", ".2f"), ("largest", "by the largest cosine", ".2f"))),
    ),
    claims=claims,
    draw=draw,
    data=("arxiv_private",),
)  # fmt: skip
