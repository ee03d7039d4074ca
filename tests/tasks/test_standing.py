"""What a kept answer asks of registry and orchestrator, of real ones: every doubt sends the job to its flow."""

import pytest
from mlflow import MlflowClient
from mlflow_server import MlflowServer
from template import copy_tracker

from tasks.runtime.environment import Home
from tasks.standing import any_refuted, has_known_registry, is_registered, note_answered


@pytest.fixture(params=["own", "served"])
def registry(request, tmp_path, monkeypatch):
    """(a client of a registry that the environment names, what takes the registry away)."""
    home = Home(tmp_path / "home").create()
    monkeypatch.setenv("HUSH_HOME", str(home.root))
    copy_tracker(home.mlflow_database)
    uri, server = f"sqlite:///{home.mlflow_database}", None
    if request.param == "served":
        server = MlflowServer(home.root).start()
        uri = server.url
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    yield MlflowClient(uri, uri), server.kill if server else home.mlflow_database.unlink
    if server:
        server.kill()


@pytest.mark.few(1)
def test_a_version_and_a_refutation_are_seen_without_mlflow(registry):
    client, take_away = registry
    assert has_known_registry() and not is_registered("models:/job/1") and not any_refuted()
    client.create_registered_model("job")
    client.create_model_version("job", "s3://bucket/model")
    assert is_registered("models:/job/1") and not is_registered("models:/job/2")
    assert not is_registered("models:/other/1") and not is_registered("no version")
    client.set_model_version_tag("job", "1", "audit", "held")
    assert not any_refuted()
    client.set_model_version_tag("job", "1", "audit", "refuted")
    assert any_refuted()
    client.set_model_version_tag("job", "1", "audit", "held")
    take_away()
    assert not is_registered("models:/job/1") and any_refuted(), "a doubt is no answer"


def test_a_registry_behind_a_plugin_is_not_asked(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "databricks")
    assert not has_known_registry()


def test_prefect_shows_that_a_job_was_asked_for(prefect_harness, monkeypatch):
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert note_answered("train", "train nobody"), "nobody is to be told"
    monkeypatch.setenv("PREFECT_API_URL", str(PREFECT_API_URL.value()))
    assert note_answered("train", "train answered")
    with get_client(sync_client=True) as client:
        (run,) = (run for run in client.read_flow_runs() if run.name.startswith("train "))
    assert (run.name, run.state.type.value, run.state.name) == ("train answered", "COMPLETED", "Cached")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert not note_answered("train", "train answered")
