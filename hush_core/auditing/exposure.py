"""Exposure: how high does the trained model rank a secret's true value among equally formed strings?

    exposure(model, texts, occurrences, secrets, alternatives=1000, seed=0)      # one row a secret

Source: Carlini et al. 2019, "The Secret Sharer", exposure by sampling; extraction by greedy decoding. `scores`
defines the score of a causal and of a masked model, `exposure_estimates` the exposure among all strings of the
form. With `stop_after` a value that is surely not near the top is given up early (Besag and Clifford 1991): its
rank is then one among those tried.

The attacker is never shown the value: before and after it, a text is cut where it occurs again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import torch

from hush_core.auditing.alternatives import alternatives as alternatives_to
from hush_core.auditing.alternatives import space_of
from hush_core.auditing.contexts import Target, redacted_targets, value_targets
from hush_core.auditing.exposure_estimates import Exposure, estimate, stages
from hush_core.auditing.scores import Place
from hush_core.progress import Progress
from hush_core.training import LanguageModel
from hush_core.training.language_model import evaluating

SCHEMA = {
    "secret_id": pl.UInt32,
    "name": pl.String,
    "alternatives": pl.UInt32,
    "rank": pl.UInt32,
    "exposure_bits": pl.Float64,
    "extracted": pl.Boolean,
    "contexts": pl.UInt32,
    "drawn": pl.UInt32,
    "last_rank": pl.UInt32,
    "exposure_lower": pl.Float64,
    "exposure_upper": pl.Float64,
    "exposure_fitted": pl.Float64,
}
REDACTED_SCHEMA = {"redacted_id" if name == "secret_id" else name: kind for name, kind in SCHEMA.items()}
_KNOWN = 128
"""A value that is still tried after so many is near the top: of the others the first letters tell most."""
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
    stop_after: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Rank each secret's value by how likely the model finds it in the contexts in which it was trained on.

    Args:
        model: causal or masked, with any tokenizer. texts: by example_id, as trained on.
        occurrences: secret_id, example_id, start, end (byte offsets of the value in its text).
        secrets: secret_id, name.
        alternatives: how many strings of the same form to rank against.
        seed: fixes them. max_contexts: distinct contexts used per secret. stop_after: None ranks among all; else a
            value is given up when so many of those tried rank above it.
        progress: called as progress("exposure", secrets done, secrets with a value).

    Returns:
        secret_id · name · alternatives (N, those that the tokenizer distinguishes from the value) · rank (1 is
        best; ties rank in the attacker's favour) · exposure_bits = log2(N + 1) − log2(rank) · extracted (at
        least one context is enough for the model to give the whole value, see `scores.score`) · contexts
        (those used) · drawn (alternatives drawn) · last_rank (with every tie
        against the attacker) · exposure_lower, exposure_upper (bits among all strings of the
        form: an exact 95 % interval) · exposure_fitted (bits by a skew-normal distribution, an extrapolation
        without an interval; null if there are too few).

    A score is the sum over contexts. A secret has no row without an occurrence, with under 4 free characters,
    longer than the model's context, or if the tokenizer distinguishes no alternative from it. No value is returned,
    logged or raised.
    """
    targets = value_targets(texts, occurrences, max_contexts, both=model.objective.kind == "masked")
    how = {"alternatives": alternatives, "seed": seed, "stop_after": stop_after, "progress": progress}
    return _ranked(model, list(targets), secrets, SCHEMA, **how)


def redacted_exposure(
    model: LanguageModel,
    texts: Sequence[bytes],
    redactions: pl.DataFrame,
    values: pl.DataFrame,
    redacted: pl.DataFrame,
    *,
    max_contexts: int = 8,
    **how: Any,
) -> pl.DataFrame:
    """`exposure` of values that were redacted: the attacker knows the text around a placeholder, and asks what
    was there. A model that never saw a value ranks it at random, whatever its training did.

    Args:
        redactions: redacted_id, example_id, start, end of each placeholder in an example's text.
        values: redacted_id, value (binary): what was there; never in a message or in the result.
        redacted: redacted_id, name.
        how: alternatives, seed, stop_after and progress, as `exposure` takes them.

    Returns:
        REDACTED_SCHEMA, one row a secret with a value and a placeholder, as `exposure` gives them.
    """
    both = model.objective.kind == "masked"
    targets = redacted_targets(texts, redactions, values, max_contexts, both=both)
    return _ranked(model, list(targets), redacted, REDACTED_SCHEMA, **how)


def _ranked(
    model: LanguageModel,
    targets: Sequence[Target],
    named: pl.DataFrame,
    schema: Mapping[str, type[pl.DataType]],
    *,
    alternatives: int,
    seed: int,
    stop_after: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """One row a target that could be ranked; `named`: their names, by the first column of the schema."""
    names = dict(named.select(next(iter(schema)), "name").iter_rows())
    rows = []
    with evaluating(model.network):
        for done, (number, value, contexts) in enumerate(targets, start=1):
            others = alternatives_to(value, alternatives, np.random.default_rng([seed, number]))
            if others and (found := _attack(model, contexts, value, others, stop_after)):
                exposed, extracted, used = found
                rows.append(
                    (
                        *(number, names[number], exposed.alternatives, exposed.rank, exposed.bits, extracted),
                        *(used, len(others), exposed.last_rank, exposed.lower, exposed.upper, exposed.fitted),
                    )
                )
            if progress is not None:
                progress("exposure", done, len(targets))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _attack(
    model: LanguageModel,
    contexts: list[tuple[bytes, bytes]],
    value: bytes,
    others: list[bytes],
    stop_after: int | None,
) -> tuple[Exposure, bool, int] | None:
    """Of the value: its exposure, whether it was extracted, contexts used; None without an alternative or
    context."""
    cuts = stages(len(others), stop_after)
    margins: list[np.ndarray] = []
    extracted, used, first, exact = False, 0, 0, 0
    places = [Place(model, *pair) for pair in contexts]
    for last in cuts:
        few = stop_after is not None and len(places) == 1 and first >= _KNOWN
        candidates = [value, *others[first:last]]
        total = torch.zeros(len(candidates), dtype=torch.float64)
        distinguishable = torch.zeros(len(candidates), dtype=torch.bool)
        scored = [one for at in places if (one := at.score(candidates, hopeless=few)) is not None]
        for one in scored:
            total += one.scores
            distinguishable |= one.distinguishable
        if not first:
            extracted, used = any(one.extracted for one in scored), len(scored)
        margins.append((total - total[0])[distinguishable].numpy())
        exact += 0 if few else len(margins[-1])
        first = last
        if stop_after is not None and sum(int((m > _TIE).sum()) for m in margins) >= stop_after:
            break
    found = np.concatenate(margins)
    if not len(found):
        return None
    return estimate(found, _TIE, space=space_of(value), looks=len(cuts), exact=exact), extracted, used
