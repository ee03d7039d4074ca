"""A law: how much a private run gains, by its noise-to-batch ratio, its rounds and the size of the model."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from hush_core.config import TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import LanguageModel, fit_plain, fit_private, load_model, save_model
from lab import figures
from lab.replications.claims import Claim
from lab.replications.noisy_rounds import abstracts, dimension, small_model
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

SEED, CONTEXT, RATE, CLIP = 0, 64, 2e-3, 1.0
HALF = 0.25
"""Weight of every second text; the others have 1."""
SIZES = {
    "tiny": {"texts": 120, "start": 3, "measured": 40},
    "short": {"texts": 4000, "start": 200, "measured": 300},
    "full": {"texts": 80_000, "start": 10_000, "measured": 1000},
}
WIDTHS = {"tiny": (32,), "short": (32, 64), "full": (128, 256, 512)}
ROUNDS = {"tiny": (2, 3), "short": (40, 80, 160), "full": (250, 1000, 4000)}
RATIOS = {"tiny": (0.001, 0.1), "short": (0.001, 0.01, 0.03, 0.1), "full": (1e-4, 1e-3, 3e-3, 1e-2, 3e-2)}
BATCH = {"tiny": 8, "short": 16, "full": 256}


def cells(size: Size) -> list[Cell]:
    given = {**SIZES[size], "seed": SEED}
    batch, most = BATCH[size], ROUNDS[size][-1]
    fitted = [
        (width, rounds, ratio, batch)
        for width in WIDTHS[size]
        for rounds in ROUNDS[size]
        for ratio in RATIOS[size]
    ]
    wide, last = WIDTHS[size][-1], RATIOS[size][-1]
    between = math.sqrt(RATIOS[size][-2] * last)
    unseen = [
        (wide, most, between, batch),
        (wide, most // 2, between, 2 * batch),
        (wide, most // 2, between / 2, 2 * batch),
        (wide * 3 // 2, most // 2, between, batch),
        (wide, 3 * most // 2, between, batch),
        (wide * 3 // 2, 3 * most // 2, last, 2 * batch),
    ]
    return [
        Cell(
            "runs",
            {"seen": seen, "width": w, "rounds": t, "noise_to_batch": round(r, 6), "batch": b, **given},
        )
        for seen, some in ((True, fitted), (False, unseen))
        for w, t, r, b in some
    ]


def runs(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The loss of one weighted run at a given σC/B, and what the start lost."""
    s = settings
    texts = abstracts(place.data["arxiv_private"], s["texts"] + s["measured"], CONTEXT, s["seed"])
    training, unseen = texts[: s["texts"]], texts[s["texts"] :]
    model = _start(s, place)
    before = model.evaluate(unseen, max_examples=len(unseen))
    weights = np.where(np.arange(len(training)) % 2, HALF, 1.0)
    rates = weights * s["batch"] / weights.sum()
    sigma = s["noise_to_batch"] * s["batch"] / CLIP
    plan = ProtectionPlan(rates, sigma, s["rounds"], s["batch"], CLIP, "best", pl.DataFrame())
    how = TrainConfig(
        rounds=s["rounds"], batch=s["batch"], learning_rate=RATE, schedule="linear", micro_batch=64,
        checkpoint_every=s["rounds"],
    )  # fmt: skip
    key = bytes([s["seed"], 5]) * 16  # public texts, so that the noise may be known
    with tempfile.TemporaryDirectory() as folder:
        after = fit_private(plan, training, model, how, Path(folder), rehearsal=key).model
    loss = after.evaluate(unseen, max_examples=len(unseen))
    d = dimension(after)
    return [
        {"parameters": d, "noise_multiplier": sigma, "before": before, "loss": loss, "gain": before - loss}
    ]


def _start(settings: Mapping[str, Any], place: Place) -> LanguageModel:
    """On other, public abstracts; kept by width."""
    folder = place.work / f"start-{settings['width']}"
    if not (folder / "done").exists():
        model = small_model(1, settings["width"], CONTEXT, settings["seed"])
        public = abstracts(place.data["arxiv_public"], settings["texts"], CONTEXT, settings["seed"])
        fit_plain(public, model, steps=settings["start"], batch=16, learning_rate=3e-3, seed=settings["seed"])
        save_model(model, folder / "model")
        (folder / "done").touch()
    return load_model(folder / "model")


def gain_by_law(law: Sequence[float], rounds: float, parameters: float, noise_to_batch: float) -> float:
    """Bits gained: a · T^b · d^c / (1 + (ν√d / h)^s), with T in hundreds, d in 100,000s.

    ν√d is the length of the noise on a round's mean gradient, in clip norms; h that at which half of the gain is
    left, and s how steeply.
    """
    a, by_rounds, by_size, half, steepness = law
    free = a * (rounds / 100) ** by_rounds * (parameters / 1e5) ** by_size
    return float(free / (1 + (noise_to_batch * math.sqrt(parameters) / half) ** steepness))


def fit_law(rows: Sequence[Row]) -> tuple[float, ...]:
    """The law of least squared error over these runs; a, h and s are kept positive."""

    def errors(x: np.ndarray) -> list[float]:
        law = (math.exp(x[0]), x[1], x[2], math.exp(x[3]), math.exp(x[4]))
        return [gain_by_law(law, r["rounds"], r["parameters"], r["noise_to_batch"]) - r["gain"] for r in rows]

    biggest = max(max(row["gain"] for row in rows), 1e-3)
    found = least_squares(errors, [math.log(biggest), 0.3, 0.0, math.log(5.0), 0.0]).x
    return (math.exp(found[0]), float(found[1]), float(found[2]), math.exp(found[3]), math.exp(found[4]))


def _predicted(rows: Rows) -> list[tuple[Row, float]]:
    """Every run that the law has not seen, and what it says of it."""
    law = fit_law([row for row in rows["runs"] if row["seen"]])
    return [
        (row, gain_by_law(law, row["rounds"], row["parameters"], row["noise_to_batch"]))
        for row in rows["runs"]
        if not row["seen"]
    ]


def claims(rows: Rows) -> list[Claim]:
    seen = [row for row in rows["runs"] if row["seen"]]
    law = fit_law(seen)
    spread = max(row["gain"] for row in seen) - min(row["gain"] for row in seen)
    share = lambda bits: float(bits / spread) if spread > 0 else None  # noqa: E731
    within = [gain_by_law(law, r["rounds"], r["parameters"], r["noise_to_batch"]) - r["gain"] for r in seen]
    predicted = _predicted(rows)
    outside = [said - row["gain"] for row, said in predicted]
    larger = [(row, said) for row, said in predicted if row["batch"] > seen[0]["batch"]]
    why = "five numbers do not say all: at the largest noise a run loses more than it gains"
    return [
        Claim("runs that the law was fitted on: root mean squared error over the spread of gains, at most", 0.1,
              share(np.sqrt(np.mean(np.square(within)))), "at_most", target=True, why=why),
        Claim("runs that it has not seen (more rounds, a wider model, another batch): the same, at most", 0.15,
              share(np.sqrt(np.mean(np.square(outside)))), "at_most", target=True, why=why),
        Claim("what twice the batch buys at the same σC/B and rounds: largest error of the gain over the spread of "
              "gains, at most", 0.15, share(max(abs(said - row["gain"]) for row, said in larger)), "at_most",
              target=True,
              why="a larger batch also has less noise of its own sampling, which the law leaves out"),
        Claim("more noise, less gain, at equal rounds and size: largest step up over the spread of gains, at most",
              0.05, share(_largest_step(seen)), "at_most", target=True, why="one run each: chance"),
    ]  # fmt: skip


def _largest_step(rows: Sequence[Row]) -> float:
    worst = 0.0
    for key in {(row["width"], row["rounds"]) for row in rows}:
        own = sorted((r for r in rows if (r["width"], r["rounds"]) == key), key=lambda r: r["noise_to_batch"])
        worst = max([worst, *(b["gain"] - a["gain"] for a, b in pairwise(own))])
    return worst


def law_in_words(law: Sequence[float]) -> str:
    a, by_rounds, by_size, half, steepness = law
    return f"a {a:.3g}, b {by_rounds:.2f}, c {by_size:.2f}, h {half:.3g}, s {steepness:.2f}"


def draw(rows: Rows, path: Path) -> Path:
    seen = [row for row in rows["runs"] if row["seen"]]
    law, width = fit_law(seen), max(row["width"] for row in seen)
    left = []
    for rounds in sorted({row["rounds"] for row in seen}):
        own = sorted((r for r in seen if (r["width"], r["rounds"]) == (width, rounds)),
                     key=lambda row: row["noise_to_batch"])  # fmt: skip
        at = np.geomspace(own[0]["noise_to_batch"], own[-1]["noise_to_batch"], 40).tolist()
        predicted_gains = [gain_by_law(law, rounds, own[0]["parameters"], ratio) for ratio in at]
        left.append(figures.Curve(f"law, {rounds} rounds", at, predicted_gains))
        left.append(figures.Curve(f"{rounds} rounds", [r["noise_to_batch"] for r in own],
                                  [r["gain"] for r in own], points=True))  # fmt: skip
    predicted = _predicted(rows)
    within = [gain_by_law(law, r["rounds"], r["parameters"], r["noise_to_batch"]) for r in seen]
    right = [
        figures.Curve("fitted on", within, [row["gain"] for row in seen], points=True),
        figures.Curve(
            "not seen", [said for _, said in predicted], [row["gain"] for row, _ in predicted], points=True
        ),
    ]
    panels = [
        figures.Panel(f"width {width}", "σC/B", "bits gained", left, xscale="log"),
        figures.Panel(law_in_words(law), "bits by the law", "bits gained", right, diagonal=True),
    ]
    return figures.draw_panels(
        "What a private run gains, by noise over batch, rounds and size", panels, path, height=4.8
    )


REPLICATION = Replication(
    name="loss_law",
    title="A law of the loss: noise over batch, rounds and size",
    source="a target of this project (the papers have no such law)",
    about="""\
Byte GPTs of one layer, publicly pre-trained on arXiv abstracts from before 2008, make T rounds of weighted DP-SGD
(every second text has a quarter of the weight) on later ones, cut to 64 bytes; C = 1, AdamW, the rate falling
linearly from 2e-3. The gain is the bits by which unseen texts lose less than at the start. The law, with T in
hundreds, d trained numbers in 100,000s and ν = σC/B:

    gain = a · T^b · d^c / (1 + (ν√d / h)^s)

It is fitted by least squares on the runs of one batch and checked on runs it has not seen: more rounds, a wider
model, twice the batch. What a larger batch buys is read from ν alone: B twice as large at the same σ halves it. One
run a point; the rate was chosen once and not tuned by run. It holds for this model and data: fit it on yours.""",
    seed=SEED,
    cells=cells,
    compute={"runs": runs},
    views=(
        View("runs", "Runs",
             (("seen", "fitted on", ""), ("width", "width", "d"), ("parameters", "d", ",d"),
              ("rounds", "T", "d"), ("batch", "B", "d"), ("noise_to_batch", "σC/B", ".4g"),
              ("noise_multiplier", "σ", ".3g"), ("before", "loss before", ".3f"), ("loss", "after", ".3f"),
              ("gain", "gain", ".3f"))),
    ),
    claims=claims,
    draw=draw,
    data=("arxiv_private", "arxiv_public"),
)  # fmt: skip
