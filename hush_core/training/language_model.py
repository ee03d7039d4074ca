"""A network with its tokenizer and its objective: texts in, one loss per example out.

`loss_by_itself` gives the mean loss of one text, in nats a predicted token: the log of its perplexity.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import ByT5Tokenizer, PreTrainedTokenizerBase

from hush_core.corpus.prompted import PromptedText, ends_of
from hush_core.errors import InputError
from hush_core.training.byte_gpt import encode_bytes
from hush_core.training.data import (
    IGNORED,
    MicroBatch,
    Objective,
    PromptedTokens,
    Tokens,
    micro_batches,
    prompted_bytes,
    prompted_tokens,
    with_start,
)

_LOGITS = 1 << 28
"""Logits of an evaluation at once."""
_AT_ONCE = 1000
"""Texts that a tokenizer is given at a time."""
Precision = Literal["fp32", "bf16"]
logging.getLogger("transformers.modeling_utils").addFilter(  # padding follows all that a causal model reads
    lambda record: "attention_mask" not in record.getMessage()
)
EVALUATION_SEED = 0
"""Of what a masked model is shown in an evaluation: the same for every model that is compared."""


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A causal or masked language model.

    Attributes:
        network: a transformers model with a language-modelling head, or a peft model around one.
        tokenizer: made without protected data.
        objective: what is predicted; names the special tokens.
        context: the most tokens of one example.
        precision: of forward and backward pass; parameters are float32 either way.
    """

    network: nn.Module
    tokenizer: PreTrainedTokenizerBase
    objective: Objective
    context: int
    precision: Precision = "fp32"

    @property
    def device(self) -> torch.device:
        """Where the network lies."""
        return next(self.network.parameters()).device

    def at(self, precision: Precision) -> LanguageModel:
        """The same network, run in another precision."""
        return replace(self, precision=precision)

    def on_accelerator(self) -> LanguageModel:
        """The same, its network on the machine's GPU where there is one."""
        self.network.to("cuda" if torch.cuda.is_available() else "cpu")
        return self

    def encode(self, texts: Sequence[bytes]) -> tuple[list[Tokens], int]:
        """Each text as (t,) integer tokens with the tokenizer's start and end, t ≤ context; how many were cut.

        A byte model reads every byte; others read UTF-8 with � for what is not UTF-8. Of a `PromptedText` it says
        which tokens are learned.

        Raises:
            InputError: a prompted text, and a tokenizer that does not say which bytes a token encodes.
        """
        rows: list[Tokens]
        if isinstance(self.tokenizer, ByT5Tokenizer):
            rows = [
                prompted_bytes(text) if isinstance(text, PromptedText) else encode_bytes(text)
                for text in texts
            ]
        else:
            rows = list(self._tokens([b"" if isinstance(text, PromptedText) else text for text in texts]))
            for place, text in enumerate(texts):
                if isinstance(text, PromptedText):
                    rows[place] = prompted_tokens(text, self.tokenizer, self._start)
        return [row[: self.context] for row in rows], sum(len(row) > self.context for row in rows)

    @property
    def _start(self) -> int | None:
        """The token that a causal model's sequence begins with, where its tokenizer has one."""
        return self.tokenizer.bos_token_id if self.objective.kind == "causal" else None

    def _tokens(self, texts: Iterable[bytes]) -> Iterator[np.ndarray]:
        kind = np.uint16 if len(self.tokenizer) <= 1 << 16 else np.int32
        start = self._start
        words = (text.decode("utf-8", errors="replace") for text in texts)
        while some := list(islice(words, _AT_ONCE)):
            for ids in self.tokenizer(some, verbose=False).input_ids:
                yield np.array(with_start(ids, start), dtype=kind)

    def losses(self, network: nn.Module, batch: MicroBatch) -> Tensor:
        """(b,) cross-entropy in nats, each the mean over the example's own predictions (0 where it has none).

        `network` comes first so that this is the `losses` of `clipped_gradient_sum`.
        """
        summed, counts = self._summed(network, batch)
        return summed / counts.clamp(min=1)

    def _summed(self, network: nn.Module, batch: MicroBatch) -> tuple[Tensor, Tensor]:
        logits = self.logits(network, batch)
        losses = functional.cross_entropy(
            logits.flatten(0, 1).float(), batch.labels.flatten(), ignore_index=IGNORED, reduction="none"
        )
        return losses.view_as(batch.labels).sum(1), (batch.labels != IGNORED).sum(1)

    def logits(self, network: nn.Module, batch: MicroBatch) -> Tensor:
        """(b, M, vocabulary): only at the chosen positions, where there are such."""
        causal = batch.chosen is None
        options: dict[str, Any] = {"use_cache": False} if causal else {"attention_mask": batch.attended}
        device = batch.inputs.device.type
        with ExitStack() as stack:
            _own_rows(network, len(batch.inputs), stack)
            if not causal:
                _gathered(network, batch.chosen, stack)
            if self.precision == "bf16":
                # without the cache each use of a weight stays visible to the clipping's check
                stack.enter_context(torch.autocast(device, torch.bfloat16, cache_enabled=False))
            return network(input_ids=batch.inputs, **options).logits

    @torch.no_grad()
    def evaluate(
        self, texts: Sequence[bytes], *, max_examples: int = 256, micro_batch: int | None = None
    ) -> float:
        """Mean loss in bits (`unit` says of what) over what is learned of the first `max_examples` texts that are
        not empty.

        The result is not noised: use public text, or text that holds no secret. NaN where there is nothing to
        score. A masked model is shown the same tokens each time. micro_batch: by default as many rows as give
        a gigabyte of logits.
        """
        chosen = [text for text in texts if text][:max_examples]
        sequences, _ = self.encode(chosen)
        rows = micro_batch or max(1, min(32, _LOGITS // (self.context * max(1, len(self.tokenizer)))))
        nats = count = 0.0
        generator = np.random.default_rng(EVALUATION_SEED)
        with evaluating(self.network):
            for batch in micro_batches(sequences, self.objective, rows, generator):
                summed, counts = self._summed(self.network, batch.on(self.device))
                nats, count = nats + float(summed.double().sum()), count + int(counts.sum())
        if self.objective.kind == "causal":
            count = sum(map(self._bytes_of, chosen, sequences))
        return nats / count / math.log(2) if count else math.nan

    @property
    def unit(self) -> str:
        """What a loss in bits is counted per."""
        return "byte" if self.objective.kind == "causal" else "masked token"

    def _bytes_of(self, text: bytes, row: Tokens) -> int:
        """Bytes that the predictions encode: fewer than the text's, where it was cut or holds a prompt."""
        if isinstance(self.tokenizer, ByT5Tokenizer):
            return int(row.learned[1:].sum()) if isinstance(row, PromptedTokens) else len(row) - 1
        ends = ends_of(text)
        whole = sum(ends[1::2]) - sum(ends[::2])
        if len(row) < self.context:
            return whole
        read = row.tokens[row.learned] if isinstance(row, PromptedTokens) else row
        return min(whole, len(self.tokenizer.decode(read, skip_special_tokens=True).encode()))


def core(network: nn.Module) -> nn.Module:
    """The transformers model inside a peft model, or the model itself."""
    return network.get_base_model() if hasattr(network, "peft_config") else network


def embedding_rows(network: nn.Module) -> int:
    """How many tokens a network has an embedding of.

    Raises:
        InputError: it has no table of them.
    """
    table = getattr(core(network).get_input_embeddings(), "weight", None)
    if table is None or table.dim() != 2:
        raise InputError("model", "has no table of token embeddings", "take another architecture")
    return len(table)


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """In evaluation mode meanwhile; then each module has its own mode again: adapters' differ from the rest's."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _own_rows(network: nn.Module, examples: int, until: ExitStack) -> None:
    """Let every example look up its own positions: a lookup that is broadcast over the batch has a gradient
    of the batch and none of an example. What the network computes stays the same."""

    def expand(layer: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        ids = args[0]
        if ids.dim() == 2 and ids.shape[0] == 1 and examples > 1:
            return (ids.expand(examples, -1), *args[1:])
        return None

    for module in network.modules():
        if type(module) is nn.Embedding:
            until.callback(module.register_forward_pre_hook(expand).remove)


def _gathered(network: nn.Module, chosen: Tensor, until: ExitStack) -> None:
    """Hand the head of a masked model the chosen positions only: over all of them it costs five times the step."""

    def gather(layer: nn.Module, args: Any, output: Any) -> Any:
        hidden = output[0]
        output["last_hidden_state"] = hidden.gather(1, chosen.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        return output

    until.callback(core(network).base_model.register_forward_hook(gather).remove)


MASK_SEED = 23
"""A masked model is asked for the same tokens of a text each time."""


def loss_by_itself(model: LanguageModel) -> Callable[[bytes], float]:
    """The loss of a text, by a model in evaluation mode; 0 where nothing of it is predicted.

    Each text is a batch of its own. In a larger one kernels may round otherwise with another text beside it, and
    the loss of one unit's record would depend on another unit's.
    """
    network = model.on_accelerator().network.eval()
    device = next(network.parameters()).device

    @torch.no_grad()
    def loss(text: bytes) -> float:
        sequences, _ = model.encode([text])
        batches = micro_batches(sequences, model.objective, 1, np.random.default_rng(MASK_SEED))
        return float(model.losses(network, batches[0].on(device))[0])

    return loss
