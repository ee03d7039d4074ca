"""What a model says at the tokens of a span, the rest of the text shown as it stands: one pass a batch.

Causal: the distribution of every token of the span after all tokens before it. Masked: all tokens of the span
masked at once, both sides shown.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hush_core.auditing.tokens import common, encode_whole, template
from hush_core.training import LanguageModel
from hush_core.training.data import IGNORED, MicroBatch

_LOGITS = 1 << 26
"""Numbers that the logits of a batch may hold: 256 MiB in float32."""
_MOST = 64


class TokenSpan(NamedTuple):
    """`row` (t,) are the tokens of a text; those of the span are row[start:stop], with 1 ≤ start < stop."""

    row: np.ndarray
    start: int
    stop: int

    @property
    def tokens(self) -> np.ndarray:
        return self.row[self.start : self.stop]


@torch.no_grad()
def span_logits(model: LanguageModel, spans: Sequence[TokenSpan]) -> Iterator[tuple[int, Tensor]]:
    """(place in `spans`, (stop − start, vocabulary) float32 logits), spans of equal length of text together.

    Args:
        model: in evaluation mode, run in float32. spans: none longer than its context.
    """
    model = model.at("fp32")
    causal, device = model.objective.kind == "causal", next(model.network.parameters()).device
    order = sorted(range(len(spans)), key=lambda i: (len(spans[i].row), spans[i].stop))
    size = max(1, min(_MOST, _LOGITS // (model.context * max(1, len(model.tokenizer)))))
    for places in (order[i : i + size] for i in range(0, len(order), size)):
        some = [spans[i] for i in places]
        if causal:
            rows = [span.row[: span.stop - 1] for span in some]
            logits = model.logits(model.network, _padded(model, rows, None, device))
            parts = (logits[n, span.start - 1 : span.stop - 1] for n, span in enumerate(some))
        else:
            rows = [span.row.copy() for span in some]
            for row, span in zip(rows, some, strict=True):
                row[span.start : span.stop] = model.objective.mask
            logits = model.logits(model.network, _padded(model, rows, some, device))
            parts = (logits[n, : span.stop - span.start] for n, span in enumerate(some))
        for place, part in zip(places, parts, strict=True):
            yield place, part.float().cpu()


def _padded(
    model: LanguageModel, rows: Sequence[np.ndarray], masked: Sequence[TokenSpan] | None, device: torch.device
) -> MicroBatch:
    """Rows padded at the end; of a masked model, with the positions of each span."""
    shape = len(rows), max(map(len, rows))
    inputs, attended = np.full(shape, model.objective.padding, dtype=np.int64), np.zeros(shape, dtype=bool)
    for n, row in enumerate(rows):
        inputs[n, : len(row)], attended[n, : len(row)] = row, True
    tokens = torch.from_numpy(inputs).to(device)
    if masked is None:
        return MicroBatch(tokens, tokens)
    most = max(span.stop - span.start for span in masked)
    chosen = np.zeros((len(rows), most), dtype=np.int64)
    for n, span in enumerate(masked):
        chosen[n, : span.stop - span.start] = np.arange(span.start, span.stop)
    places = torch.from_numpy(chosen).to(device)
    labels = torch.full_like(places, IGNORED)
    return MicroBatch(tokens, labels, places, torch.from_numpy(attended).to(device))


def value_span(model: LanguageModel, before: bytes, value: bytes, after: bytes) -> TokenSpan | None:
    """The tokens of a value between two texts (a causal model ignores `after`), as one span.

    If a tokenizer merges across the border, the span begins with the merged token. Of a text longer than the
    model's context, a causal model is shown the end, a masked one the beginning, as in training.

    Returns:
        None if the value leaves no room for context, or has no token of its own.
    """
    head, tail = template(model)
    causal = model.objective.kind == "causal"
    after = b"" if causal else after
    first, whole, last = encode_whole(model, [before, before + value + after, after])
    start = common(first[: len(first) - tail], whole)
    end = 0 if causal else common(last[head:][::-1], whole[start:][::-1])
    stop = len(whole) - (tail if causal else end)
    if stop <= start:
        return None
    if not start:  # no start token, nothing in front: what begins a text for other models of the kind
        whole = np.concatenate([[model.objective.padding], whole])
        head, start, stop = 1, 1, stop + 1
    dropped = max(0, stop - model.context)
    if start - dropped < max(1, head):
        return None
    row = np.concatenate([whole[:head], whole[head + dropped :]])
    return TokenSpan(
        row[: model.context] if not causal else row[: stop - dropped], start - dropped, stop - dropped
    )
