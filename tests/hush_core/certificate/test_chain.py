"""Several runs in one certificate: one that a later one leaves out, one of another store, all runs' bounds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from histories_of_runs import SETTINGS, earlier_of

from hush_core.accounting import Participation, Run, bound_of_runs
from hush_core.certificate import verified_against, verify_certificate
from hush_core.certificate.other_stores import known_runs
from hush_core.certificate.recheck import SampledRun, Secrets, recheck_all_runs
from hush_core.errors import CertificationError, InputError, VerificationError
from hush_core.history import RunHistory, RunText

FIRST, SECOND, THIRD = "a" * 64, "b" * 64, "c" * 64


def runs_of(*runs):
    """Each: (key, σ, T, settings, [(secret, examples, rate)])."""
    profiles = [(n, j, k, rate, True) for n, run in enumerate(runs) for j, k, rate in run[4]]
    return earlier_of([(key, sigma, t, t, settings) for key, sigma, t, settings, _ in runs], profiles)


@pytest.fixture(scope="module")
def second(made, build_certificate, tmp_path_factory):
    """That of run SECOND, after FIRST."""
    folder = tmp_path_factory.mktemp("chain") / "second"
    build_certificate(
        folder, made / "model", run=SECOND, earlier=runs_of((FIRST, 9.0, 40, SETTINGS, [(0, 8, 0.1)]))
    )
    return verify_certificate(folder)


def own(second):
    """SECOND as it must stand in later certificates."""
    plan, bounds = second.certificate.facts.plan, second.tables["bounds.parquet"]
    drawn = [(j, n, 0.2) for j, n in bounds.select("secret_id", "examples").iter_rows()]
    return SECOND, plan.noise_multiplier, plan.rounds, SETTINGS, drawn


def third(build, made, folder, *runs, **more):
    build(folder, made / "model", run=THIRD, earlier=runs_of(*runs), **more)
    return verify_certificate(folder)


def test_a_history_that_goes_on_is_accepted_and_said(made, build_certificate, second, tmp_path):
    """More examples than before are fine: an entry that was added since names more."""
    runs = (FIRST, 9.0, 40, SETTINGS, [(0, 9, 0.1), (2, 1, 0.1)]), own(second)
    after = third(build_certificate, made, tmp_path / "c", *runs)
    found = verified_against(second.certificate, second.tables, after, "the second")
    assert found.chain == "every run that the second knew is counted"


@pytest.mark.parametrize(
    ("what", "runs", "told"),
    [
        ("the run that the first is of", [(FIRST, 9.0, 40, SETTINGS, [(0, 8, 0.1)])], "run bbbbbbbb"),
        ("a run that the first counted", [own], "alpha: run aaaaaaaa"),
        ("a secret of it", [(FIRST, 9.0, 40, SETTINGS, [(1, 8, 0.1)]), own], "alpha: run aaaaaaaa"),
        ("less noise then", [(FIRST, 90.0, 40, SETTINGS, [(0, 8, 0.1)]), own], "differs from that"),
        ("fewer rounds", [(FIRST, 9.0, 4, SETTINGS, [(0, 8, 0.1)]), own], "differs from that"),
        ("fewer examples", [(FIRST, 9.0, 40, SETTINGS, [(0, 7, 0.1)]), own], "differs from that"),
        ("other settings", [(FIRST, 9.0, 40, "6" * 64, [(0, 8, 0.1)]), own], "differs from that"),
    ],
)
def test_what_is_left_out_or_changed_is_refused(made, build_certificate, second, tmp_path, what, runs, told):
    runs = [own(second) if run is own else run for run in runs]
    after = third(build_certificate, made, tmp_path / "c", *runs)
    with pytest.raises(VerificationError, match=told):
        verified_against(second.certificate, second.tables, after, "the second")


def test_a_killed_run_that_ends_later_does_not_count_itself(made, build_certificate, second, tmp_path):
    """The second certificate counted run FIRST, which went on and is certified now."""
    build_certificate(tmp_path / "c", made / "model", run=FIRST, earlier=runs_of(own(second)))
    after = verify_certificate(tmp_path / "c")
    assert verified_against(second.certificate, second.tables, after, "x").chain.startswith("every run")


def test_a_run_that_two_copies_of_a_store_went_on_with_is_refused(second):
    """It has one name, and released its rounds in each of them; a second certificate of one model is fine."""
    again = verified_against(second.certificate, second.tables, second, "the first copy's")
    assert again.chain.startswith("every run that")
    files = dict.fromkeys(second.certificate.model_files, "0" * 64)
    other = replace(second, certificate=second.certificate.model_copy(update={"model_files": files}))
    with pytest.raises(VerificationError, match="run bbbbbbbb ended in another model"):
        verified_against(second.certificate, second.tables, other, "the first copy's")


def test_two_stores_that_meet_are_told(made, build_certificate, second, tmp_path):
    after = third(build_certificate, made, tmp_path / "c", store="1" * 64)
    found = verified_against(second.certificate, second.tables, after, "the second")
    assert found.chain == "WARNING: the second is of ANOTHER STORE: its runs are not counted here"


OWN, OLD, STORE = "c" * 64, "a" * 64, "0" * 64


@pytest.fixture(scope="module")
def verified(made, build_certificate, tmp_path_factory):
    """The certificate of run OWN, which counts OLD: of alpha as promised then, of beta with another target."""
    profiles = [(0, 0, 8, 0.1, True), (0, 1, 3, 0.2, False)]
    earlier = earlier_of([(OLD, 9.0, 40, 39, "6" * 64)], profiles, bare=[2])
    folder = tmp_path_factory.mktemp("other") / "certificate"
    build_certificate(folder, made / "model", run=OWN, earlier=earlier)
    return verify_certificate(folder)


@pytest.fixture
def history(tmp_path):
    (tmp_path / "work").mkdir()
    return RunHistory(tmp_path, key=b"k" * 32, identity=STORE)


def tonight(*names, prior=1e-6, target=1e-3):
    """A run that knows these secrets, on texts that no other store has."""
    edges = frame_of(example_id=range(len(names)), secret_id=range(len(names)))
    rows = [(n, "path", name, prior, target) for n, name in enumerate(names)]
    secrets = pl.DataFrame(rows, schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row")
    return RunText.now([b"new %d" % n for n in range(len(names))], edges, secrets)


def taken_in(history, verified):
    return [history.add(run.key, run.record, run.released) for run in known_runs(verified, identity=STORE)]


def test_both_runs_count_once_with_their_mechanism_rates_and_promise(history, verified):
    assert taken_in(history, verified) == [True, True] and taken_in(history, verified) == [False, False]
    found = history.earlier("mine", tonight("alpha", "beta", "delta"))
    assert found.runs.select("key", "noise_multiplier", "rounds", "released", "settings").rows() == [
        (OLD, 9.0, 40, 39, "6" * 64),
        (OWN, verified.certificate.facts.plan.noise_multiplier, 40, 40, SETTINGS),
    ]
    rows = {(row["run"], row["secret_id"]): row for row in found.profiles.iter_rows(named=True)}
    assert set(rows) == {(0, 0), (0, 1), (1, 0), (1, 1)} and found.counts.tolist() == [2, 2, 0]
    assert (rows[0, 0]["examples"], rows[0, 0]["same_promise"]) == (8, True)
    assert rows[0, 0]["rate"] == pytest.approx(0.1, rel=1e-8) and not rows[0, 1]["same_promise"]


def test_the_law_of_its_own_run_dominates_what_it_drew(history, verified):
    taken_in(history, verified)
    (row,) = history.earlier("mine", tonight("alpha")).profiles.filter(run=1).iter_rows(named=True)
    weights = verified.tables["weights.parquet"]["weight"].to_numpy()
    rates = weights / weights.sum() * verified.certificate.facts.plan.expected_batch
    mine = rates[verified.tables["edges.parquet"].filter(secret_id=0)["example_id"].to_numpy()]
    assert row["examples"] == np.count_nonzero(mine) and row["same_promise"]
    drawn = Participation(*np.unique(mine[mine > 0], return_counts=True))
    noted = Participation.binomial(row["examples"], row["rate"])
    assert noted.mean >= drawn.mean * (1 - 1e-12)


def test_another_target_today_is_another_promise(history, verified):
    taken_in(history, verified)
    found = history.earlier("mine", tonight("alpha", target=2e-3))
    assert not found.profiles["same_promise"].any()


def test_what_was_trained_on_without_noise_there_is_bare_here(history, verified):
    taken_in(history, verified)
    assert history.earlier("mine", tonight("gamma", "alpha")).noise_free.tolist() == [True, False]


def test_a_certificate_of_another_key_or_with_unknown_runs_is_refused(history, verified):
    with pytest.raises(InputError, match="another identity key"):
        known_runs(verified, identity="1" * 64)
    facts = verified.certificate.facts.model_copy(update={"unknown_runs": 2})
    unknown = replace(verified, certificate=verified.certificate.model_copy(update={"facts": facts}))
    with pytest.raises(InputError, match="2 runs of which it does not say"):
        known_runs(unknown, identity=STORE)


def test_none_is_taken_in_while_a_run_trains_that_does_not_know_of_it(history, verified):
    with (
        history.training("mine", tonight("alpha"), None),
        pytest.raises(InputError, match="a run is training"),
    ):
        taken_in(history, verified)
    assert history.keys() == set() and taken_in(history, verified) == [True, True]


def test_what_is_counted_is_listed(history, verified):
    taken_in(history, verified)
    listed = history.listed().sort("key")
    assert listed["key"].to_list() == [OLD, OWN] and listed["added"].all()
    assert listed["released"].to_list() == [39, 40] and listed["secrets"].to_list() == [2, 3]


def all_of(profiles, *, sigma=4.0, settings=SETTINGS, same=True, **more):
    """One earlier run with these (secret, examples, rate)."""
    runs = [("a" * 64, sigma, 40, 7, settings)] if profiles else []
    return earlier_of(runs, [(0, secret, n, rate, same) for secret, n, rate in profiles], **more)


def bounds_with(build, made, folder, earlier, **more):
    build(folder, made / "model", earlier=earlier, **more)
    verification = verify_certificate(folder, made / "model")
    return verification.tables["bounds.parquet"], verification


def test_a_run_before_adds_to_the_secrets_it_drew_and_to_no_other(made, build_certificate, tmp_path):
    earlier = all_of([(0, 8, 0.1), (1, 15, 0.05)])
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
        build_certificate, made, tmp_path / "c", all_of([(0, 8, 0.1)], **change)
    )
    assert bounds["all_runs"].is_null().to_list() == lost, why
    assert bounds["all_runs_method"].is_null().to_list() == lost
    assert verification.certificate.facts.unknown_runs == change.get("unknown", 0)


def test_a_promise_of_several_runs_that_is_not_kept_gets_no_certificate(made, build_certificate, tmp_path):
    with pytest.raises(
        CertificationError, match="1 secrets miss their target over all runs, 1 earlier ones of 9"
    ):
        build_certificate(tmp_path / "c", made / "model", earlier=all_of([(0, 8, 0.9)]), promised=9)
    with pytest.raises(CertificationError, match="1 earlier ones of 1 promised"):
        harmless = all_of([(2, 1, 1e-9)], sigma=1000.0)
        build_certificate(tmp_path / "c", made / "model", earlier=harmless, promised=1)
    assert not list(tmp_path.iterdir())
    bounds, verification = bounds_with(build_certificate, made, tmp_path / "d", None, promised=1)
    assert verification.certificate.facts.plan.promised_runs == 1
    assert bounds["all_runs"].to_list() == bounds["bound"].to_list()


def test_a_bound_of_all_runs_that_is_too_small_is_found_by_the_second_route(
    made, build_certificate, tmp_path
):
    """As a mistake of the first route would state it: one run forgotten."""
    _, verification = bounds_with(build_certificate, made, tmp_path / "c", all_of([(0, 8, 0.1)]))
    tables, plan = verification.tables, verification.certificate.facts.plan
    own = Secrets(
        tables["weights.parquet"]["weight"].to_numpy(), plan.expected_batch, tables["edges.parquet"], 3
    )
    mechanism, bounds = SampledRun(plan.noise_multiplier, plan.rounds), tables["bounds.parquet"]

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
