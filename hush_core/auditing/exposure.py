"""Exposure: how high does the trained model rank a secret's true value among equally formed strings?

    exposure(model, texts, occurrences, secrets, alternatives=1000, seed=0)      # one row a secret

Source: Carlini et al. 2019, "The Secret Sharer", exposure by sampling; extraction by greedy decoding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import torch
from torch import Tensor
from transformers import DynamicCache, GPT2LMHeadModel

from hush_core.auditing.alternatives import alternatives as alternatives_to
from hush_core.training.data import OFFSET, encode

Progress = Callable[[str, int, int], None]
SCHEMA = {
    "secret_id": pl.UInt32,
    "name": pl.String,
    "alternatives": pl.UInt32,
    "rank": pl.UInt32,
    "exposure_bits": pl.Float64,
    "extracted": pl.Boolean,
    "contexts": pl.UInt32,
}
_BATCH = 256


@torch.no_grad()
def exposure(
    model: GPT2LMHeadModel,
    texts: Sequence[bytes],
    occurrences: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    alternatives: int,
    seed: int,
    max_contexts: int = 8,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Rank each secret's value by its log-likelihood in the contexts in which it was trained on.

    Args:
        model: a byte GPT. texts: by example_id, as trained on.
        occurrences: secret_id, example_id, start, end (byte offsets of the value in its text).
        secrets: secret_id, name.
        alternatives: how many strings of the same form to rank against.
        seed: fixes them. max_contexts: distinct contexts used per secret.
        progress: called as progress("exposure", secrets done, secrets with a value).

    Returns:
        secret_id · name · alternatives (N, those found) · rank (1 is best; ties rank in the attacker's
        favour) · exposure_bits = log2(N + 1) − log2(rank) · extracted (greedy decoding from at least one
        context gives the whole value) · contexts. A score is the sum over contexts. A secret without an
        occurrence, or with under 4 free characters, has no row. No value is returned, logged or raised.
    """
    names = dict(secrets.select("secret_id", "name").iter_rows())
    groups = occurrences.sort("secret_id", "example_id", "start").partition_by("secret_id", as_dict=True)
    training = model.training
    model.eval()
    rows = []
    for done, ((secret_id,), places) in enumerate(sorted(groups.items()), start=1):
        value, contexts = _contexts(texts, places, model.config.n_positions, max_contexts)
        others = alternatives_to(value, alternatives, np.random.default_rng([seed, secret_id]))
        if others and contexts:
            rows.append((secret_id, names[secret_id], *_rank(model, contexts, value, others), len(contexts)))
        if progress is not None:
            progress("exposure", done, len(groups))
    model.train(training)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _rank(
    model: GPT2LMHeadModel, contexts: list[np.ndarray], value: bytes, others: list[bytes]
) -> tuple[int, int, float, bool]:
    device = next(model.parameters()).device
    candidates = np.frombuffer(b"".join([value, *others]), dtype=np.uint8).reshape(-1, len(value))
    tokens = torch.from_numpy(candidates.astype(np.int64) + OFFSET).to(device)
    scores, extracted = torch.zeros(len(tokens), dtype=torch.float64), False
    for context in contexts:
        likelihoods, greedy = _score(model, torch.from_numpy(context).to(device), tokens)
        scores += likelihoods
        extracted |= greedy
    # Sums over other batch shapes differ in the last bits: a near-tie counts as a tie.
    better = int((scores[1:] > scores[0] + 1e-4).sum())
    rank, count = 1 + better, len(others)
    return count, rank, math.log2(count + 1) - math.log2(rank), extracted


def _score(model: GPT2LMHeadModel, context: Tensor, candidates: Tensor) -> tuple[Tensor, bool]:
    """(N,) log-likelihoods of (N, L) candidates after one context; whether greedy decoding gives the first.

    The context runs once; each batch of candidates continues from its keys and values.
    """
    prefix = model(input_ids=context.unsqueeze(0), use_cache=True)
    first = prefix.logits[0, -1].log_softmax(-1)
    parts, greedy = [], bool(first.argmax() == candidates[0, 0])
    for chunk in candidates.split(_BATCH):
        cache = DynamicCache(
            [
                tuple(part.expand(len(chunk), -1, -1, -1) for part in (layer.keys, layer.values))
                for layer in prefix.past_key_values.layers
            ]
        )
        score = first[chunk[:, 0]].double()
        if chunk.shape[1] > 1:
            logits = model(input_ids=chunk[:, :-1], past_key_values=cache, use_cache=True).logits
            steps = logits.log_softmax(-1).gather(2, chunk[:, 1:, None]).squeeze(2)
            score += steps.sum(1, dtype=torch.float64)
            if not parts:  # greedy decoding gives the value iff each of its bytes is the likeliest in turn
                greedy &= bool((logits[0].argmax(-1) == chunk[0, 1:]).all())
        parts.append(score.cpu())
    return torch.cat(parts), greedy


def _contexts(
    texts: Sequence[bytes], places: pl.DataFrame, positions: int, most: int
) -> tuple[bytes, list[np.ndarray]]:
    """The value (its commonest form) and up to `most` distinct token contexts that precede it."""
    rows = [(texts[i], start, end) for _, i, start, end in places.iter_rows()]
    value = Counter(text[start:end] for text, start, end in rows).most_common(1)[0][0]
    room = positions - len(value) - 1
    if not value or room < 0:
        return b"", []
    found: dict[bytes, np.ndarray] = {}
    for text, start, end in rows:
        if text[start:end] == value:
            found.setdefault(text[:start], encode(text[:start])[-(room + 1) :])
    return value, list(found.values())[:most]
