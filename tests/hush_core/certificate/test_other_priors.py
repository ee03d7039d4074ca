"""A certificate at other priors: the numbers that an attack among N candidates is held to."""

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import Participation, posterior_bound
from hush_core.certificate import bounds_at, own_bounds, own_redacted, read_certificate, read_tables


def test_bounds_at_the_own_priors_are_the_certificates(certified):
    facts, tables = read_certificate(certified[1]).facts, read_tables(certified[1])
    own = own_bounds(facts, tables)
    assert own["bound"].to_list() == tables["bounds.parquet"]["bound"].to_list()
    assert own.columns == ["secret_id", "name", "prior", "lower", "bound", "allowed_bits", "random"]
    again = bounds_at(facts, tables, own["prior"].to_numpy())
    np.testing.assert_allclose(again, own["bound"].to_numpy(), rtol=2e-4)


@pytest.mark.parametrize("prior", [1 / 1001, 8 / 1001, 0.4])
def test_bounds_at_another_prior_are_those_of_the_mechanism(certified, prior):
    facts, tables = read_certificate(certified[1]).facts, read_tables(certified[1])
    rate = facts.plan.expected_batch / tables["weights.parquet"]["weight"].sum()
    found = bounds_at(facts, tables, np.full(2, prior))
    for examples, bound in zip((2, 1), found, strict=True):
        wanted = posterior_bound(
            Participation.binomial(count=examples, rate=rate), noise_multiplier=facts.plan.noise_multiplier,
            rounds=facts.plan.rounds, prior=prior, method="best",
        )  # fmt: skip
        assert bound == pytest.approx(wanted.value, rel=1e-3) and bound > prior


def test_unlikely_exposures_are_unlikely_by_the_curve(certified):
    facts, tables = read_certificate(certified[1]).facts, read_tables(certified[1])
    for row in own_bounds(facts, tables).iter_rows(named=True):
        assert (
            bounds_at(facts, tables, np.full(2, 2.0 ** -row["allowed_bits"]))[row["secret_id"]]
            <= 0.05 * 1.001
        )


def test_a_model_that_goes_on_is_held_to_all_runs(certified):
    """Its own run's bound says nothing of what the run before left in it."""
    facts, tables = read_certificate(certified[1]).facts, dict(read_tables(certified[1]))
    training = facts.training.model_copy(update={"started_from": "1" * 64})
    tables["bounds.parquet"] = tables["bounds.parquet"].with_columns(all_runs=pl.Series([0.7, None]))
    own = own_bounds(facts.model_copy(update={"training": training}), tables)
    assert own["bound"].to_list() == [0.7, 1.0] and own["allowed_bits"].to_list() == [None, None]


def test_a_redacted_value_is_bounded_by_its_prior():
    rows = pl.DataFrame(
        {
            "redacted_id": [0],
            "kind": ["x"],
            "name": ["n"],
            "prior": [1e-9],
            "bound": [1e-9],
            "places": [1],
            "provenance": ["p"],
        }
    )
    (row,) = own_redacted({"redacted.parquet": rows}).rows(named=True)
    assert row["bound"] == row["prior"] == 1e-9 and row["allowed_bits"] == pytest.approx(np.log2(20))


def test_only_what_a_machine_drew_is_tested_by_its_rank():
    kinds = [("credentials", 2.0**-33), ("credentials", 2.0**-10), ("canaries", 1e-10), ("literals", 1e-10)]
    rows = pl.DataFrame(
        [(n, kind, f"n{n}", prior, prior, 1, "p") for n, (kind, prior) in enumerate(kinds)],
        schema=["redacted_id", "kind", "name", "prior", "bound", "places", "provenance"], orient="row",
    )  # fmt: skip
    assert own_redacted({"redacted.parquet": rows})["random"].to_list() == [True, False, True, False]
