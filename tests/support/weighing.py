"""Weights under each rule on one small graph, and the noise that they need."""

import numpy as np

from hush_core.accounting import Participation, noise_for_all, smallest_noise
from hush_core.weights import RoundSettings, WeightSettings, capacity_rule, weigh

ROUNDS, BATCH = 300, 20


def weighed(graph, capacities, method="blow_up", c=0.3):
    return weigh(*graph, n_examples=2000, settings=settings(capacities, method, c=c))


def settings(capacities, method="blow_up", **rest):
    mechanism = RoundSettings(rounds=ROUNDS, expected_batch=BATCH, method=method)
    return WeightSettings(rule=capacity_rule(capacities, method), mechanism=mechanism, **rest)


def rates_of(found):
    return found.weights * BATCH / found.weights.sum()


def needs_of_binding(graph, found, method):
    """The own smallest noise of every secret that uses its capacity up."""
    edges, secrets = graph
    rates, example, secret = rates_of(found), edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    load = np.bincount(secret, found.weights[example], secrets.height)
    binding = np.flatnonzero(load >= 0.9999 * found.capacities)
    assert len(binding) >= 3
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
    return noise_for_all(edges, rates_of(found), secrets, rounds=ROUNDS, method=method)
