"""The schema that editors get agrees with the loader: it refuses nothing that loads, and every wrong structure.

A config is bent in one place: a key is taken out or misspelt, a value replaced. Where the schema refuses, the
loader must; where the loader refuses for a type, a range, a missing or an unknown key, the schema must.
"""

import copy
import importlib.util
from pathlib import Path

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from sizes import examples

from hush_core.config import HushConfig
from hush_core.config.schema import config_schema

ROOT = Path(__file__).parents[3]
SCHEMA = config_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
FILES = [ROOT / "flows/demo/demo.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
EXAMPLES = [yaml.safe_load(path.read_text()) for path in FILES]
_spec = importlib.util.spec_from_file_location("bad_configs", ROOT / "tests/flows/test_bad_configs.py")
TABLE = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(TABLE)
STRUCTURE = {
    "missing", "extra_forbidden", "literal_error", "union_tag_invalid", "string_type", "int_type", "float_type",
    "bool_type", "dict_type", "tuple_type", "list_type", "model_type", "model_attributes_type", "int_parsing",
    "float_parsing", "bool_parsing", "int_from_float", "greater_than", "greater_than_equal", "less_than",
    "less_than_equal", "too_short", "too_long", "string_too_short", "string_too_long", "string_pattern_mismatch",
    "path_type",
}  # fmt: skip
"""Pydantic's names of mistakes that a schema can see. Its own words of ours (`value_error`) are not among them."""


def refusals(data):
    """The kinds of mistakes that the models find in a mapping; none where it is a config."""
    try:
        HushConfig.model_validate(copy.deepcopy(data))
    except ValidationError as error:
        return {
            one["type"] for one in error.errors(include_input=False, include_url=False, include_context=False)
        }
    return set()


def agree(data):
    seen, told = VALIDATOR.is_valid(data), refusals(data)
    if not seen:
        assert told, f"the schema refuses what loads: {next(VALIDATOR.iter_errors(data)).message}"
    if told & STRUCTURE:
        assert not seen, f"the loader refuses, and the schema does not: {told}"
    return seen


def test_it_is_a_schema_and_takes_the_examples():
    Draft202012Validator.check_schema(SCHEMA)
    assert len(EXAMPLES) >= 5 and all(agree(one) for one in EXAMPLES)
    assert all(agree(one) for one in (TABLE.GOOD, TABLE.TABLES, TABLE.HUGGING))


def test_editors_show_what_every_key_means():
    parts = [SCHEMA, *SCHEMA["$defs"].values()]
    silent = [
        (part.get("title"), key)
        for part in parts
        for key, one in part.get("properties", {}).items()
        if key != "kind" and "description" not in one
    ]
    assert not silent
    bits = SCHEMA["$defs"]["PathSecret"]["properties"]["bits"]  # described by the base of all entries
    assert "one guess is right" in bits["description"]


def test_refused_inputs_are_refused_alike():
    """The table of bad configs, as far as an editor can read them: numbers that JSON has, in mappings."""
    read = [data for data, _ in TABLE.CASES.values() if isinstance(data, dict)]
    finite = [data for data in read if not any(word in repr(data) for word in ("inf", "nan"))]
    refused = sum(not agree(data) for data in finite)
    assert len(finite) > 150 and refused > 100, "the test is blind"


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(-(10**12), 10**12), st.just([]), st.just({}),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["", "high", "7", "best", "~", "a b"]),
    st.lists(st.sampled_from([1, "x", True, 0.5]), max_size=2), st.dictionaries(st.sampled_from("ab"), st.just(1)),
)  # fmt: skip


def places(data, at=()):
    yield at
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(data[key], (*at, key))


@st.composite
def bent(draw):
    data = copy.deepcopy(draw(st.sampled_from([*EXAMPLES, TABLE.GOOD, TABLE.HUGGING])))
    *way, key = draw(st.sampled_from([place for place in places(data) if place]))
    inside = data
    for step in way:
        inside = inside[step]
    how = draw(st.sampled_from(["replace", "take out", "misspell", "replace"]))
    if how == "replace":
        inside[key] = draw(VALUES)
    elif how == "take out":
        del inside[key]
    elif isinstance(key, str):
        inside[key + "s_"] = inside.pop(key)
    return data


@hypothesis.given(bent())
@hypothesis.settings(max_examples=examples(400), deadline=None, derandomize=True, database=None)
def test_a_config_that_is_bent_in_one_place_is_refused_by_both_or_by_neither(data):
    agree(data)


@pytest.mark.parametrize("kind", ["mine"])
def test_kinds_of_other_packages_are_in_it(monkeypatch, kind):
    from hush_core.config import PathSecret
    from hush_core.config import schema as module

    class Entry(PathSecret):
        kind: str
        colour: int

    detector = type("Detector", (), {"entry": Entry})
    monkeypatch.setattr(module, "further_kinds", lambda: {kind: None})
    monkeypatch.setattr(module, "further_detector", lambda _: detector)
    made = Draft202012Validator(config_schema())
    entry = {"id": "a", "kind": kind, "globs": ["x"], "level": "high", "colour": 3}
    assert made.is_valid({**TABLE.GOOD, "secrets": [entry]})
    assert not made.is_valid({**TABLE.GOOD, "secrets": [{**entry, "colour": "red"}]})
