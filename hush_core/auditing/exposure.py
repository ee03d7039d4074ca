"""Exposure: how high does the trained model rank a secret's true value among equally formed strings?

    exposure(model, texts, occurrences, secrets, alternatives=1000, seed=0)      # one row a secret

Source: Carlini et al. 2019, "The Secret Sharer", exposure by sampling; extraction by greedy decoding. What a
score is, for a causal and for a masked model: `scores`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
import torch

from hush_core.auditing.alternatives import alternatives as alternatives_to
from hush_core.auditing.scores import score
from hush_core.progress import Progress
from hush_core.training import LanguageModel

SCHEMA = {
    "secret_id": pl.UInt32,
    "name": pl.String,
    "alternatives": pl.UInt32,
    "rank": pl.UInt32,
    "exposure_bits": pl.Float64,
    "extracted": pl.Boolean,
    "contexts": pl.UInt32,
}
REDACTED_SCHEMA = {"redacted_id" if name == "secret_id" else name: kind for name, kind in SCHEMA.items()}
_TIE = 1e-4
"""Nats. Sums over other batch shapes differ in the last bits: a near-tie counts as a tie."""


def exposure(
    model: LanguageModel,
    texts: Sequence[bytes],
    occurrences: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    alternatives: int,
    seed: int,
    max_contexts: int = 8,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Rank each secret's value by how likely the model finds it in the contexts in which it was trained on.

    Args:
        model: causal or masked, with any tokenizer. texts: by example_id, as trained on.
        occurrences: secret_id, example_id, start, end (byte offsets of the value in its text).
        secrets: secret_id, name.
        alternatives: how many strings of the same form to rank against.
        seed: fixes them. max_contexts: distinct contexts used per secret.
        progress: called as progress("exposure", secrets done, secrets with a value).

    Returns:
        secret_id · name · alternatives (N, those found that the tokenizer tells from the value) · rank (1 is
        best; ties rank in the attacker's favour) · exposure_bits = log2(N + 1) − log2(rank) · extracted (at
        least one context is enough for the model to give the whole value, see `scores.score`) · contexts
        (those used). A score is the sum over contexts. A secret has no row without an occurrence, with under
        4 free characters, longer than the model's context, or if the tokenizer tells no alternative from it.
        No value is returned, logged or raised.
    """
    groups = occurrences.sort("secret_id", "example_id", "start").partition_by("secret_id", as_dict=True)
    both = model.objective.kind == "masked"
    targets = (
        (secret_id, *_contexts(texts, places, max_contexts, both=both))
        for (secret_id,), places in sorted(groups.items())
    )
    names = dict(secrets.select("secret_id", "name").iter_rows())
    rows = _ranked(model, targets, len(groups), names, alternatives, seed, progress)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def redacted_exposure(
    model: LanguageModel,
    texts: Sequence[bytes],
    redactions: pl.DataFrame,
    values: pl.DataFrame,
    redacted: pl.DataFrame,
    *,
    alternatives: int,
    seed: int,
    max_contexts: int = 8,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """`exposure` of values that were redacted: the attacker knows the text around a placeholder, and asks what
    stood there. A model that never saw a value ranks it at random, whatever its training did.

    Args:
        redactions: redacted_id, example_id, start, end of each placeholder in an example's text.
        values: redacted_id, value (binary): what stood there; never in a message or in the result.
        redacted: redacted_id, name.

    Returns:
        REDACTED_SCHEMA, one row a secret with a value and a placeholder, as `exposure` gives them.
    """
    groups = redactions.sort("redacted_id", "example_id", "start").partition_by("redacted_id", as_dict=True)
    known = dict(values.select("redacted_id", "value").iter_rows())
    both = model.objective.kind == "masked"
    held = [(number, places) for (number,), places in sorted(groups.items()) if number in known]
    targets = (
        (
            number,
            known[number],
            list(
                dict.fromkeys(
                    (texts[i][:start], texts[i][end:] if both else b"")
                    for _, i, start, end in places.iter_rows()
                )
            )[:max_contexts],
        )
        for number, places in held
    )
    names = dict(redacted.select("redacted_id", "name").iter_rows())
    rows = _ranked(model, targets, len(held), names, alternatives, seed, progress)
    return pl.DataFrame(rows, schema=REDACTED_SCHEMA, orient="row")


def _ranked(
    model: LanguageModel,
    targets: Iterable[tuple[int, bytes, list[tuple[bytes, bytes]]]],
    count: int,
    names: dict[int, str],
    alternatives: int,
    seed: int,
    progress: Progress | None,
) -> list[tuple]:
    """One row a target (id, value, contexts) that could be ranked."""
    training = model.network.training
    model.network.eval()
    rows = []
    for done, (number, value, contexts) in enumerate(targets, start=1):
        others = alternatives_to(value, alternatives, np.random.default_rng([seed, number]))
        if others and (found := _attack(model, contexts, [value, *others])):
            rows.append((number, names[number], *found))
        if progress is not None:
            progress("exposure", done, count)
    model.network.train(training)
    return rows


def _attack(
    model: LanguageModel, contexts: list[tuple[bytes, bytes]], candidates: list[bytes]
) -> tuple[int, int, float, bool, int] | None:
    """Of the first candidate: alternatives, rank, exposure, extracted, contexts used; None without either."""
    total = torch.zeros(len(candidates), dtype=torch.float64)
    told_apart = torch.zeros(len(candidates), dtype=torch.bool)
    extracted, used = False, 0
    for before, after in contexts:
        if (scored := score(model, before, after, candidates)) is not None:
            total += scored.scores
            told_apart |= scored.told_apart
            extracted |= scored.extracted
            used += 1
    count = int(told_apart.sum())
    if not count:
        return None
    rank = 1 + int((told_apart & (total > total[0] + _TIE)).sum())
    return count, rank, math.log2(count + 1) - math.log2(rank), extracted, used


def _contexts(
    texts: Sequence[bytes], places: pl.DataFrame, most: int, *, both: bool
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The value (its commonest form), up to `most` distinct pairs of the text before and (if `both`) after it."""
    rows = [(texts[i], start, end) for _, i, start, end in places.iter_rows()]
    value = Counter(text[start:end] for text, start, end in rows).most_common(1)[0][0]
    found = dict.fromkeys(
        (text[:start], text[end:] if both else b"") for text, start, end in rows if text[start:end] == value
    )
    return value, list(found)[:most]
