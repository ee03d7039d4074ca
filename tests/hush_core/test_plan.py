"""The plan couples what is run with what was certified; plan.yaml is read as it was written."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of

from hush_core.config import Changes, read_plan, write_plan
from hush_core.corpus.records import Records, texts_of_item
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.weights import sampling_rates

SECRETS = frame_of(secret_id=[0, 1], name=["a", "b"], prior=[1e-6, 1e-4], posterior=[1e-3, 1e-2])

EDGES = frame_of(example_id=[0, 1, 2, 2], secret_id=[0, 0, 0, 1])


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


CHOSEN = Changes(
    c=0.05, rounds=40, batch=128, learning_rate=5e-5, clip_norm=0.3, schedule="cosine", warmup_rounds=4,
    optimizer="adamw_bc", untagged_batch=64, average="tail",
)  # fmt: skip


def test_what_is_written_is_what_is_read(tmp_path):
    write_plan(tmp_path / "plan.yaml", CHOSEN, "predicted: 2.3\nof many", "σ = 0.7")
    assert read_plan(tmp_path / "plan.yaml") == CHOSEN
    assert (
        (tmp_path / "plan.yaml").read_text().startswith("# predicted: 2.3\n# of many\n# σ = 0.7\nc: 0.05\n")
    )


def test_every_key_of_a_plan_lands_in_the_config():
    assert set(CHOSEN.overrides()) == {
        "weights.c", "weights.noise_multiplier",
        *(f"train.{key}" for key in CHOSEN.model_dump(exclude_none=True) if key != "c"),
    }  # fmt: skip


def test_an_option_goes_before_the_plan():
    both = Changes(rounds=10).over(CHOSEN)
    assert (both.rounds, both.batch, both.c) == (10, 128, 0.05)
    noisy = Changes(noise_multiplier=2.0).over(CHOSEN)
    assert noisy.c is None and noisy.noise_multiplier == 2.0
    assert Changes().over(CHOSEN) == CHOSEN


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("learning_rat: 1\n", "learning_rat"),
        ("rounds: 0\n", "rounds"),
        ("rounds: 3\nrounds: 4\n", ":2"),
        ("- rounds\n", "mapping"),
        ("", "mapping"),
        ("c: 0.1\nnoise_multiplier: 1\n", "both"),
        ("# x\n" * 20_000, "longer"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path, text, says):
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=says) as told:
        read_plan(file)
    assert str(file) in str(told.value)


def test_no_file_is_told(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        read_plan(tmp_path / "nowhere.yaml")
