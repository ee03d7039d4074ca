"""The bounds of all runs in the certificate: what they are, and when there is none."""

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import Participation, Run, bound_of_runs
from hush_core.certificate import verify_certificate
from hush_core.certificate.recheck import Mechanism, Secrets, recheck_all_runs
from hush_core.errors import CertificationError
from hush_core.history import PROFILES, RUNS, Earlier

SETTINGS = "5" * 64


def runs_of(profiles, *, sigma=4.0, settings=SETTINGS, same=True, bare=(), unknown=0):
    """One earlier run with these (secret, examples, rate)."""
    runs = pl.DataFrame([(0, "a" * 64, sigma, 40, 7, settings)], schema=RUNS, orient="row")
    rows = [(0, secret, n, rate, same) for secret, n, rate in profiles]
    table = pl.DataFrame(rows, schema=PROFILES, orient="row")
    return Earlier(runs if rows else runs.clear(), table, np.isin(np.arange(3), bare), unknown)


def bounds_with(build, made, folder, earlier, **more):
    build(folder, made / "model", earlier=earlier, **more)
    verification = verify_certificate(folder, made / "model")
    return verification.tables["bounds.parquet"], verification


def test_a_run_before_adds_to_the_secrets_it_drew_and_to_no_other(made, build_certificate, tmp_path):
    earlier = runs_of([(0, 8, 0.1), (1, 15, 0.05)])
    bounds, verification = bounds_with(build_certificate, made, tmp_path / "c", earlier)
    assert bounds["earlier_runs"].to_list() == [1, 1, 0]
    facts, edges, weights = (
        verification.certificate.facts,
        verification.tables["edges.parquet"],
        verification.tables["weights.parquet"]["weight"].to_numpy(),
    )
    assert facts.runs_on_this_data == 2 and facts.unknown_runs == 0
    rates = weights * facts.plan.expected_batch / weights.sum()
    for secret, n, rate in ((0, 8, 0.1), (1, 15, 0.05)):
        own = rates[edges.filter(secret_id=secret)["example_id"].to_numpy()]
        runs = [
            Run(Participation.from_rates(own), facts.plan.noise_multiplier, facts.plan.rounds),
            Run(Participation.binomial(n, rate), 4.0, 40),
        ]
        found = bound_of_runs(runs, prior=bounds["prior"][secret], lower=True)
        assert bounds["all_runs"][secret] == pytest.approx(found.value)
        assert found.value > bounds["bound"][secret] * 1.05
        assert bounds["all_runs_lower"][secret] == pytest.approx(found.lower)
    assert bounds["all_runs"][2] == bounds["bound"][2]
    assert verification.all_runs == (2, 2, 2)


@pytest.mark.parametrize(
    ("why", "change", "lost"),
    [
        ("does not say how it drew", {"unknown": 1}, [True, True, True]),
        ("was planned otherwise", {"settings": "6" * 64, "same": False}, [True, False, False]),
        ("trained without noise", {"bare": [1]}, [False, True, False]),
    ],
)
def test_nothing_is_said_where_a_run(made, build_certificate, tmp_path, why, change, lost):
    bounds, verification = bounds_with(
        build_certificate, made, tmp_path / "c", runs_of([(0, 8, 0.1)], **change)
    )
    assert bounds["all_runs"].is_null().to_list() == lost, why
    assert bounds["all_runs_method"].is_null().to_list() == lost
    assert verification.certificate.facts.unknown_runs == change.get("unknown", 0)


def test_a_promise_of_several_runs_that_is_not_kept_gets_no_certificate(made, build_certificate, tmp_path):
    with pytest.raises(
        CertificationError, match="1 secrets miss their target over all runs, 1 earlier ones of 9"
    ):
        build_certificate(tmp_path / "c", made / "model", earlier=runs_of([(0, 8, 0.9)]), promised=9)
    with pytest.raises(CertificationError, match="1 earlier ones of 1 promised"):
        harmless = runs_of([(2, 1, 1e-9)], sigma=1000.0)
        build_certificate(tmp_path / "c", made / "model", earlier=harmless, promised=1)
    assert not list(tmp_path.iterdir())
    bounds, verification = bounds_with(build_certificate, made, tmp_path / "d", None, promised=1)
    assert verification.certificate.facts.plan.promised_runs == 1
    assert bounds["all_runs"].to_list() == bounds["bound"].to_list()


def test_a_bound_of_all_runs_that_is_too_small_is_found_by_the_second_route(
    made, build_certificate, tmp_path
):
    """As a mistake of the first route would state it: one run forgotten."""
    _, verification = bounds_with(build_certificate, made, tmp_path / "c", runs_of([(0, 8, 0.1)]))
    tables, plan = verification.tables, verification.certificate.facts.plan
    own = Secrets(
        tables["weights.parquet"]["weight"].to_numpy(), plan.expected_batch, tables["edges.parquet"], 3
    )
    mechanism, bounds = Mechanism(plan.noise_multiplier, plan.rounds), tables["bounds.parquet"]

    def recheck(bounds):
        return recheck_all_runs(
            own, tables["secrets.parquet"], bounds, tables["history.parquet"], tables["runs.parquet"], mechanism,
            lambda *_: None,
        )  # fmt: skip

    assert recheck(bounds) == ([], (1, 1, 1))
    forgotten = bounds.with_columns(all_runs="bound", all_runs_lower="lower")
    failures, _ = recheck(forgotten)
    assert len(failures) == 1 and "alpha: all_runs" in failures[0] and "second route" in failures[0]
    above = bounds.with_columns(all_runs_lower=pl.col("all_runs") * 1.01)
    assert "all_runs_lower lies above" in recheck(above)[0][0]
