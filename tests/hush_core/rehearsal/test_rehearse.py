"""One plan rehearsed on untagged stand-ins; its order is the order of real runs."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from scipy.stats import spearmanr

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.rehearsal import MeasuredTexts, rehearsal_plan, rehearsal_roles, rehearse, untagged_texts
from hush_core.training import byte_gpt, fit_private

TEXTS = [bytes([97 + i % 3]) * (5 + i % 8) for i in range(60)]

MEASURED = [MeasuredTexts("validation", TEXTS[50:], 1.0)]


def once(folder, *, rate=3e-2, noise=0.3, seed=1, measured=MEASURED, on_loss=None, **more):
    plan = rehearsal_plan(
        np.full(80, 0.2), 50, noise_multiplier=noise, rounds=8, expected_batch=16, clip_norm=1.0
    )
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32)
    settings = TrainConfig(rounds=8, batch=16, learning_rate=rate, **more)
    return rehearse(plan, TEXTS[:50], measured, model, settings, folder, seed=seed, on_loss=on_loss)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_losses_and_another_seed_others(tmp_path):
    first, again, other = (once(tmp_path / n, seed=s) for n, s in (("a", 1), ("b", 1), ("c", 2)))
    assert first == again and first.loss is not None and not first.stopped
    assert first.loss != other.loss
    steps, losses = zip(*first.curve, strict=True)
    assert steps == tuple(range(1, 9)) and losses[-1] == first.loss < losses[0]


def test_noise_and_rate_are_felt(tmp_path):
    quiet, loud, slow = (
        once(tmp_path / n, **how) for n, how in (("a", {}), ("b", {"noise": 100.0}), ("c", {"rate": 1e-6}))
    )
    assert quiet.loss < min(loud.loss, slow.loss) - 0.2


def test_it_ends_where_it_is_told_to(tmp_path):
    heard = []

    def on_loss(step, loss):
        heard.append((step, loss))
        return step == 3

    done = once(tmp_path, on_loss=on_loss)
    assert done.stopped and done.loss is None and done.curve == tuple(heard)
    assert [step for step, _ in heard] == [1, 2, 3]


def test_a_run_that_diverges_has_no_loss_and_was_not_stopped(tmp_path):
    done = once(tmp_path, rate=1e3, optimizer="sgd", noise=1e6)
    assert done.loss is None and not done.stopped
    assert all(np.isfinite(loss) for _, loss in done.curve)


def test_kinds_of_text_count_by_their_shares(tmp_path):
    measured = [
        MeasuredTexts("a", TEXTS[50:54], 0.6),
        MeasuredTexts("b", TEXTS[54:], 0.2),
        MeasuredTexts("none", [], 0.2),
    ]
    done = once(tmp_path, measured=measured)
    assert set(done.parts) == {"a", "b"} and done.parts["a"] != done.parts["b"]
    assert done.loss == pytest.approx((0.6 * done.parts["a"] + 0.2 * done.parts["b"]) / 0.8)


def test_a_certified_plan_never_has_fixed_draws(tmp_path):
    certified = ProtectionPlan(
        np.full(50, 0.2), 0.3, 4, 10, 1.0, "best", pl.DataFrame({"secret_id": [0], "bound": [0.1]})
    )
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32)
    before = {name: p.clone() for name, p in model.network.named_parameters()}
    with pytest.raises(InputError, match="fixed draws"):
        fit_private(
            certified, TEXTS[:50], model, TrainConfig(rounds=4, batch=10), tmp_path, rehearsal=bytes(32)
        )
    assert all(bool((p == before[name]).all()) for name, p in model.network.named_parameters())
    assert not list(tmp_path.iterdir())


N, ROUNDS, BATCH = 160, 8, 8

PLANS = ((0.2, 3e-2), (0.2, 1e-2), (0.2, 1e-4), (300.0, 0.3))

"""(noise multiplier, learning rate), from the best to the worst; the gaps are far larger than the draws' luck."""


@pytest.fixture(scope="module")
def corpus():
    """(texts, edges): every second example is tagged; all are of one kind."""
    chance = np.random.default_rng(3)
    words = [b"abab", b"bcbc", b"caca"]
    texts = [b"".join(chance.choice(words, size=4)) for _ in range(N)]
    ids = list(range(0, N, 2))
    return texts, pl.DataFrame({"example_id": ids, "secret_id": [0] * len(ids)})


def fresh():
    return byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 20)


@pytest.mark.slow
def test_predictions_rank_plans_as_the_real_runs_do(corpus, tmp_path):
    texts, edges = corpus
    made = rehearsal_roles(edges, n_examples=N, plain=False)
    acting, measured = (untagged_texts(ids, texts, edges) for ids in (made.stand_ins, made.validation))
    rates = np.zeros(N)
    rates[::2] = BATCH / (N / 2)
    tagged_apart = [texts[i] for i in range(1, N, 2)]
    predicted, real = [], []
    for place, (sigma, rate) in enumerate(PLANS):
        settings = TrainConfig(rounds=ROUNDS, batch=BATCH, learning_rate=rate)
        how = {"noise_multiplier": sigma, "rounds": ROUNDS, "expected_batch": BATCH, "clip_norm": 1.0}
        acted = rehearsal_plan(rates, len(acting), **how)
        done = rehearse(
            acted,
            acting,
            [MeasuredTexts("all", measured, 1.0)],
            fresh(),
            settings,
            tmp_path / f"a{place}",
            seed=1,
        )
        predicted.append(done.loss)
        plan = ProtectionPlan(rates, sigma, ROUNDS, BATCH, 1.0, "best", pl.DataFrame())
        fitted = fit_private(plan, texts, fresh(), settings, tmp_path / f"r{place}")
        real.append(fitted.model.evaluate(tagged_apart, max_examples=N))
    assert spearmanr(predicted, real).statistic == pytest.approx(1.0), (predicted, real)
    assert spearmanr(predicted, range(len(PLANS))).statistic == pytest.approx(1.0), predicted


EXAMPLES = 400

RUN = {"noise_multiplier": 0.8, "rounds": 30, "clip_norm": 0.5}


def graph(tagged):
    return frame_of(example_id=tagged, secret_id=[0] * len(tagged), reason=["x"] * len(tagged))


EDGES = graph(list(range(0, EXAMPLES, 4)))

FILES = [f"file {i // 8}" for i in range(EXAMPLES)]


@pytest.mark.parametrize("plain", [False, True])
def test_roles_are_untagged_disjoint_and_leave_the_held_out_alone(plain):
    made = rehearsal_roles(EDGES, n_examples=EXAMPLES, plain=plain, files=FILES, seed=3)
    roles = [made.stand_ins, made.rest, made.validation, made.held_back]
    everyone = np.concatenate(roles)
    assert len(np.unique(everyone)) == len(everyone)
    assert not set(everyone) & set(EDGES["example_id"])
    untagged = np.setdiff1d(np.arange(EXAMPLES), EDGES["example_id"].to_numpy())
    held_out = untagged[::20]
    assert not set(everyone) & set(held_out) and len(everyone) == len(untagged) - len(held_out)
    assert list(made.validation) == list(untagged[10::20]) and made.tagged_share == 0.25
    if plain:
        assert len(made.stand_ins) == 101 and len(made.held_back) == 11
    else:
        assert not len(made.rest) and not len(made.held_back)


def test_a_plain_phase_shares_at_most_one_file_with_the_stand_ins():
    made = rehearsal_roles(EDGES, n_examples=EXAMPLES, plain=True, files=FILES)
    acting = {FILES[i] for i in [*made.stand_ins, *made.held_back]}
    assert len(acting & {FILES[i] for i in made.rest}) <= 1
    loose = rehearsal_roles(EDGES, n_examples=EXAMPLES, plain=True)
    assert len({FILES[i] for i in loose.stand_ins} & {FILES[i] for i in loose.rest}) > 20


def test_a_tagged_stand_in_is_refused_whatever_its_weight():
    texts = [b"text %d" % i for i in range(EXAMPLES)]
    made = rehearsal_roles(EDGES, n_examples=EXAMPLES, plain=False)
    assert untagged_texts(made.stand_ins[:2], texts, EDGES) == [texts[i] for i in made.stand_ins[:2]]
    slipped = np.append(made.stand_ins, 8)  # tagged; the program may well have given it weight 0
    with pytest.raises(InputError, match="1 examples that hold a secret") as refused:
        untagged_texts(slipped, texts, EDGES)
    assert "text 8" not in str(refused.value)


def test_too_few_untagged_examples_are_refused():
    with pytest.raises(InputError, match="only 36 examples"):
        rehearsal_roles(graph(list(range(360))), n_examples=EXAMPLES, plain=False)


def test_with_enough_stand_ins_the_rates_are_the_runs_own():
    rates = np.random.default_rng(1).choice([0.0, 0.02, 0.1], size=300)
    plan = rehearsal_plan(rates, 350, expected_batch=round(rates.sum()), seed=5, **RUN)
    assert sorted(plan.rates[plan.rates > 0]) == sorted(rates[rates > 0])
    assert plan.noise_multiplier == RUN["noise_multiplier"] and plan.expected_batch == round(rates.sum())
    assert not plan.certificates.height
    other = rehearsal_plan(rates, 350, expected_batch=round(rates.sum()), seed=6, **RUN)
    assert not np.array_equal(plan.rates, other.rates)


@pytest.mark.parametrize(("count", "batch"), [(100, 24), (30, 24), (20, 24)])
def test_with_fewer_the_batch_and_the_noise_of_a_step_are_kept(count, batch):
    weights = np.random.default_rng(1).choice([0.05, 1.0], size=300)
    rates = batch * weights / weights.sum()
    plan = rehearsal_plan(rates, count, expected_batch=batch, **RUN)
    wanted = min(batch, count)
    assert plan.rates.max() <= 1 and plan.rates.sum() == pytest.approx(wanted)
    assert plan.expected_batch == wanted
    step = RUN["noise_multiplier"] / batch
    assert plan.noise_multiplier / plan.expected_batch == pytest.approx(step)
    if count == 100:  # nothing is cut off at 1: shape and share of the light ones are the run's
        assert plan.rates.max() / plan.rates.min() == pytest.approx(20)
        light = (plan.rates < plan.rates.max() / 2).mean()
        assert light == pytest.approx((weights < 1).mean(), abs=0.02)
