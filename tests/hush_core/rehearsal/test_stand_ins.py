"""Who plays whom: untagged examples only, disjoint roles, and the run's own rates."""

import numpy as np
import polars as pl
import pytest

from hush_core.errors import InputError
from hush_core.rehearsal import cast, played_plan, untagged_texts

N = 400
RUN = {"noise_multiplier": 0.8, "rounds": 30, "clip_norm": 0.5}


def graph(tagged):
    return pl.DataFrame(
        {"example_id": tagged, "secret_id": [0] * len(tagged), "reason": ["x"] * len(tagged)},
        schema_overrides={"example_id": pl.UInt32, "secret_id": pl.UInt32},
    )


EDGES = graph(list(range(0, N, 4)))
FILES = [f"file {i // 8}" for i in range(N)]


@pytest.mark.parametrize("plain", [False, True])
def test_roles_are_untagged_disjoint_and_leave_the_held_out_alone(plain):
    made = cast(EDGES, n_examples=N, plain=plain, files=FILES, seed=3)
    roles = [made.stand_ins, made.rest, made.validation, made.held_back]
    everyone = np.concatenate(roles)
    assert len(np.unique(everyone)) == len(everyone)
    assert not set(everyone) & set(EDGES["example_id"])
    untagged = np.setdiff1d(np.arange(N), EDGES["example_id"].to_numpy())
    held_out = untagged[::20]
    assert not set(everyone) & set(held_out) and len(everyone) == len(untagged) - len(held_out)
    assert list(made.validation) == list(untagged[10::20]) and made.tagged_share == 0.25
    if plain:
        assert len(made.stand_ins) == 101 and len(made.held_back) == 11
    else:
        assert not len(made.rest) and not len(made.held_back)


def test_a_plain_phase_shares_at_most_one_file_with_the_stand_ins():
    made = cast(EDGES, n_examples=N, plain=True, files=FILES)
    acting = {FILES[i] for i in [*made.stand_ins, *made.held_back]}
    assert len(acting & {FILES[i] for i in made.rest}) <= 1
    loose = cast(EDGES, n_examples=N, plain=True)
    assert len({FILES[i] for i in loose.stand_ins} & {FILES[i] for i in loose.rest}) > 20


def test_a_tagged_stand_in_is_refused_whatever_its_weight():
    texts = [b"text %d" % i for i in range(N)]
    made = cast(EDGES, n_examples=N, plain=False)
    assert untagged_texts(made.stand_ins[:2], texts, EDGES) == [texts[i] for i in made.stand_ins[:2]]
    slipped = np.append(made.stand_ins, 8)  # tagged; the program may well have given it weight 0
    with pytest.raises(InputError, match="1 examples that hold a secret") as told:
        untagged_texts(slipped, texts, EDGES)
    assert "text 8" not in str(told.value)


def test_too_few_untagged_examples_are_refused():
    with pytest.raises(InputError, match="only 36 examples"):
        cast(graph(list(range(360))), n_examples=N, plain=False)


def test_with_enough_stand_ins_the_rates_are_the_runs_own():
    rates = np.random.default_rng(1).choice([0.0, 0.02, 0.1], size=300)
    plan = played_plan(rates, 350, expected_batch=round(rates.sum()), seed=5, **RUN)
    assert sorted(plan.rates[plan.rates > 0]) == sorted(rates[rates > 0])
    assert plan.noise_multiplier == RUN["noise_multiplier"] and plan.expected_batch == round(rates.sum())
    assert not plan.certificates.height
    other = played_plan(rates, 350, expected_batch=round(rates.sum()), seed=6, **RUN)
    assert not np.array_equal(plan.rates, other.rates)


@pytest.mark.parametrize(("count", "batch"), [(100, 24), (30, 24), (20, 24)])
def test_with_fewer_the_batch_and_the_noise_of_a_step_are_kept(count, batch):
    weights = np.random.default_rng(1).choice([0.05, 1.0], size=300)
    rates = batch * weights / weights.sum()
    plan = played_plan(rates, count, expected_batch=batch, **RUN)
    wanted = min(batch, count)
    assert plan.rates.max() <= 1 and plan.rates.sum() == pytest.approx(wanted)
    assert plan.expected_batch == wanted
    step = RUN["noise_multiplier"] / batch
    assert plan.noise_multiplier / plan.expected_batch == pytest.approx(step)
    if count == 100:  # nothing is cut off at 1: shape and share of the light ones are the run's
        assert plan.rates.max() / plan.rates.min() == pytest.approx(20)
        light = (plan.rates < plan.rates.max() / 2).mean()
        assert light == pytest.approx((weights < 1).mean(), abs=0.02)
