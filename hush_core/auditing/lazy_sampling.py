"""How likely a model is to write a value out, computed instead of sampled.

    log_p = emission(model, [(before, value, after)], SAMPLINGS)     # (values, samplings), in nats
    discoverable_within(log_p, 1000)

A sampled continuation is a product of conditional probabilities, and temperature, top-k and nucleus sampling each
change them in a known way. So one forward pass gives the probability that the next tokens are the value's, however
small (reconstruction_rdp.txt, §3.2). A value is (n, p)-discoverable if at least one of n independent samples is the
value with probability at least p (Hayes et al. 2024, "Measuring memorization through probabilistic extraction").

Exact for the tokens that the tokenizer makes of the value after its context. Under a byte model there are no
others; under a subword model a value may be written in other tokens too, and the number is a lower bound. A masked
model is asked with all tokens of the value masked, and each of them sampled by itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from hush_core.auditing.spans import span_logits, value_span
from hush_core.auditing.tokens import holds_unknown
from hush_core.errors import InputError
from hush_core.training import LanguageModel


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn, as `generate` of transformers does it: temperature, then top-k, then nucleus.

    temperature: 0 is greedy decoding. top_k: the k likeliest tokens alone. top_p: the fewest tokens that hold so
    much of the probability.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise InputError("sampling: temperature", "is below 0 or no number", "give 0 or more")
        if self.top_k is not None and self.top_k < 1:
            raise InputError("sampling: top_k", "is below 1", "give a whole number from 1")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError("sampling: top_p", "is not in (0, 1]", "give a share of the probability")

    @property
    def name(self) -> str:
        if self.temperature == 0:
            return "greedy"
        cut = [f"top-k {self.top_k}"] if self.top_k else []
        cut += [f"nucleus {self.top_p:g}"] if self.top_p is not None and self.top_p < 1 else []
        return ", ".join([f"temperature {self.temperature:g}", *cut])

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """(t, vocabulary) log-probabilities of the next token, −∞ where it is never drawn."""
        if self.temperature == 0:
            chosen = torch.full_like(logits, -math.inf)
            return chosen.scatter_(1, logits.argmax(1, keepdim=True), 0.0)
        if self.temperature != 1:
            logits = TemperatureLogitsWarper(float(self.temperature))(None, logits)
        if self.top_k is not None:
            logits = TopKLogitsWarper(self.top_k)(None, logits)
        if self.top_p is not None and self.top_p < 1:
            logits = TopPLogitsWarper(self.top_p)(None, logits)
        return logits.double().log_softmax(1)


SAMPLINGS = (
    Sampling(temperature=0),
    Sampling(),
    Sampling(temperature=0.7),
    Sampling(top_k=40),
    Sampling(top_p=0.95),
)
"""What people use; fixed before any value is looked at."""


def emission(
    model: LanguageModel,
    places: Sequence[tuple[bytes, bytes, bytes]],
    samplings: Sequence[Sampling] = SAMPLINGS,
) -> np.ndarray:
    """(places, samplings) natural logarithms: how likely the model writes the value next, at each place.

    Args:
        model: in evaluation mode. places: (before, value, after); a causal model does not look at `after`.

    Returns:
        NaN where the value leaves no room for context; −∞ where it is never written (outside the top k, or of
        tokens that represent no text).
    """
    found = np.full((len(places), len(samplings)), np.nan)
    spans = [value_span(model, before, value, after) for before, value, after in places]
    there = [i for i, span in enumerate(spans) if span is not None]
    for n, logits in span_logits(model, [span for span in spans if span is not None]):
        place = there[n]
        tokens = spans[place].tokens
        for column, sampling in enumerate(samplings):
            if holds_unknown(model, tokens):
                found[place, column] = -math.inf
                continue
            steps = sampling.log_probabilities(logits)
            found[place, column] = float(steps[torch.arange(len(tokens)), torch.from_numpy(tokens)].sum())
    return found


def discoverable_within(log_probability: float, samples: float) -> float:
    """How likely at least one of so many independent samples is the value: 1 − (1 − p)^n, good for tiny p."""
    if log_probability == -math.inf:
        return 0.0
    if log_probability >= 0:
        return 1.0
    p_is_small = log_probability <= -0.7
    log_miss = (
        math.log1p(-math.exp(log_probability)) if p_is_small else math.log(-math.expm1(log_probability))
    )
    return -math.expm1(samples * log_miss)
