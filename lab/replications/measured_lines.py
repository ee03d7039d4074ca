"""Lines of a repository measured by two models of it: probabilities, calibrated losses, and lines that one writes.

Protects nothing: the models are trained without noise.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import torch

from hush_core.auditing.calibrated_loss import calibrated_loss
from hush_core.auditing.lazy_sampling import Sampling, emission
from hush_core.files import write_whole
from hush_core.training import LanguageModel, fit_plain, load_model, save_model
from hush_core.training.byte_gpt import OFFSET, START
from lab.replications.noisy_rounds import small_model
from lab.replications.replication import Place
from lab.replications.repository_lines import three_parts

CONTEXT, END, TOP_K = 80, b"\n", 40
PARTS = ("train", "calibration", "test")
BATCH, LEARNING_RATE = 32, 2e-3


def measured_lines(settings: Mapping[str, Any], place: Place) -> pl.DataFrame:
    """group · file · line · log10_probability (top-k sampling) · calibrated_nats, of all training and test lines
    and of those that the model wrote; kept."""
    kept = place.work / f"lines-{_key(settings)}.parquet"
    if not kept.exists():
        model, reference = (model_of(settings, part, place) for part in PARTS[:2])
        parts = parts_of(settings, place)
        some = write_lines(model, settings["written"], settings["seed"])
        written = [(f"written {n}", line) for n, line in enumerate(some)]
        tables = []
        for group, named in (("train", parts["train"]), ("test", parts["test"]), ("written", written)):
            lines = [line for _, line in named]
            table = calibrated_loss(model, reference, lines, place.progress)
            likely = emission(model, [(b"", line, b"") for line in lines], [Sampling(top_k=TOP_K)])[:, 0]
            columns = {
                "group": [group] * len(lines), "file": [file for file, _ in named], "line": lines,
                "log10_probability": likely / math.log(10),
                "calibrated_nats": table["calibrated_bits"] * math.log(2),
            }  # fmt: skip
            tables.append(pl.DataFrame(columns))
        buffer = io.BytesIO()
        pl.concat(tables).write_parquet(buffer)
        write_whole(kept, buffer.getvalue())
    return pl.read_parquet(kept)


@torch.no_grad()
def write_lines(model: LanguageModel, count: int, seed: int) -> list[bytes]:
    """So many lines by top-k sampling at temperature 1, from the start to the line's end or the context's."""
    device = next(model.network.parameters()).device
    lines: list[bytes] = []
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        while len(lines) < count:
            begun = torch.full((min(250, count - len(lines)), 1), START, device=device)
            rows = model.network.generate(
                begun, attention_mask=torch.ones_like(begun), do_sample=True, top_k=TOP_K, top_p=1.0,
                temperature=1.0, max_new_tokens=CONTEXT, eos_token_id=END[0] + OFFSET, pad_token_id=0,
            )  # fmt: skip
            lines += [bytes(t - OFFSET for t in row[1:] if t >= OFFSET) for row in rows.tolist()]
    return lines


def model_of(settings: Mapping[str, Any], part: str, place: Place) -> LanguageModel:
    """Trained without protection on the lines of one part; kept. Both begin with the same weights."""
    folder = place.work / f"{part}-{_key(settings)}"
    if not (folder / "done").exists():
        s = settings
        model = small_model(s["layers"], s["width"], CONTEXT, s["seed"])
        lines = [line for _, line in parts_of(s, place)[part]]
        fit_plain(lines, model, steps=s["steps"], batch=BATCH, learning_rate=LEARNING_RATE, seed=s["seed"],
                  progress=lambda _, *done: place.progress(part, *done))  # fmt: skip
        save_model(model, folder / "model")
        (folder / "done").touch()
    model = load_model(folder / "model").on_accelerator()
    model.network.eval()
    return model


def parts_of(settings: Mapping[str, Any], place: Place) -> dict[str, list[tuple[str, bytes]]]:
    """(path, line with its end, cut to CONTEXT) of each part: every n-th, so that there are `lines` at most."""
    found = three_parts(place.data["repository.bundle"], place.work, settings["seed"])
    return {
        part: [(file, (line + END)[:CONTEXT]) for file, line in lines[:: -(-len(lines) // settings["lines"])]]
        for part, lines in zip(PARTS, found, strict=True)
    }


def _key(settings: Mapping[str, Any]) -> str:
    return "-".join(str(settings[name]) for name in ("layers", "width", "lines", "steps"))
