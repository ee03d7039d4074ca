"""What an artifact store answers: a file that is not there is the version's fault, everything else is not."""

from contextlib import contextmanager

import mlflow
import pytest
from local_servers import serving
from mlflow.exceptions import MlflowException
from versions import listed

from hush_core.errors import InputError, Unavailable, VerificationError
from tasks.audit_record import note_elsewhere
from tasks.refutation import refuted_runs
from tasks.runtime.versions import download_certificate, fetch_artifact, find_version

RUN = "7e57" * 16
"""Of no other test: what one of them refutes stays refuted in the home that they share."""
LISTED = b'{"files": [{"path": "certificate.json", "is_dir": false, "file_size": 2}]}'


@contextmanager
def store(status, listed=LISTED):
    """The artifact API of an MLflow server that lists one file, and answers with a status when it is asked for."""

    def answer(request):
        if "path=" not in request.path:
            return status, b"{}", {}
        return 200, listed if request.path.endswith("certificate") else b'{"files": []}', {}

    with serving(answer) as address:
        yield f"{address}/api/2.0/mlflow-artifacts/artifacts/m"


@pytest.fixture
def version(monkeypatch):
    """Of a registry, with its artifacts at an address."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    return lambda name, source: listed(name, [source])[0]


def test_what_an_mlflow_server_keeps_is_asked_for_in_one_line_without_one(version, tmp_path):
    with pytest.raises(Unavailable, match="MLFLOW_TRACKING_URI: names no MLflow server"):
        download_certificate(version("served", "mlflow-artifacts:/1/2/artifacts/m"), tmp_path / "served")


def test_only_a_file_that_is_not_there_is_missing(version, tmp_path):
    with store(404) as source, pytest.raises(VerificationError, match="is missing from the artifact store"):
        download_certificate(version("gone", source), tmp_path / "gone")
    with store(200, listed=b'{"files": []}') as source, pytest.raises(VerificationError, match="is missing"):
        download_certificate(version("empty", source), tmp_path / "empty")
    with store(200) as source:
        found = download_certificate(version("there", source), tmp_path / "there")
    assert (found / "certificate.json").read_bytes() == b"{}"


@pytest.mark.parametrize("status", [401, 403, 500])
def test_what_the_store_refuses_is_no_fault_of_the_version(version, tmp_path, status):
    with store(status) as source, pytest.raises(MlflowException, match=str(status)):
        download_certificate(version(f"refused-{status}", source), tmp_path)


def test_a_number_that_no_database_holds_is_no_version(version):
    version("numbered", "nowhere")
    for number in ("2147483648", "9" * 20, "9" * 5000):
        with pytest.raises(InputError, match=f"models:/numbered/{number}: is not in the registry"):
            find_version(f"models:/numbered/{number}")


def test_an_artifact_of_a_run_is_missing_or_refused(version, tmp_path):
    """MLflow's own look at `runs:/` answers "not there" in both cases."""
    client, part = mlflow.MlflowClient(), "audits/audit.json"
    run = client.create_run(client.create_experiment("kept", (tmp_path / "kept").as_uri())).info.run_id
    client.log_text(run, "said", part)
    assert fetch_artifact(f"runs:/{run}/audits/other.json", tmp_path) is None
    assert fetch_artifact(f"runs:/{'0' * 32}/{part}", tmp_path) is None
    assert fetch_artifact(f"runs:/{run}/{part}", tmp_path).read_text() == "said"
    with store(403) as source:
        refused = client.create_run(client.create_experiment("refused", source)).info.run_id
        with pytest.raises(MlflowException, match="403"):
            fetch_artifact(f"runs:/{refused}/{part}", tmp_path)


def test_a_refuted_model_of_others_that_may_not_be_read_stops_no_job(version, caplog):
    """It is told, as nobody here can know whose run was refuted; a store that is out of order still stops it."""
    with store(403) as source:
        uri = version("of-others", source)
        mlflow.MlflowClient().set_model_version_tag("of-others", "1", "audit", "refuted")
        note_elsewhere({RUN})
        assert f"{uri} was refuted by an audit, and this account may not read of which run" in caplog.text
        assert RUN not in refuted_runs()
    mlflow.MlflowClient().delete_registered_model("of-others")
    with store(500) as source:
        version("out-of-order", source)
        mlflow.MlflowClient().set_model_version_tag("out-of-order", "1", "audit", "refuted")
        with pytest.raises(MlflowException, match="500"):
            note_elsewhere({RUN})
    mlflow.MlflowClient().delete_registered_model("out-of-order")
