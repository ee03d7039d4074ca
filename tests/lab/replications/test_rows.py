"""What the replications compute from rows and settings, where a mistake would not show on a page."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hush_core.auditing.intervals import clopper_pearson
from lab.replications.canary_secrecy import claims as claims_of_canary
from lab.replications.document import _cell, rows_in
from lab.replications.infeasibility import _recipe
from lab.replications.loss_law import claims as claims_of_law
from lab.replications.loss_law import fit_law, gain_by_law
from lab.replications.masked_training import claims as claims_of_masked
from lab.replications.memorisation import COUNTING, LENGTH, RANDOM, share_of_runs, training_texts
from lab.replications.memorisation import claims as claims_of_memory
from lab.replications.noisy_rounds import dimension, gradient_sum, set_gradients, small_model
from lab.replications.user_level import claims as claims_of_users
from lab.replications.user_level_paper import GROUP_RECORDS, USER_RECORDS
from lab.replications.weights_and_noise import _least_ratio


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
    monkeypatch.setattr("lab.replications.infeasibility.dense_masses", lambda _: (step, first, dense, 0.0))
    monkeypatch.setattr("lab.replications.infeasibility.PRIOR", 0.1)
    found = _recipe(None)
    assert found["sum"] == pytest.approx(1.0, abs=0.05)  # the grid is coarse
    # half of the likeliest outcome: 0.1 of Q, 0.3 of P
    assert found["recipe_r"] == pytest.approx(0.3, abs=0.02)
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


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_an_error_of_the_law_is_judged_by_the_spread_of_the_gains(scale):
    rows = {"runs": runs_by(LAW, True) + runs_by(LAW, False, batch=32)}
    for row in rows["runs"]:
        row["gain"] *= scale
    gains = [row["gain"] for row in rows["runs"] if row["seen"]]
    for row in rows["runs"]:
        row["gain"] += 0.0 if row["seen"] else 0.2 * (max(gains) - min(gains))
    (batch,) = [claim for claim in claims_of_law(rows) if "twice the batch" in claim.text]
    assert batch.mark == "not reached" and batch.ours == pytest.approx(0.2, rel=0.02)
    for row in rows["runs"]:
        row["gain"] = 0.1  # gains that do not differ: nothing is told
    assert {claim.ours for claim in claims_of_law(rows)} == {None}


def heart(losses, random=(1.0, 0.6, 0.0, 0.0), counting=(1.0, 1.0, 1.0, 0.0), start=2.0):
    """Rows of `memorisation`, at four σ."""
    return {"memorised": [
        {"noise_multiplier": sigma, "loss": loss, "loss_at_start": start, "random": by_heart, "counting": counts,
         "random_by_start": 0.0, "counting_by_start": 1.0}
        for sigma, loss, by_heart, counts in zip((1e-6, 0.1, 0.5, 8.0), losses, random, counting, strict=True)
    ]}  # fmt: skip


@pytest.mark.parametrize(
    ("losses", "mark"),
    [
        ((1.0, 1.05, 1.5, 3.0), "reproduced"),
        ((1.0, 1.2, 1.5, 3.0), "not reached"),  # it costs a fifth of what training gains
        ((1.2, 1.2, 1.0, 3.0), "not reached"),  # noise helps: the reverse of the figure
        ((3.1, 3.0, 2.5, 3.5), "not reached"),  # training itself costs, and noise takes some of that back
        ((2.0, 2.0, 2.0, 2.0), "not reached"),  # nothing was trained
        ((2.05, 2.0, 1.9, 3.0), "not reached"),
    ],
)
def test_noise_hardly_costs_only_where_training_without_it_gains(losses, mark):
    (cost,) = [claim for claim in claims_of_memory(heart(losses)) if "hardly costs" in claim.text]
    assert cost.mark == mark


def test_nothing_is_taken_from_a_model_that_learned_nothing_by_heart():
    good = [1.0, 1.05, 1.5, 3.0]
    assert {claim.mark for claim in claims_of_memory(heart(good))} == {"reproduced"}
    found = claims_of_memory(heart(good, random=(0.0, 0.0, 0.0, 0.0)))
    assert [claim.mark for claim in found] == ["not reached", "reproduced", *["not reached"] * 4]
    kept = claims_of_memory(heart(good, random=(1.0, 1.0, 1.0, 1.0)))
    left = [claim.ours for claim in kept if "smallest σ" in claim.text or "what is left" in claim.text]
    assert left == [None, None]


def test_runs_on_the_same_texts_make_no_interval_narrower():
    one, ten = share_of_runs([8], 16), share_of_runs([8] * 10, 16)
    assert one == ten == clopper_pearson(8, 16)
    pooled, found = clopper_pearson(40, 160), share_of_runs([2, 6] * 5, 16)
    assert found.value == pooled.value == 0.25
    assert found.lower < pooled.lower and found.upper > pooled.upper


def secrecy(blow_up):
    """Rows of a canary, with these bits left by the bounds at the one look of each σ but 0."""
    rows = [{"noise_multiplier": 0.0, "step": 50, "secrecy": 0.5, "among_digits": 0.4, "paper": None}]
    rows += [
        {"noise_multiplier": sigma, "step": 50, "secrecy": 60.0, "among_digits": 50.0 + sigma, "paper": 0.1}
        | {"blow_up": left}
        for sigma, left in zip((0.3, 0.5), blow_up, strict=True)
    ]
    return {"secrecy": rows}


@pytest.mark.parametrize(
    ("blow_up", "ours", "mark"),
    [
        ((0.0, 0.9), None, "not reached"),
        ((0.0, 20.0), 30.5, "reproduced"),
        ((0.0, 51.0), -0.5, "not reached"),
    ],
)
def test_no_bound_that_leaves_nothing_is_said_to_hold(blow_up, ours, mark):
    by_l, by_blow_up = claims_of_canary(secrecy(blow_up))[-2:]
    assert (by_l.ours, by_l.mark) == (None, "not reached") and by_l.why
    assert (by_blow_up.ours, by_blow_up.mark) == (ours, mark)


def test_a_cell_that_rounds_to_nothing_has_no_sign():
    row = {"table": "t", "a": -1e-16, "b": -0.04, "c": 0.0}
    assert [_cell(row[key], form) for key, form in (("a", ".1f"), ("b", ".1f"), ("b", ".1%"), ("c", "g"))] == [
        "0.0", "0.0", "-4.0%", "0",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def users():
    """The rows of the page of users' data."""
    path = Path(__file__).parents[3] / "lab/docs/results/user_level.json"
    return rows_in(json.loads(path.read_bytes()))


def test_what_was_asked_after_cells_had_been_seen_has_no_mark_and_the_papers_own_figure(users):
    found = {claim.text: claim for claim in claims_of_users(users)}
    asked = [claim for claim in found.values() if claim.exploratory]
    assert len(asked) == 4 and all(claim.mark is None for claim in asked)
    for name in ("Enron", "BookSum"):
        (equal_k,) = [claim for claim in asked if "mean of nine" in claim.text and name in claim.text]
        nine = [(k, e) for k in (2, 5, 10) for e in (1.0, 3.0, 8.0)]
        group, user = (
            sum(math.log2(table[name][k][e]) for k, e in nine) / 9 for table in (GROUP_RECORDS, USER_RECORDS)
        )
        assert group < user and equal_k.paper == pytest.approx(group - user)  # group privacy is ahead there
        assert equal_k.paper < 0 < equal_k.ours
    (k_2,) = [claim for claim in asked if "k = 2 before k = 10" in claim.text]
    assert k_2.paper < 0 < k_2.ours  # Enron has the reverse
    assert not any(claim.paper == 0 and not claim.target for claim in found.values()), (
        "no figure of the paper"
    )


def test_texts_to_learn_by_heart_are_random_or_count_on():
    texts = training_texts(7)
    assert len(texts) == len(set(texts[:RANDOM])) + COUNTING and {len(text) for text in texts} == {LENGTH}
    counts_on = [all((b - a) % 26 == 1 for a, b in pairwise(text)) for text in texts]
    assert counts_on == [False] * RANDOM + [True] * COUNTING


def masked(noisy, start=4.4):
    """Rows of `masked_training`: two c without noise, and with that of kl by each way to scale it."""
    common = {"half_width": 0.01, "at_start": start, "examples": 1000, "batch": 30, "rounds": 100}
    found = [("no noise", "1", (4.30, 4.20)), *(("kl", divided, losses) for divided, losses in noisy.items())]
    return {"losses": [
        {**common, "method": method, "divided": divided, "k": k, "loss": loss, "validation": loss,
         "nonzero": 0.1 if k == 0 else 1.0}
        for method, divided, losses in found for k, loss in zip((0, 4), losses, strict=True)
    ]}  # fmt: skip


def test_a_program_gains_nothing_where_no_model_beats_the_public_start():
    found = claims_of_masked(masked({"paper": (4.0, 4.4), "10": (4.39, 4.6), "1": (4.41, 4.6)}))
    by_program, divided, whole = found[1:4]
    assert by_program.ours == pytest.approx(1 - 4.0 / 4.4) and by_program.mark == "exceeded"
    assert divided.ours == pytest.approx(1 - 4.39 / 4.6)
    assert whole.ours is None and whole.mark == "not reached" and "start" in whole.why
    assert "100 abstracts, each drawn some 30 times" in found[0].why and "4.5%" in by_program.why
