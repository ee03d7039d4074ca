"""A mistake in the YAML is one line that names file, key and hint, and never shows a value."""

import pytest
import yaml

from hush_core.config import (
    MECHANISMS,
    Changes,
    HushMechanism,
    SecretEntry,
    TrainConfig,
    UnitSecret,
    load_config,
)
from hush_core.config.secrets import ENTRIES, entry_of
from hush_core.errors import InputError

GOOD = {
    "version": 1,
    "repos": [{"path": "repo"}],
    "levels": {"high": 2e-4},
    "secrets": [
        {"id": "alpha", "kind": "path", "globs": ["a/**"], "level": "high"},
        {"id": "creds", "kind": "credentials", "level": "high"},
    ],
    "train": {"rounds": 10, "batch": 4},
}


def load(tmp_path, changes=None, **replaced):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **replaced}))
    return load_config(path, changes)


def test_paths_are_taken_from_the_files_folder_and_numbers_without_a_point_are_numbers(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(GOOD).replace("0.0002", "2e-4"))
    config = load_config(path)
    assert config.repos[0].path == tmp_path / "repo"
    assert config.levels["high"] == 2e-4
    assert config.target(config.secrets[0]) == 2e-4


def test_changes_replace_the_files_values(tmp_path):
    config = load(tmp_path, Changes(rounds=3, c=0.1, method="kl", learning_rate=0.5))
    assert (config.train.rounds, config.weights.c, config.method) == (3, 0.1, "kl")
    assert config.train.learning_rate == 0.5 and config.train.batch == 4


def test_three_lines_are_a_job(tmp_path):
    path = tmp_path / "hush.yaml"
    path.write_text("version: 1\nrepos: [.]\nsecrets: [{id: creds, kind: credentials}]\n")
    config = load_config(path)
    assert config.repos[0].path == tmp_path and config.repos[0].label == tmp_path.name
    assert (config.train.rounds, config.train.batch, config.weights.c) == (None, None, None)
    assert config.secrets[0].protect == "auto" and config.without_secret == "plain"
    looked = load_config(tmp_path, command="secrets")
    assert [s.kind for s in looked.secrets] == ["credentials"] and looked.repos[0].path == tmp_path
    with pytest.raises(InputError, match="directory"):
        load_config(tmp_path, command="plan")


def test_rates_are_the_usual_ones_of_the_model_unless_given(tmp_path):
    (tmp_path / "m").mkdir()

    def rates(**more):
        config = load(tmp_path, **more)
        return config.train.learning_rate, config.pretrain.learning_rate

    full = {"kind": "huggingface", "name": "m"}
    assert rates() == (1e-3, 1e-3)
    assert rates(model=full) == (5e-5, 5e-5)
    assert rates(model={**full, "lora": {}}) == (3e-4, 3e-4)
    given = {"rounds": 10, "batch": 4, "learning_rate": 0.2}
    assert rates(model=full, train=given) == (0.2, 5e-5)


def test_how_a_run_is_done_does_not_make_it_another_run():
    settings = TrainConfig(rounds=10, batch=4, learning_rate=0.2, evaluate_every=5)
    for other in ({"micro_batch": 1}, {"processes": 4}, {"checkpoint_every": 3}, {"evaluate_every": 2}):
        assert settings.model_copy(update=other).essential() == settings.essential()
        again = settings.model_copy(update=other)
        assert again.essential().done_by(again.execution()) == again
    for other in ({"learning_rate": 0.1}, {"precision": "bf16"}, {"schedule": "linear"}, {"rounds": 9}):
        assert settings.model_copy(update=other).essential() != settings.essential()
    stopping = TrainConfig(rounds=10, batch=4, evaluate_every=5, early_stopping={})
    assert stopping.model_copy(update={"evaluate_every": 2}).essential() != stopping.essential()


@pytest.mark.parametrize("text", ["print(1)\n", "x: [1\n"])
def test_a_file_of_the_repository_in_place_of_a_config_says_how_one_is_looked_at(tmp_path, text):
    (tmp_path / "a.py").write_text(text)
    for command, said in (("secrets", True), ("run", False)):
        with pytest.raises(InputError) as refused:
            load_config(tmp_path / "a.py", command=command)
        assert ("a repository is named by its folder" in str(refused.value)) == said


def test_each_kind_says_what_reports_call_it_and_what_of_the_text_is_secret():
    said = [vars(entry)["says"] for entry in ENTRIES.values()]
    assert len(set(said)) == len(said) == 9
    assert {
        fact: {kind for kind, entry in ENTRIES.items() if getattr(entry, fact)} for fact in FACTS
    } == FACTS
    assert entry_of("unit") is UnitSecret and entry_of("of_a_package_that_is_gone") is SecretEntry


FACTS = {
    "are_values": {"credentials", "literals", "patterns", "rare_words"},
    "one_secret": {"path", "codeowners", "contributors", "removed"},
    "whole_files": {"path", "codeowners"},
}


def test_every_kind_loads_and_is_part_of_the_settings_digest(tmp_path):
    plain = load(tmp_path)
    assert plain.mechanism == HushMechanism() and load(tmp_path, mechanism={}) == plain
    configs = [load(tmp_path, mechanism={"kind": kind}) for kind in MECHANISMS]
    assert [config.mechanism.kind for config in configs] == list(MECHANISMS)
    assert configs[0].settings_digest == plain.settings_digest, "a store's earlier runs stay what they were"
    assert len({config.settings_digest for config in configs}) == len(configs)


def test_without_noise_the_rest_is_trained_on_plainly_and_redaction_redacts_values(tmp_path):
    for kind in ("redaction", "dropping"):
        config = load(tmp_path, mechanism={"kind": kind})
        assert config.weights.without_secret == "plain" and not config.mechanism.makes_noise
        redacted = [entry.protect for entry in config.secrets]
        assert redacted == (["auto", "redact"] if kind == "redaction" else ["auto", "auto"])
    assert load(tmp_path, mechanism={"kind": "dp_sgd"}).without_secret == "noise"
