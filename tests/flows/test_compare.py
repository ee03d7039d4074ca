"""`hush compare` as a user runs it: rivals on one repository, several seeds, stopped and gone on with."""

from __future__ import annotations

import json
import os
import re
import signal

import polars as pl
import pytest
from jobs import CONFIG, Job
from pydantic import ValidationError
from waiting import PATIENCE, until

from flows.compare import Comparison
from flows.rehearse import Effort

CONFIG = CONFIG.replace(
    "pretrain:", "untagged: {{steps: 4, batch: 4, evaluate_every: 2}}\npretrain:"
).replace("checkpoint_every: 2", "checkpoint_every: 50")
RIVALS = "hush/matched/plain,user_wise/2/noise,dropping,group_privacy/chunks"
TRAINED = ("hush/matched/plain", "user_wise/2/noise")
ROUNDS = 150
"""So many that an interrupt finds the first runs amid them."""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    made = Job(tmp_path_factory.mktemp("job"), seed=3)
    made.config = made.write(text=CONFIG, rounds=ROUNDS)
    with made.served():
        yield made


def compared(job, *more, status=0):
    return job.hush(
        "compare", job.config, "--mechanisms", RIVALS, "--seeds", 2, "--parallel", 2, "--out", job.folder / "out",
        *more, status=status,
    )  # fmt: skip


def states(output, name):
    return re.findall(rf"Task run '{name}-\w+' - Finished in state (\w+)", output)


def ledgers(job):
    """Releases counted in each private run's folder."""
    files = sorted((job.home / "store" / "work").glob("*/releases.jsonl"))
    return {file.parent.name: len(file.read_bytes().splitlines()) - 1 for file in files}


@pytest.fixture(scope="module")
def stopped(job):
    """A comparison that was interrupted when a rival had begun to train: its exit status and what was released."""
    child = job.start(
        "compare",
        job.config,
        "--mechanisms",
        RIVALS,
        "--seeds",
        2,
        "--parallel",
        2,
        "--out",
        job.folder / "out",
    )
    until(lambda: any(ledgers(job).values()), "a rival's first round", child, pause=0.1)
    os.kill(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=PATIENCE)
    return child.returncode, output, ledgers(job)


@pytest.fixture(scope="module")
def output(job, stopped):
    return compared(job)


@pytest.mark.slow
def test_an_interrupt_ends_it_within_a_round_and_names_the_way_on(stopped):
    status, output, released = stopped
    assert status == 130 and "continues from here" in output
    assert "Traceback" not in output
    assert 1 <= sum(released.values()) < ROUNDS * len(TRAINED)


def test_suspended_in_prefect_it_waits_no_longer_and_tells_its_threads(monkeypatch):
    import flows.compare as flow
    from tasks.runtime.progress import STOPPING

    monkeypatch.setattr(flow, "suspended", lambda: True)  # as Prefect says it of a run of a deployment
    with pytest.raises(KeyboardInterrupt), flow._together(1) as threads:
        training = threads.submit(STOPPING.wait, PATIENCE)
        flow._result(training)
    assert training.result()
    STOPPING.clear()


@pytest.mark.slow
def test_it_goes_on_and_no_run_ever_releases_more_than_its_rounds(job, stopped, output):
    _, _, before = stopped
    after = ledgers(job)
    assert set(before) <= set(after)
    assert len(after) == 2 * len(TRAINED) and set(after.values()) == {ROUNDS}


@pytest.mark.slow
def test_every_rival_is_measured_on_the_same_text_and_one_is_chosen(job, output):
    table = pl.read_csv(job.folder / "out" / "comparison.csv")
    assert table["rival"].to_list() == RIVALS.split(",")
    ran = table.filter(pl.col("why").is_null() | (pl.col("why") == ""))
    assert ran["rival"].to_list() == [*TRAINED, "dropping"]
    assert (ran["seeds"] == 2).all() and ran["loss"].is_not_null().all()
    assert (ran["perplexity"] - 2 ** ran["loss"]).abs().max() < 1e-9
    assert (ran["worst_bound_to_target"] <= 1).all()
    noisy = ran.filter(pl.col("rival") != "dropping")
    assert ((noisy["noise_multiplier"] / 6 - noisy["effective_noise"]).abs() < 1e-12).all()
    assert (noisy["seconds_a_round"] > 0).all() and (noisy["peak_memory"] > 50 << 20).all()
    assert table.filter("chosen")["rival"].to_list() == [table.sort("loss", nulls_last=True)["rival"][0]]
    runs = pl.read_csv(job.folder / "out" / "runs.csv")
    assert runs.height == 6 and runs.group_by("rival").len()["len"].unique().to_list() == [2]
    for rival in TRAINED:  # other draws, other noise
        assert runs.filter(pl.col("rival") == rival)["loss"].n_unique() == 2
    assert (job.folder / "out" / "comparison.png").stat().st_size > 5000


@pytest.mark.slow
def test_a_rival_that_cannot_be_is_named_with_its_reason_and_the_others_stand(output):
    words = " ".join(output.split())
    assert "group_privacy/chunks: mechanism.select: Input should be 'random'" in words
    assert "take" in words and "runs released something of this data now" in words
    assert "4 runs released" in words


@pytest.mark.slow
def test_it_registers_nothing_and_the_tracker_has_a_run_with_a_child_for_each(job, output):
    from mlflow import MlflowClient

    uri = f"sqlite:///{job.home / 'mlflow.db'}"
    client = MlflowClient(uri, uri)
    assert job.versions() == []
    experiment = client.get_experiment_by_name("job")
    runs = client.search_runs([experiment.experiment_id])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    assert [run.data.tags["mlflow.runName"] for run in parents] == ["comparison"]
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parents[0].info.run_id]
    assert len(children) == 6 == len(runs) - 1
    assert all("bits_per_byte_held_out" in run.data.metrics for run in children)
    files = {file.path for file in client.list_artifacts(parents[0].info.run_id)}
    assert files == {"comparison.csv", "runs.csv", "comparison.png"}
    told = client.get_metric_history(parents[0].info.run_id, "trainings_ended")
    assert [(one.step, one.value) for one in told][-6:] == [(n, n) for n in range(1, 7)]
    assert parents[0].data.metrics["trainings"] == 6 and parents[0].data.metrics["trainings_failed"] == 0


@pytest.mark.slow
def test_again_it_trains_nothing(job, output):
    before = ledgers(job)
    again = compared(job)
    assert ledgers(job) == before
    for step in ("extract", "weigh", "calibrate", "train", "train_untagged", "attack", "certify", "measure"):
        assert states(again, step) and set(states(again, step)) == {"Cached"}, step


@pytest.mark.slow
def test_the_chosen_one_is_registered_by_a_run_that_trains_nothing(job, output):
    """Its first repetition is the run that `hush run` makes of the same keys."""
    before = ledgers(job)
    text = CONFIG.replace("c: 0.4", "c: 0.4, without_secret: plain").replace(", unprotected: true", "")
    path = job.write("chosen.yaml", text=text, rounds=ROUNDS)
    ran = job.hush("run", path)
    assert states(ran, "train") == ["Cached"] and ledgers(job) == before
    assert job.versions() == [1]
    job.hush("verify", "models:/job/1")


@pytest.mark.slow
def test_where_no_rival_can_be_trained_it_says_why(job):
    output = job.hush("compare", job.config, "--mechanisms", "group_privacy/chunks", status=1)
    assert "no rival could be trained" in output and "mechanism.select: Input should be" in output


@pytest.mark.slow
def test_values_stay_where_they_are(job, output):
    shown = json.dumps([output, (job.folder / "out" / "comparison.csv").read_text()])
    assert not any(value.decode() in shown for value in job.values)


@pytest.mark.parametrize("form", [Comparison, Effort])
def test_a_misspelt_key_in_a_form_of_prefect_is_refused(form):
    with pytest.raises(ValidationError, match="Extra inputs"):
        form(mechanismz=["dp_sgd"])
