"""Which rivals a config offers: each the same job but for its mechanism, and every mistake in a name is told."""

from pathlib import Path

import pytest

from hush_core.config import MECHANISMS, parse_config
from hush_core.errors import InputError
from hush_core.rivals import rivals_of


def config(**more):
    data = {
        "version": 1, "repos": [{"path": "/nowhere"}], "levels": {"high": 1e-3},
        "secrets": [{"id": "alpha", "kind": "path", "globs": ["a/**"], "level": "high"}],
        "weights": {"c": 0.4}, "train": {"rounds": 4, "batch": 6},
    }  # fmt: skip
    return parse_config({**data, **more}, where="test", folder=Path("/"))


def named(found):
    return {rival.name: rival for rival in found}


def test_all_kinds_are_compared_unless_some_are_named():
    found = named(rivals_of(config()))
    assert list(found) == [
        "hush/paper/noise", "hush/matched/noise", "hush/equalised/noise", "hush/paper/plain",
        "hush/matched/plain", "hush/equalised/plain", *[kind for kind in MECHANISMS if kind != "hush"],
    ]  # fmt: skip
    assert all(rival.config is not None and not rival.why for rival in found.values())


def test_a_rival_is_the_same_job_but_for_its_mechanism_and_weights():
    base = config(audit={"unprotected": True})
    kept = set(type(base).model_fields) - {"mechanism", "weights", "audit", "train"}
    for rival in rivals_of(base):
        for key in kept:
            assert getattr(rival.config, key) == getattr(base, key), (rival.name, key)
        assert not rival.config.audit.unprotected
        assert (rival.config.train.rounds, rival.config.train.batch) == (4, 6)
    found = named(rivals_of(base))
    assert found["hush/paper/plain"].config.weights.c == 0.4
    assert found["hush/paper/plain"].config.weights.without_secret == "plain"
    assert found["dp_sgd"].config.weights.model_fields_set <= {"without_secret"}
    assert found["dropping"].config.weights.without_secret == "plain"


def test_each_rival_takes_the_step_that_a_run_of_it_would_choose_and_keeps_what_the_file_says():
    base = config()
    names = ["hush/matched/noise", "hush/matched/plain"]
    for settled in (base, base.with_chosen({"train.optimizer": "adamw", "train.untagged_batch": 0})):
        steps = [rival.config.train for rival in rivals_of(settled, names)]
        assert [(step.optimizer, step.untagged_batch) for step in steps] == [
            ("adamw", 0),
            ("preconditioned", 6),
        ]
    said = config(train={"rounds": 4, "batch": 6, "optimizer": "adamw"})
    assert [rival.config.train.optimizer for rival in rivals_of(said, names)] == ["adamw", "adamw"]


def test_names_say_rule_selection_records_and_what_becomes_of_the_rest():
    found = named(rivals_of(config(), ["user_wise/longest/8/plain", "hush/equalised/drop", "dp_sgd/plain"]))
    assert list(found) == ["user_wise/longest/8/plain", "hush/equalised/drop", "dp_sgd/plain"]
    user_wise = found["user_wise/longest/8/plain"].config
    assert (user_wise.mechanism.select, user_wise.mechanism.records) == ("longest", 8)
    assert user_wise.weights.without_secret == "plain"
    assert found["hush/equalised/drop"].config.weights.without_secret == "drop"
    assert [r.name for r in rivals_of(config(), ["hush/matched"])] == [
        "hush/matched/noise",
        "hush/matched/plain",
    ]


def test_the_promise_and_the_own_section_are_kept():
    base = config(mechanism={"kind": "user_wise", "records": 9, "epsilon": 2.0, "delta": 1e-6}, weights={})
    found = named(rivals_of(base, ["user_wise", "dp_sgd", "hush/matched/noise", "redaction"]))
    assert found["user_wise"].config.mechanism.records == 9
    for name in ("user_wise", "dp_sgd", "hush/matched/noise"):
        assert (found[name].config.mechanism.epsilon, found[name].config.mechanism.delta) == (2.0, 1e-6)
    assert not hasattr(found["redaction"].config.mechanism, "epsilon")


def test_what_the_config_cannot_be_run_with_is_left_out_with_its_reason():
    found = named(rivals_of(config(), ["group_privacy/chunks", "dp_sgd"]))
    assert found["group_privacy/chunks"].config is None
    assert found["group_privacy/chunks"].why.startswith("mechanism.select: Input should be 'random'")
    assert found["dp_sgd"].config is not None
    train = {"rounds": 4, "batch": 6, "untagged_batch": 2, "optimizer": "preconditioned"}
    found = named(rivals_of(config(weights={"c": 0.4, "without_secret": "plain"}, train=train)))
    assert found["hush/matched/plain"].config.train.untagged_batch == 2
    assert found["hush/matched/plain"].config.train.optimizer == "preconditioned"
    noised = found["hush/matched/noise"].config.train
    assert (noised.untagged_batch, noised.optimizer) == (0, "adamw")


def test_two_names_of_the_same_settings_are_one_rival():
    for asked, one in (
        (["dp_sgd", "user_wise", "dp_sgd"], ["dp_sgd", "user_wise"]),
        (["user_wise/4/random", "user_wise/random/4"], ["user_wise/4/random"]),
    ):
        assert [rival.name for rival in rivals_of(config(), asked)] == one


@pytest.mark.parametrize(
    "name",
    ["", "foo", "dp_sgd/8", "hush/equalised/9", "hush/plain/longest", "dropping/plain", "group_privacy/x",
     "user_wise/0", "user_wise/99999999999", "user_wise/²"],
)  # fmt: skip
def test_a_name_that_says_nothing_is_refused(name):
    with pytest.raises(InputError, match="--mechanisms.*name some of"):
        rivals_of(config(), [name])


def test_a_promise_of_several_runs_is_refused():
    with pytest.raises(InputError, match="promise: counts the runs"):
        rivals_of(config(promise={"runs": 3}))


def test_correlated_noise_is_no_rival_at_epsilon_and_delta():
    planned = config(mechanism={"kind": "hush", "epsilon": 3.0, "delta": 1e-6})
    (rival,) = rivals_of(planned, ["correlated"])
    assert rival.config is None and "not for (ε, δ)" in rival.why
    (other,) = rivals_of(config(), ["correlated/plain"])
    assert other.config.mechanism.kind == "correlated" and other.config.weights.without_secret == "plain"
