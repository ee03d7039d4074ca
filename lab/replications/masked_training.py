"""Figures 1b and 1d of Hush!: test loss of masked training on what its program keeps, with and without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from scipy import stats

from hush_core.accounting import noise_for_all
from hush_core.training import LanguageModel, fit_plain, load_model, save_model
from hush_core.weights import sampling_rates
from lab import figures
from lab.replications.claims import Claim
from lab.replications.masked_model import masked_model
from lab.replications.noisy_rounds import gradient_sum, set_gradients
from lab.replications.rare_word_graph import BINDS_NONE, FREQUENCY, Graph, rare_word_graph
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

CLIP, SEED = 1.0, 0
EPOCHS = 2000 * 2048 / 1.2e6
"""Times that an example is drawn in all rounds on average without the program: the paper's."""
SIMULATED = 10 * 2048
"""The paper's batch, ten times as large in its accounting as in its training."""
NONE, KL, PLD, OURS = "no noise", "kl", "PLD", "blow_up, equalised"
SIZES = {
    "tiny": {"abstracts": 300, "one_in": 6, "low": 10, "high": 30, "vocabulary": 120, "context": 12, "start": 2,
             "rounds": 12, "measured": 20, "rates": [1e-3], "seeds": 1},
    "short": {"abstracts": 1500, "one_in": 2, "low": FREQUENCY[0], "high": FREQUENCY[1], "vocabulary": 2048,
              "context": 32, "start": 1200, "rounds": 120, "measured": 600, "rates": [3e-4, 2e-3], "seeds": 3},
    "full": {"abstracts": None, "one_in": 1, "low": FREQUENCY[0], "high": FREQUENCY[1], "vocabulary": 8192,
             "context": 128, "start": 50_000, "rounds": 2000, "measured": 1000, "rates": [1e-4, 5e-4, 2e-3],
             "seeds": 3},
}  # fmt: skip
POWERS = {"tiny": (0, 4), "short": (-4, 0, 2, 4), "full": tuple(range(-6, 5))}
START_BATCH, START_RATE = 64, 1e-3
AS_PAPER, TEN, WHOLE = "paper", "10", "1"
"""By what the noise is divided: what makes the batch SIMULATED, the paper's factor as it stands, nothing."""


def cells(size: Size) -> list[Cell]:
    powers, given = POWERS[size], {**SIZES[size], "seed": SEED}
    some = (0, BINDS_NONE)
    asked = [
        *((NONE, k, WHOLE) for k in powers),
        *((KL, k, AS_PAPER) for k in powers),
        *((KL, k, divided) for divided in (TEN, WHOLE) for k in some),
        *((PLD, k, AS_PAPER) for k in some),
        (OURS, 0, AS_PAPER),
    ]
    if size == "tiny":
        asked = [one for one in asked if one[0] == NONE or one[::2] == (KL, AS_PAPER)]
    return [Cell("losses", {"method": m, "k": k, "divided": d, **given}) for m, k, d in asked]


def losses(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The test loss of models trained by one plan from several seeds, at the rate that is best on validation."""
    s, graph = settings, _graph(settings, place)
    n = len(graph.rows)
    batch = max(1, round(EPOCHS * n / s["rounds"]))
    capacities = "equalised" if s["method"] == OURS else "paper"
    weights = graph.weights(capacities, s["k"], rounds=s["rounds"], batch=batch)
    rates = sampling_rates(weights, batch)
    sigma = _noise(s["method"], graph, rates, s["rounds"])
    row: Row = {
        "examples": n,
        "secrets": graph.secrets.height,
        "batch": batch,
        "retained": float(weights.mean()),
    }
    row |= {"nonzero": float((weights > 1e-9).mean()), "noise_multiplier": sigma}
    if sigma is None:
        return [row]
    divisor = {AS_PAPER: SIMULATED / batch, TEN: 10.0, WHOLE: 1.0}[s["divided"]]
    used = sigma / divisor
    training, validation, test = _texts(s, place, graph)

    def trained(rate: float, seed: int) -> tuple[float, float]:
        model, generator = _start(s, place), np.random.default_rng((s["seed"], seed))
        examples, _ = model.encode(training)
        optimizer = torch.optim.AdamW(model.network.parameters(), lr=rate)
        for done in range(s["rounds"]):
            drawn = [examples[i] for i in np.flatnonzero(generator.random(n) < rates)]
            total = gradient_sum(model, drawn, CLIP, generator)
            total += np.float32(used * CLIP) * generator.standard_normal(len(total), dtype=np.float32)
            set_gradients(model, total / batch)
            optimizer.step()
            place.progress(
                f"{s['method']}, c = 2^{s['k']}, rate {rate:g}, seed {seed}", done + 1, s["rounds"]
            )
        return _nats(model, validation), _nats(model, test)

    tried = {rate: trained(rate, 0) for rate in s["rates"]}
    rate = min(tried, key=lambda one: tried[one][0])
    found = [tried[rate], *(trained(rate, seed) for seed in range(1, s["seeds"]))]
    mean, half = _interval([loss for _, loss in found])
    return [
        row
        | {
            "used": used, "noise_to_batch": used * CLIP / batch, "rate": rate,
            "validation": float(np.mean([loss for loss, _ in found])), "loss": mean, "half_width": half,
            "at_start": _nats(_start(s, place), test),
        }
    ]  # fmt: skip


def _noise(method: str, graph: Graph, rates: np.ndarray, rounds: int) -> float | None:
    if method == NONE:
        return 0.0
    if method == PLD:
        return graph.noise_by_pld(rates, rounds)
    by = "kl" if method == KL else "blow_up"
    return noise_for_all(graph.edges, rates, graph.secrets, rounds=rounds, method=by)


def _graph(settings: Mapping[str, Any], place: Place) -> Graph:
    s = settings
    return rare_word_graph(
        place.data["arxiv_private"], place.work, abstracts=s["abstracts"], one_in=s["one_in"],
        frequency=(s["low"], s["high"]), seed=s["seed"],
    )  # fmt: skip


def _texts(
    settings: Mapping[str, Any], place: Place, graph: Graph
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Training, validation and test: as many of the latter two, and of other abstracts."""
    texts = pl.read_parquet(place.data["arxiv_private"], columns=["abstract"])["abstract"]
    others, count = graph.others, settings["measured"]
    return tuple(  # type: ignore[return-value]
        [texts[int(i)].encode() for i in rows]
        for rows in (graph.rows, others[:count], others[count : 2 * count])
    )


def _start(settings: Mapping[str, Any], place: Place) -> LanguageModel:
    """On the older abstracts, which its vocabulary is made of, too; kept."""
    s = settings
    folder = place.work / f"start-{s['vocabulary']}-{s['context']}-{s['start']}"
    if not (folder / "done").exists():
        public = _public(place.data["arxiv_public"])
        model = masked_model(public, vocabulary=s["vocabulary"], context=s["context"], seed=s["seed"])
        fit_plain(
            public, model, steps=s["start"], batch=START_BATCH, learning_rate=START_RATE, micro_batch=START_BATCH,
            seed=s["seed"], progress=place.progress,
        )  # fmt: skip
        save_model(model, folder / "model")
        (folder / "done").touch()
    return load_model(folder / "model").on_accelerator()


@lru_cache(maxsize=1)
def _public(path: Path) -> list[bytes]:
    return [text.encode() for text in pl.read_parquet(path, columns=["abstract"])["abstract"]]


def _nats(model: LanguageModel, texts: list[bytes]) -> float:
    """Mean cross-entropy of a masked token, as the paper's loss; the same tokens are masked for every model."""
    return model.evaluate(texts, max_examples=len(texts)) * math.log(2)


def _interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and Student's half-width at 95 %."""
    if len(values) < 2:
        return float(np.mean(values)), None
    quantile = float(stats.t.ppf(0.975, len(values) - 1))
    return float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _of(rows: Rows, method: str, divided: str) -> dict[int, Row]:
    """By k."""
    some = [row for row in rows["losses"] if (row["method"], row["divided"]) == (method, divided)]
    return {row["k"]: row for row in some if row.get("loss") is not None}


def _lower(curve: Mapping[int, Row]) -> float | None:
    """By what share the best c on validation text loses less than no program; None if neither beats the start."""
    if BINDS_NONE not in curve or len(curve) < 2:
        return None
    best = min(curve.values(), key=lambda row: row["validation"])
    if min(best["loss"], curve[BINDS_NONE]["loss"]) >= best["at_start"]:
        return None
    return 1 - best["loss"] / curve[BINDS_NONE]["loss"]


def _over(one: Row | None, other: Row | None) -> float | None:
    return one["loss"] / other["loss"] if one and other else None


def claims(rows: Rows) -> list[Claim]:
    none, kl = _of(rows, NONE, WHOLE), _of(rows, KL, AS_PAPER)
    pld, ours = _of(rows, PLD, AS_PAPER), _of(rows, OURS, AS_PAPER)
    all_kept = none.get(BINDS_NONE)
    cost = none[min(none)]["loss"] - all_kept["loss"] if all_kept and len(none) > 1 else None
    best = min(kl.values(), key=lambda row: row["validation"], default=None)
    least, drowned = (
        none[min(none)] if none else None,
        "the noise drowns every c: no model beats the public start",
    )
    repeated = "fewer different abstracts are seen"
    if least:
        kept = round(least["nonzero"] * least["examples"])
        often = round(least["batch"] * least["rounds"] / kept)
        repeated = (
            f"the smallest c keeps {kept} abstracts, each drawn some {often} times: they are learned by heart"
        )
    few = "few rounds of small batches: the model is near its start, whatever is kept"
    if all_kept:
        gained = 1 - all_kept["loss"] / all_kept["at_start"]
        few = f"without noise training gains {gained:.1%} on the public start in all, less than the figure"
    return [
        Claim("1b, without noise: pre-processing alone costs, smallest c against none of the program, at most",
              0.04, cost, "at_most", 0.1, " nats", why=repeated),
        Claim("1d, noise as in the paper: test loss at the best c below that without the program: share",
              0.075, _lower(kl), "more", 0.1, target=True, why=few),
        Claim("1d, noise divided by 10 alone: the same share", 0.075, _lower(_of(rows, KL, TEN)), "more", 0.1,
              target=True, why=f"ten of these batches are not ten of the paper's: {drowned}"),
        Claim("1d, noise not scaled: the same share, at least", 0.0, _lower(_of(rows, KL, WHOLE)), "at_least",
              target=True, why=drowned),
        Claim("1d: largest radius of a 95 % interval with noise as in the paper, at most", 0.001,
              max((row["half_width"] for row in kl.values() if row["half_width"]), default=None), "at_most",
              0.5, " nats", why="three trainings a point: Student's quantile alone is 4.3"),
        Claim("best public accounting (PLD) in place of kl, the same program at c = 2^0: test loss over kl's, at "
              "most", 1.0, _over(pld.get(0), kl.get(0)), "at_most", target=True, why="less noise did not help"),
        Claim("equalised capacities by blow_up at c = 2^0 over the paper's method at its best c: test loss, at "
              "most", 1.0, _over(ours.get(0), best), "at_most", target=True, why="less noise did not help"),
        Claim("the same over training without noise on the data that it keeps, at most", 1.02,
              _over(ours.get(0), none.get(0)), "at_most", target=True, why="what noise is left still costs"),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    def curve(label: str, method: str, divided: str) -> list[figures.Curve]:
        found = sorted(_of(rows, method, divided).items())
        if not found:
            return []
        half = [row["half_width"] or 0.0 for _, row in found]
        loss = [row["loss"] for _, row in found]
        low, high = ([a + side * b for a, b in zip(loss, half, strict=True)] for side in (-1, 1))
        return [figures.Curve(label, [k for k, _ in found], loss, low, high)]

    start = rows["losses"][0]["at_start"]
    without = curve(NONE, NONE, WHOLE)
    scaled = [*curve("kl", KL, AS_PAPER), *curve("PLD", PLD, AS_PAPER), *curve("equalised", OURS, AS_PAPER)]
    unscaled = [*curve("kl ÷ 10", KL, TEN), *curve("kl, not scaled", KL, WHOLE)]
    level = (("public start", start),)
    panels = [
        figures.Panel("(b) without noise", "c = 2^k", "nats a masked token", without, level),
        figures.Panel("(d) noise as the paper scales it", "c = 2^k", "", scaled, level),
        figures.Panel("(d) noise ÷ 10, and whole", "c = 2^k", "", unscaled, level),
    ]
    return figures.draw_panels("Test loss of masked training, by what the program keeps", panels, path)


REPLICATION = Replication(
    name="masked_training",
    title="Test loss with and without noise, by what the program keeps",
    source="hush.txt, Figure 1b and 1d",
    about="""\
BERT-tiny's shape (two layers of width 128) with a WordPiece vocabulary of arXiv abstracts from before 2008,
pre-trained on these, is fine-tuned on later ones to predict 15 % of the tokens: as in the paper every word in 50 to
100 of the abstracts is a secret (in the short size every second such word of 1,500 abstracts), p = 1e-10, r uniform
in [2e-4, 1e-3]; C = 1, AdamW; an example is drawn 3.4 times on average without the program, as there, but in 120
rounds in place of 2,000 in the short size. c = 2^k, counted so that k = 4 binds nothing. The paper divides its
noise by 10, as if data and batch were ten times as large: a batch of 20,480. *As the paper*: ours is divided by
what makes our batch 20,480, too; *÷ 10* and *whole* are the factor itself and none. The learning rate is the best
on validation abstracts at the first seed, each point for itself; the best c is by them, too. Losses are in nats a
masked token of test abstracts, the same tokens masked for all; ± is Student's 95 % over trainings with other
batches, masks and noise from ONE start. Equalised capacities are held against training without noise on the paper's
weights at the same c, which keep more. The paper's text has the 0.04;
of Figure 1d it says "a substantial decrease", and 7.5 % is this project's number for that.""",
    seed=SEED,
    cells=cells,
    compute={"losses": losses},
    views=(
        View("losses", "By method, c and how the noise is scaled",
             (("method", "noise", ""), ("k", "k", "d"), ("divided", "divided by", ""),
              ("nonzero", "weight > 0", ".1%"),
              ("retained", "weight retained", ".2%"), ("batch", "B", "d"), ("noise_multiplier", "σ", ".4g"),
              ("noise_to_batch", "σC/B used", ".3g"), ("rate", "rate", "g"), ("loss", "test loss", ".4f"),
              ("half_width", "±", ".4f"), ("at_start", "start", ".4f"))),
    ),
    claims=claims,
    draw=draw,
    data=("arxiv_private", "arxiv_public"),
)  # fmt: skip
