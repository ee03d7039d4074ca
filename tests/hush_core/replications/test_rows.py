"""What the replications compute from rows and settings, where a mistake would not show on a page."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from hush_core.replications.infeasibility import _recipe
from hush_core.replications.loss_law import claims as claims_of_law
from hush_core.replications.loss_law import fit_law, gain_by_law
from hush_core.replications.memorisation import COUNTING, LENGTH, RANDOM, training_texts
from hush_core.replications.noisy_rounds import dimension, gradient_sum, set_gradients, small_model
from hush_core.replications.weights_and_noise import _least_ratio


def line(pairs):
    return [{"retained": retained, "noise_multiplier": sigma} for retained, sigma in pairs]


def test_the_least_ratio_is_taken_where_both_curves_are_and_at_equal_weight():
    over, under = line([(0.01, 2.0), (1.0, 200.0)]), line([(0.1, 1.0), (1.0, 2.0)])
    assert _least_ratio(over, under) == pytest.approx(20.0)  # at 0.1: 20 to 1; at 1: 200 to 2
    assert _least_ratio(over, line([(0.1, 1.0)])) == pytest.approx(20.0)  # one point of the other
    assert _least_ratio(line([(0.5, 2.0), (1.0, 4.0)]), line([(0.1, 1.0), (0.2, 1.5)])) is None  # nowhere


def test_the_recipes_sum_is_the_other_distributions_mass(monkeypatch):
    """Two coins: losses log(P/Q) under Q; the sum of e^v·q is P's whole mass, and r(p) its most powerful test's."""
    q, p = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    step, loss = math.log(2) / 10, np.log(q / p)  # dp_accounting's: log(upper/lower) with Q as upper
    first = round(loss.min() / step)
    dense = np.zeros(round((loss.max() - loss.min()) / step) + 1)
    for value, mass in zip(loss, q, strict=True):
        dense[round(value / step) - first] += mass
    monkeypatch.setattr(
        "hush_core.replications.infeasibility.dense_masses", lambda _: (step, first, dense, 0.0)
    )
    monkeypatch.setattr("hush_core.replications.infeasibility.PRIOR", 0.1)
    found = _recipe(None)
    assert found["sum"] == pytest.approx(1.0, abs=0.05)  # the grid is coarse
    assert found["recipe_r"] == pytest.approx(
        0.3, abs=0.02
    )  # half of the likeliest outcome: 0.1 of Q, 0.3 of P
    assert found["unnegated_sum"] == pytest.approx(float((q * q / p).sum()), rel=0.05)


def test_a_sum_of_gradients_is_clipped_an_example_and_set_in_the_same_order():
    model = small_model(1, 32, 16, seed=0)
    examples, _ = model.encode([b"one text here", b"another one", b"x"])
    d = dimension(model)
    each = [gradient_sum(model, [example], math.inf) for example in examples]
    assert gradient_sum(model, examples, math.inf) == pytest.approx(sum(each), abs=1e-4)
    clipped = gradient_sum(model, examples, 0.5)
    lengths = [np.linalg.norm(one) for one in each]
    right = sum(one * min(1, 0.5 / length) for one, length in zip(each, lengths, strict=True))
    assert min(lengths) > 0.5 and clipped == pytest.approx(right, abs=1e-4)
    assert np.array_equal(gradient_sum(model, [], 1.0), np.zeros(d, np.float32))
    set_gradients(model, np.arange(d, dtype=np.float32))
    firsts = [int(p.grad.flatten()[0]) for p in model.network.parameters()]
    sizes = [p.numel() for p in model.network.parameters()]
    assert firsts == [0, *np.cumsum(sizes)[:-1].tolist()]


LAW = (0.3, 0.5, 0.2, 4.0, 1.5)


def runs_by(law, seen, batch=16, of=((32, 20_000), (64, 70_000))):
    return [
        {"seen": seen, "width": width, "rounds": t, "batch": batch, "parameters": d, "noise_to_batch": ratio,
         "gain": gain_by_law(law, t, d, ratio)}
        for width, d in of for t in (40, 80, 160) for ratio in (0.001, 0.01, 0.03, 0.1)
    ]  # fmt: skip


def test_the_law_is_found_again_in_runs_that_follow_it_and_foretells_others():
    assert gain_by_law(LAW, 100, 1e5, 0.0) == LAW[0]
    assert gain_by_law(LAW, 100, 1e5, LAW[3] / math.sqrt(1e5)) == pytest.approx(LAW[0] / 2)
    rows = {"runs": runs_by(LAW, True) + runs_by(LAW, False, batch=32, of=((96, 150_000),))}
    assert fit_law(rows["runs"][:24]) == pytest.approx(LAW, rel=1e-3)
    assert {claim.mark for claim in claims_of_law(rows)} == {"reproduced"}
    for row in rows["runs"]:
        row["gain"] += 0.0 if row["seen"] else 0.2  # runs that it has not seen go another way
    marks = [claim.mark for claim in claims_of_law(rows)]
    assert marks == ["reproduced", "not reached", "not reached", "reproduced"]


def test_texts_to_learn_by_heart_are_random_or_count_on():
    texts = training_texts(7)
    assert len(texts) == len(set(texts[:RANDOM])) + COUNTING and {len(text) for text in texts} == {LENGTH}
    counts_on = [all((b - a) % 26 == 1 for a, b in pairwise(text)) for text in texts]
    assert counts_on == [False] * RANDOM + [True] * COUNTING
