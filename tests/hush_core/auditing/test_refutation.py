"""A right certificate is hardly ever refuted, a wrong one is, and what could not refute does not count for it."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from scipy.stats import binom

from hush_core.accounting import bound_secrets
from hush_core.auditing.against_certificate import WRITTEN, asked_priors, judge
from hush_core.auditing.document import outcome_of
from hush_core.auditing.every_step import MOST, attack_every_step, evidence_of_steps
from hush_core.auditing.exposure import SCHEMA
from hush_core.auditing.facts import every_step_facts
from hush_core.auditing.intervals import clopper_pearson, of_area, of_one_model, paired_difference
from hush_core.auditing.refutation import (
    RANKS,
    SIGNIFICANCE,
    Evidence,
    candidates_kept,
    evidence_of,
    ranked,
    written_out,
)
from hush_core.auditing.roc import roc


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


def exposed(**columns):
    rows = {name: columns.get(name, [0] * 3) for name in SCHEMA} | {
        "secret_id": [0, 1, 2],
        "name": ["a", "b", "c"],
    }
    rows |= {"extracted": columns.get("extracted", [False] * 3)}
    return pl.DataFrame(rows, schema=SCHEMA, strict=False)


def written(p):
    found = {"number": [0, 2], "contexts": 1, "probability": p, "samples": 1.0, "within_1000": 0.0}
    return pl.DataFrame(found, schema=WRITTEN)


OWN = frame_of(secret_id=[0, 1, 2, 3], name=list("abcd"), prior=1e-9, lower=[1e-3, None, 1e-3, 1e-3],
               bound=1e-3, allowed_bits=5.0, random=True)  # fmt: skip


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


@pytest.mark.parametrize("p", [0.001, 0.03, 0.5, 0.97])
def test_clopper_pearson_covers_at_every_share(p):
    """Exact: summed over all outcomes, not drawn."""
    covered = sum(
        binom.pmf(k, 40, p) for k in range(41) if (i := clopper_pearson(k, 40)).lower <= p <= i.upper
    )
    assert covered >= 0.95
    narrower = sum(
        binom.pmf(k, 40, p) for k in range(41) if (i := clopper_pearson(k, 40, 0.6)).lower <= p <= i.upper
    )
    assert narrower < 0.95 or p in (0.001,)


def test_known_values():
    assert clopper_pearson(0, 10)[1:] == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(10, 10)[1:] == (pytest.approx(0.025**0.1), 1.0)
    assert clopper_pearson(0, 0)[1:] == (0.0, 1.0)
    assert of_one_model(1.0)[1:] == (pytest.approx(0.05), 1.0) and of_one_model(0.0)[1:] == (
        0.0,
        pytest.approx(0.95),
    )


def test_one_model_covers_by_markov():
    """The mean is 0.04; a success of 1 comes with probability 0.04: the lower end is above the mean only then."""
    rng = np.random.default_rng(0)
    draws = (rng.random(20_000) < 0.04) * 1.0
    misses = np.mean([of_one_model(x).lower > 0.04 for x in draws])
    assert 0.02 < misses <= 0.05


@pytest.mark.slow
def test_a_paired_difference_covers():
    """3,000 draws of 30 pairs, 2 % to 25 %; at least 95 % covered (5 standard deviations: 93 %)."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(3000):
        first, second, _ = rng.multinomial(30, [0.25, 0.02, 0.73])
        found = paired_difference(int(first), int(second), 30)
        covered += found.lower <= 0.23 <= found.upper
    assert covered / 3000 >= 0.95 - 5 * (0.05 * 0.95 / 3000) ** 0.5
    assert paired_difference(9, 9, 30).value == 0 and paired_difference(30, 0, 30).lower > 0.7


def test_an_area_covers_and_its_ceiling_is_that_of_a_perfect_attack():
    rng, covered = np.random.default_rng(2), 0
    for _ in range(400):  # two normals one apart: area Φ(1/√2) = 0.7602
        found = roc(rng.normal(1, 1, 15), rng.normal(0, 1, 15), seed=0).area
        covered += found.lower <= 0.7602 <= found.upper
    assert covered >= 380
    perfect = roc(np.arange(10, 30), np.arange(10), seed=0)
    assert (
        perfect.area.value == 1
        and perfect.area.lower == perfect.area_ceiling == of_area(1.0, 20, 10).lower < 1
    )
    assert roc(np.ones(5), np.ones(5), seed=0).area.value == 0.5


@pytest.mark.slow
def test_thresholds_are_not_tuned_on_what_is_reported():
    """Scores of one distribution: at 5 % asked, the rate measured on the other half is 5 % on average, and a
    threshold chosen on the reported half itself would show less."""
    rng, rates, cheated = np.random.default_rng(3), [], []
    for draw in range(300):
        others = rng.normal(size=80)
        row = roc(rng.normal(size=80), others, seed=draw).low.filter(asked=0.05).row(0, named=True)
        rates.append(row["false_positive_rate"])
        assert row["lower"] <= row["false_positive_rate"] <= row["upper"]
        cheated.append((others > np.sort(others)[-2]).mean())
    assert 0.035 < np.mean(rates) < 0.065 and np.mean(cheated) < 0.03
    few = roc(rng.normal(size=9), rng.normal(size=9), seed=0)
    assert few.low.is_empty()  # with 4 to choose a threshold on, no such rate can be shown


PRIORS, TARGETS = (1e-6, 1e-10, 1e-3, 0.3), (1e-2, 1e-2, 0.5, 0.9)

RATES = np.array([0.02, 0.02, 0.05, 0.01, 0.0])

EDGES = frame_of(example_id=[0, 1, 2, 3, 4], secret_id=[0, 0, 1, 2, 3])

SECRETS = frame_of(secret_id=range(4), prior=PRIORS, posterior=TARGETS)


@pytest.fixture(scope="module")
def bounds():
    return bound_secrets(EDGES, RATES, SECRETS, noise_multiplier=1.5, rounds=50, method="best")


def attacked(bounds, sigma=1.5, edges=EDGES):
    table = attack_every_step(edges, RATES, bounds, noise_multiplier=sigma, rounds=50)
    return table, evidence_of_steps(table)


def test_a_right_certificate_is_not_refuted_and_the_attack_comes_near(bounds):
    table, evidence = attacked(bounds)
    ratio = table["every_step"] / table["bound"]
    assert table["secret_id"].to_list() == [0, 1, 2, 3] and evidence.outcome == "not refuted"
    assert (ratio <= 1).all() and (ratio >= 0.63).all(), "Proposition 10 of docs/mathematics.md"
    assert table["every_step"][3] == pytest.approx(0.25), "never drawn: one of ⌈1/0.3⌉ values, blindly"
    facts = every_step_facts(evidence, table)
    assert facts.outcome == "not refuted" and facts.evidence is None, "of no model: no test of the training"


def test_bounds_of_more_noise_than_was_used_are_refuted(bounds):
    """A tenth more than was used is enough."""
    _, evidence = attacked(bounds, sigma=1.5 / 1.1)
    assert evidence.outcome == "refuted" and evidence.value > 1.05


def test_bounds_that_forgot_an_example_of_a_secret_are_refuted(bounds):
    more = pl.concat([EDGES, EDGES.filter(secret_id=0).with_columns(example_id=pl.lit(2, pl.UInt32)).head(1)])
    assert attacked(bounds, edges=more)[1].outcome == "refuted"
    twice = pl.concat([EDGES, EDGES.head(1)])  # named twice for two reasons, it is still one example
    assert attacked(bounds, edges=twice)[0].equals(attacked(bounds)[0])


def test_of_many_secrets_those_nearest_to_their_targets_are_attacked():
    count = MOST + 5
    secrets = frame_of(secret_id=range(count), prior=np.geomspace(1e-9, 1e-3, count), posterior=[0.5] * count)
    edges = pl.DataFrame({"example_id": [0] * count, "secret_id": range(count)}, schema=EDGES.schema)
    bounds = bound_secrets(edges, RATES, secrets, noise_multiplier=1.5, rounds=50, method="best")
    table, _ = attacked(bounds, edges=edges)
    assert table["secret_id"].to_list() == list(range(5, count))
