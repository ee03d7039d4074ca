"""Why weight is lost, and what a higher target would buy."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from frames import edges_of, frame_of
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.weights import (
    WeightSettings,
    binding_secrets,
    lost_examples,
    relaxations,
    relaxed_weights,
    solve_weights,
    unit_capacities,
    weigh,
)
from hush_core.weights.loss import raised_target

SETTINGS = WeightSettings(rule="normal_quantiles", c=0.3)


def secrets_of(posteriors, names=None):
    m = len(posteriors)
    return frame_of(
        secret_id=np.arange(m),
        name=names or [f"s{j}" for j in range(m)],
        prior=np.full(m, 1e-10),
        posterior=np.asarray(posteriors, dtype=np.float64),
    )


graphs = st.tuples(
    st.sets(st.tuples(st.integers(0, 29), st.integers(0, 5)), min_size=4, max_size=90),
    st.lists(st.floats(1e-5, 1e-2), min_size=6, max_size=6),
    st.floats(0.02, 0.9),
)


@hypothesis_settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(graphs)
def test_what_is_lost_is_put_down_to_secrets_that_bind(drawn):
    pairs, posteriors, c = drawn
    edges, secrets = edges_of(pairs), secrets_of(posteriors)
    found = weigh(edges, secrets, n_examples=40, settings=SETTINGS.model_copy(update={"c": c}))
    table, lost = binding_secrets(found, edges), lost_examples(found, edges)
    tagged = np.unique(edges["example_id"].to_numpy())
    assert table["lost"].sum() == pytest.approx((1 - found.weights[tagged]).sum(), abs=1e-9)
    assert set(lost["example_id"]) == set(tagged[found.weights[tagged] < 1])
    assert table.filter(pl.col("lost") > 1e-9)["binds"].all()
    # complementary slackness: who is cut pays at least what it is worth
    assert lost.filter(pl.col("weight") < 1 - 1e-9)["price"].min() is None or (
        lost.filter(pl.col("weight") < 1 - 1e-9)["price"].min() >= 1 - 1e-6
    )
    held = set(edges.select("example_id", "secret_id").iter_rows())
    assert all((e, s) in held for e, s in lost.select("example_id", "secret_id").iter_rows())
    assert table["lost_examples"].sum() == int((found.weights[tagged] == 0).sum())
    assert (table["load"] <= table["capacity"]).all()


def test_the_reason_is_the_secret_with_the_higher_price():
    """Ten examples hold 0 alone, ten hold 0 and 1, and 1 has next to no room: 1 costs the second ten."""
    edges = edges_of([(i, 0) for i in range(20)] + [(i, 1) for i in range(10, 20)])
    secrets = secrets_of([1e-2, 1.0000001e-10])
    found = weigh(edges, secrets, n_examples=20, settings=SETTINGS.model_copy(update={"c": 1e-7}))
    table = binding_secrets(found, edges)
    assert table["binds"].to_list() == [False, True]
    assert table["lost"].to_list() == pytest.approx([0, 10], abs=1e-3)
    lost = lost_examples(found, edges)
    assert lost["example_id"].to_list() == list(range(10, 20)) and set(lost["secret_id"]) == {1}
    # a first-order solver may leave no price at all: then the loss is shared by how full the two are
    unpriced = replace(found, prices=np.zeros(2))
    room, load = table["capacity"].to_numpy(), table["load"].to_numpy()
    shares = table["lost"].sum() * (load / room) / (load / room).sum()
    assert shares[1] > 9
    assert binding_secrets(unpriced, edges)["lost"].to_list() == pytest.approx(shares.tolist(), rel=1e-3)


@hypothesis_settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(graphs)
def test_no_relief_brings_more_than_its_prices_promise(drawn):
    pairs, posteriors, c = drawn
    edges = edges_of(pairs)
    secrets = secrets_of(posteriors, [f"e{j % 3}/x{j}" for j in range(6)])
    settings = SETTINGS.model_copy(update={"c": c})
    found = weigh(edges, secrets, n_examples=40, settings=settings)
    offers = relaxations(found, secrets, settings, levels=[1e-3, 1e-2], noise_multiplier=None)
    assert offers["at_most"].to_list() == sorted(offers["at_most"], reverse=True)
    for offer in offers.iter_rows(named=True):
        change = {"entry": offer["entry"], "target": offer["target"], "noise_multiplier": None}
        weights, other = relaxed_weights(found, edges, secrets, settings, **change)
        gain = weights.sum() - found.objective
        assert -1e-9 <= gain <= offer["at_most"] + 1e-9
        touched = secrets.filter(secrets["posterior"] != other["posterior"])["name"].to_list()
        assert touched and all(name.startswith(offer["entry"] + "/") for name in touched)
        assert (other["posterior"] >= secrets["posterior"]).all()
    # entries that nothing would buy are those that are not offered
    for entry in {"e0", "e1", "e2"} - set(offers["entry"]):
        own = [found.prices[j] for j in range(6) if f"e{j % 3}" == entry]
        assert max(own) == 0 or min(posteriors[j] for j in range(6) if f"e{j % 3}" == entry) > 0.05


def test_one_secret_alone_gains_just_what_its_capacity_gains():
    edges, secrets = edges_of([(i, 0) for i in range(100)]), secrets_of([1e-5], ["alpha-eu"])
    found = weigh(edges, secrets, n_examples=100, settings=SETTINGS)
    (offer,) = relaxations(found, secrets, SETTINGS, levels=[1e-5, 1e-4], noise_multiplier=None).to_dicts()
    before, after = (float(unit_capacities(secrets_of([r]), SETTINGS.rule)[0]) for r in (1e-5, 1e-4))
    assert [*offer] == ["entry", "secrets", "posterior", "target", "at_most"], "the report reads them by name"
    assert (offer["entry"], offer["secrets"]) == ("alpha-eu", 1)
    assert (offer["posterior"], offer["target"]) == (1e-5, 1e-4)
    assert offer["at_most"] == pytest.approx(30 * (after / before - 1), rel=1e-9)
    solved = solve_weights(edges, n_examples=100, capacities=found.capacities * after / before)
    weights, _ = relaxed_weights(
        found, edges, secrets, SETTINGS, entry="alpha-eu", target=1e-4, noise_multiplier=None
    )
    assert weights.sum() == pytest.approx(solved.objective) == pytest.approx(30 + offer["at_most"])


def test_an_entry_is_its_whole_id():
    """`creds` does not reach `creds-old`."""
    edges = edges_of([(i, j) for i in range(40) for j in range(2)])
    secrets = secrets_of([1e-5, 1e-5], ["creds/a:1", "creds-old/a:2"])
    found = weigh(edges, secrets, n_examples=40, settings=SETTINGS)
    _, other = relaxed_weights(
        found, edges, secrets, SETTINGS, entry="creds", target=1e-3, noise_multiplier=None
    )
    assert other["posterior"].to_list() == [1e-3, 1e-5]


def test_the_next_target_is_the_next_level_or_ten_times():
    assert raised_target(1e-5, [1e-3, 1e-5, 2e-4]) == 2e-4
    assert raised_target(1e-3, [1e-3, 1e-5]) == 1e-2
    assert raised_target(0.06, []) is None and raised_target(0.01, [0.7]) is None
