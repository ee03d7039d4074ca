"""Two certificates of one store: a run that the first knew and the second leaves out is found."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hush_core.certificate import carried_on, verify_certificate
from hush_core.errors import VerificationError
from hush_core.history import PROFILES, RUNS, Earlier

SETTINGS = "5" * 64
FIRST, SECOND, THIRD = "a" * 64, "b" * 64, "c" * 64


def runs_of(*runs):
    """Each: (key, σ, T, settings, [(secret, examples, rate)])."""
    rows = [(n, key, sigma, t, t, settings) for n, (key, sigma, t, settings, _) in enumerate(runs)]
    profiles = [(n, j, k, rate, True) for n, run in enumerate(runs) for j, k, rate in run[4]]
    return Earlier(
        pl.DataFrame(rows, schema=RUNS, orient="row"), pl.DataFrame(profiles, schema=PROFILES, orient="row"),
        np.zeros(3, dtype=bool), 0,
    )  # fmt: skip


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
    found = carried_on(second.certificate, second.tables, after, "the second")
    assert found.chain == "every run that the second knew is counted"


@pytest.mark.parametrize(
    ("what", "runs", "told"),
    [
        (
            "the run that the first is of",
            lambda own: [(FIRST, 9.0, 40, SETTINGS, [(0, 8, 0.1)])],
            "run bbbbbbbb",
        ),
        ("a run that the first counted", lambda own: [own], "alpha: run aaaaaaaa"),
        (
            "a secret of it",
            lambda own: [(FIRST, 9.0, 40, SETTINGS, [(1, 8, 0.1)]), own],
            "alpha: run aaaaaaaa",
        ),
        (
            "less noise then",
            lambda own: [(FIRST, 90.0, 40, SETTINGS, [(0, 8, 0.1)]), own],
            "differs from that",
        ),
        ("fewer rounds", lambda own: [(FIRST, 9.0, 4, SETTINGS, [(0, 8, 0.1)]), own], "differs from that"),
        ("fewer examples", lambda own: [(FIRST, 9.0, 40, SETTINGS, [(0, 7, 0.1)]), own], "differs from that"),
        ("other settings", lambda own: [(FIRST, 9.0, 40, "6" * 64, [(0, 8, 0.1)]), own], "differs from that"),
    ],
)
def test_what_is_left_out_or_changed_is_refused(made, build_certificate, second, tmp_path, what, runs, told):
    after = third(build_certificate, made, tmp_path / "c", *runs(own(second)))
    with pytest.raises(VerificationError, match=told):
        carried_on(second.certificate, second.tables, after, "the second")


def test_a_killed_run_that_ends_later_does_not_count_itself(made, build_certificate, second, tmp_path):
    """The second certificate counted run FIRST, which went on and is certified now."""
    build_certificate(tmp_path / "c", made / "model", run=FIRST, earlier=runs_of(own(second)))
    after = verify_certificate(tmp_path / "c")
    assert carried_on(second.certificate, second.tables, after, "x").chain.startswith("every run")


def test_a_run_that_two_copies_of_a_store_went_on_with_is_refused(second):
    """It has one name, and released its rounds in each of them; a second certificate of one model is fine."""
    again = carried_on(second.certificate, second.tables, second, "the first copy's")
    assert again.chain.startswith("every run that")
    files = dict.fromkeys(second.certificate.model_files, "0" * 64)
    other = replace(second, certificate=second.certificate.model_copy(update={"model_files": files}))
    with pytest.raises(VerificationError, match="run bbbbbbbb ended in another model"):
        carried_on(second.certificate, second.tables, other, "the first copy's")


def test_two_stores_that_meet_are_told(made, build_certificate, second, tmp_path):
    after = third(build_certificate, made, tmp_path / "c", store="1" * 64)
    found = carried_on(second.certificate, second.tables, after, "the second")
    assert found.chain == "WARNING: the second is of ANOTHER STORE: its runs are not counted here"
