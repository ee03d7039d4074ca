"""From trained models to rows: loss on held-out abstracts, gains over the public start, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from arxiv_training import Bench, Phase
from scipy import stats

from hush_core.training import LanguageModel
from hush_core.training.data import micro_batches

RESAMPLES = 2000
AT_ONCE = 64


def scores(bench: Bench, phases: Sequence[Phase], start: int) -> dict[str, np.ndarray]:
    """(n, 2) bits and bytes of each held-out abstract, private and public; kept beside the model."""
    path = bench.folder(phases, start) / "scores.npz"
    if not path.exists():
        model = bench.after(phases, start)
        parts = {"private": bench.data.private_held_out, "public": bench.data.public_held_out}
        np.savez(path, **{part: bits_and_bytes(model, texts) for part, texts in parts.items()})
    with np.load(path) as kept:
        return dict(kept)


def bits_and_bytes(model: LanguageModel, texts: Sequence[bytes]) -> np.ndarray:
    """(n, 2): bits that a byte model needs for each text, and the bytes it reads of it."""
    sequences, _ = model.encode(texts)
    # micro_batches puts the longest first
    order = np.argsort([-len(row) for row in sequences], kind="stable")
    count = np.array([len(sequences[i]) - 1 for i in order])
    batches = micro_batches([sequences[i] for i in order], model.objective, AT_ONCE, np.random.default_rng(0))
    model.network.eval()
    with torch.no_grad():
        nats = torch.cat([model.losses(model.network, batch) for batch in batches]).double().numpy()
    found = np.empty((len(texts), 2))
    found[order] = np.stack([nats * count / math.log(2), count], axis=1)
    return found


def row_of(
    after: dict[int, dict[str, np.ndarray]],
    before: dict[int, dict[str, np.ndarray]],
    non_private: dict[int, dict[str, np.ndarray]],
) -> dict:
    """Means over starts of loss, of the gain over the public start, and of its share of the non-private gain.

    Intervals: `gain_pm`, `share_pm` are half of Student's 95 % over starts (all trained anew), None for one start;
    gain_low, gain_high bootstrap the held-out abstracts, paired.
    """
    drawn = np.random.default_rng(0)
    row: dict = {"starts": len(after)}
    for part, prefix in (("private", ""), ("public", "public_")):
        count = next(iter(after.values()))[part][:, 1]
        bits = np.stack([after[s][part][:, 0] for s in after])
        saved = np.stack([before[s][part][:, 0] for s in after]) - bits
        gains = saved.sum(1) / count.sum()
        possible = np.stack([before[s][part][:, 0] - non_private[s][part][:, 0] for s in after])
        shares = saved.sum(1) / possible.sum(1)
        ids = drawn.integers(len(count), size=(RESAMPLES, len(count)))
        mean = saved.mean(0)
        low, high = np.quantile(mean[ids].sum(1) / count[ids].sum(1), (0.025, 0.975))
        row |= {
            f"{prefix}bits_per_byte": float((bits.sum(1) / count.sum()).mean()),
            f"{prefix}bits_pm": _half(bits.sum(1) / count.sum()),
            f"{prefix}gain": float(gains.mean()),
            f"{prefix}gain_pm": _half(gains),
            f"{prefix}gain_low": float(low),
            f"{prefix}gain_high": float(high),
            f"{prefix}share": float(shares.mean()),
            f"{prefix}share_pm": _half(shares),
            f"{prefix}gain_by_start": gains.tolist(),
        }
    return row


def _half(values: np.ndarray) -> float | None:
    """Half of the 95 % interval of a mean over few repetitions."""
    n = len(values)
    if n < 2:
        return None
    return float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n))
