"""Capacities by rule, and the loop that makes every secret that binds need the same noise."""

import numpy as np
import pytest
from weighing import needs_of_binding, sigma, weighed

from hush_core.accounting import noise_for_all
from hush_core.errors import InputError
from hush_core.weights import WeightSettings, capacity_rule, paper_weights, sampling_rates, weigh


def test_equalised_secrets_need_the_same_noise_and_matched_ones_do_not(graph):
    matched, equalised = (weighed(graph, rule, c=0.1) for rule in ("matched", "equalised"))
    unequal, equal = (needs_of_binding(graph, found, "blow_up") for found in (matched, equalised))
    assert equal.max() / equal.min() < 1.01
    assert unequal.max() / unequal.min() > 1.02


SWEEPS = {"paper": (3e-4, 3e-3, 3e-2, 0.3), "matched": (0.03, 0.1, 0.25), "equalised": (0.03, 0.1, 0.25)}


@pytest.fixture(scope="module", params=[pytest.param("blow_up", marks=pytest.mark.slow), "kl"])
def frontiers(request, graph):
    """By capacities: (log σ, log Σw) along c; under kl all σ are 14 times as large, under the same graph."""
    found = {}
    for capacities, sweep in SWEEPS.items():
        points = [weighed(graph, capacities, request.param, c=c) for c in sweep]
        noise = np.log([sigma(graph, point, request.param) for point in points])
        assert np.all(np.diff(noise) > 0)
        found[capacities] = noise, np.log([point.objective for point in points])
    return request.param, found


def test_at_equal_noise_paper_keeps_least_and_equalised_most(frontiers):
    """Retained weight at one σ, by interpolation along c: paper < matched ≤ equalised."""
    method, found = frontiers
    low = max(noise[0] for noise, _ in found.values())
    high = min(noise[-1] for noise, _ in found.values())
    assert low < high
    wanted = 0.5 * (low + high)
    kept = {c: float(np.interp(wanted, *curve)) for c, curve in found.items()}
    assert kept["paper"] + 0.01 < kept["matched"] < kept["equalised"] + 1e-4
    if method == "blow_up":
        assert kept["matched"] + 5e-4 < kept["equalised"]


def test_rules(graph):
    assert capacity_rule("paper", "kl") == capacity_rule("paper", "blow_up") == "kl"
    assert (
        capacity_rule("matched", "kl") == "sqrt_kl" and capacity_rule("matched", "best") == "normal_quantiles"
    )
    assert capacity_rule("equalised", "kl") == "equalised"
    with pytest.raises(InputError, match="equalised needs"):
        weigh(*graph, n_examples=2000, settings=WeightSettings(rule="equalised", c=0.3))


def test_some_untagged_examples_are_held_out(graph):
    found = weighed(graph, "matched")
    tagged = set(graph[0]["example_id"])
    assert len(found.held_out) > 50 and not tagged.intersection(found.held_out.tolist())
    assert np.all(found.weights[found.held_out] == 0)
    assert abs(found.candidates - (2000 - 2 * len(found.held_out))) <= 1  # as many are for validation


def test_the_papers_program_at_equal_weight_needs_less_than_kl_on_our_weights(graph):
    """Planted mistake: kl judged on weights that are not its program's, which flatters ours."""
    edges, secrets = graph
    ours = weighed(graph, "matched", c=0.2)
    theirs = paper_weights(edges, secrets, trainable=ours.trainable, total=ours.objective)
    assert theirs.sum() == pytest.approx(ours.objective, rel=1e-3) and np.all(theirs[ours.held_out] == 0)
    noise = [
        noise_for_all(edges, sampling_rates(w, 20), secrets, rounds=300, method="kl")
        for w in (theirs, ours.weights)
    ]
    assert noise[0] < 0.97 * noise[1]
    with pytest.raises(InputError, match="less than what holds no secret"):
        paper_weights(edges, secrets, trainable=ours.trainable, total=5.0)
