"""BERT's smallest shape with a vocabulary of public words, as the masked-language experiments of Hush! have it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import torch
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from hush_core.training import LanguageModel
from hush_core.training.data import Objective

LAYERS, WIDTH, HEADS, INNER = 2, 128, 2, 512
"""Of BERT-tiny (Turc et al. 2019)."""


def masked_model(public: Sequence[bytes], *, vocabulary: int, context: int, seed: int) -> LanguageModel:
    """A new model of BERT-tiny's shape that reads `context` tokens and predicts 15 % of them.

    Args:
        public: texts that its WordPiece vocabulary is made of, and nothing else of it.
        vocabulary: so many pieces at most; BERT's own has 30,522, and there the embeddings are most of the model.
    """
    pieces = BertWordPieceTokenizer(lowercase=True)
    words = (text.decode(errors="replace") for text in public)
    pieces.train_from_iterator(words, vocab_size=vocabulary, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        pieces.save_model(folder)
        tokenizer = BertTokenizerFast.from_pretrained(folder, model_max_length=context)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INNER, max_position_embeddings=context, type_vocab_size=1,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = BertForMaskedLM(config).eval()  # without dropout from here on, as all models here
    special = frozenset(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
    objective = Objective(
        "masked", padding=tokenizer.pad_token_id, mask=tokenizer.mask_token_id, vocabulary=len(tokenizer),
        special=special,
    )  # fmt: skip
    return LanguageModel(network, tokenizer, objective, context).on_accelerator()
