"""Which training texts did the model memorise? Their loss, less that of a model that never saw them.

    table = calibrated_loss(model, start, texts)      # log2_probability and calibrated_bits of each text

Source: reconstruction_rdp.txt, §4.2 and Figure 5. A text is at risk if the model is likely to write it (a high
probability), and much more so than a model that was not trained on it (a low calibrated loss). Texts outside the
training data all have about the same calibrated loss, but not the same loss: an easy text is not a memorised one.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch

from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.training import LanguageModel
from hush_core.training.data import IGNORED

SCHEMA = {
    "example": pl.UInt32,
    "tokens": pl.UInt32,
    "log2_probability": pl.Float64,
    "calibrated_bits": pl.Float64,
}
_SEED = 0
"""Of what a masked model is shown: the same for both models."""
_LOGITS = 1 << 26


@torch.no_grad()
def log_likelihoods(
    model: LanguageModel, texts: Sequence[bytes], progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) log-likelihood of each text in nats, and (n,) how many tokens were predicted.

    For a causal model that is log p of the text, as far as the context holds it. For a masked one it is the
    pseudo-likelihood of a fixed random 15 % of its tokens, the same for every model of this tokenizer.
    """
    model = model.at("fp32")
    device = next(model.network.parameters()).device
    generator = np.random.default_rng(_SEED)
    shown = [model.objective.show(tokens, generator) for tokens in model.encode(texts)[0]]
    order = sorted(range(len(shown)), key=lambda place: len(shown[place].inputs))
    size = max(1, min(32, _LOGITS // (model.context * max(1, len(model.tokenizer)))))
    sums, counts = np.zeros(len(shown)), np.zeros(len(shown), dtype=np.int64)
    for places in (order[i : i + size] for i in range(0, len(order), size)):
        here = model.objective.collate([shown[place] for place in places]).on(device)
        counts[places] = (here.labels != IGNORED).sum(1).cpu().numpy()
        means = model.losses(model.network, here).double().cpu().numpy()
        sums[places] = -means * counts[places]
        if progress is not None:
            progress("log-likelihoods", int((counts > 0).sum()), len(shown))
    return sums, counts


def calibrated_loss(
    model: LanguageModel, reference: LanguageModel, texts: Sequence[bytes], progress: Progress | None = None
) -> pl.DataFrame:
    """Both models on every text.

    Args:
        model, reference: of one tokenizer and objective. reference: not trained on the texts, as the model that
            training began with.

    Returns:
        example (place in `texts`) · tokens (predicted) · log2_probability (of the model) · calibrated_bits
        (−log2 p of the model less that of the reference: negative where training made the text likelier).
    """
    own, tokens = log_likelihoods(model, texts, progress)
    other, other_tokens = log_likelihoods(reference, texts, progress)
    if not np.array_equal(tokens, other_tokens):
        raise InputError(
            "reference model", "reads the texts in other tokens", "take one of the same tokenizer"
        )
    bits = 1 / np.log(2)
    columns = (np.arange(len(texts)), tokens, own * bits, (other - own) * bits)
    return pl.DataFrame(dict(zip(SCHEMA, columns, strict=True)), schema=SCHEMA)


def at_risk(members: pl.DataFrame, others: pl.DataFrame, *, rate: float = 0.05) -> pl.DataFrame:
    """The members (rows of `calibrated_loss`) whose calibrated loss lies below that of all but a share `rate` of
    the others, per token; the likeliest to be written first. No row where there are too few others to say."""
    per_token = pl.col("calibrated_bits") / pl.col("tokens").clip(1)
    reference = others.select(per_token).to_series().sort()
    allowed = int(rate * (len(reference) + 1)) - 1
    if allowed < 0:
        return members.clear()
    return members.filter(per_token < reference[allowed]).sort(
        "log2_probability", "example", descending=[True, False]
    )
