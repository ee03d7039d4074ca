"""(ε, δ) and the trade-off of a certificate's secrets."""

import numpy as np
import polars as pl
import pytest

from hush_core import figures
from hush_core.accounting import Participation, posterior_bound, privacy_profile
from hush_core.certificate import privacy as module
from hush_core.certificate import privacy_report, verify_certificate
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
