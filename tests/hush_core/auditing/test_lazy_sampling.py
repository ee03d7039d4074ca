"""Computed emission probabilities against enumeration, against drawing, and wrong ways of computing them."""

import math

import numpy as np
import pytest
import torch
from tiny_models import tiny_model

from hush_core.auditing.lazy_sampling import (
    Sampling,
    discoverable_within,
    emission,
)
from hush_core.auditing.spans import span_logits, value_span
from hush_core.config import ByteGptModel
from hush_core.errors import InputError
from hush_core.training import byte_gpt, fit_plain

CODES = [
    b"pin " + bytes([97 + a, 97 + b]) + b"." for a in range(4) for b in range(4) for _ in range(8 >> a >> b)
]
"""Some far more frequent than others, so that temperature, top-k and nucleus each show."""
BEFORE = b"pin "
SAMPLINGS = [
    Sampling(),
    Sampling(temperature=0),
    Sampling(temperature=0.6),
    Sampling(top_k=3),
    Sampling(top_p=0.8),
]
SAMPLINGS += [Sampling(temperature=1.5, top_k=5, top_p=0.7)]


@pytest.fixture(scope="module")
def model():
    fresh = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 16, seed=0)
    made = fit_plain(CODES, fresh, steps=120, batch=18, learning_rate=5e-3)
    made.network.eval()
    return made


def next_probabilities(model, text, sampling):
    """(259,) by sorting and adding up, as the papers define it; no code of the library's."""
    tokens = torch.tensor([[1, *(byte + 3 for byte in text)]])
    with torch.no_grad():
        p = model.network(input_ids=tokens).logits[0, -1].double()
    if sampling.temperature == 0:
        return np.eye(259)[int(p.argmax())]
    p = torch.softmax(p / sampling.temperature, 0).numpy()
    order = np.argsort(-p, kind="stable")
    if sampling.top_k:
        p[order[sampling.top_k :]] = 0
        p /= p.sum()
    if sampling.top_p:
        before = np.cumsum(p[order]) - p[order]
        p[order[before >= sampling.top_p]] = 0
        p /= p.sum()
    return p


@pytest.mark.few(2)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: s.name)
def test_every_continuation_of_two_bytes_has_its_probability(model, sampling):
    first = next_probabilities(model, BEFORE, sampling)
    second = {a: next_probabilities(model, BEFORE + bytes([a]), sampling) for a in range(97, 101)}
    values = [bytes([a, b]) for a in second for b in range(256)]
    found = np.exp(emission(model, [(BEFORE, value, b"") for value in values], [sampling])[:, 0])
    wanted = [first[value[0] + 3] * second[value[0]][value[1] + 3] for value in values]
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-12)
    sums = found.reshape(4, 256).sum(1)  # over all second bytes: what the first one has
    ends = np.array([first[a + 3] * second[a][:3].sum() for a in second])  # and then a token that is no byte
    np.testing.assert_allclose(sums + ends, [first[a + 3] for a in second], rtol=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("sampling", [Sampling(temperature=0.6), Sampling(top_k=3), Sampling(top_p=0.8)])
def test_drawing_comes_to_the_same(model, sampling):
    """20,000 draws by `generate`; within 4.5 standard deviations, so wrong once in 100,000 by chance."""
    draws = 20_000
    ids = torch.tensor([[1, *(byte + 3 for byte in BEFORE)]]).expand(draws, -1)
    torch.manual_seed(0)
    made = model.network.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=2, do_sample=True, eos_token_id=None,
        temperature=sampling.temperature, top_k=sampling.top_k or 0, top_p=sampling.top_p or 1.0,
    )  # fmt: skip
    for value in (b"aa", b"bc", b"da"):
        drawn = int((made[:, -2:] == torch.tensor([byte + 3 for byte in value])).all(1).sum())
        p = math.exp(emission(model, [(BEFORE, value, b"")], [sampling])[0, 0])
        assert abs(drawn - draws * p) <= 4.5 * math.sqrt(draws * p * (1 - p)) + 1
        plain = math.exp(emission(model, [(BEFORE, value, b"")], [Sampling()])[0, 0])
        if value == b"aa":  # the test would see the sampling forgotten
            assert abs(drawn - draws * plain) > 4.5 * math.sqrt(draws * plain)


def test_what_is_cut_off_is_never_written(model):
    greedy, top, whole = emission(
        model, [(BEFORE, b"Zq", b"")], [Sampling(temperature=0), Sampling(top_k=3), Sampling()]
    )[0]
    assert greedy == top == -math.inf and -40 < whole < -8
    assert discoverable_within(top, 1e9) == 0


def test_a_value_that_leaves_no_room_for_context_has_no_number(model):
    assert np.isnan(emission(model, [(BEFORE, b"a" * 17, b"")])).all()
    assert np.isfinite(emission(model, [(b"x" * 50, b"ab", b"")], [Sampling()])).all()


@pytest.mark.parametrize("log_p", [math.log(0.3), math.log(1e-6), -60.0])
def test_the_chance_to_discover_a_value_is_exact_for_tiny_probabilities_too(log_p):
    p = math.exp(log_p)
    assert discoverable_within(log_p, 1) == pytest.approx(p, rel=1e-9)
    assert discoverable_within(log_p, 2) == pytest.approx(p * (2 - p), rel=1e-9)
    assert discoverable_within(0.0, 1) == 1


@pytest.mark.parametrize(
    "wrong", [{"temperature": -1}, {"temperature": math.nan}, {"top_k": 0}, {"top_p": 0}]
)
def test_a_sampling_that_is_none_is_refused(wrong):
    with pytest.raises(InputError):
        Sampling(**wrong)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_subword_models_are_exact_for_the_tokens_of_the_value(tmp_path, name):
    model = tiny_model(tmp_path, name)
    model.network.eval()
    before, value = b"the quick brown ", b"fox jumps"
    span = value_span(model, before, value, b"not looked at")
    with torch.no_grad():
        steps = model.network(input_ids=torch.from_numpy(span.row)[None]).logits[0].double().log_softmax(-1)
    wanted = sum(float(steps[i - 1, span.row[i]]) for i in range(span.start, span.stop))
    assert emission(model, [(before, value, b"x")], [Sampling()])[0, 0] == pytest.approx(wanted, abs=1e-4)
    assert model.tokenizer.decode(span.tokens).replace("Ġ", " ").split() == ["fox", "jumps"]


def test_a_masked_model_is_asked_for_all_tokens_at_once(tmp_path):
    model = tiny_model(tmp_path, "bert")
    model.network.eval()
    span = value_span(model, b"the quick ", b"brown fox", b" jumps over")
    shown = span.row.copy()
    shown[span.start : span.stop] = model.objective.mask
    with torch.no_grad():
        steps = model.network(input_ids=torch.from_numpy(shown)[None]).logits[0].double().log_softmax(-1)
    wanted = sum(float(steps[i, span.row[i]]) for i in range(span.start, span.stop))
    found = emission(model, [(b"the quick ", b"brown fox", b" jumps over")], [Sampling()])[0, 0]
    assert found == pytest.approx(wanted, abs=1e-4) and span.stop < len(span.row)


def test_spans_of_different_lengths_do_not_move_each_other(model):
    spans = [
        value_span(model, text[:k], text[k:], b"") for text in (b"pin ab.", b"pin", b"pin dd") for k in (1, 2)
    ]
    together = dict(span_logits(model, spans))
    for place, span in enumerate(spans):
        ((_, alone),) = span_logits(model, [span])
        torch.testing.assert_close(together[place], alone, atol=1e-4, rtol=1e-4)
