"""k-extraction: shown k tokens of a training text, does the model write the next ones word for word?

    found = k_extraction(model, start, texts, prefix=32, length=32)
    found.trained, found.start, found.difference          # shares of the texts, each with its interval

Source: hush.txt, Definition 5.1 (Carlini et al. 2023, "Quantifying memorization"): greedy decoding after exactly k
tokens of a training text gives what followed them. As hush.txt found, a model also continues text that it has never
seen ("12345" with "6789"). So the model before training is asked the same, and the difference over the same texts
is what training added. A masked model is shown k tokens on both sides, and its likeliest tokens count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from hush_core.auditing.intervals import Interval, clopper_pearson, paired_difference
from hush_core.auditing.spans import TokenSpan, span_logits
from hush_core.auditing.tokens import encode_whole, template
from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.training import LanguageModel

SCHEMA = {"example": pl.UInt32, "windows": pl.UInt32, "trained": pl.UInt32, "start": pl.UInt32}
_AT_ONCE = 256
"""Windows between two calls of `progress`."""


@dataclass(frozen=True, eq=False)
class KExtraction:
    """What came out of texts that are long enough. A text counts once, whichever of its windows came out.

    table: example (place in `texts`) · windows (tried) · trained · start (windows that each model wrote). What they
    wrote is not in it.
    """

    prefix: int
    length: int
    texts: int
    trained: Interval
    start: Interval
    difference: Interval
    table: pl.DataFrame


def k_extraction(
    model: LanguageModel,
    start: LanguageModel,
    texts: Sequence[bytes],
    *,
    prefix: int,
    length: int,
    windows: int = 4,
    progress: Progress | None = None,
) -> KExtraction:
    """Prompt both models with k tokens and compare what greedy decoding writes with what is there.

    Args:
        model, start: after and before training; of one tokenizer and objective. texts: trained on, each by itself
            a trial of the intervals: leave out copies.
        prefix: k, in tokens. length: tokens that must come out. windows: places tried in each text, spread evenly.

    Raises:
        InputError: prefix and length do not fit the models' context.
    """
    head, _ = template(model)
    both = 2 if model.objective.kind == "masked" else 1
    whole = both * prefix + length
    if prefix < 1 or length < 1 or head + whole > min(model.context, start.context):
        raise InputError(
            "k-extraction", f"{whole} tokens do not fit the model's context", "lower prefix or length"
        )
    owners, spans = [], []
    for place, row in enumerate(_rows(model, texts)):
        room = len(row) - whole
        begins = sorted({round(at) for at in np.linspace(0, room, windows)}) if room >= 0 else []
        for begin in begins:
            window = np.concatenate([_head(model), row[begin : begin + whole]])
            spans.append(TokenSpan(window, head + prefix, head + prefix + length))
            owners.append(place)
    hits = [_written(one, spans, progress, name) for one, name in ((model, "trained"), (start, "start"))]
    table = pl.DataFrame(
        {"example": owners, "trained": hits[0], "start": hits[1]},
        schema={"example": pl.UInt32, "trained": pl.Boolean, "start": pl.Boolean},
    )
    table = table.group_by("example", maintain_order=True).agg(
        pl.len().alias("windows"), pl.col("trained").sum(), pl.col("start").sum()
    )
    table = table.select(SCHEMA.keys()).cast(dict(SCHEMA))
    trained, before = ((table[name] > 0).to_numpy() for name in ("trained", "start"))
    count = table.height
    return KExtraction(
        prefix=prefix,
        length=length,
        texts=count,
        trained=clopper_pearson(int(trained.sum()), count),
        start=clopper_pearson(int(before.sum()), count),
        difference=paired_difference(int((trained & ~before).sum()), int((before & ~trained).sum()), count),
        table=table,
    )


def _rows(model: LanguageModel, texts: Sequence[bytes]) -> list[np.ndarray]:
    """Tokens of each text without what training puts around them."""
    head, tail = template(model)
    return [row[head : len(row) - tail] for row in encode_whole(model, texts)]


def _head(model: LanguageModel) -> np.ndarray:
    head, _ = template(model)
    return encode_whole(model, [b"a"])[0][:head]


def _written(
    model: LanguageModel, spans: Sequence[TokenSpan], progress: Progress | None, name: str
) -> list[bool]:
    """Of each span, whether every token is the likeliest after (masked: around) the true ones."""
    found = [False] * len(spans)
    for first in range(0, len(spans), _AT_ONCE):
        some = spans[first : first + _AT_ONCE]
        for place, logits in span_logits(model, some):
            found[first + place] = bool((logits.argmax(1) == torch.from_numpy(some[place].tokens)).all())
        if progress is not None:
            progress(f"k-extraction, {name} model", min(len(spans), first + _AT_ONCE), len(spans))
    return found


def window_of(model: LanguageModel, start: LanguageModel, texts: Sequence[bytes], most: int = 50) -> int:
    """k, and as many tokens to come out: 50 as Carlini et al. have it, or what the contexts and half of the texts
    hold; 0 where that is below 8."""
    if not texts:
        return 0
    head, _ = template(model)
    both = 3 if model.objective.kind == "masked" else 2
    long = int(np.median([len(row) for row in _rows(model, texts)]))
    k = min(most, (min(model.context, start.context) - head) // both, long // both)
    return k if k >= 8 else 0
