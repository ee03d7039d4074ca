"""Every mechanism's certificate verifies; what its rule forbids is refused, with every number made to fit it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from forging import forge, put
from item_graphs import ALL, GROUP, NO_NOISE, NOISY, USER, name_of, shared_units
from sizes import some

from hush_core.certificate import verify_certificate
from hush_core.certificate.document import DOCUMENT
from hush_core.config import MECHANISMS, DpSgdMechanism, DroppingMechanism, HushMechanism, parse_config
from hush_core.config.mechanism import Mechanism
from hush_core.errors import InputError, VerificationError
from hush_core.history import plan_of_runs
from hush_core.mechanisms import filling, items_of, lay_out, noise_of_plan, plan_of
from hush_core.rivals import rivals_of
from hush_core.weights import WeightSettings

DP_SGD = NOISY[0]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "mechanisms.md"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def certified(tmp_path, model, build_certificate):
    def make(mechanism, **more):
        without = "noise" if mechanism.makes_noise else "plain"
        build_certificate(tmp_path / "certificate", model, mechanism=mechanism, without=without, **more)
        return tmp_path / "certificate"

    return make


def refused(folder, says):
    with pytest.raises(VerificationError, match=says):
        verify_certificate(folder)


def job(kind, **more):
    said = {
        "version": 1, "repos": [{"path": "/nowhere"}], "levels": {"high": 1e-3},
        "secrets": [{"id": "a", "kind": "path", "globs": ["a/**"], "level": "high"}],
        "train": {"rounds": 4, "batch": 6},
    }  # fmt: skip
    return parse_config({**said, "mechanism": {"kind": kind}, **more}, where="job", folder=Path("/"))


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_kind_goes_all_the_way_from_the_config_to_a_certificate_that_verifies(certified, model, kind):
    """Where a new kind lacks a place on the way, it fails here."""
    config = job(kind)
    mechanism = config.mechanism
    assert isinstance(mechanism, MECHANISMS[kind]) and mechanism.how_drawn("by chance")
    assert mechanism.in_words or kind == "hush"
    assert f"| `{kind}` |" in PAGE.read_text(encoding="utf-8")
    edges, secrets, _ = shared_units(0)
    rest = config.for_mechanism().without_secret
    settings = WeightSettings(rule="normal_quantiles", c=0.5, without_secret=rest)
    layout = lay_out(edges, secrets, n_examples=40, settings=settings, mechanism=mechanism)
    on, how = (layout.weighing.weights, layout.edges, secrets), {"rounds": 4, "expected_batch": 2}
    if mechanism.makes_noise:
        plan = plan_of(mechanism, *on, **how, clip_norm=1.0)
        assert plan.noise_multiplier == pytest.approx(noise_of_plan(mechanism, *on, **how), rel=1e-9)
        assert plan.records == mechanism.records_a_round
    else:
        for planned in (plan_of, noise_of_plan):
            with pytest.raises(InputError, match=f"mechanism {kind}: has no rounds"):
                planned(mechanism, *on, **how)
    if not mechanism.examples_by_themselves:
        filling(mechanism, layout.weighing.weights, layout.items.pools, None)
    assert kind in [rival.config.mechanism.kind for rival in rivals_of(config, [kind])]
    facts = verify_certificate(certified(mechanism), model).certificate.facts
    assert facts.plan.mechanism.config == mechanism


@pytest.mark.parametrize("kind", MECHANISMS)
def test_several_runs_are_promised_of_a_kind_whose_rounds_are_sampled_and_of_no_other(kind):
    if MECHANISMS[kind].composes_over_runs:
        assert job(kind, promise={"runs": 2}).runs == 2
        return
    with pytest.raises(InputError, match=f"mechanism {kind}: a promise of several runs"):
        job(kind, promise={"runs": 2})
    with pytest.raises(InputError, match=f"mechanism {kind}: has no rounds that are sampled"):
        shape = dict.fromkeys(("rounds", "expected_batch", "clip_norm", "method"))
        plan_of_runs(job(kind).mechanism, *[None] * 4, **shape)


def test_a_kind_that_the_core_does_not_know_is_refused_by_its_name():
    class Newer(Mechanism):
        kind: str = "newer"
        makes_noise = True

    edges, secrets, roles = shared_units(0)
    with pytest.raises(InputError, match="mechanism newer: has no rule for items"):
        items_of(Newer(), edges, secrets, roles)
    for planned in (plan_of, noise_of_plan):
        with pytest.raises(InputError, match="mechanism newer: has no rounds that are sampled"):
            planned(Newer(), np.ones(len(roles)), edges, secrets, rounds=1, expected_batch=1)
    pools = pl.DataFrame({"example_id": [0], "pool": [0]})
    with pytest.raises(InputError, match="mechanism newer: has no rule for what fills"):
        filling(Newer(), np.ones(1), pools, None)


@pytest.mark.few(5)
@pytest.mark.parametrize("mechanism", ALL, ids=name_of)
def test_it_verifies_and_says_what_it_is(certified, model, mechanism):
    folder = certified(mechanism)
    found = verify_certificate(folder, model)
    facts = found.certificate.facts.plan.mechanism
    assert facts.config == mechanism and found.certificate.facts.plan.capacities is None
    assert (found.rows["bound"] <= found.rows["posterior"]).all()
    if not mechanism.makes_noise:
        assert found.rows["bound"].equals(found.rows["prior"])
    assert "An item is tagged with every secret" in found.certificate.promise


@pytest.mark.parametrize("mechanism", NO_NOISE, ids=name_of)
def test_without_any_secret_left_it_verifies_and_no_other_mechanism_may_say_so(certified, model, mechanism):
    """Planted: empty tables are taken from whoever states them."""
    folder = certified(mechanism, pairs=())
    found = verify_certificate(folder, model)
    assert found.rows.height == 0 and found.tables["redacted.parquet"].height == 2
    for name in ("bounds", "curves", "edges", "secrets"):
        assert found.tables[f"{name}.parquet"].height == 0
    tables = ("edges", "curves", "bounds", "secrets")
    for name in tables:
        forge(folder := certified(mechanism), **{name: lambda frame: frame.clear()})
        refused(folder, "does not verify")
    forge(folder := certified(mechanism), **{name: lambda frame: frame.clear() for name in tables})
    refused(folder, "role")  # tagged examples have another part in training
    forge(folder := certified(DP_SGD), **{name: lambda frame: frame.clear() for name in tables})
    refused(folder, "is empty")


def drawing(example, weight):
    """Weights of another rule than the mechanism's: one example has another (None: the first that can)."""

    def forged(items, edges):
        weights = items.weights.copy()
        weights[np.flatnonzero(weights[:20] == 1 - weight)[0] if example is None else example] = weight
        return weights, items.edges

    return forged


ITEMS = "do not name the items that mechanism"
MORE, FEWER = drawing(None, 1.0), drawing(None, 0.0)


@pytest.mark.parametrize(
    ("mechanism", "forged", "says"),
    [
        (GROUP[0], MORE, ITEMS),
        (GROUP[0], MORE, "is in more items than mechanism group_privacy allows"),
        (GROUP[0], FEWER, ITEMS),
        *(pytest.param(GROUP[1], forged, ITEMS, marks=pytest.mark.slow) for forged in (MORE, FEWER)),
        *(pytest.param(USER[0], forged, ITEMS, marks=pytest.mark.slow) for forged in (MORE, FEWER)),
        (DP_SGD, drawing(3, 0.5), f"{ITEMS} dp_sgd"),
        (DroppingMechanism(kind="dropping"), drawing(30, 1.0), ITEMS),
    ],
)
def test_other_items_than_the_rules_are_refused_with_every_number_made_for_them(
    certified, mechanism, forged, says
):
    refused(certified(mechanism, forged=forged), says)


@pytest.mark.few(3)
@pytest.mark.parametrize("mechanism", USER, ids=name_of)
def test_a_missing_tag_of_a_pool_is_refused_with_every_bound_made_without_it(certified, mechanism):
    """A unit that shares an example with a larger one, counted for its own item alone."""
    shared = [(i, 1) for i in range(15)] + [(i, 0) for i in range(12, 20)] + [(30, 2)]
    lifted = verify_certificate(certified(mechanism, pairs=sorted(shared)))
    assert lifted.rows["bound"][0] > lifted.rows["bound"][1], "the smaller unit is in two items"
    folder = certified(mechanism, pairs=sorted(shared), forged=lambda items, edges: (items.weights, edges))
    refused(folder, "is not tagged with every secret that its pool holds")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("mechanism", "edit", "says"),
    [
        (GROUP[0], {"records": 1}, "do not name the items"),
        (GROUP[0], {"records": 3}, "do not name the items"),
        (GROUP[0], {"records": None}, "a key is missing that its kind has"),
        (GROUP[0], {"kind": "dp_sgd"}, "records|mechanism"),
        (GROUP[0], {"kind": "dp_sgd", "records": None, "select": None}, "do not name the items"),
        (DP_SGD, {"kind": "group_privacy", "records": 2, "select": "random"}, "do not name the items"),
        (DP_SGD, {"kind": "dropping"}, "rounds is 0, which only"),
        (DP_SGD, {"kind": "hush"}, "capacities and c are those"),
        (USER[0], {"kind": "dp_sgd", "records": None, "select": None}, "do not name the items"),
        (USER[0], {"select": "all"}, "select"),
    ],
)  # fmt: skip
def test_another_mechanism_than_was_run_is_refused(certified, mechanism, edit, says):
    folder = certified(mechanism)
    forge(folder, **put("facts.plan.mechanism", lambda old: {**old, **edit}))
    refused(folder, says)


@pytest.mark.parametrize(
    ("field", "value"), [("facts.plan.mechanism.records", 7), ("facts.plan.mechanism.select", "longest")]
)
def test_what_no_table_tells_of_user_wise_is_named_as_unchecked(certified, field, value):
    folder = certified(USER[0])
    forge(folder, **put(field, value))
    assert field in verify_certificate(folder).unchecked


EPSILON = {"epsilon": 2.0, "delta": 1e-5}


@pytest.mark.parametrize(
    "mechanism", some([DpSgdMechanism(kind="dp_sgd", **EPSILON), HushMechanism(**EPSILON)], 1), ids=name_of
)
def test_epsilon_and_delta_are_proved_again_and_a_smaller_one_is_refused(certified, mechanism):
    folder = certified(mechanism)
    found = verify_certificate(folder)
    assert (found.certificate.facts.plan.mechanism.epsilon, found.certificate.facts.plan.mechanism.delta) == (
        2.0,
        1e-5,
    )
    keep = {path.name: path.read_bytes() for path in folder.iterdir()}

    def implied(epsilon, delta):
        """Targets and all for another (ε, δ): only the composition itself can tell."""

        def change(frame):
            p = pl.col("prior")
            value = pl.min_horizontal(p * np.exp(epsilon) + delta, 1 - np.exp(-epsilon) * (1 - p - delta))
            return frame.with_columns(posterior=value)

        return {"secrets": change, "bounds": change}

    for epsilon, delta in some(((1.99, 1e-5), (2.0, 0.98e-5)), 1):
        edit = put("facts.plan.mechanism", lambda old, e=epsilon, d=delta: {**old, "epsilon": e, "delta": d})
        forge(folder, **edit)
        refused(folder, "its target is not what mechanism.epsilon and mechanism.delta imply")
        for name, data in keep.items():
            (folder / name).write_bytes(data)
        forge(folder, **edit, **implied(epsilon, delta))
        refused(folder, r"mechanism.epsilon: at it δ is|misses its target")
        for name, data in keep.items():
            (folder / name).write_bytes(data)


def test_a_document_without_a_mechanism_is_refused(certified):
    folder = certified(DP_SGD)

    def without(data):
        del data["facts"]["plan"]["mechanism"]

    forge(folder, document=without)
    refused(folder, "facts.plan.mechanism: Field required")
    assert "mechanism" not in json.loads((folder / DOCUMENT).read_bytes())["facts"]["plan"]
