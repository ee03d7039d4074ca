"""`mechanism:` of the config: every kind with its keys, and what does not go together in one line."""

import pytest
import yaml

from hush_core.config import (
    MECHANISMS,
    HushMechanism,
    load_config,
)
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


CHAT = {"path": "chat.jsonl", "prompt": "asked", "completion": "said", "loss_on": "completions"}


def load(tmp_path, **replaced):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **replaced}))
    return load_config(path)


def test_every_kind_loads_and_is_part_of_the_settings_digest(tmp_path):
    plain = load(tmp_path)
    assert plain.mechanism == HushMechanism() and load(tmp_path, mechanism={}) == plain
    configs = [load(tmp_path, mechanism={"kind": kind}) for kind in MECHANISMS]
    assert [config.mechanism.kind for config in configs] == list(MECHANISMS)
    assert configs[0].settings_digest == plain.settings_digest, "a store's earlier runs stay what they were"
    assert len({config.settings_digest for config in configs}) == len(configs)


@pytest.mark.parametrize(
    ("mechanism", "others", "says"),
    [
        ({"kind": "canary-value"}, {}, "mechanism.kind: unknown kind"),
        ("canary-value", {}, "mechanism"),
        ({"kind": "dp_sgd", "records": 2}, {}, "unknown key mechanism.records"),
        ({"kind": "group_privacy", "records": 0}, {}, "mechanism.records"),
        ({"kind": "group_privacy", "records": True}, {}, "records"),
        ({"kind": "group_privacy", "select": "chunks"}, {}, "mechanism.select"),
        ({"kind": "user_wise", "select": "canary-value"}, {}, "mechanism.select"),
        ({"kind": "dp_sgd", "epsilon": 1.0}, {}, "epsilon and delta go together"),
        ({"kind": "dp_sgd", "epsilon": 1.0, "delta": 0.5}, {}, "mechanism.delta"),
        ({"kind": "dropping", "epsilon": 1.0, "delta": 1e-6}, {}, "unknown key mechanism"),
        ({"kind": "dp_sgd"}, {"weights": {"c": 0.3}}, "weights.c: mechanism dp_sgd solves no program"),
        ({"kind": "user_wise"}, {"weights": {"objective": "distinct"}}, "weights.objective"),
        ({"kind": "dropping"}, {"promise": {"runs": 3}}, "mechanism dropping"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"promise": {"runs": 3}}, "mechanism.epsilon"),
        ({"kind": "redaction"}, {"weights": {"without_secret": "noise"}}, "makes no noise"),
        ({"kind": "correlated", "epsilon": 1.0, "delta": 1e-6}, {}, "unknown key mechanism"),
        ({"kind": "correlated", "bands": 65}, {}, "mechanism.bands"),
        (
            {"kind": "correlated"},
            {"promise": {"runs": 3}},
            "take one of hush, dp_sgd, group_privacy, user_wise",
        ),
        ({"kind": "user_wise", "select": "chunks"}, {"tables": [CHAT]}, "mechanism.select: chunks cuts"),
    ],
)
def test_each_mistake_names_the_key(tmp_path, mechanism, others, says):
    with pytest.raises(InputError) as caught:
        load(tmp_path, mechanism=mechanism, **others)
    text = str(caught.value)
    assert says in text and "job.yaml" in text and "Hint:" in text and "canary" not in text


def test_without_noise_the_rest_is_trained_on_plainly_and_redaction_redacts_values(tmp_path):
    for kind in ("redaction", "dropping"):
        config = load(tmp_path, mechanism={"kind": kind})
        assert config.weights.without_secret == "plain" and not config.mechanism.makes_noise
        redacted = [entry.protect for entry in config.secrets]
        assert redacted == (["auto", "redact"] if kind == "redaction" else ["auto", "auto"])
    assert load(tmp_path, mechanism={"kind": "dp_sgd"}).without_secret == "noise"
