"""A promise whose later runs go on from the promoted model: few rounds each, every earlier release counted in.

A real repository, store, tracker and review.
"""

from pathlib import Path

import pytest
from jobs import Job, git
from many_runs import drawn, run_all

from flows.reports.verification import verdict
from flows.verify import verify_target
from hush_core.certificate import read_certificate, read_tables
from hush_core.certificate.recheck import posterior_of_runs

TEXT = """\
version: 1
repos: [{{path: {repository}, rev: {rev}}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high}}
  - {{id: creds, kind: credentials, level: critical}}
chunk_bytes: 128
weights: {{c: 0.4, without_secret: plain}}
promise: {{runs: {runs}}}
model: {{layers: 1, width: 32, heads: {heads}}}
pretrain: {{steps: 1, batch: 4}}
untagged: {{steps: 2, batch: 4, learning_rate: 0.001, evaluate_every: 1}}
train: {{rounds: 12, batch: 1, checkpoint_every: 2, start: champion, later_rounds: {later}}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Five commits; in the last but one the credential is gone."""
    job = Job(tmp_path_factory.mktemp("champion"), seed=31)
    repository = job.folder / "repository"
    for number in range(5):
        if number == 3:
            git(repository, "rm", "-q", "-r", "deploy")
        (repository / f"app/new_{number}.py").write_text(f"VALUE = {number}\n" * 30)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "more")
        git(repository, "branch", f"b{number}")
    return job


@pytest.fixture(scope="module")
def told(job):
    """What each run reported, in order. The second goes on from a model that nobody promoted; the fourth first
    meets one that was tampered with, and finds no credential."""

    def config(name, rev, later=2, heads=2, runs=4):
        return job.write(f"{name}.yaml", 12, 1, TEXT, rev=rev, later=later, heads=heads, runs=runs)

    order = [
        (config("first", "b0"), False),
        (config("first", "b0"), False),
        (config("second", "b1"), "promote"),  # nothing was promoted yet
        (config("wide", "b2", heads=4), False),
        (config("third", "b2"), "promote"),
        (config("third", "b2"), "tamper"),
        (config("fourth", "b3"), "mend"),
        (config("fourth", "b3"), False),
        (config("fifth", "b4"), False),
    ]
    return run_all(job, order)


FIRST, SECOND, THIRD, FOURTH = FINISHED = (0, 2, 4, 7)


def certificate(told, place):
    return Path(told[place]["certificate_dir"])


def facts(told, place):
    return read_certificate(certificate(told, place)).facts


def test_the_first_run_has_all_rounds_and_the_later_ones_few_on_top_of_the_model_before(told):
    assert [told[n]["rounds"] for n in FINISHED] == [12, 2, 2, 2]
    names = [facts(told, n).run for n in FINISHED]
    assert [facts(told, n).training.started_from for n in FINISHED] == [None, *names[:3]]
    # nobody had promoted the first; the second and the third were
    from_run = f"run {names[0][:12]}"
    assert [told[n]["goes_on_from"] for n in FINISHED] == [
        None, from_run, told[SECOND]["model_uri"], told[THIRD]["model_uri"],
    ]  # fmt: skip
    for place, name in zip(FINISHED[1:], names, strict=False):
        counted = read_tables(certificate(told, place))["runs.parquet"]
        assert name in counted["key"].to_list() and counted["rounds"].to_list().count(12) == 1


def test_a_later_run_begins_with_the_weights_of_the_model_before(told):
    """Its loss before any of its own training is that model's on the same held-out text."""
    before = told[FIRST]["losses"]["protected"]
    assert told[SECOND]["losses"]["champion"] == pytest.approx(before, rel=0.05)
    assert told[SECOND]["losses"]["champion"] < told[FIRST]["losses"]["pretrained"]


def test_the_bounds_of_all_runs_are_those_of_an_independent_computation_and_spend_the_targets(told):
    runs = [drawn(certificate(told, place)) for place in FINISHED]
    for number, place in enumerate(FINISHED[:3]):
        for row in told[place]["rows"]:
            so_far = [run[row["name"]] for run in runs[: number + 1]]
            exact = posterior_of_runs(so_far, prior=row["prior"]).value
            assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02 and row["earlier_runs"] == number
            assert row["all_runs"] <= row["target"]
    assert max(row["all_runs"] / row["target"] for row in told[FOURTH]["rows"]) > 0.95, "noise is wasted"


def test_what_only_earlier_runs_name_stays_in_the_promise_as_the_model_may_tell_it(told):
    by_name = {row["name"]: row for row in told[FOURTH]["rows"]}
    (gone,) = (row for name, row in by_name.items() if name.startswith("retired/"))
    (then,) = (row for row in told[THIRD]["rows"] if row["name"].startswith("creds/"))
    assert gone["name"][-12:].startswith(then["name"][-6:]) or then["name"][-6:] in gone["name"]
    assert gone["earlier_runs"] == 3 and gone["examples"] == 0
    assert gone["all_runs"] == pytest.approx(then["all_runs"], rel=0.02) and gone["bound"] == gone["prior"]


def test_the_reviewer_reads_the_bounds_of_all_runs_and_not_of_the_last_alone(told):
    says = (
        f"the model goes on from {told[SECOND]['model_uri']}, so no bound of this run alone is of the model"
    )
    assert (
        says in told[THIRD]["description"] and "every bound of all runs so far" in told[THIRD]["description"]
    )
    assert "so no bound" not in told[FIRST]["description"]
    lines = verdict(verify_target(str(certificate(told, THIRD))))
    assert any("of the model itself the bounds of all runs are the promise" in line for line in lines)


def test_a_promoted_model_whose_files_are_others_is_refused(told):
    assert "has not the files that any run counted by this promise ended in" in told[6]


def test_another_model_than_the_one_before_is_refused(told):
    assert "is not the model that the config describes" in told[3]


def test_a_run_done_again_is_read_from_the_cache_though_its_own_version_is_champion_now(told):
    assert told[5]["reused"] and told[5]["model_uri"] == told[THIRD]["model_uri"]
    assert told[1]["reused"] and told[1]["model_uri"] == told[FIRST]["model_uri"]


def test_the_run_after_the_last_is_refused(told):
    assert "4 runs of this store have released what was promised for 4" in told[8]
