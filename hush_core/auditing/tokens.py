"""Texts as an attack reads them: the tokens that training makes of them, uncut, and back."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from transformers import ByT5Tokenizer

from hush_core.training import LanguageModel


def encode_whole(model: LanguageModel, texts: Sequence[bytes]) -> list[np.ndarray]:
    """The tokens that training makes of each text, uncut."""
    return [row.astype(np.int64) for row in replace(model, context=sys.maxsize).encode(texts)[0]]


def template(model: LanguageModel) -> tuple[int, int]:
    """How many tokens training puts before and behind those of every text."""
    if isinstance(model.tokenizer, ByT5Tokenizer):
        return 1, 0
    (row,) = encode_whole(model, [b"a"])
    added = model.tokenizer("a", return_special_tokens_mask=True).special_tokens_mask
    if 0 not in added:
        return len(row), 0
    return len(row) - len(added) + added.index(0), added[::-1].index(0)


def common(a: np.ndarray, b: np.ndarray) -> int:
    """How many tokens both begin with."""
    length = min(len(a), len(b))
    other = np.flatnonzero(a[:length] != b[:length])
    return int(other[0]) if len(other) else length


def common_to_all(rows: Sequence[np.ndarray]) -> int:
    """How many tokens all of them begin with."""
    length = min(map(len, rows))
    whole = np.stack([row[:length] for row in rows])
    other = np.flatnonzero((whole != whole[0]).any(axis=0))
    return int(other[0]) if len(other) else length


def holds_unknown(model: LanguageModel, tokens: np.ndarray) -> bool:
    return model.tokenizer.unk_token_id in tokens.tolist()


def text_of(model: LanguageModel, tokens: Sequence[int]) -> str:
    return model.tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
