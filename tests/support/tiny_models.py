"""Small language models of many architectures, with a tokenizer, as folders that `open_model` reads."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from hush_core.config import HuggingFaceModel
from hush_core.training import LanguageModel, open_model

PUBLIC = ["the quick brown fox jumps over the lazy dog", "pack my box with five dozen liquor jugs"] * 3
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[BOS]", "mask_token": "[MASK]"}
WIDE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
ROTARY = {**WIDE, "num_key_value_heads": 1, "max_position_embeddings": 40, "head_dim": 8}
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "opt": (
        "OPTForCausalLM",
        {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24}
        | {"max_position_embeddings": 40, "word_embed_proj_dim": 16},
    ),
}
"""Opened, but with a parameter that no rule covers: adapters work, full fine-tuning does not."""
CAUSAL: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40}),
    "llama": ("LlamaForCausalLM", ROTARY),
    "llama-tied": ("LlamaForCausalLM", {**ROTARY, "tie_word_embeddings": True}),
    "qwen2": ("Qwen2ForCausalLM", ROTARY),
    "qwen3": ("Qwen3ForCausalLM", ROTARY),
    "mistral": ("MistralForCausalLM", ROTARY),
    "gemma": ("GemmaForCausalLM", ROTARY),
    "gpt-neox": ("GPTNeoXForCausalLM", {**WIDE, "max_position_embeddings": 40}),
    "phi": ("PhiForCausalLM", {**WIDE, "max_position_embeddings": 40}),
}
MASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", {**WIDE, "max_position_embeddings": 40}),
    "roberta": ("RobertaForMaskedLM", {**WIDE, "max_position_embeddings": 42}),
    "distilbert": (
        "DistilBertForMaskedLM",
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40},
    ),
    "electra": ("ElectraForMaskedLM", {**WIDE, "max_position_embeddings": 40, "embedding_size": 16}),
    "albert": ("AlbertForMaskedLM", {**WIDE, "max_position_embeddings": 40, "embedding_size": 8}),
    "modernbert": (
        "ModernBertForMaskedLM",
        {**WIDE, "max_position_embeddings": 40, "cls_token_id": 0, "sep_token_id": 0},
    ),
}


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-pair tokenizer of about 90 tokens, learned from the pangrams above."""
    bpe = Tokenizer(models.BPE(unk_token="[UNK]"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=90, special_tokens=list(SPECIAL.values()), show_progress=False)
    bpe.train_from_iterator(PUBLIC, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, **SPECIAL, model_max_length=40)


def write_model(folder: Path, name: str, **more: Any) -> Path:
    """A folder with a freshly initialised model of that name, and its tokenizer."""
    class_name, shape = (CAUSAL | MASKED | REFUSED)[name]
    made = getattr(transformers, class_name)
    words = tokenizer()
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 2}
    config = made.config_class(vocab_size=len(words) + 3, **{**special, **shape, **more})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        network = made(config)
        with torch.no_grad():  # away from zero biases and unit scales, where a wrong rule could hide
            for parameter in network.parameters():
                parameter.add_(0.05 * torch.randn(parameter.shape))
    network.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def tiny_model(folder: Path, name: str, **more: Any) -> LanguageModel:
    """The same, opened."""
    path = write_model(folder / name, name, **more)
    return open_model(HuggingFaceModel(kind="huggingface", name=str(path)))[0]
