"""A right certificate is hardly ever refuted, a wrong one is, and what could not refute does not count for it."""

import numpy as np
import polars as pl
import pytest

from hush_core.auditing.against_certificate import WRITTEN, asked_priors, judge
from hush_core.auditing.document import outcome_of
from hush_core.auditing.exposure import SCHEMA
from hush_core.auditing.refutation import (
    RANKS,
    SIGNIFICANCE,
    Evidence,
    candidates_kept,
    evidence_of,
    ranked,
    written_out,
)


def refuted(evidence, ceiling, tests=1):
    return evidence_of("x", evidence, ceiling, tests=tests).outcome == "refuted"


def refuted_of_5000(together, bounds, seed, times=1):
    rng, count = np.random.default_rng(seed), 0
    for _ in range(5000):
        u = rng.random(1 if together else len(bounds))
        evidence, ceiling = written_out((u < bounds) * 1.0, np.zeros(len(bounds)), bounds)
        count += refuted(evidence * times, ceiling * times)
    return count


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("bounds", [[1e-2] * 4, [1e-2, 2e-3, 5e-2, 1e-2], [1e-3] * 10])
def test_a_right_certificate_is_refuted_once_in_a_hundred_at_most(together, bounds):
    """Success with exactly the certified probability, of all secrets at once (the worst case) or of each by itself.
    At most 50 of 5,000 audits are refuted; 86 would be 5 standard deviations more."""
    assert refuted_of_5000(together, np.array(bounds), seed=1) < 86


def test_that_test_would_see_a_wrong_sum():
    """Adding e-values in place of their mean takes dependent secrets for independent evidence."""
    bounds = np.full(8, 5e-2)
    assert refuted_of_5000(True, bounds, seed=1) == 0 and refuted_of_5000(True, bounds, seed=1, times=8) > 86


def test_ranks_at_random_refute_a_certificate_that_allows_nothing_once_in_a_hundred_at_most():
    """The hardest certificate: the bound is the prior. 2,000 audits of 20 values at random ranks."""
    rng, drawn = np.random.default_rng(2), np.full(20, 1000)
    bounds = {k: np.full(20, k / 1001) for k in RANKS}
    count = 0
    for _ in range(2000):
        after, before = rng.integers(1, 1002, 20), rng.integers(1, 1002, 20)
        count += refuted(*ranked(after, before / 1001, drawn, bounds))
    assert count <= 20 + 5 * 4.5


def test_values_that_rank_first_refute():
    bounds = {k: np.full(20, k / 1001) for k in RANKS}
    first, late = np.ones(20), np.full(20, 0.9)
    assert refuted(*ranked(first, late, np.full(20, 1000), bounds))
    assert not refuted(*ranked(np.full(20, 9), late, np.full(20, 1000), bounds))
    guessed = ranked(first, np.full(20, 0.4), np.full(20, 1000), bounds)
    assert (
        not guessed[0].any() and not guessed[1].any()
    )  # people would have guessed them, says the model before
    made_up = ranked(first, late, np.full(20, 1000), bounds, np.zeros(20, dtype=bool))
    assert not made_up[0].any() and not made_up[1].any()  # people's words are not equally likely
    few = ranked(first, late, np.full(20, 20), {k: np.full(20, k / 21) for k in RANKS})
    assert evidence_of("x", *few, tests=1).outcome != "refuted" and candidates_kept([20, 2, 31]) == [
        (1,),
        (),
        (1, 8),
    ]


def test_evidence_is_the_mean_over_secrets():
    assert evidence_of("x", np.full(5, 30.0), np.full(5, 200.0), tests=1).value == 30
    assert not refuted(np.full(5, 30.0), np.full(5, 200.0))


def test_what_could_not_have_refuted_says_so():
    weak = evidence_of("x", np.zeros(3), np.full(3, 99.0), tests=1)
    able = evidence_of("x", np.zeros(3), np.full(3, 101.0), tests=1)
    assert (weak.outcome, able.outcome) == ("cannot refute", "not refuted")
    assert evidence_of("x", np.zeros(3), np.full(3, 101.0), tests=2).outcome == "cannot refute"  # corrected
    assert evidence_of("x", np.zeros(0), np.zeros(0), tests=1).outcome == "not run"
    strong = Evidence("x", 3, 1 / SIGNIFICANCE, 1e4, 1 / SIGNIFICANCE)
    assert strong.outcome == "refuted" and strong.p_value == pytest.approx(SIGNIFICANCE)
    assert outcome_of([weak, able]) == "not refuted" and outcome_of([weak]) == "cannot refute"
    assert outcome_of([weak, able, strong]) == "refuted" and outcome_of([]) == "cannot refute"


def test_what_the_model_before_writes_is_taken_off():
    evidence, ceiling = written_out(np.array([0.5, 0.2]), np.array([0.5, 0.9]), np.array([0.01, 0.01]))
    assert evidence.tolist() == [0, 0] and ceiling == pytest.approx([50, 10])


# the tables


def exposed(**columns):
    rows = {name: columns.get(name, [0] * 3) for name in SCHEMA} | {
        "secret_id": [0, 1, 2],
        "name": ["a", "b", "c"],
    }
    rows |= {"extracted": columns.get("extracted", [False] * 3)}
    return pl.DataFrame(rows, schema=SCHEMA, strict=False)


def written(p):
    return pl.DataFrame(
        {
            "number": [0, 2],
            "contexts": [1, 1],
            "probability": p,
            "samples": [1.0, 1.0],
            "within_1000": [0.0, 0.0],
        },
        schema=WRITTEN,
    )


OWN = pl.DataFrame(
    {
        "secret_id": [0, 1, 2, 3], "name": list("abcd"), "prior": [1e-9] * 4, "lower": [1e-3, None, 1e-3, 1e-3],
        "bound": [1e-3] * 4, "allowed_bits": [5.0] * 4, "random": [True] * 4,
    },
    schema_overrides={"secret_id": pl.UInt32},
)  # fmt: skip


def test_judging_reads_every_secret_and_leaves_out_who_was_not_attacked():
    # a: first of 1000; b: given up after 64; c: a tokenizer told 499 of 1000 apart
    after = exposed(
        rank=[1, 20, 1], last_rank=[1, 20, 9], alternatives=[1000, 64, 499], drawn=[1000, 1000, 1000],
    )  # fmt: skip
    before = exposed(
        rank=[900, 900, 450], last_rank=[900] * 3, alternatives=[1000, 1000, 499], drawn=[1000] * 3
    )
    priors = asked_priors(after, "secret_id", 4)
    assert priors[1].tolist() == [1 / 1001, 1 / 1001, 1 / 1001, 0.5] and priors[8][1] == 8 / 1001
    bounds = {k: np.minimum(1, 2 * p) for k, p in priors.items()}
    table, (one, two) = judge(
        OWN, (written([0.5, 0.0]), written([0.1, 0.0])), (after, before), bounds, tests=2
    )
    assert table["written_evidence"].to_list() == [pytest.approx(400), None, 0, None]
    assert one.secrets == 2 and one.value == pytest.approx(200) and two.secrets == 3
    found = table["ranked_evidence"].to_list()
    assert found[0] == pytest.approx((1001 / 2 + 1001 / 16) / 2) and found[1:] == [
        0,
        0,
        None,
    ]  # ties are no success
    assert table["written_lower"][0] == pytest.approx(0.025) and table["written_upper"][2] == pytest.approx(
        0.95
    )
    assert table["ceiling_bits"][0] == pytest.approx(np.log2(1001)) and table["written"].to_list()[1] is None


def test_a_value_among_fewer_is_held_to_the_prior_of_fewer():
    """Counted among all that were drawn, a first rank of 40 would look like one of 1,000."""
    after = exposed(rank=[1] * 3, last_rank=[1] * 3, alternatives=[40] * 3, drawn=[1000] * 3)
    assert asked_priors(after, "secret_id", 3)[1] == pytest.approx(1 / 41)
