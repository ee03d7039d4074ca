"""Capacities by rule, and the loop that makes every secret that binds need the same noise."""

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import Participation, calibrate, smallest_noise
from hush_core.errors import InputError
from hush_core.weights import Mechanism, capacity_rule, weigh

ROUNDS, BATCH = 300, 20


@pytest.fixture(scope="module")
def graph():
    """24 secrets with priors and targets far apart, on 2,000 examples; so little noise that the limit is off."""
    rng = np.random.default_rng(2)
    pairs = sorted({(int(e), s) for s in range(24) for e in rng.integers(0, 700, 30 + 3 * s)})
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    secrets = pl.DataFrame(
        {
            "secret_id": np.arange(24, dtype=np.uint32),
            "prior": 10.0 ** -rng.uniform(6, 14, 24),
            "posterior": 10.0 ** -rng.uniform(1, 4, 24),
        }
    )
    return edges, secrets


def weighed(graph, capacities, method="blow_up", c=0.3):
    rule = capacity_rule(capacities, method)
    mechanism = Mechanism(ROUNDS, BATCH, method)
    return weigh(*graph, n_examples=2000, rule=rule, c=c, mechanism=mechanism)


def rates_of(found):
    return found.weights * BATCH / found.weights.sum()


def needs_of_binding(graph, found, method, c=0.3):
    """The own smallest noise of every secret that uses its capacity up."""
    edges, secrets = graph
    rates, example, secret = rates_of(found), edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    load = np.bincount(secret, found.solved.weights[example], secrets.height)
    binding = np.flatnonzero(load >= 0.9999 * c * found.c_max * found.kappa)
    assert len(binding) >= 5
    return np.array(
        [
            smallest_noise(
                Participation.from_rates(rates[example[secret == j]]), rounds=ROUNDS, method=method,
                prior=secrets["prior"][int(j)], posterior=secrets["posterior"][int(j)],
            )
            for j in binding
        ]
    )  # fmt: skip


def sigma(graph, found, method="blow_up"):
    edges, secrets = graph
    return calibrate(edges, rates_of(found), secrets, rounds=ROUNDS, method=method).noise_multiplier


def test_equalised_secrets_need_the_same_noise_and_matched_ones_do_not(graph):
    matched, equalised = weighed(graph, "matched"), weighed(graph, "equalised")
    unequal, equal = (needs_of_binding(graph, found, "blow_up") for found in (matched, equalised))
    assert equal.max() / equal.min() < 1.01
    assert unequal.max() / unequal.min() > 1.02


def test_at_equal_noise_paper_keeps_least_and_equalised_most(graph):
    """Retained weight at one σ, by interpolation along c: paper < matched ≤ equalised."""
    kept, wanted = {}, np.log(1.2)
    for capacities, sweep in (
        ("paper", (1e-4, 1e-3, 1e-2)), ("matched", (0.03, 0.1, 0.25)), ("equalised", (0.03, 0.1, 0.25)),
    ):  # fmt: skip
        found = [weighed(graph, capacities, c=c) for c in sweep]
        noise = np.log([sigma(graph, f) for f in found])
        assert noise[0] < wanted < noise[-1]
        kept[capacities] = np.interp(wanted, noise, [f.weights.sum() for f in found])
    assert kept["paper"] * 1.05 < kept["matched"] < kept["equalised"]


def test_rules(graph):
    assert capacity_rule("paper", "kl") == capacity_rule("paper", "blow_up") == "kl"
    assert (
        capacity_rule("matched", "kl") == "sqrt_kl" and capacity_rule("matched", "best") == "normal_quantiles"
    )
    assert capacity_rule("equalised", "kl") == "equalised"
    with pytest.raises(InputError, match="equalised needs"):
        weigh(*graph, n_examples=2000, rule="equalised", c=0.3)


def test_some_untagged_examples_are_held_out(graph):
    found = weighed(graph, "matched")
    tagged = set(graph[0]["example_id"])
    assert len(found.held_out) > 50 and not tagged.intersection(found.held_out.tolist())
    assert np.all(found.weights[found.held_out] == 0) and found.candidates == 2000 - len(found.held_out)
