"""What a model of code is worth on text that it has not seen: its loss, and the lines that it completes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from hush_core.auditing.spans import TokenSpan, span_logits
from hush_core.auditing.tokens import encode_whole, template
from hush_core.training import LanguageModel
from hush_core.training.data import micro_batches

LEAST_LINE, ENDING = 12, 4
"""Bytes of a line that is asked for, and of its short ending."""


def bits_and_bytes(model: LanguageModel, texts: Sequence[bytes]) -> np.ndarray:
    """(n, 2): bits that a byte model needs for each text, and the bytes it reads of it."""
    sequences, _ = model.encode(texts)
    order = np.argsort([-len(row) for row in sequences], kind="stable")  # as micro_batches orders them
    count = np.array([len(sequences[i]) - 1 for i in order])
    batches = micro_batches([sequences[i] for i in order], model.objective, 64, np.random.default_rng(0))
    model.network.eval()
    with torch.no_grad():
        nats = torch.cat([model.losses(model.network, batch) for batch in batches]).double().numpy()
    found = np.empty((len(texts), 2))
    found[order] = np.stack([nats * count / math.log(2), count], axis=1)
    return found


def lines_completed(model: LanguageModel, texts: Sequence[bytes]) -> dict[str, float]:
    """Shares of lines whose `half` and whose `ending` (ENDING bytes) the model writes exactly, with the line break,
    shown all that stands before: of each text the last whole line of LEAST_LINE visible bytes or more."""
    head, _ = template(model)
    rows = encode_whole(model, texts)
    spans: dict[str, list[TokenSpan]] = {"half": [], "ending": []}
    for text, row in zip(texts, rows, strict=True):
        if place := last_line(text):
            start, stop = place
            for kind, begin in (("half", (start + stop) // 2), ("ending", stop - ENDING)):
                spans[kind].append(TokenSpan(row, head + begin, head + stop + 1))
    model.network.eval()
    found = {"lines": float(len(spans["half"]))}
    for kind, asked in spans.items():
        hits = sum(
            bool((logits.argmax(1).cpu() == torch.from_numpy(asked[place].tokens)).all())
            for place, logits in span_logits(model, asked)
        )
        found[kind] = hits / max(1, len(asked))
    return found


def last_line(text: bytes) -> tuple[int, int] | None:
    """(start, stop) of the last line that is whole in the text, its indentation left out and text[stop] its break;
    None where there is none that is long enough, or nothing stands before it."""
    stop = len(text)
    while (stop := text.rfind(b"\n", 0, stop)) > 0:
        begin = text.rfind(b"\n", 0, stop) + 1
        line = text[begin:stop]
        if begin and len(line.strip()) >= LEAST_LINE and line.rstrip() == line:
            return begin + len(line) - len(line.lstrip()), stop
    return None


def interval(
    statistic: Callable[[np.ndarray], float], count: int, *, resamples: int = 2000
) -> tuple[float, float]:
    """95 % by bootstrap over `count` texts: `statistic` is given the ids that were drawn."""
    drawn = np.random.default_rng(0)
    values = [statistic(drawn.integers(count, size=count)) for _ in range(resamples)]
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
