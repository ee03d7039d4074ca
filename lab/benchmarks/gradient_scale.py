"""What a scale of gradients by untagged text is worth: rounds of one length, signal and start, step against step.

    python lab/benchmarks/gradient_scale.py [--starts 0 1 2] [--json FILE]

Untagged text is the library of Python, tagged text this repository: its pages and its code. A round is
`fit_private` with a given σ and no certificates; draws and noise are fixed by the start. Each rate is chosen on
one half of the held-back text (the most gained for at most MOST_LOST on other text), reported on the other.
"""

from __future__ import annotations

import argparse
import json
import math
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import (
    LanguageModel,
    OtherTexts,
    byte_gpt,
    fit_plain,
    fit_private,
    load_model,
    save_model,
)

SHAPE, CHUNK = ByteGptModel(layers=1, width=96, heads=4), 256
PACKAGES = ("asyncio", "email", "http", "json", "logging", "unittest", "xml", "importlib", "concurrent")
START_STEPS, ROUNDS, BATCH, HELD, MOST_LOST = 700, 20, 13, 200, 0.03
SIGNALS = (1020.0, 306.0, 31.0)
"""B√T/σ."""
FEW = ("embedding", "matrices")
WAYS: dict[str, tuple[dict, tuple[float, ...]]] = {
    "sgd": ({"optimizer": "sgd"}, (0.03, 0.1, 0.3)),
    "adamw, biases and scales": ({"optimizer": "adamw", "freeze": FEW}, (1e-3, 3e-3, 1e-2)),
    "adamw": ({"optimizer": "adamw"}, (1e-4, 3e-4, 1e-3)),
    "preconditioned": ({"optimizer": "preconditioned"}, (1e-4, 3e-4, 1e-3, 3e-3)),
    "preconditioned, 13 mixed in": (
        {"optimizer": "preconditioned", "untagged_batch": 13},
        (3e-4, 1e-3, 3e-3, 6e-3),
    ),
}


def chunks(files: Sequence[Path]) -> list[bytes]:
    texts = (file.read_bytes() for file in files)
    return [text[at : at + CHUNK] for text in texts for at in range(0, len(text) - 64, CHUNK)]


def texts() -> tuple[list[bytes], list[bytes]]:
    """Untagged and tagged chunks, in an order that is fixed."""
    library, here = Path(sysconfig.get_path("stdlib")), Path(__file__).parents[2]
    untagged = chunks([file for name in PACKAGES for file in sorted((library / name).rglob("*.py"))])
    tagged = chunks([*sorted((here / "docs").glob("*.md")), *sorted((here / "hush_core").rglob("*.py"))])
    generator = np.random.default_rng(0)
    return tuple([some[i] for i in generator.permutation(len(some))] for some in (untagged, tagged))


def started(untagged: Sequence[bytes], seed: int, folder: Path) -> Path:
    """The folder of a model that was trained on untagged text, at a rate that falls."""
    model, path = byte_gpt(SHAPE, CHUNK, seed=seed), folder / f"start {seed}"
    for stage, rate in enumerate((3e-3, 1e-3, 3e-4)):
        fit_plain(
            untagged, model, steps=START_STEPS // 3, batch=16, learning_rate=rate, seed=100 * seed + stage
        )
    save_model(model, path)
    return path


def rounds(
    start: Path, texts: Sequence[Sequence[bytes]], way: str, rate: float, signal: float, seed: int
) -> LanguageModel:
    """The model after the rounds of one step and rate. texts: untagged, tagged."""
    (untagged, tagged), model = texts, load_model(start)
    sigma = BATCH * math.sqrt(ROUNDS) / signal
    rates = np.full(len(tagged), BATCH / len(tagged))
    plan = ProtectionPlan(rates, sigma, ROUNDS, BATCH, 1.0, "best", pl.DataFrame())
    config = TrainConfig(
        rounds=ROUNDS, batch=BATCH, learning_rate=rate, checkpoint_every=ROUNDS, **WAYS[way][0]
    )
    with tempfile.TemporaryDirectory() as work:
        fit_private(
            plan,
            tagged,
            model,
            config,
            Path(work),
            others=OtherTexts(untagged=untagged),
            rehearsal=bytes([seed]) * 32,
        )
    return model


def compared(seed: int, folder: Path) -> list[dict]:
    """A row for each way and signal: gain on tagged text and loss on other, in bits a byte."""
    untagged, tagged = texts()
    # which half is judged is fixed; chosen and judged texts of both kinds, then what is trained on
    parts = [(some[:HELD], some[HELD : 2 * HELD]) for some in (tagged, untagged)]
    trained = (untagged[2 * HELD :], tagged[2 * HELD :])
    start = started(trained[0], seed, folder)

    def losses(model: LanguageModel, half: int) -> np.ndarray:
        return np.array([model.evaluate(part[half], max_examples=HELD) for part in parts])

    before = [losses(load_model(start), half) for half in range(2)]
    rows = []
    for signal in SIGNALS:
        for way, (_, rates) in WAYS.items():
            tried = []
            for rate in rates:
                model = rounds(start, trained, way, rate, signal, seed)
                tried.append([rate, *(before[half] - losses(model, half) for half in range(2))])
            allowed = [one for one in tried if -one[1][1] <= MOST_LOST]
            rate, _, judged = max(allowed, key=lambda one: one[1][0]) if allowed else tried[0]
            rows.append(
                {
                    "start": seed,
                    "signal": signal,
                    "way": way,
                    "rate": rate,
                    "gain": judged[0],
                    "lost": -judged[1],
                }
            )
            print(json.dumps(rows[-1]), f"{time.process_time():.0f} CPU-s", flush=True)
    return rows


def interval(values: Sequence[float]) -> str:
    """The mean and half of its 95 % interval, Student's t over starts."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return f"{mean:.3f}"
    return f"{mean:.3f} ± {stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--starts", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for seed in options.starts for row in compared(seed, Path(folder))]
    print("| B√T/σ | step | gain on tagged text | loss on other text |\n|---|---|---|---|")
    for signal in SIGNALS:
        for way in WAYS:
            own = [row for row in rows if (row["signal"], row["way"]) == (signal, way)]
            cells = (interval([row[name] for row in own]) for name in ("gain", "lost"))
            print(f"| {signal:g} | {way} | " + " | ".join(cells) + " |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
