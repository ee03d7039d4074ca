"""(ε, δ) and the trade-off of a certificate's secrets, and the certificate at other priors."""

import numpy as np
import polars as pl
import pytest

from hush_core import figures
from hush_core.accounting import Participation, posterior_bound, privacy_profile
from hush_core.certificate import (
    bounds_at,
    own_bounds,
    own_redacted,
    privacy_report,
    read_certificate,
    read_tables,
    verify_certificate,
)
from hush_core.certificate import privacy as module
from hush_core.errors import InputError

DELTA = 1e-5


@pytest.fixture(scope="module")
def verification(made):
    return verify_certificate(made / "certificate")


@pytest.fixture(scope="module")
def told():
    """Of the report's progress, by stage."""
    return {}


@pytest.fixture(scope="module")
def report(verification, told):
    progress = lambda stage, *at: told.setdefault(stage, []).append(at)  # noqa: E731
    return privacy_report(verification, delta=DELTA, progress=progress)


def test_what_is_told_of_its_progress_ends_at_its_total(report, told):
    steps = told["composing by dp_accounting"]
    assert steps == sorted(steps) and steps[-1][0] == steps[-1][1] > 0


def own_rates(verification, secret):
    weights = verification.tables["weights.parquet"]["weight"].to_numpy()
    rates = weights * verification.certificate.facts.plan.expected_batch / weights.sum()
    return rates[
        verification.tables["edges.parquet"].filter(pl.col("secret_id") == secret)["example_id"].to_numpy()
    ]


@pytest.mark.slow
def test_every_secret_has_its_own_epsilon(verification, report):
    plan = verification.certificate.facts.plan
    assert report.rows["name"].to_list() == ["alpha", "beta", "gamma"]
    assert not report.rows["inherited"].any() and (report.rows["delta"] == DELTA).all()
    for row in report.rows.iter_rows(named=True):
        profile = privacy_profile(
            Participation.from_rates(own_rates(verification, row["secret_id"])),
            noise_multiplier=plan.noise_multiplier, rounds=plan.rounds, resolution=DELTA,
        )  # fmt: skip
        assert row["epsilon"] == pytest.approx(profile.epsilon(DELTA), rel=1e-9)
        assert profile.delta(row["epsilon"]) <= DELTA < profile.delta(row["epsilon"] * 0.99)


@pytest.mark.slow
def test_the_trade_off_is_below_what_the_bound_on_the_posterior_says(verification, report):
    """1 − f(p) of the symmetric trade-off is at least the posterior at p, and less than far above it."""
    plan = verification.certificate.facts.plan
    for secret in range(3):
        curve = report.trade_off.filter(pl.col("secret_id") == secret)
        k = Participation.from_rates(own_rates(verification, secret))
        for row in (
            curve.filter(pl.col("false_positive_rate").is_between(1e-6, 0.5))
            .gather_every(40)
            .iter_rows(named=True)
        ):
            tight = posterior_bound(
                k, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds, prior=row["false_positive_rate"],
                lower=True,
            )  # fmt: skip
            assert 1 - row["false_negative_rate"] >= tight.lower * (1 - 1e-6)
        assert np.all(np.diff(curve["false_negative_rate"]) <= 1e-12)


def test_all_others_inherit_from_one_that_dominates(verification, report, monkeypatch):
    named = privacy_report(verification, delta=DELTA, secrets=["gamma"])
    inherited = named.rows.filter(pl.col("inherited"))
    assert inherited["name"].to_list() == ["alpha", "beta"]
    own = report.rows.filter(pl.col("name") != "gamma")
    assert inherited["epsilon"].n_unique() == 1
    assert own["epsilon"].max() <= inherited["epsilon"][0] <= own["epsilon"].max() * 1.5
    assert named.trade_off["name"].unique().to_list() == ["gamma"]
    monkeypatch.setattr(module, "MOST_PROFILES", 1)
    first = privacy_report(verification, delta=DELTA).rows
    assert first.filter(~pl.col("inherited"))["name"].to_list() == ["beta"]  # it takes part most


def test_wrong_arguments_are_named(verification):
    with pytest.raises(InputError, match="delta"):
        privacy_report(verification, delta=1.5)
    with pytest.raises(InputError, match="secret delta"):
        privacy_report(verification, delta=DELTA, secrets=["delta"])


def test_the_picture(report, tmp_path):
    path = figures.trade_off(report.trade_off, tmp_path / "a.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    again = figures.trade_off(report.trade_off.reverse(), tmp_path / "b.png")
    assert path.read_bytes() == again.read_bytes()
    figures.trade_off(report.trade_off.clear(), tmp_path / "none.png")


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


def test_a_redacted_value_is_bounded_by_its_prior_and_tested_by_its_rank_if_a_machine_drew_it():
    kinds = [("credentials", 2.0**-33), ("credentials", 2.0**-10), ("canaries", 1e-10), ("literals", 1e-10)]
    rows = pl.DataFrame(
        [(n, kind, f"n{n}", prior, prior, 1, "p") for n, (kind, prior) in enumerate(kinds)],
        schema=["redacted_id", "kind", "name", "prior", "bound", "places", "provenance"], orient="row",
    )  # fmt: skip
    found = own_redacted({"redacted.parquet": rows})
    assert found["random"].to_list() == [True, False, True, False]
    assert found["bound"].to_list() == found["prior"].to_list() == [prior for _, prior in kinds]
    assert found["allowed_bits"][0] == pytest.approx(np.log2(20))
