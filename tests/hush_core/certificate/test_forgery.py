"""Every field of the certificate, edited by someone without a key: refused by name, or named as unchecked.

The forger makes every hash and the digest anew, as anyone can who may write the files.
"""

import json
import math
import re
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from forging import forge, put
from second_route import first_route_remembered

from hush_core.certificate import verify_certificate
from hush_core.certificate.document import DOCUMENT, SCHEMA_VERSION, Certificate
from hush_core.certificate.fields import MODEL_FILES, UNCHECKED
from hush_core.certificate.tables import SCHEMAS
from hush_core.errors import VerificationError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "certificate_fields.rst"
PASSES = None
"""The forgery is not found; then the field must be in the printed list of unchecked fields."""


def fields_of(model, prefix=""):
    """Dotted, with those of its parts in their place."""
    for name, field in model.model_fields.items():
        parts = [
            one for one in (field.annotation, *get_args(field.annotation)) if hasattr(one, "model_fields")
        ]
        yield from fields_of(parts[0], f"{prefix}{name}.") if parts else [prefix + name]


FIELDS = [
    *fields_of(Certificate),
    *(f"{table}.{column}" for table, columns in SCHEMAS.items() for column in columns),
]


def column(table, name, value, row=1):
    """An edit of one value of a table; a polars type casts the column instead."""

    def change(frame):
        if isinstance(value, type):
            return frame.with_columns(pl.col(name).cast(value))
        new = value(frame[name][row]) if callable(value) else value
        values = frame[name].to_list()
        values[row] = new
        return frame.with_columns(pl.Series(name, values, dtype=frame[name].dtype))

    return {table: change}


def times(factor):
    return lambda value: value * factor


NO_NUMBER = [(v, "facts.plan") for v in (-1.0, math.inf, math.nan)]
TEXT = [("something else", PASSES)]
LOST = [(None, "a value is missing"), (pl.Int64, "is of type|columns are not")]
OUTSIDE = [(-0.25, "outside"), (math.nan, "outside"), (math.inf, "outside"), *LOST]
IDS = [(7, "numbered densely"), (0, "numbered densely"), *LOST]

JSON = {
    "schema_version": [*((f"hush-certificate/{n}", "no longer reads.*Certify the model again") for n in (3, 4, 7)),
                       ("hush-certificate/9", "schema_version")],
    "promise": [("Nobody will ever know.", "promise"), ("", "promise")],
    "not_promised": [([], "not_promised"), (lambda old: old[:-1], "not_promised")],
    "all_runs_promise": [("No run ever tells.", "all_runs_promise"), ("", "all_runs_promise")],
    "redaction_promise": [("Nothing is left.", "redaction_promise"), ("", "redaction_promise")],
    "tables": [(lambda old: {**old, "bounds.parquet": "0" * 64}, "bounds.parquet"), ({}, "tables"),
               (lambda old: {**old, "../more": "0" * 64}, "tables")],
    "model_files": [({}, "model_files"), ({"model.safetensors": "0" * 64}, "not the model"),
                    ({"other": "0" * 64}, "missing|not part")],
    "digest": [],
    "facts.name": [("", "facts.name"), *TEXT],
    "facts.sources": [({"repo": "main"}, "facts.sources"), ({"other": "1" * 64}, PASSES)],
    "facts.examples": [(61, "60 weights for 61 examples"), (-1, "facts.examples"), (60.5, "facts.examples")],
    "facts.examples_fingerprint": [("none", "fingerprint"), ("1" * 64, PASSES)],
    "facts.runs_on_this_data": [(-7, "runs_on_this_data"), (0, "runs_on_this_data"), (2, "earlier runs"),
                                (True, "runs_on_this_data")],
    "facts.unknown_runs": [(-1, "unknown_runs"), (1, "and the unknown ones"), (True, "unknown_runs")],
    "facts.run": [("none", "facts.run"), ("1" * 64, PASSES)],
    "facts.store": [("none", "facts.store"), ("1" * 64, PASSES)],
    "facts.coverage": [([], "facts.coverage"), ({"files": 4}, PASSES)],
    "facts.code": [([], "facts.code"), ({"hush-secrets": "99"}, PASSES)],
    "facts.redaction.placeholder": [("", "placeholder"), ("*****", "placeholder")],
    "facts.redaction.secrets": [(-1, "redaction"), (0, "0 secrets stated, 2"), (3, "3 secrets stated, 2")],
    "facts.redaction.places": [(-1, "redaction"), (4, "4 places stated, 5")],
    "facts.plan.noise_multiplier": [*NO_NUMBER, (times(0.9), "recomputed"), (times(1.1), "numerical_error|lower")],
    "facts.plan.rounds": [(-1, "plan.rounds"), (0, "null where, and only where"),
                          (39, "40 rounds released, 39 certified"), (60, "recomputed"),
                          (40.5, "plan.rounds")],
    "facts.plan.expected_batch": [(0, "expected_batch"), (5, "do not sum"), (7, "do not sum")],
    "facts.plan.clip_norm": [*NO_NUMBER, (-1e9, "clip_norm"), (2.0, PASSES)],
    "facts.plan.method": [("trust me", "plan.method"), ("kl", "another method")],
    "facts.plan.mechanism.kind": [("magic", "mechanism"), ("dp_sgd", "capacities and c are those"),
                                  ("dropping", "rounds is 0, which only"), ("user_wise", "mechanism")],
    "facts.plan.mechanism.records": [(4, "records"), (0, "records"), (True, "records")],
    "facts.plan.mechanism.bands": [(4, "bands"), (0, "bands")],
    "facts.plan.strategy": [([1.0], "strategy is that"), ([-1.0], "strategy"), ([1.0, "much"], "strategy")],
    "facts.plan.mechanism.select": [("random", "select"), ("all", "select")],
    "facts.plan.mechanism.epsilon": [(3.0, "go together"), (-1.0, "epsilon")],
    "facts.plan.mechanism.delta": [(1e-6, "go together"), (2.0, "delta")],
    "facts.plan.capacities": [("none", "plan.capacities"), ("equalised", PASSES)],
    "facts.plan.c": [(None, "capacities and c are those"), *NO_NUMBER, (2.0, "plan.c"),
                     (0.25, "weigh more than"), (0.999, PASSES)],
    "facts.plan.weight_objective": [*NO_NUMBER, (times(1.01), "stated objective")],
    "facts.plan.weight_upper_bound": [*NO_NUMBER, (times(0.9), "upper_bound"), (61.0, "upper_bound"),
                                      (59.0, PASSES)],
    "facts.plan.without_secret": [("keep", "without_secret"), ("plain", "which their role|graph gives them"),
                                  ("drop", "graph gives them")],
    "facts.plan.settings": [("none", "settings"), ("6" * 64, "all_runs differs")],
    "facts.plan.promised_runs": [(0, "promised_runs"), (2, "as many runs as were promised"),
                                 (9, "of all runs is not within its target")],
    "facts.plan.held_back": [(1, "held_back"), (True, "graph gives them")],
    "facts.training.rounds_released": [(-1, "rounds_released"), (0, "40 rounds applied, 0 released"),
                                       (41, "41 rounds released, 40 certified")],
    "facts.training.started_from": [("5" * 64, "continues from a run that is not in"), ("me", "started_from")],
    "facts.training.rounds_applied": [(-1, "rounds_applied"), (1_000_000, "applied"), (39, PASSES)],
    "facts.training.trained_without_noise": [(-1, "trained_without_noise"), (1, "0 examples are plain")],
    "facts.training.noise_source": [("", "noise_source"), *TEXT],
    "facts.training.sampler": [("", "sampler"), *TEXT],
    "facts.training.gradient_scale": [("", "gradient_scale"), ("by hand", "gradient_scale is of examples without")],
    "facts.training.released_unprotected": [([], "names nothing"), ([""], "unprotected"), (["none"], PASSES)],
    "facts.audits.name": [("", "audits"), *TEXT],
    "facts.audits.secrets": [(-1, "audits"), (4, "more secrets"), (0, "more secrets"), (3, PASSES)],
    "facts.audits.succeeded": [(-1, "audits"), (3, "more secrets"), (0, PASSES)],
    "facts.audits.note": [(7, "audits"), *TEXT],
}  # fmt: skip

COLUMNS = {
    "secrets.secret_id": IDS,
    "secrets.kind": [*LOST[:1], *TEXT],
    "secrets.name": [*LOST[:1], *TEXT],
    "secrets.prior": [*OUTSIDE, (0.0, "outside"), (times(0.5), "bits|differ"), (times(0.9), "differ")],
    "secrets.posterior": [*OUTSIDE, (times(2), "differ"), (1e-7, "not above its prior")],
    "secrets.bits": [*OUTSIDE, (128.0, "bits"), (20.93, "bits"), (18.93, "bits")],
    "secrets.provenance": [*LOST[:1], *TEXT],
    "edges.example_id": [(99, "no weight"), (0, "given twice"), (25, "do not sum to what was certified"), *LOST],
    "edges.secret_id": [(3, "unknown secret"), (2, "examples certified"), *LOST],
    "edges.reason": [*LOST[:1], *TEXT],
    "weights.example_id": IDS,
    "weights.weight": [*OUTSIDE, (times(5), "outside"), (times(0.5), "stated objective")],
    "weights.role": [("trusted", "not one of"), ("plain", "1 examples hold a secret and were trained on WITHOUT"),
                     ("held_out", "measured on"), ("held_back", "their role forbids"), *LOST[:1]],
    "bounds.secret_id": IDS,
    "bounds.examples": [(0, "0 examples certified, 15"), *LOST],
    "bounds.expected_participation": [*OUTSIDE, (times(0.9), "rates do not sum")],
    "bounds.prior": [*OUTSIDE, (times(2), "differ")],
    "bounds.posterior": [*OUTSIDE, (times(2), "differ")],
    "bounds.bound": [*OUTSIDE, (times(0.999), "recomputed"), (times(1.001), "recomputed"),
                     (0.5, "misses its target")],
    "bounds.method": [("magic", "not one of"), ("renyi", "another method"), *LOST[:1]],
    "bounds.numerical_error": [*OUTSIDE, (0.004, "numerical_error")],
    "bounds.lower": [*OUTSIDE[:3], (times(0.9), "lower"), (times(1.1), "lower"), (None, "lower")],
    "bounds.dominating_examples": [(0, "outside"), (64, "another profile")],
    "bounds.dominating_rate": [(0.0, "outside"), (0.5, "another profile")],
    "bounds.dominating_prior": [(0.0, "outside"), (0.5, "another profile")],
    "bounds.noise_needed": [(-1.0, "outside"), (math.nan, "outside"), (1e3, "noise_needed"), (0.1, PASSES)],
    "bounds.earlier_runs": [(2, "not those of history"), *LOST],
    "bounds.bare": [(True, "all_runs differs"), *LOST[:1]],
    "bounds.all_runs": [*OUTSIDE[:3], (times(0.999), "all_runs differs"), (times(1.001), "all_runs differs"),
                        (None, "all_runs differs")],
    "bounds.all_runs_method": [("magic", "not one of"), ("renyi", "another method"), (None, "another method")],
    "bounds.all_runs_lower": [*OUTSIDE[:3], (times(0.9), "all_runs_lower"), (None, "all_runs_lower")],
    "history.run": [(1, "order of run|not those"), *LOST],
    "history.secret_id": [(2, "not those of history"), (9, "not those|unknown"), *LOST],
    "history.examples": [(0, "outside"), (14, "all_runs differs"), *LOST],
    "history.rate": [*OUTSIDE, (times(0.5), "all_runs differs"), (times(2.0), "all_runs differs")],
    "history.same_promise": [(None, "a value is missing"), (False, "all_runs differs")],
    "runs.run": IDS,
    "runs.key": [*LOST[:1], *TEXT],
    "runs.noise_multiplier": [*OUTSIDE, (0.0, "outside"), (times(2.0), "all_runs differs")],
    "runs.rounds": [(0, "outside"), (6, "more rounds were released"), (120, "all_runs differs"), *LOST],
    "runs.released": [(0, "outside"), (61, "more rounds were released"), (8, PASSES), *LOST],
    "runs.settings": [(None, "a value is missing"), ("other", "all_runs differs")],
    "redacted.redacted_id": IDS,
    "redacted.kind": [*LOST[:1], *TEXT],
    "redacted.name": [*LOST[:1], *TEXT],
    "redacted.prior": [*OUTSIDE, (0.0, "outside"), (times(0.5), "not the prior")],
    "redacted.bound": [*OUTSIDE, (times(0.5), "not the prior")],
    "redacted.places": [(0, "5 places stated, 3"), *LOST],
    "redacted.provenance": [*LOST[:1], *TEXT],
    "bounds.curve": [(2, "not assigned"), (9, "not assigned"), *LOST],
    "curves.curve": [(1, "numbered densely|not those|recomput"), *LOST],
    "curves.examples": [(5, "not those of this graph"), (pl.Int64, "type")],
    "curves.rate": [(-1.0, "outside"), (0.5, "not those of this graph")],
    "curves.prior": [*OUTSIDE, (times(2), "not those of this graph")],
    "curves.bound": [*OUTSIDE, (times(0.99), "is recomputed"), (times(1.01), "is recomputed")],
    "curves.method": [("magic", "not one of"), ("kl", "not those of this graph"), *LOST[:1]],
    "curves.numerical_error": [*OUTSIDE, (0.5, "numerical_error")],
    "curves.lower": [*OUTSIDE[:3], (times(0.9), "lower"), (None, "lower")],
}  # fmt: skip

FORGERIES = [
    *((field, put(field, value), expected) for field, edits in JSON.items() for value, expected in edits),
    *(
        (key.replace(".", ".parquet."), column(*key.split("."), value), expected)
        for key, edits in COLUMNS.items()
        for value, expected in edits
    ),
]


def test_every_field_has_its_forgeries():
    assert SCHEMA_VERSION == "hush-certificate/8"
    forged = set(JSON) | {key.replace(".", ".parquet.") for key in COLUMNS}
    assert sorted(forged) == sorted(FIELDS)
    passing = {field for field, _, expected in FORGERIES if expected is PASSES}
    agreeing = {"facts.runs_on_this_data", "bounds.parquet.earlier_runs", "facts.training.rounds_released"}
    agreeing |= {"facts.unknown_runs", "facts.plan.settings", "runs.parquet.settings", "bounds.parquet.bare"}
    agreeing |= {"facts.plan.promised_runs", "facts.training.started_from", "weights.parquet.role"}
    agreeing |= {"runs.parquet.run", "runs.parquet.noise_multiplier", "runs.parquet.rounds"}
    agreeing |= {f"history.parquet.{name}" for name in SCHEMAS["history.parquet"]}
    agreeing |= {"facts.plan.mechanism.records", "facts.plan.mechanism.select"}  # test_mechanism.py
    agreeing |= {
        "facts.plan.mechanism.bands",
        "facts.training.gradient_scale",
    }  # test_cycle.py, test_plain_job.py
    agreeing |= {"facts.redaction.places", "redacted.parquet.places", "redacted.parquet.prior"}
    assert passing | agreeing == set(UNCHECKED)


@pytest.fixture(scope="module")
def computed_once():
    with first_route_remembered():
        yield


@pytest.mark.usefixtures("computed_once")
@pytest.mark.parametrize(
    ("field", "edit", "expected"), FORGERIES, ids=[f"{f[0]}-{i}" for i, f in enumerate(FORGERIES)]
)
def test_an_edited_field_is_refused_or_named_as_unchecked(copied, field, edit, expected):
    forge(copied / "certificate", **edit)
    if expected is PASSES:
        assert field in verify_certificate(copied / "certificate", copied / "model").unchecked
        return
    with pytest.raises(VerificationError, match=expected) as refused:
        verify_certificate(copied / "certificate", copied / "model")
    assert refused.value.failures


@pytest.mark.parametrize("column", ["prior", "rate"])
def test_a_curve_whose_last_digit_another_processor_computed_verifies(copied, column):
    def nudged(frame):
        return frame.with_columns(
            pl.Series(column, np.nextafter(frame[column].to_numpy(), 0.0)).fill_nan(None)
        )

    forge(copied / "certificate", curves=nudged)
    verify_certificate(copied / "certificate", copied / "model")


def test_the_digest_is_that_of_the_rest(copied):
    path = copied / "certificate" / DOCUMENT
    data = json.loads(path.read_bytes())
    data["digest"] = "0" * 64
    path.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n")
    with pytest.raises(VerificationError, match="digest"):
        verify_certificate(copied / "certificate", copied / "model")


def test_fields_that_agree_with_each_other_only_are_named(copied):
    """Two edits at once that no third field contradicts."""
    released = put("facts.training", lambda old: {**old, "rounds_released": 7, "rounds_applied": 7})
    forge(copied / "certificate", **released)
    empty = {name: lambda frame: frame.clear() for name in ("runs", "history")}
    alone = [pl.lit(0, pl.UInt32).alias("earlier_runs"), pl.col("bound").alias("all_runs")]
    alone.append(pl.col("lower").alias("all_runs_lower"))
    bounds = {"bounds": lambda frame: frame.with_columns(alone)}
    forge(copied / "certificate", **put("facts.runs_on_this_data", 1), **bounds, **empty)
    unchecked = verify_certificate(copied / "certificate", copied / "model").unchecked
    assert {
        "facts.runs_on_this_data", "bounds.parquet.earlier_runs", "facts.training.rounds_released",
        "history.parquet.run", "runs.parquet.rounds",
    } <= set(unchecked)  # fmt: skip


def test_a_model_that_was_not_looked_at_is_named(made):
    assert MODEL_FILES in verify_certificate(made / "certificate").unchecked
    assert MODEL_FILES not in verify_certificate(made / "certificate", made / "model").unchecked


def test_weights_times_five_are_refused_and_their_scale_is_no_secret(copied):
    def scaled(factor):
        return lambda frame: frame.with_columns(pl.col("weight") * factor)

    keep = {p.name: p.read_bytes() for p in (copied / "certificate").iterdir()}
    objective = put("facts.plan", lambda old: {**old, "weight_objective": old["weight_objective"] * 5})
    forge(copied / "certificate", **objective, weights=scaled(5.0))
    with pytest.raises(VerificationError, match="outside"):
        verify_certificate(copied / "certificate")
    for name, data in keep.items():
        (copied / "certificate" / name).write_bytes(data)
    # rates are B·w/Σw: a common factor below 1 changes no rate and no bound; the page says so
    less = put("facts.plan", lambda old: {**old, "weight_objective": old["weight_objective"] * 0.5})
    forge(copied / "certificate", **less, weights=scaled(0.5))
    verify_certificate(copied / "certificate")


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("edges", lambda frame: frame.with_columns(pl.all().exclude("reason").cast(pl.Int64))),
        ("bounds", lambda frame: frame.drop("earlier_runs")),
        ("weights", lambda frame: frame.with_columns(pl.col("weight").cast(pl.Float32))),
        ("secrets", lambda frame: frame.reverse()),
        ("edges", lambda frame: frame.clear()),
        ("curves", lambda frame: frame.clear()),
    ],
    ids=["ids of another width", "no column", "narrow numbers", "another order", "no edges", "no curves"],
)
def test_another_shape_of_a_table_is_refused_not_raised(copied, table, change):
    forge(copied / "certificate", **{table: change})
    with pytest.raises(VerificationError):
        verify_certificate(copied / "certificate")


def test_a_table_that_is_no_table_is_refused(copied):
    (copied / "certificate" / "edges.parquet").write_bytes(b"PAR1 no table PAR1")
    forge(copied / "certificate")
    with pytest.raises(VerificationError, match="do not give a certificate"):
        verify_certificate(copied / "certificate")


def test_the_page_lists_every_field_and_no_other():
    """docs/reference/certificate_fields.rst: field | what it is | what protects it."""
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in PAGE.read_text(encoding="utf-8").split("Tables of the store")[0].splitlines()
        if re.match(r" *`[a-z_.]+` \|", line)
    ]
    fields = {row[0].strip("`"): row[-1] for row in rows}
    assert len(rows) == len(fields)
    assert set(fields) == set(FIELDS)
    unchecked = {field for field, protection in fields.items() if "UNCHECKED" in protection}
    assert unchecked == set(UNCHECKED)


def test_a_missed_target_is_refused_where_both_tables_agree_on_it(copied):
    """Every number is true but one promise: only the comparison of bound and target can tell."""

    def target(frame):
        return frame.with_columns(
            posterior=pl.when(pl.col("secret_id") == 1).then(bound * 0.999).otherwise("posterior")
        )

    bound = pl.read_parquet(copied / "certificate" / "bounds.parquet")["bound"][1]
    forge(copied / "certificate", secrets=target, bounds=target)
    with pytest.raises(VerificationError, match="beta: bound .* misses its target"):
        verify_certificate(copied / "certificate")
