"""The tracker, really: runs, registered versions and downloads in an MLflow store of the test's own."""

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mlflow
import pytest
import warm
from versions import artifact, killed_at

from hush_core.certificate import verify_certificate
from hush_core.errors import InputError, VerificationError
from tasks.runtime import registry
from tasks.runtime.environment import home
from tasks.runtime.store import directory_sha256
from tasks.runtime.versions import download_certificate, find_version, model_files


def test_a_version_carries_what_was_certified(register, certified, tmp_path):
    done = register("whole")
    assert (done.model_uri, done.version, done.link) == ("models:/whole/1", "1", None)
    certificate, model = download_certificate(done.model_uri, tmp_path), model_files(done.model_uri, tmp_path)
    assert directory_sha256(model) == directory_sha256(certified[0])
    assert verify_certificate(certificate, model).rows.height == 2
    entry = find_version(done.model_uri)
    assert entry.tags["validation_status"] == "pending" and entry.tags["method"] == "best"
    assert entry.description == "check models:/whole/1"
    run = mlflow.MlflowClient().get_run(done.run_id)
    assert run.info.status == "FINISHED" and run.data.metrics["secrets"] == 2.0
    listed = {a.path for a in mlflow.MlflowClient().list_artifacts(done.run_id, "tables")}
    assert listed == {"tables/bounds.parquet"}


def test_no_pickle_and_mlflow_loads_it_offline(register):
    done = register("loads")
    suffixes = {p.suffix for p in artifact(done.model_uri).rglob("*") if p.is_file()}
    assert suffixes <= {".safetensors", ".json", ".parquet", ".yaml", ".txt", ""}
    pipeline = mlflow.transformers.load_model(done.model_uri)
    assert pipeline("def f(", max_new_tokens=3)[0]["generated_text"].startswith("def f(")
    assert len(mlflow.pyfunc.load_model(done.model_uri).predict(["def f(", "x"])) == 2


def test_the_same_certificate_is_registered_once(register):
    assert register("once") == register("once")
    assert len(mlflow.MlflowClient().search_model_versions("name = 'once'")) == 1


def test_what_mlflow_makes_of_the_model_lies_where_a_kill_leaves_nothing_for_good(register, monkeypatch):
    """It stages a copy of the whole model, which a killed run left in the machine's /tmp."""
    real, before, seen = registry._log_model, tempfile.gettempdir(), []
    monkeypatch.setattr(
        registry, "_log_model", lambda *args: (seen.append(tempfile.gettempdir()), real(*args))[1]
    )
    register("staged")
    assert len(seen) == 1 and Path(seen[0]).is_relative_to(home().store / "tmp")
    assert tempfile.gettempdir() == before and not Path(seen[0]).exists()


def test_a_failure_midway_registers_nothing(register, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="holds no saved model"):
        register("broken", model_dir=empty)
    client = mlflow.MlflowClient()
    assert not client.search_model_versions("name = 'broken'")
    experiment = client.get_experiment_by_name("tests").experiment_id
    (run,) = client.search_runs([experiment], "attributes.run_name LIKE 'broken%'")
    assert run.info.status == "FAILED"
    assert register("broken").version == "1"


def test_a_strange_part_or_tokenizer_is_refused(register, tmp_path):
    uri = register("strange").model_uri
    (artifact(uri) / "code").mkdir()
    (artifact(uri) / "code" / "x.py").touch()
    (artifact(uri) / "components/tokenizer/tokenizer_config.json").write_text("{}")
    with pytest.raises(VerificationError) as caught:
        model_files(uri, tmp_path / "a")
    assert len(caught.value.failures) == 2
    shutil.rmtree(artifact(uri) / "certificate")
    with pytest.raises(VerificationError, match="certificate is missing"):
        download_certificate(uri, tmp_path / "b")


def test_the_certified_file_that_was_edited_is_named_first(register, tmp_path):
    """What MLflow was told of a model is made from its files, so that an edit of one shows there, too."""
    uri = register("edited-first").model_uri
    with open(artifact(uri) / "model" / "tokenizer_config.json", "a") as file:
        file.write(" ")
    with pytest.raises(VerificationError) as caught:
        model_files(uri, tmp_path / "a")
    first, second = caught.value.failures
    assert first == "model/tokenizer_config.json: missing or not the model that was certified"
    assert "components/tokenizer" in second


def test_a_model_whose_run_was_deleted_for_good_is_registered_anew(register):
    """As `mlflow gc` deletes it: the version stays, and leads to a run that is not there."""
    first = register("run-gone")
    client = mlflow.MlflowClient()
    client.delete_run(first.run_id)
    assert register("run-gone") == first  # in MLflow's bin it is there still
    client._tracking_client.store._hard_delete_run(first.run_id)
    again = register("run-gone")
    assert again.model_uri == "models:/run-gone/2" == register("run-gone").model_uri
    assert client.get_run(again.run_id).info.status == "FINISHED"


# what a kill, or a server that goes away, leaves half done


def status_of(name):
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("tests").experiment_id
    return [r.info.status for r in client.search_runs([experiment], f"attributes.run_name LIKE '{name} %'")]


CALLS = (
    "set_terminated",
    "create_model_version",
    "create_registered_model",
    "update_model_version",
    "get_run",
)


@pytest.mark.few(6)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_registration_that_was_cut_is_finished_by_the_next(register, call, when):
    """At each call, before and after it was heard; the run is left as a kill -9 leaves it, RUNNING."""
    name = f"cut-{call.replace('_', '-')}-{when}"
    with killed_at(call, when):
        register(name)
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("tests").experiment_id
    for run in client.search_runs([experiment], f"attributes.run_name LIKE '{name} %'"):
        if run.info.status != "FINISHED":
            client.update_run(run.info.run_id, status="RUNNING")
    while mlflow.active_run():
        mlflow.end_run("RUNNING")
    done = register(name)
    assert done == register(name) and done.model_uri == f"models:/{name}/1"
    (entry,) = client.search_model_versions(f"name = '{name}'")
    assert entry.description == f"check models:/{name}/1"
    assert status_of(name) == ["FINISHED"]
    run = client.get_run(done.run_id)
    assert len(client.get_metric_history(run.info.run_id, "secrets")) == 1
    assert len(client.search_logged_models([experiment], f"source_run_id = '{run.info.run_id}'")) == 1


def test_two_that_register_the_same_at_once_make_one_version(register, certified):
    """Two processes of one home: the second waits, and finds the first one's version."""
    code = f"""
from pathlib import Path
from tasks.runtime.environment import prepare_environment
prepare_environment()
from tasks.runtime.registry import (record_run)
print(record_run(experiment="tests", model_name="raced", params={{}}, metrics={{}}, folders={{}},
    certificate_dir=Path({str(certified[1])!r}), model_dir=Path({str(certified[0])!r}), tags={{}},
    description="models:/raced/VERSION").version)
"""
    mlflow.MlflowClient().search_experiments()  # the database is there before both
    environment = os.environ | {"PYTHONPATH": warm.PATHS}
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: warm.run("coded", [code], env=environment), range(2)))
    assert [done.stdout.split()[-1:] for done in both] == [["1"], ["1"]], both
    assert len(mlflow.MlflowClient().search_model_versions("name = 'raced'")) == 1
    assert status_of("raced") == ["FINISHED"]
