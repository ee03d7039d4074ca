"""The byte-level GPT: tied embeddings, no dropout, and no vocabulary that was learned from anything.

Byte b is token b + 3 (the ids of `ByT5Tokenizer(extra_ids=0)`); a sequence starts with token 1.
"""

import numpy as np
import torch
from transformers import ByT5Tokenizer, GPT2Config, GPT2LMHeadModel

from hush_core.config import ByteGptModel

START = 1
OFFSET = 3
VOCABULARY = 259
SPREAD = 0.4
"""Of the initial weights, times √width. GPT-2's 0.02 is for a width of 768; a narrow model that starts with it
needs four times the steps to learn what follows a byte."""


def encode_bytes(text: bytes) -> np.ndarray:
    """(len(text) + 1,) uint16 tokens: the start token, then one token a byte."""
    tokens = np.full(len(text) + 1, START, dtype=np.uint16)
    np.add(np.frombuffer(text, dtype=np.uint8), OFFSET, out=tokens[1:], dtype=np.uint16)
    return tokens


def byte_tokenizer() -> ByT5Tokenizer:
    return ByT5Tokenizer(extra_ids=0)


def byte_network(config: ByteGptModel, context: int, *, seed: int = 0) -> GPT2LMHeadModel:
    """A new GPT-2 for texts of up to `context` bytes; its initial weights depend on nothing but the seed."""
    shape = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=context + 1,
        n_embd=config.width,
        n_layer=config.layers,
        n_head=config.heads,
        initializer_range=SPREAD / config.width**0.5,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        # The same function as gelu_new in one kernel: 12 % of a step on CPU.
        activation_function="gelu_pytorch_tanh",
        bos_token_id=START,
        eos_token_id=START,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT2LMHeadModel(shape)
