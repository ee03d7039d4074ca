"""Scores of models with subword tokenizers: against a float64 reference, and what the attack finds with them."""

import copy
import math
import re

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from frames import frame_of
from sizes import some
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from hush_core.auditing.alternatives import alternatives
from hush_core.auditing.exposure import exposure
from hush_core.auditing.scores import score
from hush_core.config import HuggingFaceModel, LoraConfig
from hush_core.training import fit_plain, open_model, with_lora

RNG = np.random.default_rng(5)
PUBLIC = [
    "import os; token = os.environ['TOKEN']  # see the manual",
    "token = 'ghp_example'; password = 'changeit'; key = 'none'",
    "def connect(host, port, user='root', password=''): pass",
    *(
        "".join(map(chr, RNG.permutation([*range(48, 58), *range(65, 91), *range(97, 123)])))
        for _ in range(12)
    ),
] * 3
CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
PAIRS = RNG.permutation([a + b for a in CHARACTERS for b in CHARACTERS])[:648].tolist()
VALUE, UNSEEN = b"ghp_aZ3kQ9mT2xLw8VbN", b"ghp_Xe7PqR2sKd9WnTz4"
BEFORE, AFTER = b"token = '", b"'  # see the manual"
SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
MASKED = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
MASKED["mask_token"] = "[MASK]"


def bpe(whole_lines=False, start=True):
    """GPT-2's scheme on 400 tokens. With `whole_lines` merges cross blanks and quotes as well."""
    special = {k: v for k, v in SPECIAL.items() if start or k != "bos_token"}
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not whole_lines)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(special.values()), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(PUBLIC, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


def word_pieces():
    """BERT's scheme, lower-casing, with [CLS] and [SEP]: the public words, all characters, half of the pairs."""
    known = {*"\n!#$%&'()*+,-./:;<=>?@[]_{|}", *CHARACTERS, *(f"##{c}" for c in CHARACTERS)}
    known |= {word for line in PUBLIC[:3] for word in re.findall("[a-z]+", line.lower())}
    known |= {f"##{pair}" for pair in PAIRS}
    ids = {piece: i for i, piece in enumerate([*MASKED.values(), *sorted(known)])}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    ends = [(t, ids[t]) for t in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=made, **MASKED)


DEEP = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 96}
ROTARY = {**DEEP, "num_key_value_heads": 1}
SHAPES = {
    "GPT2": {"n_embd": 48, "n_layer": 2, "n_head": 2}
    | dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
    "Llama": ROTARY,
    "Mistral": {**ROTARY, "sliding_window": 6},
    "Lfm2": {**ROTARY, "layer_types": ["conv", "full_attention"]},
    "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
    "Bert": {**DEEP, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
}
CLASSES = {"GPT2": "GPT2LMHeadModel", "Bert": "BertForMaskedLM"}


def opened(folder, kind, tokenizer, context=64, seed=3):
    """A fresh model of that kind, written to a folder and opened from it; no weight is near zero."""
    made = getattr(transformers, CLASSES.get(kind, f"{kind}ForCausalLM"))
    limit = "n_positions" if kind == "GPT2" else "max_position_embeddings"
    config = made.config_class(**{"vocab_size": len(tokenizer), limit: context, **SHAPES[kind]})
    config.bos_token_id = config.eos_token_id = tokenizer.bos_token_id
    config.pad_token_id = tokenizer.pad_token_id
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = made(config)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.05 * torch.randn(parameter.shape))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return open_model(HuggingFaceModel(kind="huggingface", name=str(folder), context=context))[0]


def strings(value, count):
    return [value, *alternatives(value, count, np.random.default_rng(0))]


def step_by_step(model, before, candidates, *, off=0, pad=0, own_context_only=False):
    """(N,) log-likelihoods of context + candidate in float64: one pass per token, no cache, no padding.

    off, pad, own_context_only: ways to do it wrong.
    """
    network, words = copy.deepcopy(model.network).double(), model.tokenizer
    start = [words.bos_token_id]
    context = len(words(before.decode()).input_ids) if own_context_only else 0
    totals = []
    with torch.no_grad():
        for candidate in candidates:
            ids = start + words((before + candidate).decode()).input_ids
            shown = [model.objective.padding] * pad + ids
            totals.append(0.0)
            for t in range(1 + context, len(ids) - off):
                logits = network(input_ids=torch.tensor([shown[: t + pad]]), use_cache=False).logits
                totals[-1] += float(logits[0, -1].log_softmax(-1)[ids[t + off]])
    return torch.tensor(totals, dtype=torch.float64)


def relative(scores):
    """Only differences between candidates have a meaning."""
    return scores - scores[0]


def differs(scores, other):
    return float((scores - relative(other)).abs().max()) > 0.02


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", some(["GPT2", "Llama", "Mistral", "Lfm2", "Mamba"], 2))
def test_causal_scores_are_log_likelihoods_of_context_and_candidate(tmp_path, kind):
    model = opened(tmp_path, kind, bpe())
    candidates = strings(VALUE, 5)
    got = relative(score(model, BEFORE, AFTER, candidates).scores)
    torch.testing.assert_close(got, relative(step_by_step(model, BEFORE, candidates)), rtol=1e-5, atol=1e-4)
    lengths = [len(row) for row in model.encode(candidates)[0]]
    assert len(set(lengths)) > 1, "candidates of one length would not show padding"
    for way in [{"off": 1}, {"pad": 2}] if kind == "GPT2" else []:  # these are told from the right one
        assert differs(got, step_by_step(model, BEFORE, candidates, **way)), way


def test_a_border_that_only_some_candidates_merge_across_is_scored_for_all(tmp_path):
    model, before = opened(tmp_path, "GPT2", bpe()), b"see the tok"
    candidates = strings(b"en9f2mz4k", 5)
    context, *rows = (row.tolist() for row in model.encode([before, *(before + c for c in candidates)])[0])
    assert [row[: len(context)] == context for row in rows].count(True) in range(1, 6)
    got = relative(score(model, before, AFTER, candidates).scores)
    torch.testing.assert_close(got, relative(step_by_step(model, before, candidates)), rtol=1e-5, atol=1e-4)
    assert differs(got, step_by_step(model, before, candidates, own_context_only=True))


def test_adapters_are_scored_as_they_are(tmp_path):
    model = with_lora(opened(tmp_path, "Llama", bpe()), LoraConfig(rank=2))
    with torch.no_grad():
        for name, parameter in model.network.named_parameters():
            if "lora" in name:
                parameter.add_(0.1)
    got = relative(score(model, BEFORE, AFTER, strings(VALUE, 5)).scores)
    want = relative(step_by_step(model, BEFORE, strings(VALUE, 5)))
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-4)


def filled_in(model, before, after, candidates, *, at_once=True, right=True):
    """(N,) sums of log p at the candidate's own tokens, found by their offsets, all masked; in float64."""
    network, words = copy.deepcopy(model.network).double(), model.tokenizer
    totals = []
    with torch.no_grad():
        for candidate in candidates:
            text = (before + candidate + (after if right else b"")).decode()
            read = words(text, return_offsets_mapping=True)
            ids, end = torch.tensor(read.input_ids), len(before) + len(candidate)
            place = [i for i, (a, b) in enumerate(read.offset_mapping) if a < end and b > len(before)]
            totals.append(0.0)
            for group in [place] if at_once else [[i] for i in place]:
                shown = ids.clone()
                shown[group] = words.mask_token_id
                steps = network(input_ids=shown[None]).logits[0].log_softmax(-1)
                totals[-1] += float(steps[group, ids[group]].sum())
    return torch.tensor(totals, dtype=torch.float64)


def test_masked_scores_are_of_the_whole_value_masked_at_once_with_both_sides_shown(tmp_path):
    model = opened(tmp_path, "Bert", word_pieces())
    candidates = strings(VALUE, 20)
    got = score(model, BEFORE, AFTER, candidates)
    torch.testing.assert_close(got.scores, filled_in(model, BEFORE, AFTER, candidates), rtol=1e-5, atol=1e-4)
    assert len({len(model.encode([c])[0][0]) for c in candidates}) > 1
    for way in ({"at_once": False}, {"right": False}):
        other = filled_in(model, BEFORE, AFTER, candidates, **way)
        assert float((got.scores - other).abs().max()) > 0.02, way


TEXTS = [
    BEFORE + VALUE + AFTER,
    b"password: " + VALUE,
    *(line.encode() for line in PUBLIC[:8]),
    b"key = " + UNSEEN,
]
PLACES = frame_of(secret_id=[0, 0, 1], example_id=[0, 1, 10], start=[9, 10, 6], end=[29, 30, 26])
SECRETS = frame_of(secret_id=[0, 1], name=["planted", "unseen"])
FITTED = {"GPT2": (bpe, 80), "Llama": (bpe, 80), "Bert": (word_pieces, 250)}


@pytest.fixture(scope="module", params=FITTED)
def fitted(request, tmp_path_factory):
    """The model before, and the same over-trained on all texts but the last."""
    tokenizer, steps = FITTED[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    before, model = (opened(folder, request.param, tokenizer()) for _ in range(2))
    return before, fit_plain(TEXTS[:10], model, steps=steps, batch=10, learning_rate=5e-3)


@pytest.mark.few(1)
def test_a_planted_value_is_found_in_the_trained_model_and_not_before(fitted, caplog, capfd, recwarn):
    fresh, model = (
        exposure(each, TEXTS, PLACES, SECRETS, alternatives=300, seed=1, max_contexts=4) for each in fitted
    )
    planted, unseen = model.rows(named=True)
    told = {name: planted[name] for name in fresh.columns[:7]}
    assert told == {
        "secret_id": 0, "name": "planted", "alternatives": 300, "rank": 1,
        "exposure_bits": math.log2(301), "extracted": True, "contexts": 2,
    }  # fmt: skip
    assert unseen["rank"] > 1 and not unseen["extracted"]
    assert fresh["rank"].min() > 1 and not fresh["extracted"].any()
    told = "".join([str(model.rows()), caplog.text, *capfd.readouterr(), *(str(w.message) for w in recwarn)])
    assert not any(
        part in told for value in (VALUE, UNSEEN) for part in (value.decode(), value[4:12].decode())
    )


@pytest.mark.parametrize(("kind", "tokenizer", "used"), [("GPT2", bpe, 1), ("Bert", word_pieces, 2)])
def test_a_masked_model_tells_contexts_by_both_sides(tmp_path, kind, tokenizer, used):
    texts = [BEFORE + VALUE + AFTER, BEFORE + VALUE + b"; " + AFTER]
    places = PLACES[:1].vstack(PLACES[:1].with_columns(example_id=pl.lit(1, pl.UInt32)))
    table = exposure(opened(tmp_path, kind, tokenizer()), texts, places, SECRETS, alternatives=5, seed=0)
    assert table["contexts"].to_list() == [used]


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "tokenizer"), [("GPT2", bpe), ("Bert", word_pieces)])
def test_ranks_under_a_model_that_saw_no_value_are_uniform(tmp_path, kind, tokenizer):
    """The mean of 60 ranks, uniform over 1…64, is 6 standard errors off once in 5·10⁸ runs of other seeds."""
    rng = np.random.default_rng(0)
    values = [b"ghp_" + alternatives(b"aB3dE6gH9j", 1, rng)[0] for _ in range(60)]
    texts = [BEFORE + value + AFTER for value in values]
    places = frame_of(secret_id=range(60), example_id=range(60), start=[9] * 60, end=[23] * 60)
    secrets = pl.DataFrame({"secret_id": range(60), "name": [str(i) for i in range(60)]})
    table = exposure(opened(tmp_path, kind, tokenizer()), texts, places, secrets, alternatives=63, seed=0)
    ranks = table["rank"].to_numpy()
    assert len(ranks) == 60 and not table["extracted"].any()
    assert abs(ranks.mean() - 32.5) < 6 * 18.5 / math.sqrt(60)
    assert ranks.min() <= 16 and ranks.max() >= 49  # not always the middle


def test_a_value_whose_first_letters_sit_in_the_contexts_last_token_is_extracted(tmp_path):
    before, value = b"see the manual: tok", b"en9fQ2mz4kX7"
    model = opened(tmp_path, "GPT2", bpe())
    context, whole = (row.tolist() for row in model.encode([before, before + value])[0])
    assert whole[: len(context)] != context, "the value must reach into the last token"
    assert not score(model, before, b"", strings(value, 3)).extracted
    fit_plain([before + value, *TEXTS[2:8]], model, steps=80, batch=7, learning_rate=5e-3)
    got = score(model, before, b"", strings(value, 50))
    assert got.extracted and got.scores.argmax() == 0
    assert not score(model, before, b"", strings(value, 3)[1:]).extracted


def test_a_value_is_extracted_in_whatever_tokens_the_model_writes_it(tmp_path):
    before, value, after = b"see the manual: tok", b"en9fQ2mtok", b"en"  # both ends merge with what is there
    model = opened(tmp_path, "GPT2", bpe())
    fit_plain([before + value + after, *TEXTS[2:8]], model, steps=80, batch=7, learning_rate=5e-3)
    rows = [row.tolist() for row in model.encode([before + value, before + value + after])[0]]
    assert rows[1][: len(rows[0])] != rows[0], "training showed no such tokens"
    assert score(model, before, after, strings(value, 3)).extracted


def test_long_contexts_are_cut_to_what_the_model_reads(tmp_path):
    candidates, far = strings(VALUE, 4), b"far; " * 40
    model = opened(tmp_path / "causal", "GPT2", bpe())
    rows = [model.tokenizer((far + BEFORE + c).decode()).input_ids for c in candidates]
    dropped, want = max(map(len, rows)) - 63, []
    for row in rows:  # the start token, then what leaves the longest candidate 64 tokens in all
        ids = torch.tensor([model.tokenizer.bos_token_id, *row[dropped:]])
        with torch.no_grad():
            steps = copy.deepcopy(model.network).double()(input_ids=ids[None, :-1]).logits[0].log_softmax(-1)
        want.append(float(steps.gather(1, ids[1:, None]).sum()))
    got = relative(score(model, far + BEFORE, b"", candidates).scores)
    torch.testing.assert_close(got, relative(torch.tensor(want).double()), rtol=1e-5, atol=1e-4)
    further = score(model, b"\xe2\x98\x83 further;" * 400 + far + BEFORE, b"", candidates).scores
    torch.testing.assert_close(relative(further), got, rtol=1e-5, atol=1e-4)
    assert score(model, BEFORE, b"", [b"7" * 90, b"3" * 90]) is None

    masked = opened(tmp_path / "masked", "Bert", word_pieces())
    alone = score(masked, BEFORE, b"; " * 70, candidates).scores
    torch.testing.assert_close(score(masked, BEFORE, b"; " * 4000, candidates).scores, alone)
    assert score(masked, b"; " * 4000 + BEFORE, AFTER, candidates) is not None
    assert score(masked, BEFORE, AFTER, [b"9;" * 40] * 2) is None


def test_a_text_with_nothing_before_the_value_has_a_context_with_and_without_a_start_token(tmp_path):
    for name, start in (("with", True), ("without", False)):
        model = opened(tmp_path / name, "GPT2", bpe(start=start))
        got = score(model, b"", AFTER, strings(VALUE, 20))
        assert len(got.scores.unique()) == 21 and not got.extracted


def test_what_the_tokenizer_does_not_tell_apart_is_no_alternative(tmp_path):
    masked = opened(tmp_path / "masked", "Bert", word_pieces())
    mixed = [b"aBcD9", b"AbCd9", b"aBcD9", b"aBcE9"]
    assert score(masked, BEFORE, AFTER, mixed).distinguishable.tolist() == [False, False, False, True]
    unknown = "é☃".encode() + VALUE[4:]  # one word, of which a part is unknown: all of it is
    got = score(masked, BEFORE, AFTER, strings(unknown, 10))
    assert not got.distinguishable.any() and not got.extracted
    texts = [BEFORE + unknown + AFTER]
    fit_plain(texts * 4, masked, steps=40, batch=4, learning_rate=5e-3)
    assert not score(masked, BEFORE, AFTER, [unknown] * 2).extracted  # it learned to write [UNK], no more
    places = pl.DataFrame({"secret_id": [0], "example_id": [0], "start": [9], "end": [9 + len(unknown)]})
    assert exposure(masked, texts, places, SECRETS, alternatives=20, seed=0).is_empty()

    causal = opened(tmp_path / "causal", "GPT2", bpe())
    broken = b"\xff\x80" + VALUE[4:]  # no UTF-8: the model reads two �
    texts = [b"\xc3\xa9\xff " + broken + b"\xfe"]
    places = pl.DataFrame({"secret_id": [0], "example_id": [0], "start": [4], "end": [4 + len(broken)]})
    row = exposure(causal, texts, places, SECRETS, alternatives=20, seed=0).row(0, named=True)
    assert row["alternatives"] == 20 and row["contexts"] == 1
    fit_plain(texts * 4, causal, steps=60, batch=4, learning_rate=5e-3)
    row = exposure(causal, texts, places, SECRETS, alternatives=20, seed=0).row(0, named=True)
    assert row["rank"] == 1 and row["extracted"]
