"""Which tokens of a prompted text are learned: those that encode a byte of a completion, in part or whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from transformers import PreTrainedTokenizerBase

from hush_core.corpus.prompted import PromptedText
from hush_core.errors import InputError
from hush_core.training.byte_gpt import encode_bytes
from hush_core.training.data import PromptedTokens


def prompted_bytes(text: PromptedText) -> PromptedTokens:
    """For a byte model: the start token is not learned, and every byte of a completion is."""
    learned = np.zeros(len(text) + 1, dtype=bool)
    for start, end in text.completions:
        learned[1 + start : 1 + end] = True
    return PromptedTokens(encode_bytes(text), learned)


def prompted_tokens(
    text: PromptedText, tokenizer: PreTrainedTokenizerBase, start: int | None
) -> PromptedTokens:
    """By the tokenizer's own offsets. A chat template writes special tokens as text; they are read as such.

    An end that the tokenizer adds is learned where the last token before it is. `start`: as `with_start`.

    Raises:
        InputError: the tokenizer has no offsets.
    """
    if not tokenizer.is_fast:
        raise InputError(
            "tables.loss_on: completions",
            "needs to know the bytes of a token, which this model's tokenizer does not say",
            "save the model with its fast tokenizer (tokenizer.json), or set loss_on to all",
        )
    words, spoken = _characters(text)
    found = tokenizer(words, return_offsets_mapping=True, verbose=False)
    offsets = np.array(found.offset_mapping, dtype=np.int64).reshape(-1, 2)
    learned = np.zeros(len(offsets), dtype=bool)
    for first, last in spoken:
        learned |= (offsets[:, 0] < last) & (offsets[:, 1] > first) & (offsets[:, 0] < offsets[:, 1])
    standing = np.flatnonzero(offsets[:, 0] < offsets[:, 1])
    if len(standing):
        learned[standing[-1] + 1 :] = learned[standing[-1]]
    tokens = np.array(with_start(found.input_ids, start), dtype=np.int32)
    added = len(tokens) - len(learned)
    return PromptedTokens(tokens, np.append([False] * added, learned[max(0, -added) :]).astype(bool))


def with_start(tokens: list[int], start: int | None) -> list[int]:
    """The tokens, with the start once before them: GPT-2's tokenizer adds none, and without one the first token
    would never be learned; and a chat template may write one beside the tokenizer's own.

    >>> with_start([7], 1), with_start([1, 7], 1), with_start([1, 1, 7], 1), with_start([7], None)
    ([1, 7], [1, 7], [1, 7], [7])
    """
    if start is None or tokens[:1] == [start]:
        return tokens[1:] if start is not None and tokens[:2] == [start, start] else tokens
    return [start, *tokens]


def _characters(text: PromptedText) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text as UTF-8 with � for what is not UTF-8, and its completions counted in characters.

    Every range is decoded by itself. It begins and ends where a character does, unless a chunk's border cuts the
    character, and then nothing is beside it.
    """
    borders = sorted({0, len(text), *(place for pair in text.completions for place in pair)})
    at, parts, place = {0: 0}, [], 0
    for first, last in pairwise(borders):
        parts.append(text[first:last].decode("utf-8", errors="replace"))
        place += len(parts[-1])
        at[last] = place
    return "".join(parts), [(at[first], at[last]) for first, last in text.completions]
