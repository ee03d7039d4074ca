"""How a model scores the strings that are possible at one place of a text, and whether it gives the first away.

    place = Place(model, before, after)
    scored = place.score([value, *alternatives])     # None where the model cannot read that much

Causal: the log-likelihood of what is at the place, after the text before it. A tokenizer may merge across the
border of context and candidate, and may need more tokens for one candidate than for another. So each candidate is
encoded together with its context. Its score is the sum of log p over its tokens behind those that the context and
ALL candidates begin with. What is left out is the same for all of them: scores differ by exactly as much as the
log-likelihoods of the whole texts, context included.

Masked: all tokens of the place are masked at once, and the text on both sides is shown; a score is the sum of log p
of the candidate's tokens there. One forward pass serves all candidates of the same number of tokens. Candidates of
other lengths are compared as they are: a pseudo-likelihood is no probability of a text, and one with fewer tokens
tends to score higher. That costs power only. Under a model that knows nothing of the value its rank is uniform, as
with any fixed function of the string.

Strings that a tokenizer maps to the same tokens have the same score: case, if it lower-cases; bytes that are not
UTF-8 (read as �); unknown characters. `distinguishable` says where the model sees another text than the first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import ByT5Tokenizer

from hush_core.auditing.continuations import Continuations
from hush_core.auditing.tokens import common, common_to_all, encode_whole, holds_unknown, template, text_of
from hush_core.training import LanguageModel
from hush_core.training.data import MicroBatch

_BYTES_A_TOKEN = 8
"""Text further away than this many bytes for every token of the model's context is not encoded."""
_SLACK = 8
"""Tokens of a greedy decoding beyond one per byte."""


class Scored(NamedTuple):
    """scores: (N,) float64 in nats, up to a constant of the place. distinguishable: (N,) bool, whether the model
    reads the candidate as another text than the first. extracted: whether it gives the first itself."""

    scores: Tensor
    distinguishable: Tensor
    extracted: bool


class Place:
    """One place of a text, for candidates that come in several lots: what precedes it runs once.

    Args:
        model: in evaluation mode. It is run in float32. before, after: the text around the place; a causal model
            does not look at `after`.
    """

    def __init__(self, model: LanguageModel, before: bytes, after: bytes) -> None:
        reach = _BYTES_A_TOKEN * model.context
        self._model = model.at("fp32")
        self._before, self._after = before[max(0, len(before) - reach) :], after[:reach]
        self._run: Continuations | None = None
        self._decoded: dict[tuple[bytes, bytes], bool] = {}

    @torch.no_grad()
    def score(self, candidates: Sequence[bytes], *, hopeless: bool = False) -> Scored | None:
        """Score each candidate at the place.

        Args:
            candidates: (N,), the true value first. hopeless: a causal model's candidate that falls behind the value
                keeps its score so far, which is too high and still below the value's.

        Returns:
            None if the longest candidate leaves no room for context. If only a part of the context fits, a causal
            model is shown its end. A masked one is shown its beginning, as in training, if that holds the value.

        Extracted: a causal model's greedy decoding of the context continues with the value, from the context's
        tokens or from fewer. (A last token that holds a part of the value is then decoded too.) A masked model's
        likeliest tokens spell it, all at once or filled in one by one, the surest first. Spelled is what the
        tokenizer makes of the value, so without case if it lower-cases. A value with an unknown token is never
        extracted.
        """
        if self._model.objective.kind == "causal":
            return self._causal(candidates, hopeless=hopeless)
        return _masked(self._model, self._before, self._after, candidates)

    def _causal(self, candidates: Sequence[bytes], *, hopeless: bool) -> Scored | None:
        model, before = self._model, self._before
        head, tail = template(model)
        encoded = encode_whole(model, [before, *(before + c for c in candidates)])
        rows = [row[: len(row) - tail] for row in encoded]
        shared = common_to_all(rows)
        if not shared:  # no start token, no common one: what begins a text for other models of the kind
            start, head, shared = [model.objective.padding], 1, 1
            rows = [np.concatenate([start, row]) for row in rows]
        room = model.context - max(len(row) - shared for row in rows[1:])
        if room < max(1, head):
            return None
        dropped = max(0, shared - room)
        rows = [np.concatenate([row[:head], row[head + dropped :]]) for row in rows]
        context, value, shared = rows[0], rows[1], shared - dropped
        alike = common_to_all(rows[1:])  # as the prefix of a type
        if self._run is None or not np.array_equal(self._run.prefix, value[:alike]):
            self._run = Continuations(model, value[:alike], lead=alike - shared)
        scores, spelled = self._run.score([row[alike:] for row in rows[1:]], hopeless=hopeless)
        if not isinstance(model.tokenizer, ByT5Tokenizer):  # for bytes, `spelled` is greedy decoding itself
            spelled = self._is_decoded(context, value, spelled)
        return Scored(scores, _differ(rows[1:]), spelled)

    def _is_decoded(self, context: np.ndarray, value: np.ndarray, spelled: bool) -> bool:
        key = context.tobytes(), value.tobytes()
        if key not in self._decoded:
            own = value[common(context, value) :]
            known = bool(len(own)) and not holds_unknown(self._model, own)
            self._decoded[key] = known and (spelled or _decoded(self._model, context, value))
        return self._decoded[key]


def score(
    model: LanguageModel, before: bytes, after: bytes, candidates: Sequence[bytes], *, hopeless: bool = False
) -> Scored | None:
    """`Place(model, before, after).score(candidates)`: one lot of candidates at one place."""
    return Place(model, before, after).score(candidates, hopeless=hopeless)


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
    return Scored(scores, _differ(rows), spelled or (known and _filled_in(model, prefix, own, suffix)))


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


def _differ(rows: list[np.ndarray]) -> Tensor:
    return torch.tensor([not np.array_equal(row, rows[0]) for row in rows])


def _device(model: LanguageModel) -> torch.device:
    return next(model.network.parameters()).device
