"""The attack on a certificate's own numbers: below every right bound and near it, above one that is wrong."""

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import bound_secrets
from hush_core.auditing.every_step import MOST, attack_every_step, evidence_of_steps
from hush_core.auditing.facts import every_step_facts

PRIORS, TARGETS = (1e-6, 1e-10, 1e-3, 0.3), (1e-2, 1e-2, 0.5, 0.9)
RATES = np.array([0.02, 0.02, 0.05, 0.01, 0.0])
EDGES = pl.DataFrame(
    {"example_id": [0, 1, 2, 3, 4], "secret_id": [0, 0, 1, 2, 3]},
    schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
)
SECRETS = pl.DataFrame(
    {"secret_id": range(4), "prior": PRIORS, "posterior": TARGETS},
    schema_overrides={"secret_id": pl.UInt32},
)


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
    secrets = pl.DataFrame(
        {"secret_id": range(count), "prior": np.geomspace(1e-9, 1e-3, count), "posterior": [0.5] * count},
        schema_overrides={"secret_id": pl.UInt32},
    )
    edges = pl.DataFrame({"example_id": [0] * count, "secret_id": range(count)}, schema=EDGES.schema)
    bounds = bound_secrets(edges, RATES, secrets, noise_multiplier=1.5, rounds=50, method="best")
    table, _ = attacked(bounds, edges=edges)
    assert table["secret_id"].to_list() == list(range(5, count))
