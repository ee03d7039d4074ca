"""k-extraction, calibrated loss and user inference on models that learned by heart, and on one that did not."""

import math

import numpy as np
import polars as pl
import pytest
import torch
from frames import frame_of
from tiny_models import tiny_model

from hush_core.auditing.calibrated_loss import at_risk, calibrated_loss, log_likelihoods
from hush_core.auditing.canaries import plant_canaries
from hush_core.auditing.exposure import exposure
from hush_core.auditing.k_extraction import k_extraction, window_of
from hush_core.auditing.user_inference import unit_ratios, user_inference
from hush_core.config import ByteGptModel, UntaggedConfig
from hush_core.errors import InputError
from hush_core.training import byte_gpt, fit_plain, fit_untagged
from hush_core.weights import assign_roles, with_role

RNG = np.random.default_rng(4)

RANDOM = [bytes(RNG.integers(97, 123, 34).astype(np.uint8)) for _ in range(40)]

COUNTING = b"0123456789" * 3

MEMBERS, OTHERS = [*RANDOM[:9], COUNTING], RANDOM[9:]


def fresh():
    model = byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 40, seed=0)
    model.network.eval()
    return model


@pytest.fixture(scope="module")
def start():
    return fit_plain([COUNTING], fresh(), steps=150, batch=1, learning_rate=5e-3)


@pytest.fixture(scope="module")
def learned():
    return fit_plain(MEMBERS, fresh(), steps=250, batch=10, learning_rate=5e-3)


@pytest.mark.slow
def test_what_comes_out_is_told_apart_from_what_came_out_before(learned, start):
    for model in (learned, start):
        model.network.eval()
    seen = []
    found = k_extraction(learned, start, MEMBERS, prefix=12, length=12, progress=lambda *a: seen.append(a))
    assert (
        found.texts == 10 and found.trained.value == 1.0 and found.start.value == 0.1
    )  # it counts by itself
    assert found.difference.value == pytest.approx(0.9) and 0.1 < found.difference.lower < 0.9
    assert found.table.columns == ["example", "windows", "trained", "start"] and seen[-1][1] == seen[-1][2]
    nothing = k_extraction(learned, start, OTHERS, prefix=12, length=12)
    assert nothing.trained.value == 0 and nothing.difference.lower < 0 < nothing.difference.upper


def test_it_is_what_generate_writes(learned):
    learned.network.eval()
    text = MEMBERS[0]
    ids = torch.tensor([[1, *(byte + 3 for byte in text[:12])]])
    made = learned.network.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=None)
    written = bytes((made[0, 13:] - 3).tolist())
    found = k_extraction(learned, fresh(), [text, text[:12] + b"?" * 12], prefix=12, length=12, windows=1)
    assert written == text[12:24] and found.table["trained"].to_list() == [1, 0]


def test_texts_that_are_too_short_are_no_trials(learned):
    found = k_extraction(learned, learned, [b"short", *MEMBERS[:2]], prefix=12, length=12)
    assert found.texts == 2 and found.table["example"].to_list() == [1, 2]
    with pytest.raises(InputError, match="context"):
        k_extraction(learned, learned, MEMBERS, prefix=30, length=30)
    assert window_of(learned, learned, MEMBERS) == 17 and window_of(learned, learned, [b"abc"]) == 0
    assert window_of(learned, learned, []) == 0


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_any_causal_or_masked_model(tmp_path, name):
    model = tiny_model(tmp_path, name)
    model.network.eval()
    texts = [b"the quick brown fox jumps over the lazy dog", b"pack my box with five dozen liquor jugs"]
    found = k_extraction(model, model, texts, prefix=2, length=2)
    assert found.texts == 2 and found.difference.value == 0
    losses = calibrated_loss(model, model, texts)
    assert (losses["calibrated_bits"] == 0).all() and (losses["log2_probability"] < 0).all()


def test_the_log_likelihood_is_that_of_the_text(learned):
    learned.network.eval()
    texts = [MEMBERS[0], b"ab", MEMBERS[3][:20]]
    sums, counts = log_likelihoods(learned, texts)
    for text, total, count in zip(texts, sums, counts, strict=True):
        ids = torch.tensor([[1, *(byte + 3 for byte in text)]])
        with torch.no_grad():
            steps = learned.network(input_ids=ids[:, :-1]).logits[0].double().log_softmax(-1)
        wanted = float(steps.gather(1, ids[0, 1:, None]).sum())
        assert total == pytest.approx(wanted, abs=1e-3) and count == len(text)


def test_memorised_texts_are_at_risk_and_others_are_not(learned, start):
    members, others = (calibrated_loss(learned, start, texts) for texts in (MEMBERS, OTHERS))
    assert members["calibrated_bits"][:9].max() < others["calibrated_bits"].min()
    risky = at_risk(members, others)
    assert set(risky["example"]) >= set(range(9)) and risky["log2_probability"].is_sorted(descending=True)
    assert at_risk(others, others).height <= 0.05 * len(OTHERS)
    assert at_risk(members, others.head(5)).is_empty()  # too few to call anything rare
    # by the loss alone the text that every model knows would come first; it was learned before
    assert members["log2_probability"].arg_max() == 9 or members["calibrated_bits"].arg_max() == 9


def test_units_are_told_by_their_texts(learned, start):
    losses = [
        calibrated_loss(learned, start, texts).with_columns(
            example_id=pl.int_range(len(texts), dtype=pl.UInt32),
            path=pl.format("f{}", pl.int_range(len(texts)) // 3),
        )
        for texts in (MEMBERS, OTHERS)
    ]
    edges = pl.DataFrame(
        [(i, j) for j in range(3) for i in range(3 * j, 3 * j + 3)] + [(i, 7) for i in range(3)],
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row",
    )  # fmt: skip
    ratios = unit_ratios(*losses, edges)
    assert set(ratios.filter("member")["unit"]) == {"secret 0", "secret 1", "secret 2"}  # 7 is 0 again
    table, curves = user_inference(ratios, samples=(1, 3, 50), units=(2,), seed=0)
    assert [n for n, _ in curves] == [1, 3] and all(one.area.value > 0.95 for _, one in curves)
    assert set(table["members"]) == {2, 3} and (table["area"] <= table["area_upper"]).all()
    assert (table["area_ceiling"] < 1).all()
    blind = ratios.with_columns(log_ratio=pl.Series(np.random.default_rng(0).normal(size=ratios.height)))
    _, curves = user_inference(blind, samples=(1,), seed=0)
    assert curves[0][1].area.lower < 0.5 < curves[0][1].area.upper


def test_more_texts_of_a_unit_help_the_attacker():
    rng = np.random.default_rng(5)
    rows = [(u, u < 60, rng.normal(0.3 if u < 60 else 0.0)) for u in range(120) for _ in range(16)]
    ratios = pl.DataFrame(rows, schema=["unit", "member", "log_ratio"], orient="row")
    table, _ = user_inference(ratios, samples=(1, 16), seed=0)
    one, many = (table.filter(samples=n)["area"][0] for n in (1, 16))
    assert one < 0.68 and many > 0.7  # Φ(0.3/√2) = 0.584, Φ(4·0.3/√2) = 0.802
    row = table.filter((pl.col("samples") == 16) & (pl.col("asked") == 0.1)).row(0, named=True)
    assert row["true_lower"] <= row["true_positive_rate"] <= row["true_ceiling"] < 1


def test_canaries_are_the_same_for_the_same_seed_and_as_often_as_asked():
    one, two = (plant_canaries(12, repeats=(1, 5), seed=9) for _ in range(2))
    assert one.texts == two.texts and one.occurrences.equals(two.occurrences)
    assert one.texts != plant_canaries(12, repeats=(1, 5), seed=10).texts
    assert len(one.texts) == 6 * 1 + 6 * 5 and one.bits == pytest.approx(16 * math.log2(36))
    values = {}
    for number, example, start, end in one.occurrences.iter_rows():
        values.setdefault(number, []).append(one.texts[example][start:end])
    assert [len(values[n]) for n in range(12)] == [1, 5] * 6
    assert len({v for found in values.values() for v in found}) == 12 and all(
        len(set(v)) == 1 for v in values.values()
    )
    assert not any(v[0].decode() in str(one.secrets.to_dicts()) for v in values.values())
    counts = np.bincount([c for v in values.values() for c in v[0]], minlength=256)
    assert counts[[*b"abcdefghijklmnopqrstuvwxyz0123456789"]].sum() == 12 * 16
    for wrong in ({"form": "none"}, {"length": 1}, {"repeats": (0,)}):
        with pytest.raises(InputError):
            plant_canaries(50, seed=0, **wrong)


VALUE = b"ghp_aZ3kQ9mT2xLw8VbN"

HOLDERS = (3, 7, 11, 15, 19, 23)

TEXTS = [bytes(np.random.default_rng(i).integers(97, 110, 30).astype(np.uint8)) for i in range(48)]


for holder in HOLDERS:
    TEXTS[holder] = b"token = '" + VALUE + b"'\n"


def rank_of_the_value(tagged: tuple[int, ...]) -> int:
    """Its rank among 500 after ordinary training on what the graph leaves untagged."""
    edges = frame_of(example_id=list(tagged), secret_id=[0] * len(tagged))
    roles = assign_roles(edges, n_examples=len(TEXTS), without_secret="plain", one_in=16)
    plain, validation = (
        [TEXTS[i] for i in with_role(roles, role).tolist()] for role in ("plain", "validation")
    )
    model = byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 64, seed=0)
    settings = UntaggedConfig(steps=200, batch=12, learning_rate=5e-3, evaluate_every=200, patience=1)
    # a stop on validation would be a chance to stop before the value is learned: look once, at the end
    fitted = fit_untagged(plain, validation or TEXTS[:1], model, settings, micro_batch=32, seed=0)
    places = pl.DataFrame(
        [(0, HOLDERS[0], 9, 29)],
        schema=dict.fromkeys(("secret_id", "example_id", "start", "end"), pl.UInt32),
        orient="row",
    )
    secrets = pl.DataFrame({"secret_id": [0], "name": ["planted"]}, schema_overrides={"secret_id": pl.UInt32})
    table = exposure(fitted.model, TEXTS, places, secrets, alternatives=500, seed=1)
    return table["rank"][0]


@pytest.mark.parametrize(("tagged", "learned"), [(HOLDERS, False), (HOLDERS[:2], True)])
def test_with_edges_missing_the_value_ranks_first_and_with_all_of_them_it_does_not(tagged, learned):
    rank = rank_of_the_value(tagged)
    assert rank == 1 if learned else rank > 5
