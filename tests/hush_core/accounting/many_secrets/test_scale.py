"""Graphs with more profiles than get a bound of their own: what secrets inherit holds, and σ is not inflated."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of

from hush_core.accounting import Participation, bound_secrets, calibrate, posterior_bound
from hush_core.accounting.many_secrets.one_run import OWN
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.errors import InputError

ROUNDS, SECRETS, EXAMPLES = 64, 320, 30_000
*EQUAL, SURE, MANY, UNDRAWN, SILENT = range(SECRETS - 6, SECRETS)
MECHANISM = {"rounds": ROUNDS}


@pytest.fixture(scope="module")
def graph():
    """320 secrets of 1 to 158 examples, and the odd ones: equal profiles, a rate of 1, 20,000 different
    rates, rates of 0 only, no example."""
    rng = np.random.default_rng(4)
    rates = 10.0 ** rng.uniform(-3.5, -1.7, EXAMPLES)
    rates[:20], rates[20:60] = 1.0, 0.0
    rates[10_000:] = rng.uniform(0, 5e-5, 20_000)
    usual = np.arange(60, 10_000)
    tagged = [rng.choice(usual, int(10 ** rng.uniform(0, 2.2)), replace=False) for _ in range(SECRETS - 6)]
    tagged += [np.arange(100, 130), np.arange(100, 130), np.array([0, 100]), np.arange(10_000, 30_000)]
    tagged += [np.arange(20, 60), np.empty(0)]
    prior = 10.0 ** rng.uniform(-12, -3, SECRETS)
    prior[:50] = 1e-6
    posterior = np.minimum(prior ** rng.uniform(0.3, 0.6, SECRETS), 0.5)
    prior[list(EQUAL)], posterior[list(EQUAL)] = 1e-5, (1e-2, 2e-2)
    prior[SURE], posterior[SURE] = 1e-3, 0.4
    owners = np.repeat(np.arange(SECRETS), [len(t) for t in tagged])
    edges = frame_of(example_id=np.concatenate(tagged).astype(np.uint32), secret_id=owners)
    names = [f"kind:{i}" for i in range(SECRETS)]
    secrets = frame_of(secret_id=range(SECRETS), name=names, prior=prior, posterior=posterior)
    assert len(group_profiles(edges, rates, secrets)) > OWN and len(np.unique(prior)) > 64
    return edges, rates, secrets


@pytest.fixture(scope="module", params=[pytest.param("blow_up", marks=pytest.mark.slow), "kl"])
def calibrated(request, graph):
    return request.param, calibrate(*graph, method=request.param, **MECHANISM)


def own_rates(graph, secret):
    edges, rates, _ = graph
    return rates[edges.filter(pl.col("secret_id") == secret)["example_id"].to_numpy()]


def own_bound(graph, row, sigma, method):
    return posterior_bound(
        Participation.from_rates(own_rates(graph, row["secret_id"])),
        noise_multiplier=sigma, prior=row["prior"], method=method, **MECHANISM,
    ).value  # fmt: skip


def inherited(table):
    return table.filter(pl.col("dominating_examples").is_not_null())


def test_every_secret_meets_its_target(calibrated):
    _, result = calibrated
    assert result.table["secret_id"].to_list() == list(range(SECRETS))
    assert (result.table["bound"] <= result.table["posterior"]).all()
    assert (result.table["bound"] >= result.table["prior"]).all()
    assert inherited(result.table).height > SECRETS / 2


def test_the_noise_is_close_to_the_least(calibrated):
    _, result = calibrated
    assert 1 <= result.noise_multiplier / result.least <= 1 + 3e-3


def test_one_percent_less_noise_breaks_a_promise(graph, calibrated):
    """By the secrets' own rates, not by those of what dominates them."""
    method, result = calibrated
    ranked = result.table.with_columns(excess=pl.col("bound") / pl.col("posterior"))
    worst = ranked.sort("excess", descending=True).head(20).iter_rows(named=True)
    sigma = result.noise_multiplier * 0.99
    assert any(own_bound(graph, row, sigma, method) > row["posterior"] for row in worst)


def test_inherited_rows_are_reproducible_and_cover_the_secret(graph, calibrated):
    method, result = calibrated
    sigma = result.noise_multiplier
    rows = inherited(result.table)
    picked = np.random.default_rng(1).choice(rows.height, 10, replace=False)
    for row in [*rows[picked].iter_rows(named=True), result.table.row(MANY, named=True)]:
        dominating = Participation.binomial(row["dominating_examples"], row["dominating_rate"])
        again = posterior_bound(
            dominating, noise_multiplier=sigma, prior=row["dominating_prior"], method=method, **MECHANISM
        )
        # the priors that share a curve share its grid of losses, too; alone, each has its own
        close = 1e-6 if method == "kl" else 1e-4
        assert row["bound"] == pytest.approx(again.value, rel=close) and row["method"] == again.method
        assert row["prior"] <= row["dominating_prior"] <= row["prior"] * 1.02 * (1 + 1e-9)
        assert row["dominating_examples"] >= row["examples"]
        assert own_bound(graph, row, sigma, method) <= row["bound"] * (1 + 1e-3)
    # so many different priors are rounded up, or every secret would need a curve of its own
    assert (rows["dominating_prior"] > rows["prior"]).mean() > 0.9


def test_inherited_rows_have_a_lower_bound_of_the_secret(graph, calibrated):
    """Not of the binomial whose bound they inherit: that lies above what the secret's own pair allows."""
    method, result = calibrated
    rows = inherited(result.table)
    if method == "kl":
        assert rows["lower"].null_count() == rows.height
        return
    assert (rows["lower"] <= rows["bound"]).all() and (rows["lower"] >= rows["prior"]).all()
    picked = np.random.default_rng(2).choice(rows.height, 10, replace=False)
    for row in [*rows[picked].iter_rows(named=True), result.table.row(MANY, named=True)]:
        own = own_bound(graph, row, result.noise_multiplier, method)
        assert 0.75 * own <= row["lower"] <= own


def test_rows_by_their_own_rates_are_those_bounds(graph, calibrated):
    method, result = calibrated
    own = result.table.filter(pl.col("dominating_examples").is_null() & (pl.col("examples") > 0))
    assert SURE in own["secret_id"] and own["dominating_rate"].null_count() == own.height
    for row in own.iter_rows(named=True):
        expected = own_bound(graph, row, result.noise_multiplier, method)
        assert row["bound"] == pytest.approx(expected, rel=1e-4)


def test_odd_secrets(graph, calibrated):
    _, result = calibrated
    table = result.table
    for silent in (UNDRAWN, SILENT):
        row = table.row(silent, named=True)
        assert row["bound"] == row["prior"] and row["examples"] == 0 and row["expected_participation"] == 0
        assert row["noise_needed"] == 0
    first, second = (table.row(i, named=True) for i in EQUAL)
    for column in ("bound", "examples", "dominating_rate", "dominating_examples", "method"):
        assert first[column] == second[column]
    # the 20,000 rates between 0 and 5e-5 are no more than one Poisson-like profile
    many = table.row(MANY, named=True)
    assert many["examples"] == 20_000 and len(np.unique(own_rates(graph, MANY))) == 20_000
    assert many["expected_participation"] == pytest.approx(own_rates(graph, MANY).sum(), rel=1e-12)


@pytest.mark.slow
def test_the_order_of_the_edges_does_not_matter(graph, calibrated):
    method, result = calibrated
    edges, rates, secrets = graph
    shuffled = edges.sample(fraction=1.0, shuffle=True, seed=1)
    again = bound_secrets(
        shuffled, rates, secrets, noise_multiplier=result.noise_multiplier, method=method, **MECHANISM
    )
    assert again.drop("noise_needed").equals(result.table.drop("noise_needed"))


@pytest.mark.slow
@pytest.mark.parametrize("method, sigma", [("blow_up", 0.3), ("kl", 0.06)])
def test_far_too_little_noise_is_told_and_not_refused(graph, method, sigma):
    table = bound_secrets(*graph, noise_multiplier=sigma, method=method, **MECHANISM)
    above = table["bound"] > table["posterior"]
    assert above.mean() > 0.9 and (table["bound"] <= 1).all()
    assert table["bound"][SURE] == 1 and table["bound"][SILENT] == table["prior"][SILENT]


def near_equal_needs(largest_rate):
    """400 secrets of 20 examples whose Σρ differ by at most 0.1 %."""
    rng = np.random.default_rng(0)
    secrets, each = 400, 20
    rates = rng.uniform(largest_rate / 4, largest_rate, (secrets, each))
    total = rates.sum(axis=1, keepdims=True)
    rates *= total.mean() / total * rng.uniform(0.999, 1, (secrets, 1))
    edges = frame_of(example_id=np.arange(secrets * each), secret_id=np.repeat(np.arange(secrets), each))
    table = {"secret_id": np.arange(secrets, dtype=np.uint32), "prior": [1e-8] * secrets}
    return edges, rates.ravel(), pl.DataFrame({**table, "posterior": [1e-4] * secrets})


@pytest.mark.parametrize("largest_rate", [5e-4, pytest.param(0.02, marks=pytest.mark.slow)])
def test_many_secrets_that_need_nearly_the_same(largest_rate):
    edges, rates, secrets = near_equal_needs(largest_rate)
    result = calibrate(edges, rates, secrets, rounds=200, method="kl")
    assert (result.table["bound"] <= result.table["posterior"]).all()
    assert 1 <= result.noise_multiplier / result.least <= 1 + 3e-3


def small_graph():
    edges = frame_of(example_id=[0, 1, 2, 3], secret_id=[0, 0, 1, 2])
    promised = {"prior": [1e-6, 1e-5, 1e-4], "posterior": [1e-3, 1e-2, 1e-2]}
    secrets = frame_of(secret_id=range(3), name=["kind:a", "kind:b", "kind:c"], **promised)
    return edges, np.array([0.1, 0.2, 0.3, 0.4]), secrets


def with_rate(value):
    return lambda e, r, s: (e, np.where(np.arange(4) == 2, value, r), s)


def with_target(column, value):
    at_b = pl.when(pl.col("name") == "kind:b").then(value).otherwise(pl.col(column))
    return lambda e, r, s: (e, r, s.with_columns(at_b.alias(column)))


WRONG = [
    (with_rate(np.nan), {}, ["kind:b", "rates[2]", "nan"]),
    (with_rate(-0.1), {}, ["kind:b", "rates[2]", "-0.1"]),
    (with_rate(1.5), {}, ["kind:b", "rates[2]", "1.5"]),
    (with_target("posterior", 1e-6), {}, ["kind:b", "1e-05", "1e-06"]),
    (with_target("posterior", 1e-5), {}, ["kind:b", "1e-05"]),
    (with_target("prior", 0.0), {}, ["kind:b", "prior 0"]),
    (with_target("posterior", 1.0), {}, ["kind:b", "target 1"]),
    (with_target("posterior", float("nan")), {}, ["kind:b", "nan"]),
    (lambda e, r, s: (pl.concat([e, e[2:3]]), r, s), {}, ["edges", "kind:b", "example 2", "twice"]),
    (lambda e, r, s: (e, r, s[:2]), {}, ["edges", "secret"]),
    (lambda e, r, s: (e, r[:3], s), {}, ["rates"]),
    (lambda e, r, s: (e, r, s.reverse()), {}, ["secrets"]),
    (lambda e, r, s: (e, r, s), {"rounds": 0}, ["rounds", "0"]),
    (lambda e, r, s: (e, r, s), {"rounds": 1.5}, ["rounds", "1.5"]),
]


@pytest.mark.parametrize("spoil, mechanism, named", WRONG)
@pytest.mark.parametrize("function", [bound_secrets, calibrate])
def test_wrong_input_is_named_with_its_value(function, spoil, mechanism, named):
    mechanism = {"rounds": 10, **mechanism}
    if function is bound_secrets:
        mechanism["noise_multiplier"] = 1.0
    with pytest.raises(InputError) as refused:
        function(*spoil(*small_graph()), method="kl", **mechanism)
    for part in named:
        assert part in str(refused.value)


def test_without_an_edge_nothing_is_told_and_no_noise_is_looked_for():
    """Every text of a secret may have been redacted: its bound is its prior."""
    edges, rates, secrets = small_graph()
    bounds = bound_secrets(edges.clear(), rates, secrets, noise_multiplier=1.0, rounds=10, method="kl")
    assert bounds["bound"].to_list() == pytest.approx(secrets["prior"].to_list(), rel=1e-9)
    for nothing in ((edges.clear(), rates), (edges, np.zeros(4))):
        with pytest.raises(InputError, match="no secret has an example"):
            calibrate(*nothing, secrets, rounds=10, method="kl")


@pytest.mark.parametrize("sigma", [float("nan"), 0.0, -1.0, float("inf")])
def test_a_wrong_noise_multiplier_is_named_with_its_value(sigma):
    with pytest.raises(InputError, match=f"noise_multiplier: {sigma!r}"):
        bound_secrets(*small_graph(), noise_multiplier=sigma, rounds=10, method="kl")
