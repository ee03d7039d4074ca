"""How likely a causal model finds each of many token sequences after one prefix, which it reads once for all.

    after = Continuations(model, prefix)
    scores, spelled = after.score([value, *tails])
    scores, _ = after.score([value, *more], hopeless=True)   # neither the prefix nor the value runs again

The log-likelihood of every token of a tail is computed in float32 and summed in float64. It falls with every token:
so with `hopeless`, a tail that has fallen below the value is run no further, and stays below it.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from hush_core.training import LanguageModel

_BATCH, _BATCH_CPU = 256, 32
"""Tails at once; on a processor the fewer stay in its caches, which is a fifth of the time."""
_ELEMENTS = 2**28
"""Numbers that a batch of tails may hold in cache and logits: 1 GiB in float32."""
_CLOSE = 1e-2
"""Nats: what is so close is not behind, however batches round."""
_LATE = 0.75
"""Where tails fall behind after this share of their tokens, to stop there costs more than it spares."""


class Continuations:
    """Token sequences ("tails") after one prefix.

    Args:
        model: causal, in evaluation mode; made under `torch.no_grad()`. prefix: (p,) int64 tokens, p ≥ 1.
        lead: of these tokens, the last ones: they belong to every tail, and count in its score.
    """

    def __init__(self, model: LanguageModel, prefix: np.ndarray, lead: int = 0) -> None:
        self.prefix, self._led = prefix, len(prefix) - lead
        self._network, self._padding = model.network, model.objective.padding
        self._start = torch.from_numpy(prefix).to(next(model.network.parameters()).device)[None]
        run = self._network(input_ids=self._start, use_cache=True)
        self._first = run.logits[0, -1].float().log_softmax(-1)
        own = self._start[0, self._led :, None]
        before = run.logits[0, self._led - 1 : -1].float()
        self._lead = float(before.log_softmax(-1).gather(1, own).double().sum())
        self._spelled = bool((before.argmax(-1) == own[:, 0]).all())
        self._cache = _continuable(run)
        self._value: tuple[bytes, Tensor, bool] | None = None

    def score(self, tails: Sequence[np.ndarray], *, hopeless: bool = False) -> tuple[Tensor, bool]:
        """(N,) log-likelihoods in nats, float64; whether each token of the first is the likeliest at its place.

        Args:
            tails: (N,) token sequences, the true value's first; that one is run only once.
            hopeless: a tail that falls behind the value keeps its score so far, which is too high and still below.
        """
        key = tails[0].tobytes()
        if self._value is None or self._value[0] != key:
            together = list(tails[:1] if hopeless else tails)
            scores, spelled = self._run(together, None)
            self._value = key, scores[:1], spelled
            if not hopeless:
                return scores, spelled
        _, own, spelled = self._value
        others, _ = self._run(list(tails[1:]), float(own) - _CLOSE if hopeless else None)
        return torch.cat([own, others]), spelled

    def _run(self, tails: list[np.ndarray], floor: float | None) -> tuple[Tensor, bool]:
        """Scores of the tails, each run until it is below the floor; whether the first is spelled by greedy
        decoding (where it was run to its end)."""
        lengths = np.array([len(tail) for tail in tails], dtype=np.int64)
        labels = np.full((len(tails), max(1, lengths.max(initial=0))), self._padding, dtype=np.int64)
        for line, tail in zip(labels, tails, strict=True):
            line[: len(tail)] = tail
        begun = self._lead + np.where(lengths, self._first.double().cpu().numpy()[labels[:, 0]], 0.0)  # known
        scores, greedy = torch.from_numpy(begun), np.zeros(labels.shape, dtype=bool)
        greedy[:, 0] = labels[:, 0] == int(self._first.argmax())
        left = np.flatnonzero(np.isfinite(begun) if floor is None else begun >= floor)
        left = left[np.argsort(lengths[left], kind="stable")]  # little padding
        size, stop = self._batch_size(labels.shape[1]), labels.shape[1]
        if floor is not None:
            stop = _stop(begun - self._lead, floor - self._lead, stop)
        for rows in (left[i : i + size] for i in range(0, len(left), size)):
            self._finish(rows, labels, lengths, scores, greedy, floor, stop)
        return scores, self._spelled and bool(len(tails)) and bool(greedy[0, : lengths[0]].all())

    def _finish(self, rows: np.ndarray, labels: np.ndarray, lengths: np.ndarray, scores: Tensor,
                greedy: np.ndarray, floor: float | None, stop: int) -> None:  # fmt: skip
        """Add what the tokens behind the first of these rows score."""
        last, cache, at = int(lengths[rows].max()), _for_rows(self._cache, len(rows)), 1
        for end in sorted({min(stop, last), last} - {0, 1}):
            chunk = torch.from_numpy(labels[rows, :end]).to(self._start.device)
            logits = self._logits(cache, chunk[:, :-1], at - 1).float()
            greedy[rows, at:end] = (logits.argmax(-1) == chunk[:, at:]).cpu().numpy()
            steps = logits.log_softmax(-1).gather(2, chunk[:, at:, None]).squeeze(2)
            real = torch.arange(at, end) < torch.from_numpy(lengths[rows])[:, None]
            scores[rows] += torch.where(real, steps.double().cpu(), 0.0).sum(1)
            at = end
            if end < last:
                kept = np.flatnonzero(scores[rows].numpy() >= floor)
                rows = rows[kept]
                if not len(rows):
                    return
                if cache is not None:
                    cache.batch_select_indices(torch.from_numpy(kept).to(self._start.device))

    def _logits(self, cache: DynamicCache | None, inputs: Tensor, done: int) -> Tensor:
        """(b, t − done, vocabulary) logits at the inputs behind those that are done, (b, t) in all."""
        if cache is None:
            whole = torch.cat([self._start.expand(len(inputs), -1), inputs], 1)
            return self._network(input_ids=whole, use_cache=False).logits[:, self._start.shape[1] + done :]
        return self._network(input_ids=inputs[:, done:], past_key_values=cache, use_cache=True).logits

    def _batch_size(self, longest: int) -> int:
        cache, prefix = self._cache, self._start.shape[1]
        kept = 0 if cache is None else sum(one.keys.numel() + one.values.numel() for one in cache.layers)
        seen = longest + (prefix if cache is None else 0)
        most = _BATCH_CPU if self._start.device.type == "cpu" else _BATCH
        return max(1, min(most, _ELEMENTS // (2 * kept + 3 * seen * len(self._first))))


def _stop(begun: np.ndarray, floor: float, longest: int) -> int:
    """After how many tokens to look which tails are behind: where the typical one is, judged by its first token.
    `longest`, which is not to look, where that would be late."""
    if not len(begun) or not math.isfinite(floor):
        return longest
    mean = -float(np.nan_to_num(begun, neginf=0.0).mean())
    expected = 1 + math.ceil(-floor / mean) if mean > 0 else longest
    return longest if expected > _LATE * longest else max(2, expected)


def _continuable(run: Any) -> DynamicCache | None:
    """The keys and values of a run, where several tokens at once may continue from them: not recurrent states."""
    cache = getattr(run, "past_key_values", None)
    if type(cache) is not DynamicCache:
        return None
    kinds = (DynamicLayer, DynamicSlidingWindowLayer)
    return cache if all(type(layer) in kinds for layer in cache.layers) else None


def _for_rows(cache: DynamicCache | None, rows: int) -> DynamicCache | None:
    """For each of so many rows, in layers of its own, as a pass adds to them; the numbers are shared until then."""
    if cache is None:
        return None
    own = copy.copy(cache)
    own.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in own.layers:
        layer.keys = layer.keys.expand(rows, -1, -1, -1)
        layer.values = layer.values.expand(rows, -1, -1, -1)
    return own
