"""Which architectures of transformers are clipped right? Each, tiny and random, against a float64 loop.

    python benchmarks/architectures.py --out architectures.json          # all of them, an hour on one core
    python benchmarks/architectures.py --only ctrl,mixtral               # some

Every type that AutoModelForCausalLM or AutoModelForMaskedLM knows is made with a tiny config, saved with a tiny
tokenizer, and opened as a user's folder is: with all parameters, with adapters where peft puts them by default
(or, where it knows no default, where the refusal says), and with adapters on all linear layers. What passes the
checks before the first release is compared with plain autograd, one example at a time, in float64 (in float32
where the model's own code cannot run in float64): the clipped sum and every norm.

    right    within 1e-4 (norms) and 1e-3 (the whole sum)
    refused  before anything is released, with the message that a user reads
    wrong    passed the checks, and is not right: the exit status is 1
    not made no tiny config was found for it that its own code runs
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import multiprocessing
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import transformers
from torch import nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from hush_core.config import HuggingFaceModel, LoraConfig
from hush_core.errors import InputError
from hush_core.training import LanguageModel, clipped_gradient_sum, open_model, with_lora
from hush_core.training.comparison import alone
from hush_core.training.data import MicroBatch, micro_batches
from hush_core.training.independence import check_model

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from tiny_models import tokenizer

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
}  # fmt: skip
"""Of every config that has a field of that name; nested ones too."""
OWN: dict[str, dict] = {
    "funnel": {"block_sizes": [1, 1], "block_repeats": [1, 1], "num_decoder_layers": 1},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "reformer": {"attn_layers": ["local", "lsh"], "axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16]}
    | {"lsh_attn_chunk_length": 8, "local_attn_chunk_length": 8, "num_buckets": 2, "is_decoder": True},
    "mamba2": {"num_heads": 4, "head_dim": 16, "n_groups": 1},
    "gemma2": {"layer_types": ["sliding_attention", "full_attention"]},
    "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}
LIMIT = 120
"""Seconds for one architecture."""
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


def configs(kind: str, objective: str) -> Iterator[transformers.PretrainedConfig]:
    """Tiny configs to try in turn: the fields by name, without lists of layers, without sizes of heads."""
    made = CONFIG_MAPPING[kind]
    try:
        fields = made().to_dict()
    except Exception:
        fields = dict.fromkeys(SMALL, 1)
    own = OWN.get(kind, {})
    small = shrink(fields, own) | own
    if objective == "causal" and "is_decoder" in fields:
        small["is_decoder"] = True
    lists = {k: v for k, v in small.items() if not isinstance(v, list) or k in own}
    heads = {k: v for k, v in lists.items() if "head_dim" not in k}
    one = {k: (1 if k == "num_key_value_heads" else v) for k, v in heads.items()}
    deep = {k: (4 if "layers" in k else v) for k, v in lists.items()}
    for settings in (small, lists, heads, one, deep):
        try:
            yield made(**settings)
        except Exception as error:
            yield error


def make(kind: str, name: str, objective: str, folder: Path) -> str | None:
    """Save a tiny model of the type to the folder; why not, where it cannot be."""
    why, words = "", tokenizer()
    ids = torch.arange(4, 16).repeat(2, 1)
    for config in configs(kind, objective):
        try:
            if isinstance(config, Exception):
                raise config
            torch.manual_seed(7)
            network = getattr(transformers, name)(config).float().eval()
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.nan_to_num_().add_(0.05 * torch.randn(parameter.shape))
                network(input_ids=ids)
            network.save_pretrained(folder)
            words.save_pretrained(folder)
            return None
        except Exception as error:
            why = why or f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return why


def reference(model: LanguageModel, batch: MicroBatch, clip: float) -> tuple[torch.Tensor, dict]:
    """Norms (B,) and clipped sums, one example at a time by plain autograd, in float64 where that runs."""
    try:
        return _loop(model, copy.deepcopy(model.network).double(), batch, clip)
    except (RuntimeError, TypeError):
        return _loop(model, model.network, batch, clip)


def _loop(model: LanguageModel, network: nn.Module, batch: MicroBatch, clip: float) -> tuple:
    named = {n: p for n, p in network.named_parameters() if p.requires_grad}
    sums, norms = {n: torch.zeros_like(p, dtype=torch.float64) for n, p in named.items()}, []
    for i in range(len(batch.inputs)):
        loss = model.losses(network, alone(batch, i)).sum()
        grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        grads = [torch.zeros_like(p) if g is None else g for g, p in zip(grads, named.values(), strict=True)]
        norms.append(math.sqrt(sum(float(g.double().square().sum()) for g in grads)))
        for n, g in zip(named, grads, strict=True):
            sums[n] += g.double() * min(1.0, clip / max(norms[-1], 1e-30))
    return torch.tensor(norms, dtype=torch.float64), sums


def errors(model: LanguageModel) -> tuple[float, float]:
    """(largest relative error of a norm, relative error of the clipped sum)."""
    sequences, _ = model.encode(TEXTS)
    batch = micro_batches(sequences, model.objective, len(TEXTS), np.random.default_rng(0))[0]
    clip = 0.1
    norms, sums = reference(model, batch, clip)
    got = clipped_gradient_sum(model.network, batch, losses=model.losses, clip_norm=clip)
    size = math.sqrt(sum(float(s.square().sum()) for s in sums.values()))
    distance = math.sqrt(sum(float((got.gradients[n] - sums[n]).square().sum()) for n in sums))
    return float(((got.norms - norms).abs() / norms.clamp_min(1e-6)).max()), distance / size


def move(model: LanguageModel) -> LanguageModel:
    """Adapters away from their start, where half of each is zero."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.network.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape))
    return model


def adapt(model: LanguageModel, mode: str, fresh: object) -> tuple[LanguageModel, str]:
    """The model with the adapters of a mode; where peft knows no usual layers, on those that the refusal names."""
    if mode != "adapters":
        return with_lora(model, LoraConfig(rank=3, targets="all-linear")), ""
    try:
        return with_lora(model, LoraConfig(rank=3)), ""
    except InputError as refusal:
        if "name some of " not in refusal.hint:
            raise
        named = refusal.hint.split("name some of ")[1].split(", or all-linear")[0].split(", ")
        return with_lora(fresh(), LoraConfig(rank=3, targets=tuple(named))), f"by the hint: {refusal.hint}"


def judge(kind: str, objective: str, folder: Path, mode: str) -> dict:
    """One row: how one architecture in one mode comes out."""

    def opened() -> LanguageModel:
        asked = HuggingFaceModel(kind="huggingface", name=str(folder), objective=objective)
        return open_model(asked)[0]

    row: dict = {"type": kind, "objective": objective, "mode": mode}
    model = None
    try:
        model = opened()
        if mode != MODES[0]:
            model, row["note"] = adapt(model, mode, opened)
        check_model(model)
        row["result"] = "right"
    except InputError as refusal:
        row |= {"result": "refused", "where": refusal.where, "what": refusal.what, "mend": refusal.hint}
    except Exception as error:
        row |= {"result": "wrong", "what": f"a traceback: {type(error).__name__}: {str(error)[:200]}"}
        return row
    if model is None:
        return row
    try:
        row["norm_error"], row["sum_error"] = errors(move(model) if mode != MODES[0] else model)
        right = row["norm_error"] < 1e-4 and row["sum_error"] < 1e-3
    except Exception as error:
        right, row["error"] = False, f"{type(error).__name__}: {str(error)[:200]}"
    if row["result"] == "right" and not right:
        row["result"] = "wrong"
    if row["result"] == "refused" and right:
        row["note"] = "would have been right"
    return row


def sweep_one(kind: str, name: str, objective: str, out: str) -> None:
    """In a process of its own: write the rows of one architecture."""
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    sys.stderr = open(os.devnull, "w")
    with tempfile.TemporaryDirectory() as folder:
        why = make(kind, name, objective, Path(folder))
        if why is not None:
            rows = [{"type": kind, "objective": objective, "result": "not made", "what": why}]
        else:
            rows = [judge(kind, objective, Path(folder), mode) for mode in MODES]
    Path(out).write_text(json.dumps([{"class": name, **row} for row in rows]))


def sweep(chosen: list[tuple[str, str, str]], limit: float) -> Iterator[list[dict]]:
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, objective in chosen:
            out = Path(folder) / f"{kind}-{objective}.json"
            process = fork.Process(target=sweep_one, args=(kind, str(name), objective, str(out)))
            process.start()
            process.join(limit)
            if process.is_alive():
                process.kill()
                process.join()
            if out.exists():
                yield json.loads(out.read_text())
            else:
                what = f"no result: exit status {process.exitcode} within {limit:g} s"
                yield [
                    {"type": kind, "class": name, "objective": objective, "result": "not made", "what": what}
                ]


def summary(rows: list[dict]) -> str:
    """A table by mode, as docs/training.md shows it."""
    lines = ["| | right | refused | wrong |", "|---|---|---|---|"]
    for mode in MODES:
        counts = Counter(row["result"] for row in rows if row.get("mode") == mode)
        lines.append(f"| {mode} | {counts['right']} | {counts['refused']} | {counts['wrong']} |")
    unmade = sum(row["result"] == "not made" for row in rows)
    over = sum(row.get("note") == "would have been right" for row in rows)
    made = len({(row["type"], row["objective"]) for row in rows}) - unmade
    return "\n".join([*lines, "", f"{made} made, {unmade} not; {over} refused that would have been right"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="types, separated by commas")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one architecture")
    args = parser.parse_args()
    torch.set_num_threads(1)
    wanted = set(filter(None, args.only.split(",")))
    chosen = [one for one in architectures() if not wanted or one[0] in wanted]
    rows: list[dict] = []
    for found in sweep(chosen, args.limit):
        rows += found
        for row in found:
            told = [row["type"], row["objective"], row.get("mode", ""), row["result"], row.get("note", "")]
            told += [row.get("where", ""), row.get("what", ""), f"{row.get('sum_error', math.nan):.1e}"]
            print(" | ".join(told), flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(summary(rows))
    return int(any(row["result"] == "wrong" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
