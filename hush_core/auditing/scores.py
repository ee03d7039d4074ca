"""How a model scores the strings that could stand at one place of a text, and whether it gives the first away.

    scored = score(model, before, after, [value, *alternatives])     # None where the model cannot read that much

Causal: the log-likelihood of what stands at the place, after the text before it. A tokenizer may merge across
the border of context and candidate, and may need more tokens for one candidate than for another. So each
candidate is encoded together with its context, and its score is the sum of log p over all its tokens behind
those that the context and ALL candidates begin with. What is left out is the same for all of them: scores
differ by exactly as much as the log-likelihoods of the whole texts, context included.

Masked: all tokens of the place are masked at once, and the text on both sides is shown; a score is the sum of
log p of the candidate's tokens there. One forward pass serves all candidates of the same number of tokens.
Candidates of other lengths are compared as they are: a pseudo-likelihood is no probability of a text, and one
with fewer tokens tends to score higher. That costs power only; under a model that knows nothing of the value
its rank is uniform all the same, as any fixed function of the string gives.

What a tokenizer does not tell apart, no score does: case, under one that lower-cases; bytes that are no UTF-8
(read as �); whatever is unknown to it. `told_apart` says where a candidate is the same to the model as the first.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import ByT5Tokenizer, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from hush_core.auditing.tokens import common, encode_whole, holds_unknown, template, text_of
from hush_core.training import LanguageModel
from hush_core.training.data import MicroBatch

_BATCH = 256
_ELEMENTS = 2**28
"""Numbers that a batch of candidates may hold in cache and logits: 1 GiB in float32."""
_BYTES_A_TOKEN = 8
"""Text further away than this many bytes for every token of the model's context is not encoded."""
_CLOSE = 1e-2
"""Nats: what is so close is not behind, however batches round."""
_SLACK = 8
"""Tokens of a greedy decoding beyond one per byte."""


class Scored(NamedTuple):
    """scores: (N,) float64 in nats, up to a constant of the place. told_apart: (N,) bool, whether the model
    reads the candidate as another text than the first. extracted: whether it gives the first itself."""

    scores: Tensor
    told_apart: Tensor
    extracted: bool


@torch.no_grad()
def score(
    model: LanguageModel, before: bytes, after: bytes, candidates: Sequence[bytes], *, hopeless: bool = False
) -> Scored | None:
    """Score each candidate between `before` and `after` (which a causal model does not look at).

    Args:
        model: in evaluation mode. It is run in float32.
        candidates: (N,), the true value first. hopeless: a causal model's candidate that falls behind the value in
            its first quarter gets what it had there for a score, which is too high and still below the value's.

    Returns:
        None where the longest candidate leaves no room for context. Where only a part of the context fits, a
        causal model is shown its end; a masked one what training shows it, the beginning, if the value is in that.

    Extracted: a causal model's greedy decoding of the context goes on with the value, from the context's tokens
    or from fewer of them (a last token that holds a part of the value is then decoded too). A masked model's
    likeliest tokens spell it, all at once or when they are filled in one by one, the surest first. Spelled is
    what the tokenizer makes of the value, so without case if it lower-cases; a value with an unknown token is
    never extracted.
    """
    model = model.at("fp32")
    reach = _BYTES_A_TOKEN * model.context
    before, after = before[max(0, len(before) - reach) :], after[:reach]
    if model.objective.kind == "causal":
        return _causal(model, before, candidates, hopeless=hopeless)
    return _masked(model, before, after, candidates)


def _causal(
    model: LanguageModel, before: bytes, candidates: Sequence[bytes], *, hopeless: bool
) -> Scored | None:
    head, tail = template(model)
    rows = [
        row[: len(row) - tail] for row in encode_whole(model, [before, *(before + c for c in candidates)])
    ]
    shared = min(common(rows[0], row) for row in rows)
    if not shared:  # no start token, no common one: what begins a text for other models of the kind
        start, head, shared = [model.objective.padding], 1, 1
        rows = [np.concatenate([start, row]) for row in rows]
    room = model.context - max(len(row) - shared for row in rows[1:])
    if room < max(1, head):
        return None
    dropped = max(0, shared - room)
    rows = [np.concatenate([row[:head], row[head + dropped :]]) for row in rows]
    context, value, shared = rows[0], rows[1], shared - dropped
    run = _continuations_of_some if hopeless else _continuations
    scores, spelled = run(model, context[:shared], [row[shared:] for row in rows[1:]])
    own = value[common(context, value) :]
    if not isinstance(model.tokenizer, ByT5Tokenizer):  # for bytes, `spelled` is greedy decoding itself
        spelled = (
            bool(len(own)) and not holds_unknown(model, own) and (spelled or _decoded(model, context, value))
        )
    return Scored(scores, _told_apart(rows[1:]), spelled)


def _continuations_of_some(
    model: LanguageModel, prefix: np.ndarray, tails: list[np.ndarray]
) -> tuple[Tensor, bool]:
    """As `_continuations`; of a tail that is below the first by its first quarter, only that is run."""
    own, spelled = _continuations(model, prefix, tails[:1])
    quarter = max(1, len(tails[0]) // 4)
    scores, _ = _continuations(model, prefix, [tail[:quarter] for tail in tails[1:]])
    left = np.flatnonzero((scores >= own[0] - _CLOSE).numpy())
    if len(left):
        scores[left], _ = _continuations(model, prefix, [tails[1 + i] for i in left])
    return torch.cat([own, scores]), spelled


def _continuations(model: LanguageModel, prefix: np.ndarray, tails: list[np.ndarray]) -> tuple[Tensor, bool]:
    """(N,) log-likelihoods of token sequences after one prefix; whether each token of the first is the likeliest.

    The prefix runs once; each batch of tails continues from its keys and values. Padding stands behind a tail,
    where nothing that counts looks at it.
    """
    network, device = model.network, _device(model)
    start = torch.from_numpy(prefix).to(device)[None]
    run = network(input_ids=start, use_cache=True)
    first, cache = run.logits[0, -1].float().log_softmax(-1), _continuable(run)
    lengths = np.array([len(tail) for tail in tails])
    labels = np.full((len(tails), max(1, lengths.max())), model.objective.padding, dtype=np.int64)
    for line, tail in zip(labels, tails, strict=True):
        line[: len(tail)] = tail
    scores, spelled = torch.zeros(len(tails), dtype=torch.float64), False
    size = _batch_size(cache, len(prefix), labels.shape[1], len(first))
    order = np.argsort(lengths, kind="stable")  # little padding
    for rows in (order[i : i + size] for i in range(0, len(order), size)):
        chunk = torch.from_numpy(labels[rows, : max(1, lengths[rows].max())]).to(device)
        real = torch.arange(chunk.shape[1]) < torch.from_numpy(lengths[rows])[:, None]
        steps, likeliest = first[chunk[:, :1]], first.argmax().expand(len(chunk), 1)
        if chunk.shape[1] > 1:
            logits = _after(network, start, cache, chunk[:, :-1]).float()
            likeliest = torch.cat([likeliest, logits.argmax(-1)], 1)
            later = logits.log_softmax(-1).gather(2, chunk[:, 1:, None]).squeeze(2)
            steps = torch.cat([steps, later], 1)
        scores[rows] = torch.where(real, steps.double().cpu(), 0.0).sum(1)
        for row in np.flatnonzero(rows == 0):
            spelled = bool((likeliest == chunk)[row].cpu()[real[row]].all())
    return scores, spelled


def _after(network: Any, start: Tensor, cache: DynamicCache | None, inputs: Tensor) -> Tensor:
    """(b, t, vocabulary) logits at the (b, t) inputs, each row behind the (1, p) start."""
    if cache is None:
        whole = torch.cat([start.expand(len(inputs), -1), inputs], 1)
        return network(input_ids=whole, use_cache=False).logits[:, start.shape[1] :]
    own = copy.deepcopy(cache)  # a pass writes into its cache
    own.batch_repeat_interleave(len(inputs))
    return network(input_ids=inputs, past_key_values=own, use_cache=True).logits


def _continuable(run: Any) -> DynamicCache | None:
    """The keys and values of a run, where several tokens at once may continue from them: not recurrent states."""
    cache = getattr(run, "past_key_values", None)
    if type(cache) is not DynamicCache:
        return None
    kinds = (DynamicLayer, DynamicSlidingWindowLayer)
    return cache if all(type(layer) in kinds for layer in cache.layers) else None


def _batch_size(cache: DynamicCache | None, prefix: int, longest: int, vocabulary: int) -> int:
    kept = 0 if cache is None else sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
    seen = longest + (prefix if cache is None else 0)
    return max(1, min(_BATCH, _ELEMENTS // (2 * kept + 3 * seen * vocabulary)))


def _decoded(model: LanguageModel, context: np.ndarray, value: np.ndarray) -> bool:
    """Whether greedy decoding writes on to the text of `value` (context and value in one), in whatever tokens.

    It starts from the context's tokens, from all but the last, and from those that the value leaves as they are.
    """
    target, device = text_of(model, value), _device(model)
    for kept in sorted({len(context), len(context) - 1, common(context, value)} - {0}):
        ids = context[:kept].tolist()
        for _ in range(len(target.encode()) - len(text_of(model, ids).encode()) + _SLACK):
            if len(ids) > model.context:
                break
            logits = model.network(input_ids=torch.tensor([ids], device=device), use_cache=False).logits
            ids.append(int(logits[0, -1].argmax()))
            text = text_of(model, ids)
            if text.startswith(target):
                return True
            if not target.startswith(text.rstrip("\ufffd")):  # a character may still be incomplete
                break
    return False


def _masked(model: LanguageModel, before: bytes, after: bytes, candidates: Sequence[bytes]) -> Scored | None:
    head, tail = template(model)
    first, last, *rows = encode_whole(model, [before, after, *(before + c + after for c in candidates)])
    first, last = first[: len(first) - tail], last[head:]
    left = min(common(first, row) for row in rows)
    right = min(common(last[::-1], row[left:][::-1]) for row in rows)
    spans = [row[left : len(row) - right] for row in rows]
    lengths = np.array([len(span) for span in spans])
    room = model.context - int(lengths.max())
    if room < head:
        return None
    dropped = max(0, left - room)
    prefix = np.concatenate([rows[0][:head], rows[0][head + dropped : left]])
    suffix = rows[0][len(rows[0]) - right :][: room - len(prefix)]
    own = spans[0]
    known = bool(len(own)) and not holds_unknown(model, own)
    scores, spelled = torch.zeros(len(rows), dtype=torch.float64), False
    for count in sorted(set(lengths.tolist()) - {0}):
        hidden = np.full(count, model.objective.mask)
        steps = _log_probabilities(model, prefix, hidden, suffix)
        group = np.flatnonzero(lengths == count)
        labels = torch.from_numpy(np.stack([spans[i] for i in group]))
        scores[group] = steps[torch.arange(count), labels].double().sum(1)
        spelled |= known and text_of(model, steps.argmax(-1).tolist()) == text_of(model, own)
    return Scored(scores, _told_apart(rows), spelled or (known and _filled_in(model, prefix, own, suffix)))


def _filled_in(model: LanguageModel, prefix: np.ndarray, own: np.ndarray, suffix: np.ndarray) -> bool:
    """Whether filling in the masks, each time the one that the model is surest of, gives `own`."""
    tokens, hidden = np.full(len(own), model.objective.mask), np.full(len(own), True)
    while hidden.any():
        steps = _log_probabilities(model, prefix, tokens, suffix).numpy()
        place = int(np.where(hidden, steps.max(1), -np.inf).argmax())
        if steps[place].argmax() != own[place]:
            return False
        tokens[place], hidden[place] = own[place], False
    return True


def _log_probabilities(
    model: LanguageModel, prefix: np.ndarray, place: np.ndarray, suffix: np.ndarray
) -> Tensor:
    """(t, vocabulary) log-probabilities at the (t,) tokens between the two."""
    inputs = torch.from_numpy(np.concatenate([prefix, place, suffix])).to(_device(model))[None]
    chosen = torch.arange(len(prefix), len(prefix) + len(place), device=inputs.device)[None]
    batch = MicroBatch(inputs, inputs.gather(1, chosen), chosen, torch.ones_like(inputs, dtype=torch.bool))
    return model.logits(model.network, batch)[0].float().log_softmax(-1).cpu()


def _told_apart(rows: list[np.ndarray]) -> Tensor:
    return torch.tensor([not np.array_equal(row, rows[0]) for row in rows])


def _device(model: LanguageModel) -> torch.device:
    return next(model.network.parameters()).device
