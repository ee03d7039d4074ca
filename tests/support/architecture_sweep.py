"""Every language model of transformers, tiny and random, as a folder, and how it comes out of the checks.

`lab/benchmarks/architectures.py` goes through all of them, `test_architectures.py` through a sample.
"""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
import transformers
from tiny_models import tokenizer
from torch import nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from hush_core.config import HuggingFaceModel, LoraConfig
from hush_core.errors import InputError
from hush_core.training import LanguageModel, clipped_gradient_sum, open_model, with_lora
from hush_core.training.comparison import alone, largest_difference
from hush_core.training.data import MicroBatch, micro_batches
from hush_core.training.independence import check_model, random_batch
from hush_core.training.lora import has_lora

TEXTS = [b"the quick brown fox", b"five dozen jugs", b"", b"dog dog dog dog", b"a lazy box \xff\xfe"]
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "embedding_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"), 2),
    **dict.fromkeys(("decoder_layers", "num_encoder_layers", "num_decoder_layers", "num_blocks"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"), 2),
    **dict.fromkeys(("decoder_attention_heads", "num_encoder_attention_heads"), 2),
    **dict.fromkeys(("num_decoder_attention_heads", "linear_num_key_heads", "linear_num_value_heads"), 2),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "swa_num_attention_heads"), 2),
    **dict.fromkeys(("swa_num_key_value_heads", "linear_num_heads", "index_n_heads"), 2),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "hidden_dim", "dff", "d_inner", "dim_ff"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "moe_intermediate_size", "ffn_hidden_size"), 48),
    **dict.fromkeys(("shared_expert_intermediate_size", "shared_intermediate_size"), 48),
    **dict.fromkeys(("expert_ffn_hidden_size", "intermediate_size_mlp", "dense_intermediate_size"), 48),
    **dict.fromkeys(("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size"), 48),
    **dict.fromkeys(("head_dim", "d_head", "dim_head", "v_head_dim", "qk_rope_head_dim", "kv_channels"), 16),
    **dict.fromkeys(("qk_nope_head_dim", "attention_head_size", "linear_key_head_dim", "swa_head_dim"), 16),
    **dict.fromkeys(("linear_value_head_dim", "linear_head_dim", "index_head_dim"), 16),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "o_lora_rank", "laurel_rank", "gated_norm_rank"), 8),
    **dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k"), 2),
    **dict.fromkeys(("n_group", "topk_group", "num_expert_group", "zero_expert_num"), 1),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 64),
    **dict.fromkeys(("sliding_window", "sliding_window_size", "local_attention", "window_size"), 16),
    **dict.fromkeys(("vocab_size_per_layer_input", "encoder_hash_byte_group_vocab", "entity_vocab_size"), 96),
    **dict.fromkeys(("hidden_size_per_layer_input", "entity_emb_size", "num_chroma"), 16),
    "qk_head_dim": 32, "rotary_dim": 8, "type_vocab_size": 2, "mamba_d_state": 16, "mamba_n_heads": 4,
    "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_chunk_size": 16, "chunk_size": 16, "state_size": 8,
    "time_step_rank": 4, "first_k_dense_replace": 1, "query_pre_attn_scalar": 16, "word_embed_proj_dim": 32,
    "num_nextn_predict_layers": 0, "linear_conv_kernel_dim": 4, "num_kv_shared_layers": 0, "vocab_size": 96,
    "layer_group_size": 2, "intra_bottleneck_size": 16, "true_hidden_size": 16, "lru_width": 32,
    "attention_window": 8, "attention_hidden_size": 32, "model_max_length": 64, "d_latents": 32,
    **dict.fromkeys(("pronunciation_vocab_size", "shape_vocab_size"), 96), "shape_embed_dim": 16,
    "pronunciation_embed_dim": 16, "mamba_d_ssm": 64, "activation_sparsity_pattern": [0.5, 0.0],
    "per_layer_config": {},
}  # fmt: skip
"""Of every config that has a field of that name; nested ones too."""
OWN: dict[str, dict] = {
    "codegen": {"n_head": 4},
    "esm": {"vocab_size": 96, "position_embedding_type": "rotary"},
    "xmod": {"default_language": "en_XX", "languages": ["en_XX"]},
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_method": "greedy"},
    "nemotron": {"num_key_value_heads": 2, "head_dim": 16},
    "cohere_compass_text": {"layer_types": ["sliding_attention", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "funnel": {"block_sizes": [1, 1], "block_repeats": [1, 1], "num_decoder_layers": 1},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "reformer": {"attn_layers": ["local", "lsh"], "axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16]}
    | {"lsh_attn_chunk_length": 8, "local_attn_chunk_length": 8, "num_buckets": 2},
    "mamba2": {"num_heads": 4, "head_dim": 16, "n_groups": 1},
    "gemma2": {"layer_types": ["sliding_attention", "full_attention"]},
    "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}
MODES = ("all parameters", "adapters", "adapters on all linear layers")


def architectures() -> list[tuple[str, str, str]]:
    """(type, class, objective) of all that the two auto classes know."""
    return [
        (kind, name, objective)
        for objective, names in (
            ("causal", MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
            ("masked", MODEL_FOR_MASKED_LM_MAPPING_NAMES),
        )
        for kind, name in sorted(names.items())
    ]


def shrink(fields: dict, own: dict) -> dict:
    """The fields of a default config that a tiny model has otherwise."""
    out = {}
    for name, value in fields.items():
        if name in own:
            out[name] = own[name]
        elif isinstance(value, dict) and ("hidden_size" in value or "vocab_size" in value):
            out[name] = {**value, **shrink(value, own)}
        elif name in SMALL and value is not None:
            out[name] = SMALL[name]
        elif name.endswith("token_id") and isinstance(value, int):
            out[name] = {"pad_token_id": 0, "mask_token_id": 3}.get(name, 2)
        elif name in ("layer_types", "mlp_layer_types", "layers_block_type", "indexer_types") and value:
            kinds = list(dict.fromkeys(value))
            out[name] = (kinds + kinds)[:2] if len(kinds) < 2 else kinds[-2:]
    return out


def configs(kind: str, objective: str) -> Iterator[dict]:
    """Fields of tiny configs to try in turn: all by name, without lists of layers, without sizes of heads, and
    with what the default leaves open."""
    try:
        fields = CONFIG_MAPPING[kind]().to_dict()
    except Exception:
        fields = dict.fromkeys(SMALL, 1)
    own = OWN.get(kind, {})
    small = shrink(fields, own) | own
    if "is_decoder" in fields:
        small["is_decoder"] = objective == "causal"
    lists = {k: v for k, v in small.items() if not isinstance(v, list) or k in own}
    heads = {k: v for k, v in lists.items() if "head_dim" not in k}
    yield from (small, lists, heads)
    yield {k: (1 if k == "num_key_value_heads" else v) for k, v in heads.items()}
    yield {k: (4 if "layers" in k else v) for k, v in lists.items()}
    yield small | {k: SMALL[k] for k, v in fields.items() if v is None and k in SMALL}


def make(kind: str, name: str, objective: str, folder: Path) -> str | None:
    """Save a tiny model of the type to the folder; why not, where it cannot be."""
    why, words = "", tokenizer()
    ids = torch.arange(4, 16).repeat(2, 1)
    options = {"use_cache": False} if objective == "causal" else {}
    for settings in configs(kind, objective):
        for part in ("whole", "text"):
            try:
                config = CONFIG_MAPPING[kind](**settings)
                config = config if part == "whole" else config.get_text_config(decoder=True)
                torch.manual_seed(7)
                network = getattr(transformers, name)(config).float().eval()
                with torch.no_grad():  # away from zero biases and unit scales, where a wrong rule could hide
                    for parameter in network.parameters():
                        parameter.nan_to_num_().add_(0.05 * torch.randn(parameter.shape))
                    network(input_ids=ids, **options)
                network.save_pretrained(folder)
                words.save_pretrained(folder)
                return None
            except Exception as error:
                why = why or f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return why


def reference(model: LanguageModel, batch: MicroBatch, clip: float) -> tuple[torch.Tensor, dict]:
    """Norms (B,) and clipped sums, one example at a time by plain autograd, in float64 where that runs."""
    with suppress(RuntimeError, TypeError):
        norms, sums = loop(copy.deepcopy(model.network).double(), model.losses, batch, clip)
        if bool(norms.isfinite().all()):
            return norms, sums
    return loop(model.network, model.losses, batch, clip)


def loop(network: nn.Module, losses: Callable, batch: tuple, clip: float, scale=None) -> tuple:
    """Norms (B,) and clipped sums of a network as it is; each gradient is scaled before it is clipped."""
    norms, sums = [], {}
    for i in range(len(batch[0])):
        grads = {n: g.double() for n, g in gradients(network, losses, row_of(batch, i)).items()}
        if scale is not None:
            grads = {n: scale.scaled(n, g) for n, g in grads.items()}
        norms.append(math.sqrt(sum(float(g.square().sum()) for g in grads.values())))
        factor = min(1.0, clip / max(norms[-1], 1e-30))
        for n, g in grads.items():
            part = g * factor if math.isfinite(norms[-1]) else torch.zeros_like(g)  # else it adds nothing
            sums[n] = sums[n] + part if n in sums else part
    return torch.tensor(norms, dtype=torch.float64), sums


def row_of(batch: tuple, i: int) -> tuple:
    """A batch of one example, without its padding."""
    return alone(batch, i) if isinstance(batch, MicroBatch) else tuple(part[i : i + 1] for part in batch)


def gradients(network: nn.Module, losses: Callable, batch: tuple) -> dict[str, torch.Tensor]:
    """By plain autograd, of the sum of the losses; 0 for a parameter without a use."""
    named = {n: p for n, p in network.named_parameters() if p.requires_grad}
    found = torch.autograd.grad(losses(network, batch).sum(), list(named.values()), allow_unused=True)
    pairs = zip(named.items(), found, strict=True)
    return {n: torch.zeros_like(p) if g is None else g for (n, p), g in pairs}


def errors(model: LanguageModel) -> dict:
    """Largest relative error of a norm, relative error of the clipped sum."""
    try:
        return _errors(model, TEXTS)
    except (RuntimeError, IndexError):
        if _fails(model, b""):
            return _errors(model, [text for text in TEXTS if text]) | {
                "note": "its code fails on an empty text"
            }
        raise


def _fails(model: LanguageModel, text: bytes) -> bool:
    (batch,) = micro_batches(model.encode([text])[0], model.objective, 1, np.random.default_rng(0))
    try:
        model.losses(model.network, batch)
    except Exception:
        return True
    return False


def batch_of(model: LanguageModel, texts: list[bytes] = TEXTS) -> MicroBatch:
    sequences, _ = model.encode(texts)
    return micro_batches(sequences, model.objective, len(texts), np.random.default_rng(0))[0]


def _errors(model: LanguageModel, texts: list[bytes]) -> dict:
    batch = batch_of(model, texts)
    clip = 0.1
    norms, sums = reference(model, batch, clip)
    got = clipped_gradient_sum(model.network, batch, losses=model.losses, clip_norm=clip)
    finite = norms.isfinite()
    size = math.sqrt(sum(float(s.square().sum()) for s in sums.values()))
    distance = math.sqrt(sum(float((got.gradients[n] - sums[n]).square().sum()) for n in sums))
    relative = (got.norms - norms).abs() / norms.clamp_min(1e-6)
    return {"norm_error": float(relative[finite].max()), "sum_error": distance / size}


def move(model: LanguageModel) -> LanguageModel:
    """Adapters away from their start, where half of each is zero."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.network.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape))
    return model


def judge(kind: str, objective: str, folder: Path, mode: str) -> dict:
    """One row: how one architecture in one mode comes out, and what comes of doing what a refusal says."""
    targets = {MODES[0]: (), MODES[1]: None, MODES[2]: "all-linear"}[mode]
    row = {"type": kind, "objective": objective, "mode": mode, **outcome(objective, folder, targets)}
    if "name some of " in row.get("hint", ""):
        named = row["hint"].split("name some of ")[1].split(", or all-linear")[0].split(", ")
        obeyed = outcome(objective, folder, tuple(named))
        if obeyed["result"] != "right":
            row |= {"result": "wrong", "what": f"recommends {row['hint']}, and then: {obeyed.get('what')}"}
    return row


def outcome(objective: str, folder: Path, targets: tuple[str, ...] | str | None) -> dict:
    """Open the folder, put adapters in (none for an empty tuple), check it as before a release, and compare."""
    row: dict = {}
    model = None
    try:
        model, _ = open_model(HuggingFaceModel(kind="huggingface", name=str(folder), objective=objective))
        if targets != ():
            model = with_lora(model, LoraConfig(rank=3, targets=targets))
        check_model(model)
    except InputError as refusal:
        row |= {"result": "refused", "where": refusal.where, "what": refusal.what, "hint": refusal.hint}
    except Exception as error:
        return {"result": "wrong", "what": f"a traceback: {type(error).__name__}: {str(error)[:200]}"}
    refused = bool(row)
    if not refused:
        row["difference"], row["of"], _ = largest_difference(
            model.network, random_batch(model, 0), losses=model.losses
        )
    if model is None or (refused and has_lora(model) != (targets != ())):
        return row
    try:
        row |= errors(move(model) if targets != () else model)
        right = row["norm_error"] < 1e-4 and row["sum_error"] < 1e-3
    except Exception as error:
        right, row["error"] = False, f"{type(error).__name__}: {str(error)[:200]}"
    if refused:
        return row | ({"note": "would have been right"} if right else {})
    return row | {"result": "right" if right else "wrong"}
