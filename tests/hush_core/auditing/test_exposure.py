"""The attack finds what a model memorised, finds nothing where there is nothing, and tells no value."""

import copy
import math

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
import torch
from frames import IDS, frame_of
from scipy.stats import skewnorm

from hush_core.auditing.alternatives import alternatives, fixed_prefix
from hush_core.auditing.contexts import value_targets
from hush_core.auditing.exposure import exposure, redacted_exposure
from hush_core.auditing.exposure_estimates import estimate, stages
from hush_core.auditing.scores import Place, score
from hush_core.config import ByteGptModel
from hush_core.training import byte_gpt, fit_plain
from hush_core.training.byte_gpt import encode_bytes

VALUE = b"ghp_aZ3kQ9mT2xLw8VbN"
UNTRAINED = b"ghp_Xe7PqR2sKd9WnTz4"
PUBLIC = [bytes(np.random.default_rng(i).integers(97, 110, 40).astype(np.uint8)) for i in range(8)]
TEXTS = [b"token = '" + VALUE + b"'\n", b"other: " + VALUE, *PUBLIC, b"key = " + UNTRAINED, b"pin 12"]


def places(*rows):
    return pl.DataFrame(list(rows), schema=dict.fromkeys(IDS, pl.UInt32), orient="row")


OCCURRENCES = places((0, 0, 9, 29), (0, 1, 7, 27), (3, 10, 6, 26), (4, 11, 4, 6))
SECRETS = frame_of(secret_id=[0, 1, 3, 4], name=["planted", "nowhere", "unseen", "short"])


def model():
    return byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 64, seed=0)


@pytest.fixture(scope="module")
def over_trained():
    return fit_plain(TEXTS[:10], model(), steps=150, batch=10, learning_rate=5e-3)


def attack(model, **more):
    return exposure(model, TEXTS, OCCURRENCES, SECRETS, alternatives=500, seed=1, **more)


def test_an_over_trained_value_ranks_first_and_is_extracted(over_trained):
    seen = []
    table = attack(over_trained, progress=lambda *args: seen.append(args))
    assert table.columns == [
        "secret_id", "name", "alternatives", "rank", "exposure_bits", "extracted", "contexts",
        "drawn", "last_rank", "exposure_lower", "exposure_upper", "exposure_fitted",
    ]  # fmt: skip
    planted, unseen = table.rows(named=True)
    assert {k: v for k, v in planted.items() if not k.startswith("exposure_") or k == "exposure_bits"} == {
        "secret_id": 0, "name": "planted", "alternatives": 500, "rank": 1, "last_rank": 1, "drawn": 500,
        "exposure_bits": math.log2(501), "extracted": True, "contexts": 2,
    }  # fmt: skip
    assert math.log2(501) - 2 < planted["exposure_lower"] < math.log2(501) < planted["exposure_upper"]
    assert unseen["name"] == "unseen" and unseen["rank"] > 1 and not unseen["extracted"]
    assert seen[-1] == ("exposure", 3, 3)
    assert VALUE.decode() not in str(table.rows()) and UNTRAINED.decode() not in str(table.rows())


def test_an_untrained_model_does_not(over_trained):
    planted = attack(model()).row(0, named=True)
    assert planted["rank"] > 5 and planted["exposure_bits"] < 7 and not planted["extracted"]


def test_ties_rank_in_the_attackers_favour():
    """A model that finds every string equally likely: the attacker may guess the true value first."""
    indifferent = model()
    with torch.no_grad():
        for parameter in indifferent.network.get_output_embeddings().parameters():
            parameter.zero_()
    planted = attack(indifferent).row(0, named=True)
    assert (planted["rank"], planted["exposure_bits"]) == (1, math.log2(501))


def test_ranks_of_untrained_values_are_uniform():
    """Under the null the rank is uniform: over 60 fresh values the mean exposure is near 1.44 bits."""
    rng = np.random.default_rng(0)
    values = [b"tok-" + alternatives(b"aB3dE6gH9j", 1, rng)[0] for _ in range(60)]
    texts = [b"secret: " + value for value in values]
    occurrences = places(*((i, i, 8, 22) for i in range(60)))
    secrets = pl.DataFrame({"secret_id": range(60), "name": [str(i) for i in range(60)]})
    table = exposure(model(), texts, occurrences, secrets, alternatives=63, seed=0)
    ranks = table["rank"].to_numpy()
    assert 32.5 - 6 * 18.5 / math.sqrt(60) < ranks.mean() < 32.5 + 6 * 18.5 / math.sqrt(60)


def test_scores_equal_the_whole_text_run_in_one_piece(over_trained):
    context, network = b"token = '", over_trained.network
    candidates = [VALUE, UNTRAINED, b"ghp_" + b"a" * 16]
    got = score(over_trained, context, b"' is not looked at", candidates)
    with torch.no_grad():
        for value, candidate in zip(got.scores, candidates, strict=True):
            tokens = torch.from_numpy(encode_bytes(context + candidate).astype(np.int64))
            steps = network(input_ids=tokens[None, :-1]).logits.log_softmax(-1)[0]
            want = steps.gather(1, tokens[1:, None])[len(context) :].sum()
            assert float(value) == pytest.approx(float(want), rel=1e-4)
    asked = torch.from_numpy(encode_bytes(context).astype(np.int64))[None]
    ids = network.generate(asked, max_new_tokens=len(VALUE), do_sample=False, eos_token_id=None)
    assert got.extracted == (bytes((ids[0, -len(VALUE) :] - 3).tolist()) == VALUE) and got.extracted
    assert got.distinguishable.tolist() == [False, True, True]
    assert not score(over_trained, context, b"", candidates[1:]).extracted


def test_every_batch_of_candidates_starts_from_the_same_context(over_trained):
    got = score(over_trained, b"token = '", b"", [VALUE] * 600)
    assert float(got.scores.max() - got.scores.min()) < 1e-4 and not got.distinguishable.any()


def test_a_context_that_does_not_fit_is_cut_from_the_left(over_trained):
    def scored(before, candidates):
        return score(over_trained, before, b"", candidates)

    few = [VALUE, UNTRAINED]
    whole, cut = scored(b"b" * 44, few), scored(b"x" * 60 + b"b" * 44, few)
    torch.testing.assert_close(cut.scores, whole.scores)
    assert scored(b"b" * 45, few) is not None and scored(b"", [b"v" * 64]) is not None
    assert scored(b"token", [b"v" * 65]) is None


def contexts(texts, rows, most, *, both):
    ((_, value, found),) = value_targets(texts, rows, most, both=both)
    return value, found


def test_contexts_are_distinct_and_follow_the_commonest_form():
    texts = [b"a=" + VALUE, b"a=" + VALUE + b";", b"b" * 60 + VALUE, b"c=" + UNTRAINED]
    rows = places((0, 0, 2, 22), (0, 1, 2, 22), (0, 2, 60, 80), (0, 3, 2, 22))
    assert contexts(texts, rows, 8, both=False) == (VALUE, [(b"a=", b""), (b"b" * 60, b"")])
    assert contexts(texts, rows, 8, both=True)[1] == [(b"a=", b""), (b"a=", b";"), (b"b" * 60, b"")]
    assert len(contexts(texts, rows, 1, both=False)[1]) == 1


def test_no_context_holds_the_value():
    """A model that copies would give back what the attacker was shown: which is no leakage."""
    other = VALUE[:-1] + b"!"
    text = b"a=" + VALUE + b" b=" + VALUE + b" c=" + other + b" d=" + VALUE + b" e"
    spans = [(0, 0, start, start + 20) for start in (2, 25, 71)]
    found = contexts([text], places(*spans, (0, 0, 48, 68)), 8, both=True)[1]
    assert found == [(b"a=", b" b="), (b" b=", b" c="), (b" d=", b" e")]
    unlisted = contexts([text], places(spans[1]), 8, both=True)[1]
    assert unlisted == [(b" b=", b" c=" + other + b" d=")] and VALUE not in b"".join(unlisted[0])


def test_the_prefix_of_a_type_stays():
    values = (b"ghp_abcd", b"AKIAIOSFODNN7EXAMPLE", b"sk-live_9aKb", b"hunter2", b"x" * 12 + b"_")
    assert [fixed_prefix(value) for value in values] == [4, 4, 8, 0, 0]


def test_a_name_in_parts_is_attacked_as_the_same_name_in_words_is():
    """`project_` was taken for a type's prefix, which left two letters: too few, and the name was not attacked."""
    for value in (b"project io", b"project_io", b"project-io"):
        assert len(alternatives(value, 50, np.random.default_rng(0))) == 50


def test_alternatives_keep_the_form():
    rng = np.random.default_rng(0)
    for other in alternatives(b"ghp_aZ3.9", 200, rng):
        assert other.startswith(b"ghp_") and other[7:8] == b"."
        assert other[4:5].islower() and other[5:6].isupper() and other[6:7].isdigit() and other[8:].isdigit()
    hexes = alternatives(b"0123456789abcdef", 200, rng)
    assert all(set(other) <= set(b"0123456789abcdef") for other in hexes)
    assert any(other[:1].isalpha() for other in hexes)
    assert len(set(hexes)) == 200 and b"0123456789abcdef" not in hexes
    assert len(alternatives(b"1234", 10**5, rng)) < 10**4
    assert alternatives(b"12", 10, rng) == alternatives(b"", 10, rng) == []


HOLE = b"[REDACTED]"


def redactions(texts):
    """Where the placeholder stands in each text, as one secret's."""
    places = [(0, i, t.index(HOLE), t.index(HOLE) + len(HOLE)) for i, t in enumerate(texts) if HOLE in t]
    names = ("redacted_id", "example_id", "start", "end")
    return pl.DataFrame(places, schema=dict.fromkeys(names, pl.UInt32), orient="row")


@pytest.mark.slow
def test_a_redacted_value_is_asked_for_where_its_placeholder_stands(over_trained):
    """A model that saw the text without its value ranks it at random; the control, which saw it, ranks it first."""
    redacted_texts = [text.replace(VALUE, HOLE) for text in TEXTS]
    values = pl.DataFrame({"redacted_id": [0], "value": [VALUE]}, schema_overrides={"redacted_id": pl.UInt32})
    names = pl.DataFrame({"redacted_id": [0, 1], "name": ["planted", "nowhere"]})
    asked = (redacted_texts, redactions(redacted_texts), values, names)
    trained = fit_plain(redacted_texts[:10], model(), steps=150, batch=10, learning_rate=5e-3)
    table = redacted_exposure(trained, *asked, alternatives=500, seed=1)
    (row,) = table.rows(named=True)
    assert row["redacted_id"] == 0 and row["contexts"] == 2 and row["alternatives"] == 500
    assert row["rank"] > 5 and not row["extracted"]
    assert VALUE.decode() not in str(table.rows())
    (control,) = redacted_exposure(over_trained, *asked, alternatives=500, seed=1).rows(named=True)
    assert control["rank"] == 1 and control["extracted"]


# how many alternatives, and what a rank says


def test_a_small_form_is_tried_whole_and_exact(over_trained):
    pin = [b"pin 4711"]
    rows = places((0, 0, 4, 8))
    secrets = pl.DataFrame({"secret_id": [0], "name": ["pin"]})
    assert sorted(alternatives(b"4711", 9_999, np.random.default_rng(0))) == sorted(
        b"%04d" % i for i in range(10_000) if i != 4711
    )
    (row,) = exposure(over_trained, pin, rows, secrets, alternatives=9_999, seed=0).rows(named=True)
    assert row["alternatives"] == row["drawn"] == 9_999
    assert row["exposure_lower"] == row["exposure_upper"] == row["exposure_bits"] <= math.log2(10_000)
    # and a sample of it says the same, within its interval
    (some,) = exposure(over_trained, pin, rows, secrets, alternatives=400, seed=0).rows(named=True)
    assert some["exposure_lower"] <= row["exposure_bits"] <= some["exposure_upper"]


@pytest.mark.slow
def test_a_value_that_is_nowhere_near_the_top_is_given_up_early(over_trained):
    rng = np.random.default_rng(6)
    values = [b"tok-" + alternatives(b"aB3dE6gH9j", 1, rng)[0] for _ in range(24)]
    texts = [TEXTS[0], *(b"secret: " + value for value in values)]
    rows = places((0, 0, 9, 29), *((i + 1, i + 1, 8, 22) for i in range(24)))
    secrets = pl.DataFrame({"secret_id": range(25), "name": [str(i) for i in range(25)]})
    table = exposure(over_trained, texts, rows, secrets, alternatives=500, seed=0, stop_after=8)
    whole = exposure(over_trained, texts, rows, secrets, alternatives=500, seed=0)
    assert (table["drawn"] == 500).all() and table["alternatives"].mean() < 200
    planted = table.row(0, named=True)
    assert (planted["rank"], planted["alternatives"]) == (1, 500)  # what leaks is never given up
    given_up = table["alternatives"] < 500
    assert (table.filter(given_up)["rank"] > 8).all() and (whole.filter(given_up)["rank"] > 8).all()
    # what is not run to its end for the first letters changes no rank
    kept, same = (some.filter(~given_up).drop(cs.matches("lower|upper|fitted")) for some in (table, whole))
    assert kept.equals(same) and 1 <= kept.height < 20
    inside = whole["exposure_bits"].is_between(table["exposure_lower"], table["exposure_upper"])
    assert inside.sum() >= 23  # 95 % each


def test_looks_double_and_a_fit_recovers_a_known_tail():
    assert (
        stages(500, None) == [500] and stages(500, 8) == [16, 32, 64, 128, 256, 500] and stages(10, 8) == [10]
    )
    rng = np.random.default_rng(7)
    for shape in (-4.0, 0.0, 4.0):
        margins = skewnorm.rvs(shape, -6.0, 2.0, size=20_000, random_state=rng)
        wanted = -skewnorm.logsf(0.0, shape, -6.0, 2.0) / math.log(2)
        assert estimate(margins, 1e-4, space=2**300, looks=1).fitted == pytest.approx(wanted, rel=0.12)
    few = estimate(margins[:10], 1e-4, space=2**80, looks=1)
    assert few.fitted is None and few.lower < few.bits < few.upper


def test_the_interval_of_an_exposure_covers():
    """A value at the true share 0.002 of a large form, 300 draws of 500; at least 95 % less 4 deviations."""
    rng, covered = np.random.default_rng(8), 0
    for _ in range(300):
        above = rng.binomial(500, 0.002)
        margins = np.where(np.arange(500) < above, 1.0, -1.0)
        found = estimate(margins, 1e-4, space=2**60, looks=1)
        covered += found.lower <= -math.log2(0.002) <= found.upper
    assert covered / 300 >= 0.95 - 4 * (0.05 * 0.95 / 300) ** 0.5


def test_candidates_that_fall_behind_early_are_below_the_value_and_no_others(over_trained):
    others = alternatives(VALUE, 300, np.random.default_rng(9))
    half_known = VALUE[:14] + b"qqqqqq"  # what is behind it shows in the middle
    for value in (VALUE, UNTRAINED, half_known):
        all_of, some = (
            score(over_trained, b"token = '", b"", [value, *others], hopeless=h) for h in (False, True)
        )
        torch.testing.assert_close(some.scores[0], all_of.scores[0], atol=1e-4, rtol=1e-4)
        assert ((some.scores > some.scores[0]) == (all_of.scores > all_of.scores[0])).all()
        assert (some.scores >= all_of.scores - 1e-3).all() and some.extracted == all_of.extracted
    planted = score(over_trained, b"token = '", b"", [VALUE, *others], hopeless=True).scores
    exact = score(over_trained, b"token = '", b"", [VALUE, *others]).scores
    assert int((planted > exact + 1).sum()) > 250  # most of them are spared the rest


@pytest.fixture
def run_through(over_trained):
    """How many tokens went through the network, call by call."""
    seen = []
    handle = over_trained.network.register_forward_pre_hook(
        lambda module, args, named: seen.append(named["input_ids"].numel()), with_kwargs=True
    )
    yield seen
    handle.remove()


def test_lots_of_candidates_at_one_place_share_what_was_run(over_trained, run_through):
    """The prefix (10 tokens and the type's 4 letters) once, the value's other 16 letters once, all but the last."""
    others = alternatives(UNTRAINED, 60, np.random.default_rng(3))
    place = Place(over_trained, b"token = '", b"")
    lots = [place.score([VALUE, *others[i : i + 20]]).scores for i in (0, 20, 40)]
    assert run_through == [14, 21 * 15, 20 * 15, 20 * 15]
    apart = score(over_trained, b"token = '", b"", [VALUE, *others]).scores
    together = torch.cat([lots[0], lots[1][1:], lots[2][1:]])
    torch.testing.assert_close(together, apart, atol=1e-4, rtol=1e-5)
    assert lots[0][0] == lots[1][0] == lots[2][0]


def test_what_is_behind_by_its_first_letter_is_never_run(over_trained, run_through):
    """A memorised value is nearly certain: what begins otherwise is below it before anything of it is run."""
    others = alternatives(VALUE, 300, np.random.default_rng(4))
    place = Place(over_trained, b"token = '", b"")
    place.score([VALUE, *others[:1]])
    del run_through[:]
    found = place.score([VALUE, *others], hopeless=True)
    assert sum(run_through) < 0.2 * 300 * 15 and int((found.scores > found.scores[0]).sum()) == 0


def test_a_value_is_extracted_with_its_prefix_or_not_at_all(over_trained):
    """After another context the model does not write the type's letters; what follows them it knows by heart."""
    others = alternatives(VALUE, 20, np.random.default_rng(12))
    for context in (b"token = '", PUBLIC[0][:12]):
        tokens = torch.from_numpy(encode_bytes(context).astype(np.int64))[None]
        written = over_trained.network.generate(
            tokens, max_new_tokens=len(VALUE), do_sample=False, eos_token_id=None
        )
        spelled = bytes((written[0, -len(VALUE) :] - 3).clamp(min=0).tolist()) == VALUE
        assert score(over_trained, context, b"", [VALUE, *others]).extracted == spelled
    assert score(over_trained, b"token = '", b"", [VALUE, *others]).extracted and not spelled


def test_in_float32_no_rank_differs_from_that_in_float64(over_trained):
    """61 strings that nothing was trained on: the scores' round-off moves none past another."""
    exact = copy.deepcopy(over_trained.network).double()
    others = alternatives(UNTRAINED, 60, np.random.default_rng(10))
    context = b"key = "
    got = score(over_trained, context, b"", [UNTRAINED, *others]).scores
    with torch.no_grad():
        rows = [torch.from_numpy(encode_bytes(context + c).astype(np.int64)) for c in (UNTRAINED, *others)]
        logits = exact(input_ids=torch.stack(rows)[:, :-1]).logits.log_softmax(-1)
        steps = logits.gather(2, torch.stack(rows)[:, 1:, None]).squeeze(2)[:, len(context) :]
    want = steps.sum(1)
    torch.testing.assert_close(got, want, atol=1e-4, rtol=0)
    assert (got.argsort() == want.argsort()).all()
