"""A run of another store, taken in by its certificate, counts as if it had been made in this one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hush_core.accounting import Participation
from hush_core.certificate import verify_certificate
from hush_core.certificate.other_stores import known_runs
from hush_core.errors import InputError
from hush_core.history import PROFILES, RUNS, Earlier, RunHistory, RunText

SETTINGS = "5" * 64
OWN, OLD, STORE = "c" * 64, "a" * 64, "0" * 64


@pytest.fixture(scope="module")
def verified(made, build_certificate, tmp_path_factory):
    """The certificate of run OWN, which counts OLD: of alpha as promised then, of beta with another target."""
    runs = [(0, OLD, 9.0, 40, 39, "6" * 64)]
    profiles = [(0, 0, 8, 0.1, True), (0, 1, 3, 0.2, False)]
    earlier = Earlier(
        pl.DataFrame(runs, schema=RUNS, orient="row"), pl.DataFrame(profiles, schema=PROFILES, orient="row"),
        np.array([False, False, True]), 0,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("other") / "certificate"
    build_certificate(folder, made / "model", run=OWN, earlier=earlier)
    return verify_certificate(folder)


@pytest.fixture
def history(tmp_path):
    (tmp_path / "work").mkdir()
    return RunHistory(tmp_path, key=b"k" * 32, identity=STORE)


def tonight(*names, prior=1e-6, target=1e-3):
    """A run that knows these secrets, on texts that no other store has."""
    edges = pl.DataFrame(
        {"example_id": range(len(names)), "secret_id": range(len(names))},
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
    )
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
    assert history.earlier("mine", tonight("gamma", "alpha")).bare.tolist() == [True, False]


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
