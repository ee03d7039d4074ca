"""A promise whose later runs go on from the promoted model: few rounds each, every earlier release counted in.

A real repository, store, tracker and review.
"""

from pathlib import Path

import numpy as np
import pytest
from jobs import Job, git
from many_runs import drawn, run_all

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
model: {{layers: 1, width: {width}, heads: 2}}
pretrain: {{steps: 1, batch: 4}}
untagged: {{steps: 2, batch: 4, learning_rate: 0.001, evaluate_every: 1}}
train: {{rounds: 12, batch: 4, checkpoint_every: 2, start: champion, later_rounds: {later}}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("champion"), seed=31)
    repository = job.folder / "repository"
    for number in range(4):
        (repository / f"app/new_{number}.py").write_text(f"VALUE = {number}\n" * 30)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "more")
        git(repository, "branch", f"b{number}")
    return job


@pytest.fixture(scope="module")
def told(job):
    """What each run reported, in order."""

    def config(name, rev, later=2, width=32, runs=3):
        return job.write(f"{name}.yaml", 12, 4, TEXT, rev=rev, later=later, width=width, runs=runs)

    order = [
        (config("first", "b0"), False),
        (config("early", "b1"), False),  # nothing is promoted yet
        (config("first", "b0"), "promote"),
        (config("wide", "b1", width=64), False),
        (config("second", "b1"), "promote"),
        (config("second", "b1"), False),
        (config("third", "b2"), False),
        (config("fourth", "b3"), False),
    ]
    return run_all(job, order)


FINISHED = (0, 4, 6)


def test_the_first_run_has_all_rounds_and_the_later_ones_few_on_top_of_the_promoted_model(told):
    assert [told[n]["rounds"] for n in FINISHED] == [12, 2, 2]
    assert [told[n]["goes_on_from"] for n in FINISHED] == [None, told[0]["model_uri"], told[4]["model_uri"]]
    assert "champion" in told[4]["losses"] and "pretrained" in told[0]["losses"]
    assert f"goes on from {told[0]['model_uri']}" in told[4]["description"]


def test_a_later_run_begins_with_the_promoted_weights(told):
    """Its loss before any of its own training is that of the promoted model on the same held-out text."""
    promoted = told[0]["losses"]["protected"]
    assert told[4]["losses"]["champion"] == pytest.approx(promoted, rel=0.05)
    assert told[4]["losses"]["champion"] < told[0]["losses"]["pretrained"]


def test_the_bounds_of_all_runs_are_those_of_an_independent_computation_and_spend_the_targets(told):
    runs = []
    for number, place in enumerate(FINISHED):
        runs.append(drawn(Path(told[place]["certificate_dir"])))
        for row in told[place]["rows"]:
            assert row["earlier_runs"] == number
            exact = posterior_of_runs([earlier[row["name"]] for earlier in runs], prior=row["prior"]).value
            assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02
            assert row["all_runs"] <= row["target"]
    assert max(row["all_runs"] / row["target"] for row in told[6]["rows"]) > 0.95, "noise is wasted"


def test_each_certificate_names_the_run_that_it_goes_on_from_among_those_it_counts(told):
    names = [read_certificate(Path(told[n]["certificate_dir"])).facts for n in FINISHED]
    assert [facts.training.started_from for facts in names] == [None, names[0].run, names[1].run]
    for place, facts in zip(FINISHED[1:], names[1:], strict=True):
        counted = read_tables(Path(told[place]["certificate_dir"]))["runs.parquet"]
        assert facts.training.started_from in counted["key"].to_list()
        assert counted["rounds"].to_list().count(12) == 1


def test_before_a_review_nothing_is_trained_or_released(told):
    assert "no version of job is promoted" in told[1] and "train.start" in told[1]


def test_another_model_than_the_promoted_one_is_refused(told):
    assert "has not the parameters of the model that the config describes" in told[3]


def test_a_run_done_again_is_read_from_the_cache_though_its_own_version_is_champion_now(told):
    assert told[5]["reused"] and told[5]["model_uri"] == told[4]["model_uri"]
    assert told[2]["reused"] and told[2]["model_uri"] == told[0]["model_uri"]


def test_the_run_after_the_last_is_refused(told):
    assert "3 runs of this store have released what was promised for 3" in told[7]


def test_rounds_are_not_wasted_on_noise_for_full_runs(told):
    """Two runs of two rounds on top cost less than two more full ones would."""
    sigma = [read_certificate(Path(told[n]["certificate_dir"])).facts.plan.noise_multiplier for n in FINISHED]
    assert np.ptp(sigma) < 0.1 * max(sigma), "later runs keep the noise that was planned for them"
