"""Every key of the config is in the digest of the settings, or is left out for a reason that is written down."""

from typing import get_args

import pytest

from hush_core.config import Changes, HushConfig
from hush_core.config.digest import LEFT_OUT
from hush_core.config.section import Section

JOB = {
    "version": 1,
    "repos": [{"path": "repo"}, {"path": "more"}],
    "tables": [{"path": "notes.jsonl"}],
    "levels": {"high": 1e-4, "low": 1e-2},
    "public": ["docs/**"],
    "secrets": [{"id": "team", "kind": "path", "globs": ["team/**"], "level": "high"}],
    "promise": {"runs": 5},
    "train": {"rounds": 40, "batch": 8, "start": "champion", "later_rounds": 4},
}


def table(**keys):
    return {"tables": [{"path": "notes.jsonl", **keys}]}


def mechanism(**keys):
    return {"mechanism": keys}


def train(**keys):
    return {"train": {**JOB["train"], **keys}}


ONCE = {"rounds": 40, "batch": 8}
ITEMS = {"kind": "group_privacy"}
PAIR = {"prompt": "q", "completion": "a"}
CHANGES = {
    "repos.mode": [{}, {"repos": [{"path": "repo", "mode": "history"}, {"path": "more"}]},
                   {"repos": [{"path": "repo"}, {"path": "more", "mode": "history"}]}],
    "tables.format": [{}, table(format="csv")],
    "tables.text": [{}, table(text="body"), table(text=["title", "body"])],
    "tables.messages": [{}, table(messages="said", chat_template="plain")],
    "tables.prompt": [table(**PAIR), table(**{**PAIR, "prompt": "asked"})],
    "tables.completion": [table(**PAIR), table(**{**PAIR, "completion": "told"})],
    "tables.chat_template": [table(messages="said", chat_template=text) for text in ("plain", "{{ messages }}")],
    "tables.loss_on": [table(**PAIR), table(**PAIR, loss_on="completions")],
    "tables.unit": [{}, table(unit="author")],
    "tables.id": [{}, table(id="number")],
    "levels": [{}, {"levels": {"high": 2e-4, "low": 1e-2}}],
    "prior_cap_bits": [{}, {"prior_cap_bits": 30.0}],
    "chunk_bytes": [{}, {"chunk_bytes": 1024}],
    "max_file_bytes": [{}, {"max_file_bytes": 1 << 21}],
    "mechanism.kind": [{}, mechanism(kind="dp_sgd"), mechanism(**ITEMS)],
    "mechanism.epsilon": [{"promise": None, "train": ONCE, **mechanism(kind="dp_sgd", epsilon=e, delta=1e-6)}
                          for e in (1.0, 2.0)],
    "mechanism.delta": [{"promise": None, "train": ONCE, **mechanism(kind="dp_sgd", epsilon=1.0, delta=d)}
                        for d in (1e-6, 1e-7)],
    "mechanism.records": [mechanism(**ITEMS, records=n) for n in (2, 4)],
    "mechanism.select": [mechanism(**ITEMS, select=how) for how in ("random", "longest")],
    "mechanism.bands": [{"promise": None, "train": ONCE, **mechanism(kind="correlated", bands=n)} for n in (2, 4)],
    "weights.capacities": [{}, {"weights": {"capacities": "paper"}}],
    "weights.c": [{}, {"weights": {"c": 0.25}}],
    "weights.noise_multiplier": [{"weights": {"capacities": "equalised"}},
                                 {"weights": {"capacities": "equalised", "noise_multiplier": 2.0}}],
    "weights.objective": [{}, {"weights": {"objective": "distinct"}}],
    "weights.without_secret": [{}, {"weights": {"without_secret": "plain"}}],
    "method": [{}, {"method": "renyi"}],
    "promise.runs": [{}, {"promise": {"runs": 6}}],
    "train.rounds": [{}, train(rounds=41)],
    "train.start": [{}, {"train": ONCE}],
    "train.later_rounds": [{}, train(later_rounds=5)],
    "train.batch": [{}, train(batch=9)],
    "audit.held_back": [{}, {"audit": {"held_back": True}}],
}  # fmt: skip
"""Key → configs that differ in it alone."""


def digest(change):
    return HushConfig.model_validate({**JOB, **change}).settings_digest


def keys_of(model, prefix=""):
    for name, field in model.model_fields.items():
        below = list(sections(field.annotation))
        if not below:
            yield prefix + name
        for section in below:
            yield from keys_of(section, f"{prefix}{name}.")


def sections(annotation):
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from sections(part)


KEYS = sorted({*keys_of(HushConfig)})


def left_out(key):
    return [known for known in LEFT_OUT if key == known or key.startswith(f"{known}.")]


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_in_the_digest_or_left_out_for_a_reason(key):
    known = [*left_out(key), *([key] if key in CHANGES else [])]
    assert len(known) == 1, (
        f"{key}: classify it, in CHANGES here or in LEFT_OUT of hush_core/config/digest.py"
    )


def test_nothing_is_classified_that_is_no_key():
    assert CHANGES.keys() <= set(KEYS)
    assert all(any(known in left_out(key) for key in KEYS) for known in LEFT_OUT)


@pytest.mark.parametrize("key", CHANGES)
def test_what_is_in_the_digest_changes_it(key):
    digests = [digest(change) for change in CHANGES[key]]
    assert len(set(digests)) == len(digests) > 1


def test_what_is_left_out_does_not_change_it():
    other = {
        "repos": [{"path": "moved/repo", "rev": "v2"}, {"path": "more", "name": "less"}],
        "tables": [{"path": "notes/two.jsonl"}],
        "public": ["docs/**", "README*"],
        "secrets": [{"id": "red", "kind": "path", "globs": ["red/**"], "level": "low"}],
        "model": {"layers": 2}, "pretrain": {"steps": 3}, "untagged": {"batch": 4},
        "audit": {"alternatives": 9, "unprotected": True}, "tracking": {"experiment": "x"},
        **train(clip_norm=2.0, optimizer="sgd", micro_batch=4, processes=2, average="ema", precision="bf16"),
    }  # fmt: skip
    assert digest(other) == digest({})


def test_that_of_sources_read_by_default_is_the_one_that_earlier_runs_noted():
    noted = "7d472df8e5412281269c6ba41ce7e6946e88a1686839c63b26c4146db945baa7"
    assert digest({}) == noted


def test_the_form_of_a_run_names_each_change_that_may_end_a_promise():
    values = {
        "method": "kl", "c": 0.3, "noise_multiplier": 2.0, "rounds": 41, "batch": 9, "learning_rate": 0.5,
        "clip_norm": 2.0, "schedule": "cosine", "warmup_rounds": 2, "optimizer": "sgd", "untagged_batch": 3,
        "average": "ema", "without_secret": "drop", "protect": {"team": "noise"},
    }  # fmt: skip
    assert values.keys() == Changes.model_fields.keys()
    job = HushConfig.model_validate({**JOB, "weights": {"without_secret": "plain"}})
    chosen = {
        name for name, value in values.items()
        if Changes(**{name: value}).applied_to(job).settings_digest != job.settings_digest
    }  # fmt: skip
    said = Changes.model_json_schema()["description"]
    named = said.partition("Under a promise another ")[2].partition(" makes a run")[0].split()
    assert chosen == {one.strip(",") for one in named} - {"or"}
