"""The models, inputs and losses of `training_speed.py`: what each step is timed on.

All weights are random, every dropout 0, the embeddings tied as transformers ties them; tokens are uniform.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

CLIP = 0.1
"""The clip norm of the comparison: low, so that examples are clipped."""


class Tokens(NamedTuple):
    """inputs, labels, positions: (B, T) int64, or (B, M) labels of the M masked positions `masked`."""

    inputs: Tensor
    labels: Tensor
    positions: Tensor
    masked: Tensor

    @property
    def shares(self) -> None:
        """An item is an example."""


@dataclass(frozen=True)
class Shape:
    """A model and the micro-batches that it is timed on.

    lora: the modules that get adapters, or none. masked: positions that are predicted, 0 for all of a causal
    model. peers: whether the peers are timed too.
    """

    name: str
    config: BertConfig | GPT2Config
    tokens: int
    micro_batch: int
    micro_batches: int
    lora: str | tuple[str, ...] | None = None
    masked: int = 0
    peers: bool = True

    @property
    def large(self) -> bool:
        return self.config.hidden_size >= 768

    @property
    def vocabulary(self) -> int:
        return self.config.vocab_size


def bert_tiny() -> BertConfig:
    return BertConfig(
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def gpt(width: int, layers: int, heads: int, vocabulary: int, context: int) -> GPT2Config:
    """With the gelu of one kernel (the same function as gelu_new, faster on CPU): the harder rival."""
    return GPT2Config(
        vocab_size=vocabulary,
        n_positions=context,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        activation_function="gelu_pytorch_tanh",
        bos_token_id=1,
        eos_token_id=1,
    )


def shapes(quick: bool, times: int = 1) -> list[Shape]:
    """The three models, each trained whole and through LoRA adapters; micro-batches `times` as large fill a GPU."""
    bert = Shape("BERT-tiny", bert_tiny(), 128, times * (4 if quick else 16), 2, masked=20)
    byte = Shape("byte GPT 4×256", gpt(256, 4, 4, 259, 257), 256, times * (2 if quick else 8), 2)
    small = Shape("GPT-2 small", gpt(768, 12, 12, 50257, 1024), 128, times * 4, 2)
    if quick:
        return [bert, byte]
    return [
        bert,
        adapted(bert, ("query", "value"), "attention"),
        adapted(bert, "all-linear", "all linear"),
        byte,
        adapted(byte, ("c_attn",), "attention"),
        adapted(byte, "all-linear", "all linear"),
        small,
        adapted(small, ("c_attn",), "attention"),
        adapted(small, "all-linear", "all linear"),
    ]


def adapted(shape: Shape, modules: str | tuple[str, ...], words: str) -> Shape:
    """The same through LoRA, r = 8; the peers on the attention projections only."""
    name = f"{shape.name}, LoRA on {words}"
    return replace(shape, name=name, lora=modules, peers=words == "attention")


def make_model(shape: Shape, *, untied: bool = False) -> nn.Module:
    """The same weights at every call. untied: the head gets a copy of the embedding's weight of its own."""
    torch.manual_seed(0)
    make = BertForMaskedLM if isinstance(shape.config, BertConfig) else GPT2LMHeadModel
    model = make(shape.config)
    if untied:
        head = model.get_output_embeddings()
        head.weight = nn.Parameter(head.weight.detach().clone())
        if head.bias is not None:
            model.cls.predictions.bias.requires_grad_(False)
            head.bias = nn.Parameter(head.bias.detach().clone())
    if shape.lora is not None:
        model = _with_adapters(model, shape)
    return model.train()


def _with_adapters(model: nn.Module, shape: Shape) -> nn.Module:
    from peft import LoraConfig, get_peft_model

    modules = shape.lora if isinstance(shape.lora, str) else list(shape.lora)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Conv1D: peft sets fan_in_fan_out itself, and says so
        model = get_peft_model(
            model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, target_modules=modules)
        )
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zero at first: the gradient of A would be zero too
            nn.init.normal_(parameter, std=0.02)
    return model


def make_batches(shape: Shape, device: torch.device, *, examples: int = 0) -> list[Tokens]:
    """The micro-batches of a logical batch, or one of `examples` examples."""
    source = torch.Generator().manual_seed(1)
    out = []
    for _ in range(1 if examples else shape.micro_batches):
        count = examples or shape.micro_batch
        ids = torch.randint(5, shape.vocabulary, (count, shape.tokens), generator=source)
        positions = torch.arange(shape.tokens).expand(count, -1).contiguous()
        masked = (
            torch.rand(count, shape.tokens, generator=source).argsort(1)[:, : shape.masked].sort(1).values
        )
        labels = ids.gather(1, masked) if shape.masked else torch.roll(ids, -1, 1)
        out.append(Tokens(*(part.to(device) for part in (ids, labels, positions, masked))))
    return out


def losses_of(shape: Shape) -> Callable[[nn.Module, Tokens], Tensor]:
    return masked_losses if shape.masked else causal_losses


def causal_losses(model: nn.Module, batch: Tokens) -> Tensor:
    """(B,) mean cross-entropy over an example's tokens."""
    logits = model(input_ids=batch.inputs, position_ids=batch.positions, use_cache=False).logits
    return _mean_over_tokens(logits, batch.labels)


def masked_losses(model: nn.Module, batch: Tokens) -> Tensor:
    """(B,) mean cross-entropy over the masked positions; the head runs on those only."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    hidden = base.bert(
        input_ids=batch.inputs,
        token_type_ids=torch.zeros_like(batch.inputs),
        position_ids=batch.positions,
    ).last_hidden_state
    chosen = hidden.gather(1, batch.masked.unsqueeze(-1).expand(-1, -1, hidden.shape[2]))
    return _mean_over_tokens(base.cls(chosen), batch.labels)


def _mean_over_tokens(logits: Tensor, labels: Tensor) -> Tensor:
    losses = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view_as(labels).mean(1)


def one_layer(shape: Shape) -> Shape:
    config = copy.deepcopy(shape.config)
    setattr(config, "num_hidden_layers" if shape.masked else "n_layer", 1)
    return replace(shape, config=config)


@lru_cache(maxsize=1)
def reference(name: str, quick: bool, untied: bool) -> tuple[dict[str, Tensor], Tokens]:
    """Two examples of a shape and their clipped sum by a loop in float64."""
    small, sums = one_layer(named_shape(name, quick)), {}
    batch = make_batches(small, torch.device("cpu"), examples=2)[0]
    exact = make_model(small, untied=untied).double()
    named = {n: p for n, p in exact.named_parameters() if p.requires_grad}
    for i in range(2):
        loss = losses_of(small)(exact, Tokens(*(part[i : i + 1] for part in batch))).sum()
        gradients = torch.autograd.grad(loss, list(named.values()))
        norm = torch.stack([g.norm() for g in gradients]).norm()
        for n, g in zip(named, gradients, strict=True):
            sums[n] = sums.get(n, 0) + g * (CLIP / norm).clamp(max=1)
    return sums, batch


def named_shape(name: str, quick: bool) -> Shape:
    return next(s for s in shapes(quick) if s.name == name)


logging.getLogger("transformers").setLevel(logging.ERROR)
