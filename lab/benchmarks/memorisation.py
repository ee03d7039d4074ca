"""What a model learns by heart, over the noise; and a protected model that was really trained, attacked.

Source: hush.txt, section 2 and Figure 3.

    python lab/benchmarks/memorisation.py                                # some minutes on one core
    python lab/benchmarks/memorisation.py --pictures docs/figures --out memorisation.json

24 texts of 24 letters, each with a secret of 8 random letters at its end. Two thirds are random; a third counts on
through the alphabet, as the public text does that the start model was trained on: that model goes on with them too.
A byte GPT makes T certified rounds on all at every noise multiplier, from the same start. Then

- k-extraction: shown 8 letters, does it go on with the next 8? Of the texts that are random, of those that count
  on, and in all the difference from the start model, with its interval;
- naming: does each secret's value rank first of 16 of its form? Exact intervals; beside it the certified posterior
  at prior 1/16, and the best guess of who sees every noisy step and has the worst gradients.

Training has no certificate to keep at small noise (the bound is near 1 there): that is what the picture shows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import torch

from hush_core.accounting import Participation, posterior_bound
from hush_core.auditing.best_guess import computed_success
from hush_core.auditing.exposure import exposure
from hush_core.auditing.intervals import Interval, clopper_pearson, paired_difference
from hush_core.auditing.k_extraction import k_extraction
from hush_core.config import ByteGptModel, TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import LanguageModel, byte_gpt, fit_plain, fit_private
from lab import figures

TEXTS, COUNTING, LENGTH, VALUE, SHOWN = 24, 8, 24, 8, 8
RATE, CLIP, VALUES = 0.5, 1.0, 16
NOISE = (1e-6, 0.1, 0.25, 0.5, 1.0, 2.0, 8.0)
"""The first is as good as none."""
LEAST = 0.05
LETTERS = np.arange(97, 123, dtype=np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1, help="trained at each noise, with noise of their own")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--noise", type=float, nargs="*", default=NOISE)
    parser.add_argument("--work", type=Path, default=Path("memorisation_work"), help="rows that are done")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    texts = made_up_texts()
    start = fit_plain(counting(400, seed=1), shape(arguments.width), steps=150, batch=16, learning_rate=8e-3)
    arguments.work.mkdir(parents=True, exist_ok=True)
    for sigma in arguments.noise:
        kept = arguments.work / f"{sigma:g}-{arguments.rounds}-{arguments.runs}-{arguments.width}.json"
        if not kept.exists():
            found = [trained_at(sigma, texts, start, arguments, run) for run in range(arguments.runs)]
            kept.write_text(json.dumps(row_of(sigma, found, texts, start, arguments.rounds)))
        print("  ".join(f"{k} {v:.4g}" for k, v in json.loads(kept.read_text()).items()), flush=True)
    ending = f"*-{arguments.rounds}-{arguments.runs}-{arguments.width}.json"
    rows = [json.loads(path.read_text()) for path in arguments.work.glob(ending)]
    rows.sort(key=lambda row: row["noise_multiplier"])
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        figures.memorised_over_noise(pl.DataFrame(rows), arguments.pictures / "memorisation.png")


def shape(width: int) -> LanguageModel:
    return byte_gpt(ByteGptModel(layers=1, width=width, heads=2), LENGTH + 2, seed=3)


def counting(count: int, seed: int) -> list[bytes]:
    """Through the alphabet and on from its start, from a letter of chance."""
    begins = np.random.default_rng(seed).integers(0, 26, count)
    return [LETTERS[(np.arange(LENGTH) + b) % 26].tobytes() for b in begins]


def made_up_texts() -> list[bytes]:
    """TEXTS − COUNTING of random letters, then COUNTING that count on up to their secret, the last letters."""
    chance = np.random.default_rng(7)
    random = [chance.choice(LETTERS, LENGTH).tobytes() for _ in range(TEXTS - COUNTING)]
    values = [chance.choice(LETTERS, VALUE).tobytes() for _ in range(COUNTING)]
    return random + [
        text[: LENGTH - VALUE] + value for text, value in zip(counting(COUNTING, 2), values, strict=True)
    ]


def trained_at(
    sigma: float, texts: list[bytes], start: LanguageModel, arguments: argparse.Namespace, run: int
) -> LanguageModel:
    """One run of certified rounds, by the trainer that `hush run` uses."""
    batch = int(RATE * TEXTS)
    model = shape(arguments.width)
    model.network.load_state_dict(start.network.state_dict())
    plan = ProtectionPlan(np.full(TEXTS, RATE), sigma, arguments.rounds, batch, CLIP, "best", pl.DataFrame())
    settings = TrainConfig(
        rounds=arguments.rounds, batch=batch, learning_rate=1e-2, micro_batch=batch, checkpoint_every=10**6
    )
    with tempfile.TemporaryDirectory() as folder:
        seed = bytes([run]) * 32  # public text, so that the noise may be known
        return fit_private(plan, texts, model, settings, Path(folder), rehearsal=seed).model


def row_of(
    sigma: float, models: list[LanguageModel], texts: list[bytes], start: LanguageModel, rounds: int
) -> dict:
    """What came out of all runs, each text in each run a trial."""
    k = Participation.binomial(count=1, rate=RATE)
    settings = {"noise_multiplier": sigma, "rounds": rounds}
    window = {"prefix": SHOWN, "length": SHOWN, "windows": 1}
    cut = [text[: 2 * SHOWN] for text in texts]
    memorised = [k_extraction(model, start, cut, **window).table for model in models]
    every = pl.concat(memorised)
    random = every.filter(pl.col("example") < TEXTS - COUNTING)
    count_on = every.filter(pl.col("example") >= TEXTS - COUNTING)
    exposed = pl.concat([ranks_of(model, texts) for model in models])
    shift = difference(every)
    proved = sigma >= LEAST  # below, the accountant proves nothing, and 1 is a bound
    certified = posterior_bound(k, prior=1 / VALUES, method="best", **settings).value if proved else 1.0
    return {
        "noise_multiplier": sigma,
        **share("memorised", random["trained"]), **share("by_start", random["start"]),
        **share("counting", count_on["trained"]), **share("counting_by_start", count_on["start"]),
        "difference": shift[0], "difference_low": shift[1], "difference_high": shift[2],
        "prior": 1 / VALUES, "certified": certified,
        "worst_case": computed_success(k, candidates=VALUES, **settings) if proved else 1.0,
        **share("real", exposed["rank"] == 1),
        "extracted": float(exposed["extracted"].mean()),
    }  # fmt: skip


def difference(table: pl.DataFrame) -> Interval:
    """Of the shares that came out after training and before."""
    trained, start = (table[name] > 0 for name in ("trained", "start"))
    return paired_difference(int((trained & ~start).sum()), int((start & ~trained).sum()), table.height)


def ranks_of(model: LanguageModel, texts: list[bytes]) -> pl.DataFrame:
    """Each value among 15 others of its form, shown all that stands before it."""
    places = pl.DataFrame(
        {"secret_id": range(TEXTS), "example_id": range(TEXTS), "start": [LENGTH - VALUE] * TEXTS,
         "end": [LENGTH] * TEXTS},
        schema=dict.fromkeys(("secret_id", "example_id", "start", "end"), pl.UInt32),
    )  # fmt: skip
    secrets = pl.DataFrame({"secret_id": range(TEXTS), "name": [str(i) for i in range(TEXTS)]})
    return exposure(model, texts, places, secrets, alternatives=VALUES - 1, seed=5)


def share(name: str, hits: pl.Series) -> dict[str, float]:
    found = clopper_pearson(int((hits.cast(pl.UInt32) > 0).sum()), len(hits))
    return {name: found.value, f"{name}_low": found.lower, f"{name}_high": found.upper}


if __name__ == "__main__":
    main()
