"""The plan couples what is run with what was certified, and refuses what cannot be sampled."""

import numpy as np
import polars as pl
import pytest

from hush_core.corpus.records import Records, texts_of_item
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.weights import sampling_rates

SECRETS = pl.DataFrame(
    {"secret_id": [0, 1], "name": ["a", "b"], "prior": [1e-6, 1e-4], "posterior": [1e-3, 1e-2]},
    schema_overrides={"secret_id": pl.UInt32},
)
EDGES = pl.DataFrame(
    {"example_id": [0, 1, 2, 2], "secret_id": [0, 0, 0, 1]},
    schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
)


def test_every_secret_meets_its_target_at_the_plans_noise_and_misses_it_at_two_thirds():
    from hush_core.accounting import bound_secrets

    plan = make_plan(np.ones(40), EDGES, SECRETS, rounds=50, expected_batch=4, clip_norm=1.0)
    assert plan.rates.sum() == pytest.approx(4)
    assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
    weaker = bound_secrets(
        EDGES, plan.rates, SECRETS, noise_multiplier=plan.noise_multiplier * 2 / 3, rounds=50, method="best"
    )
    assert (weaker["bound"] > weaker["posterior"]).any()


def test_rates_are_proportional_to_weights_and_sum_to_the_batch():
    rates = sampling_rates(np.array([1.0, 0.5, 0.0, 0.5]), 1)
    assert rates.tolist() == [0.5, 0.25, 0.0, 0.25]


def test_no_weight_at_all_is_refused():
    with pytest.raises(InputError, match="weight 0"):
        sampling_rates(np.zeros(3), 1)


def test_a_plan_is_frozen_and_its_digest_covers_what_training_depends_on():
    def plan(rates=(0.5, 0.5), sigma=1.0, rounds=3, batch=1, clip=1.0):
        return ProtectionPlan(np.array(rates), sigma, rounds, batch, clip, "best", pl.DataFrame())

    base = plan()
    assert not base.rates.flags.writeable
    variants = [plan(rates=(0.5, 0.4)), plan(sigma=1.1), plan(rounds=4), plan(batch=2), plan(clip=2.0)]
    assert len({base.digest, *(v.digest for v in variants)}) == 6
    assert plan().digest == base.digest


@pytest.mark.parametrize("wrong", [{"noise_multiplier": 0.0}, {"clip_norm": float("nan")}, {"rates": [1.5]}])
def test_a_plan_of_nonsense_is_refused(wrong):
    fields = {
        "rates": [0.5], "noise_multiplier": 1.0, "rounds": 1, "expected_batch": 1, "clip_norm": 1.0,
        "method": "best", "certificates": pl.DataFrame(),
    }  # fmt: skip
    with pytest.raises(InputError, match="plan"):
        ProtectionPlan(**{**fields, **wrong})


def test_the_records_of_an_item_are_in_the_digest_unless_they_are_one():
    def plan(**records):
        return ProtectionPlan(np.array([0.5]), 1.0, 3, 1, 1.0, "best", pl.DataFrame(), **records)

    assert plan().digest == plan(records=1).digest
    assert len({plan(records=k).digest for k in (1, 2, 12)}) == 3
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="plan: records"):
            plan(records=wrong)


def test_an_item_says_nothing_of_its_texts_and_has_at_least_one():
    assert repr(Records((b"ssn 123", b"b"))) == "Records(2 texts)"
    assert texts_of_item(b"one") == (b"one",)
    assert texts_of_item(Records((b"a", b"b"))) == (b"a", b"b")
    for wrong in ((), ("text",), (b"a", None)):
        with pytest.raises(InputError, match="at least one text"):
            Records(wrong)
