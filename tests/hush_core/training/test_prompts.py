"""The loss on completions alone: exact sums of the examples' own gradients, nothing of what only stands before."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from private_runs import uncertified
from tiny_models import tiny_model

from hush_core.config import ByteGptModel, LoraConfig, TrainConfig, UntaggedConfig
from hush_core.corpus.prompted import PromptedText, ends_of, text_frame, texts_of
from hush_core.errors import InputError
from hush_core.training import (
    OtherTexts,
    byte_gpt,
    clipped_gradient_sum,
    fit_plain,
    fit_private,
    fit_untagged,
    with_lora,
)
from hush_core.training.data import Objective, PromptedTokens, micro_batches, prompted_tokens
from hush_core.training.rounds import fixed_batches

TEXTS = [
    PromptedText(b"ask: fox? say: the fox. ask: dog? say: dog.", ((15, 23), (38, 43))),
    PromptedText(b"only asked, nothing said", ()),
    b"an ordinary text",
    PromptedText(b"say", ((0, 3),)),
    PromptedText("é caf\u00e9 ☕ lazy".encode() + b"\xff jugs", ((3, 12), (17, 18))),
]
CLIP = 0.5


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    made = {"byte_gpt": byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 64, seed=1)}
    for name in ("gpt2", "llama"):
        made[name] = tiny_model(folder, name)
    made["llama, LoRA"] = with_lora(tiny_model(folder, "llama"), LoraConfig(rank=2))
    with torch.no_grad():  # away from zero biases and adapters that are all zero
        for model in made.values():
            for parameter in model.network.parameters():
                source = torch.Generator().manual_seed(3)
                parameter.add_(0.02 * torch.randn(parameter.shape, generator=source))
    return made


def spoken(model, text):
    """(tokens, places of the learned ones), worked out again: by decoding each token to its bytes."""
    (row,) = model.encode([bytes(text)])[0]
    tokens = row.astype(np.int64).tolist()
    wanted = np.zeros(len(text), dtype=bool)
    for start, end in text.completions if isinstance(text, PromptedText) else [(0, len(text))]:
        wanted[start:end] = True
    if model.tokenizer.__class__.__name__ == "ByT5Tokenizer":
        return tokens, [1 + i for i in np.flatnonzero(wanted)]
    places, words = [], bytes(text).decode("utf-8", "replace")
    letters = wanted[_begins(bytes(text))]  # by character, as the tokenizer counts; � is of one byte here
    offsets = model.tokenizer(words, return_offsets_mapping=True).offset_mapping
    for place, (start, end) in enumerate(offsets, len(tokens) - len(offsets)):
        if letters[start:end].any():
            places.append(place)
    return tokens, places if isinstance(text, PromptedText) else list(range(1, len(tokens)))


def _begins(text):
    """Where each character of a text begins; a byte that is none counts as one."""
    begins, at = [], 0
    while at < len(text):
        begins.append(at)
        for size in (1, 2, 3, 4):
            try:
                text[at : at + size].decode()
                break
            except UnicodeDecodeError:
                size = 1
        at += size
    return begins


def single_gradients(model):
    """Of each text, in float64 and by itself: the gradient of the mean loss over what is learned of it."""
    network = copy.deepcopy(model.network).double()
    trained = [p for p in network.parameters() if p.requires_grad]
    found = []
    for text in TEXTS:
        tokens, places = spoken(model, text)
        if not places:
            found.append([torch.zeros_like(p) for p in trained])
            continue
        logits = network(input_ids=torch.tensor([tokens[:-1]]), use_cache=False).logits[0]
        log = logits.log_softmax(-1)
        learned = [place for place in places if place]
        loss = -sum(log[place - 1, tokens[place]] for place in learned) / len(learned)
        grads = torch.autograd.grad(loss, trained, allow_unused=True)
        found.append([torch.zeros_like(p) if g is None else g for p, g in zip(trained, grads, strict=True)])
    return found


def clipped_sum(model):
    found = single_gradients(model)
    norms = [math.sqrt(sum(float(g.square().sum()) for g in grads)) for grads in found]
    factors = [min(1.0, CLIP / norm) if norm else 0.0 for norm in norms]
    return norms, [
        sum(f * grads[k] for f, grads in zip(factors, found, strict=True)) for k in range(len(found[0]))
    ]


def parts_of(model, texts):
    rows, _ = model.encode(texts)
    shown = [[model.objective.show(row, np.random.default_rng(0))] for row in rows]
    return fixed_batches(shown, model.objective, 2, model.context)


def summed(model, texts):
    total = None
    for part in parts_of(model, texts):
        got = clipped_gradient_sum(
            model.network, part, losses=model.losses, clip_norm=CLIP, grid=2.0**-40,
            into=total and total.gradients,
        )  # fmt: skip
        total = got
    return total.gradients


def distance(model, expected):
    """Of the sum from what is expected, relative."""
    pairs = zip(summed(model, TEXTS).values(), expected, strict=True)
    error = math.sqrt(sum(float((got - want).square().sum()) for got, want in pairs))
    return error / math.sqrt(sum(float(want.square().sum()) for want in expected))


@pytest.mark.parametrize("name", ["byte_gpt", "gpt2", "llama", "llama, LoRA"])
def test_the_sum_is_that_of_a_float64_loop_over_examples(models, name):
    model = models[name]
    norms, expected = clipped_sum(model)
    assert norms[1] == 0 and min(norms[0], norms[2], norms[3], norms[4]) > CLIP / 10, "the test is blind"
    assert distance(model, expected) < 2e-3


@pytest.mark.parametrize("name", ["byte_gpt", "llama, LoRA"])
def test_what_is_said_after_the_last_completion_changes_no_bit(models, name):
    """The label of a token that is not learned would do so, and so would a mean over all tokens' number."""
    model = models[name]
    one = PromptedText(b"ask: fox? say: the fox. ask: xzq?", ((15, 23),))
    other = PromptedText(b"ask: fox? say: the fox. ask: zqx?", ((15, 23),))
    assert len(model.encode([one])[0][0]) == len(model.encode([other])[0][0])
    first, second = summed(model, [one, *TEXTS]), summed(model, [other, *TEXTS])
    assert all(torch.equal(first[n], second[n]) for n in first)
    learned = PromptedText(bytes(other), ((15, 33),))
    third = summed(model, [learned, *TEXTS])
    assert not all(torch.equal(first[n], third[n]) for n in first), "the test is blind"


def test_an_example_without_a_completion_has_loss_0_and_adds_nothing(models):
    model = models["byte_gpt"]
    rows, _ = model.encode(TEXTS[:2])
    (batch,) = micro_batches(rows, model.objective, 2, np.random.default_rng(0))
    losses = model.losses(model.network, batch).tolist()
    assert losses[0] > 1 and losses[1] == 0
    with_it, without = summed(model, TEXTS), summed(model, TEXTS[:1] + TEXTS[2:])
    assert all(torch.equal(with_it[n], without[n]) for n in with_it)


def test_the_loss_that_is_reported_is_of_the_completions(models):
    model = models["byte_gpt"]
    text = PromptedText(b"ask: fox? say: fox", ((15, 18),))
    tokens = torch.from_numpy(model.encode([bytes(text)])[0][0].astype(np.int64))[None]
    log = model.network(input_ids=tokens[:, :-1]).logits[0].log_softmax(-1).detach()
    bits = [-float(log[place - 1, tokens[0, place]]) / math.log(2) for place in (16, 17, 18)]
    assert model.evaluate([text]) == pytest.approx(sum(bits) / 3, rel=1e-5)
    assert math.isnan(model.evaluate([PromptedText(b"nothing said", ())]))


def test_a_chat_template_may_write_the_start_and_an_end_is_learned(models):
    from tokenizers.processors import TemplateProcessing

    words = copy.deepcopy(models["gpt2"].tokenizer)
    start, end = words.convert_tokens_to_ids(["[BOS]", "[UNK]"])
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single="[BOS] $A [UNK]", special_tokens=[("[BOS]", start), ("[UNK]", end)]
    )
    text = PromptedText(b"[BOS]ask: say", ((10, 13),))
    row = prompted_tokens(text, words, start)
    assert row.tokens[:2].tolist() != [start, start] and row.tokens[0] == start and row.tokens[-1] == end
    assert row.learned[-1] and not row.learned[0]
    assert words.decode(row.tokens[row.learned][:-1]).replace(" ", "") == "say"
    row = prompted_tokens(PromptedText(b"[BOS]say ask", ((5, 8),)), words, start)
    assert not row.learned[-1] and words.decode(row.tokens[row.learned]).replace(" ", "") == "say"


def test_a_tokenizer_without_offsets_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(InputError, match="the bytes of a token"):
        prompted_tokens(TEXTS[0], Slow(), None)


def test_a_masked_model_is_asked_for_completions_only():
    objective = Objective("masked", mask=1, vocabulary=50, special=frozenset({0}))
    learned = np.zeros(40, dtype=bool)
    learned[20:30] = True
    learned[22] = False
    tokens = np.arange(40) + 2
    asked = set()
    for seed in range(200):
        shown = objective.show(PromptedTokens(tokens, learned), np.random.default_rng(seed))
        assert len(shown.chosen) == 1
        asked |= set(shown.chosen.tolist())
    assert asked == set(range(20, 30)) - {22}
    none = objective.show(PromptedTokens(tokens, ~tokens.astype(bool)), np.random.default_rng(0))
    assert len(none.labels) == 0 and np.array_equal(none.inputs, tokens)


def test_a_text_keeps_its_completions_on_every_way():
    frame = text_frame(TEXTS)
    for again in (texts_of(frame), pickle.loads(pickle.dumps(TEXTS)), [copy.copy(text) for text in TEXTS]):
        assert again == TEXTS and [ends_of(t) for t in again] == [ends_of(t) for t in TEXTS]
    assert "completions" not in text_frame([b"plain"]).columns


def plan_of(count):
    return uncertified(np.full(count, 0.5), 0.6, 3, count // 2)


def test_nothing_to_learn_within_the_context_is_said(tmp_path):
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 16, seed=1)
    long, short = PromptedText(b"a question, so long yes", ((20, 23),)), PromptedText(b"why? so", ((5, 7),))
    settings = UntaggedConfig(steps=1, batch=1, evaluate_every=1)
    for texts, validation in (([long], [short]), ([short], [long])):
        with pytest.raises(InputError, match="no completion within"):
            fit_untagged(texts, validation, model, settings, micro_batch=1, seed=0)
    assert fit_untagged([short], [short], model, settings, micro_batch=1, seed=0).curve[0][1] > 0
    config = TrainConfig(rounds=3, batch=2, evaluate_every=1)
    for measured in ({"public": [long]}, {"public": [short], "validation": [long]}):
        with pytest.raises(InputError, match="text: holds no completion within"):
            fit_private(plan_of(4), [short] * 4, model, config, tmp_path, others=OtherTexts(**measured))
    others = OtherTexts(public=[long, short])
    fitted = fit_private(plan_of(4), [short] * 4, model, config, tmp_path, others=others)
    assert len(fitted.log) == 3 and all(math.isfinite(row["public_loss"]) for row in fitted.log)


@pytest.mark.slow
def test_training_learns_the_answers_and_not_the_questions(tmp_path):
    """Plain and private steps: questions are random letters, and only their last one tells the answer."""
    chance = np.random.default_rng(5)
    texts = []
    for _ in range(256):
        question = "".join(chance.choice(list("abcdefgh"), size=12)).encode()
        answer = b"yes" if question[-1:] in (b"a", b"b", b"c", b"d") else b"no!"
        texts.append(PromptedText(question + answer, ((12, 15),)))
    questions = [PromptedText(bytes(text), ((0, 12),)) for text in texts]
    model = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 16, seed=2)
    before = model.evaluate(texts), model.evaluate(questions)
    fit_plain(texts, model, steps=60, batch=32, learning_rate=3e-3, micro_batch=32, seed=3)
    plainly = model.evaluate(texts), model.evaluate(questions)
    assert plainly[0] < before[0] / 10 and plainly[1] > before[1] - 1
    model = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 16, seed=2)
    plan = uncertified(np.full(256, 0.125), 0.05, 30, 32)
    config = TrainConfig(rounds=30, batch=32, learning_rate=1e-2, checkpoint_every=30)
    fit_private(plan, texts, model, config, tmp_path, rehearsal=b"r" * 32)
    privately = model.evaluate(texts), model.evaluate(questions)
    assert privately[0] < before[0] / 5 and privately[1] > before[1] - 1
    whole = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 16, seed=2)
    fit_plain(
        [bytes(t) for t in texts], whole, steps=60, batch=32, learning_rate=3e-3, micro_batch=32, seed=3
    )
    assert whole.evaluate(questions) < before[1] - 3, "the test is blind"
