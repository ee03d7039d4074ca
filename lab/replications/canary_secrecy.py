"""Figure 6 of "Defending against Reconstruction Attacks with Rényi DP": a canary's secrecy over steps and σ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hush_core.accounting import Participation, posterior_bound
from hush_core.auditing.calibrated_loss import log_likelihoods
from hush_core.training import LanguageModel, fit_plain
from lab import figures
from lab.replications.claims import Claim
from lab.replications.noisy_rounds import abstracts, dimension, gradient_sum, set_gradients, small_model
from lab.replications.replication import Cell, Place, Replication, Row, Rows, Size, View

PROMPT, DIGITS = b"John Doe's credit card number is ", 16
PRIOR_BITS = DIGITS * math.log2(10)
NOISE = (0.0, 0.3, 0.4, 0.5)
SEED, CLIP = 0, 1.0
TRAINING = {
    "tiny": {"layers": 1, "width": 32, "texts": 60, "start": 2, "rounds": 4, "batch": 8},
    "short": {"layers": 1, "width": 64, "texts": 2000, "start": 300, "rounds": 1000, "batch": 8},
    "full": {
        "layers": 4,
        "width": 256,
        "texts": 20_000,
        "start": 5000,
        "rounds": 20_000,
        "batch": 1024,
    },
}
LONGER = {"tiny": 1, "short": 4, "full": 1}
"""So many times as many steps without noise, for the canary to be drawn often enough to be learned by heart."""
CANARY_RATE = 280 * 2.81e-4
"""The paper's: q = 2.81e-4, and the canary is drawn 280 times as often as other texts."""
CONTEXT, LEARNING_RATE = 64, 1e-3


def cells(size: Size) -> list[Cell]:
    noise = NOISE if size != "tiny" else (0.0, 0.5)
    given = {**TRAINING[size], "learning_rate": LEARNING_RATE, "canary_rate": CANARY_RATE, "seed": SEED}
    open_ = {"rounds": LONGER[size] * given["rounds"]}
    return [Cell("secrecy", {"noise_multiplier": z, **given, **({} if z else open_)}) for z in noise]


def looks(rounds: int) -> list[int]:
    """The steps after which the model is looked at: 1, 2, 5, 10, 20, 50 and so on, and the last."""
    series = [digit * 10**power for power in range(len(str(rounds))) for digit in (1, 2, 5)]
    return [*(step for step in series if step < rounds), rounds]


def secrecy(settings: Mapping[str, Any], place: Place) -> list[Row]:
    """The secrecy at several steps, of one training; the paper's bound and ours on what may have leaked by then."""
    s, sigma = settings, settings["noise_multiplier"]
    generator = np.random.default_rng((s["seed"], 7))
    secret = "".join(map(str, generator.integers(0, 10, DIGITS))).encode()
    model = small_model(s["layers"], s["width"], CONTEXT, s["seed"])
    texts = abstracts(place.data["arxiv_public"], 2 * s["texts"], CONTEXT, s["seed"])
    begin, texts = texts[: s["texts"]], texts[s["texts"] :]
    fit_plain(begin, model, steps=s["start"], batch=16, learning_rate=3e-3, seed=s["seed"])
    examples, _ = model.encode(texts)
    canary = model.encode([PROMPT + secret])[0][0]
    optimizer = torch.optim.AdamW(model.network.parameters(), lr=s["learning_rate"])
    d, looked = dimension(model), looks(s["rounds"])
    rate = s["batch"] / len(examples)
    rows = [_row(model, secret, sigma, 0, s["canary_rate"])]
    for t in range(1, s["rounds"] + 1):
        drawn = [examples[i] for i in np.flatnonzero(generator.random(len(examples)) < rate)]
        drawn += [canary] * bool(generator.random() < s["canary_rate"])
        total = gradient_sum(model, drawn, CLIP if sigma else math.inf)
        total += np.float32(sigma * CLIP) * generator.standard_normal(d, dtype=np.float32)
        set_gradients(model, total / s["batch"])
        optimizer.step()
        if t in looked:
            rows.append(_row(model, secret, sigma, t, s["canary_rate"]))
        place.progress(f"σ {sigma:g}", t, s["rounds"])
    return rows


def _row(model: LanguageModel, secret: bytes, sigma: float, step: int, rate: float) -> Row:
    """Bits of the secret given the prompt, as the model gives them, and among digits alone."""
    model.network.eval()
    (whole, prompt), _ = log_likelihoods(model, [PROMPT + secret, PROMPT])
    row: Row = {
        "step": step,
        "secrecy": float(prompt - whole) / math.log(2),
        "among_digits": _digits(model, secret),
    }
    row |= {"paper": None, "blow_up": None}
    model.network.train()
    if sigma and step:
        k, prior = Participation.binomial(1, rate), 10.0**-DIGITS
        for key, method in (("paper", "renyi_preservation"), ("blow_up", "blow_up")):
            bound = posterior_bound(k, noise_multiplier=sigma, rounds=step, prior=prior, method=method)
            row[key] = -math.log2(bound.value)
    return row


@torch.no_grad()
def _digits(model: LanguageModel, secret: bytes) -> float:
    """−log2 of the secret's probability where each next symbol is known to be a digit."""
    device = next(model.network.parameters()).device
    tokens = torch.from_numpy(model.encode([PROMPT + secret])[0][0].astype(np.int64))[None].to(device)
    logits = model.network(input_ids=tokens).logits[0, len(PROMPT) : len(PROMPT) + DIGITS].double()
    digits = model.encode([b"0123456789"])[0][0][1:].astype(np.int64)
    shares = torch.log_softmax(logits[:, torch.from_numpy(digits).to(device)], dim=1)
    at = torch.tensor([int(chr(symbol)) for symbol in secret], device=device)
    return float(-shares.gather(1, at[:, None]).sum()) / math.log(2)


def claims(rows: Rows) -> list[Claim]:
    found = rows["secrecy"]
    at_end = {row["noise_multiplier"]: row for row in sorted(found, key=lambda row: row["step"])}
    noisy = [row for row in found if row["noise_multiplier"] and row["step"]]
    ends = [at_end[sigma]["among_digits"] for sigma in sorted(at_end) if sigma]

    def spare(bound: str) -> float | None:
        """Least of the bits that are left less those that the bound leaves, where it leaves one or more."""
        some = [row["among_digits"] - row[bound] for row in noisy if row[bound] >= 1]
        return min(some, default=None)

    nothing = "within the first steps the bound leaves less than a bit of 53, so nothing could break it"
    return [
        Claim("σ = 0: bits left of the canary at the end (the paper: p = 67 %)", -math.log2(0.67),
              at_end[0.0]["secrecy"], "at_most", 0.1, " bits",
              why="too few steps with the canary in them"),
        Claim("σ of 0.3 and more: the canary is not reconstructed: least bits left at any step (we ask for "
              "10)", 10.0,
              min(row["among_digits"] for row in noisy), "at_least", 0.0, " bits", target=True,
              why="the canary is learned in spite of the noise"),
        Claim("more noise, less memorisation: smallest step of the bits left at the end, from σ to the next", 0.0,
              min((b - a for a, b in pairwise(ends)), default=0.0), "at_least", 1.0, " bits",
              why="one training each: their order is chance where little leaks"),
        Claim("what leaks is smaller than the guarantee: least of bits left less those that L leaves, where it "
              "leaves 1 or more", 0.0, spare("paper"), "at_least",
              why="the bound is broken" if spare("paper") is not None else nothing),
        Claim("and smaller than by our tight bound: the same with blow_up", 0.0, spare("blow_up"), "at_least",
              target=True, why="the bound is broken" if spare("blow_up") is not None else nothing),
    ]  # fmt: skip


def draw(rows: Rows, path: Path) -> Path:
    found = rows["secrecy"]
    noise = sorted({row["noise_multiplier"] for row in found})

    def of(sigma: float) -> list[Row]:
        own = (row for row in found if row["noise_multiplier"] == sigma and row["step"])
        return sorted(own, key=lambda row: row["step"])

    curves = [
        figures.Curve(f"σ = {s:g}", [r["step"] for r in of(s)], [r["among_digits"] for r in of(s)])
        for s in noise
    ]
    left = figures.Panel("the canary in the model", "step", "bits left of 53.2", curves,
                         (("a guess at random", PRIOR_BITS),), xscale="log", ylim=(0, None))  # fmt: skip
    bounds = [
        figures.Curve(f"σ = {s:g}", [r["step"] for r in of(s)], [r["blow_up"] for r in of(s)])
        for s in noise
        if s
    ]
    right = figures.Panel("what blow_up leaves for certain", "step", "", bounds,
                          (("a guess at random", PRIOR_BITS),), xscale="log", ylim=(0, None))  # fmt: skip
    return figures.draw_panels("Secrecy of a canary of 16 digits", [left, right], path)


REPLICATION = Replication(
    name="canary_secrecy",
    title="Secrecy of a canary, over steps and noise",
    source="reconstruction_rdp.txt, Figure 6 and section 4.3",
    about="""\
The paper fine-tunes GPT-2 on Wikitext-103: B = 1024, q = 2.81e-4, 186,000 steps, a canary of 16 digits after
"John Doe's credit card number is", drawn 280 times as often as other texts. Ours: a byte GPT, publicly
pre-trained on other abstracts, on arXiv abstracts cut to 64 bytes, C = 1, AdamW; σ = 0 neither clips nor noises.
The canary is drawn at the paper's rate, 0.079 a step. The paper stopped without noise when the canary was known;
the short size makes four times as many steps there as with noise. Secrecy is −log2 p1 given the prompt: as the
model has it, and for an adversary who knows that digits follow (left). The bounds are for what the adversary of a
promise sees, every noisy step. Expected of the short size before it ran: without noise 315 draws of the canary in
place of an earlier run's 200, and fewer bits left than its 5.6, near the paper's 0.58; bounds that leave bits for
some 100 steps, and no more leaked than they allow. In the earlier run, with the canary in half of few steps, they
left nothing from the first look on.""",
    seed=SEED,
    cells=cells,
    compute={"secrecy": secrecy},
    views=(
        View("secrecy", "Bits left of the canary",
             (("noise_multiplier", "σ", "g"), ("step", "step", "d"), ("secrecy", "as the model has it", ".1f"),
              ("among_digits", "among digits", ".1f"), ("paper", "L leaves", ".1f"),
              ("blow_up", "blow_up leaves", ".1f"))),
    ),
    claims=claims,
    draw=draw,
    data=("arxiv_public",),
)  # fmt: skip
