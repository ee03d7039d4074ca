"""A tracker or an orchestrator that is not there is told in seconds, in one line, without its login."""

import shutil
import socket
import sqlite3
from contextlib import contextmanager

import pytest
from local_servers import serving
from template import copy_tracker

from hush_core.errors import InputError
from tasks import reachable

CHECKS = {
    "MLFLOW_TRACKING_URI": reachable.check_tracker,
    "PREFECT_API_URL": reachable.check_orchestrator,
}


def answering(body, status=200, login=None, location=None, seen=None):
    """A web server on loopback that says the same to everybody: what is there instead of the one we want. `login`:
    the only header of authorization that it lets in. `seen`: a list of those that come."""

    def answer(request):
        given = request.headers["Authorization"]
        if seen is not None:
            seen.append(given)
        headers = {"Location": location} if location else {}
        return (status, body, headers) if login in (None, given) else (401, b"", headers)

    return serving(answer)


@contextmanager
def silent():
    """Takes the connection and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def refused(monkeypatch, name, uri):
    monkeypatch.setattr(reachable, "PATIENCE", 0.5)
    monkeypatch.setenv(name, uri)
    with pytest.raises(InputError) as caught:
        CHECKS[name]()
    told = str(caught.value)
    assert name in told and "Hint: " in told and told.isprintable()
    return told


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:9", "http://127.0.0.1:99999", "http://no-such-host.invalid:5000", "http://",
        "http://[::1", "http://ada:pass-4711@127.0.0.1:9/x", "nonsense", "ftp://127.0.0.1/",
        "http://127.0.0.1:port/", "http://a b/",
    ],
)  # fmt: skip
def test_what_is_no_address_or_does_not_answer_is_refused(monkeypatch, name, uri):
    told = refused(monkeypatch, name, uri)
    assert "does not answer" in told or "is no address" in told
    assert "pass-4711" not in told


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    ("body", "status"), [(b"<html>hello", 200), (b"", 404), (b"OK", 200), (b"true", 500)]
)
def test_another_server_is_not_taken_for_ours(monkeypatch, name, body, status):
    with answering(body, status) as uri:
        assert "answers, and is no" in refused(monkeypatch, name, uri)


@pytest.mark.parametrize("name", CHECKS)
def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch, name):
    with silent() as uri:
        assert "does not answer" in refused(monkeypatch, name, uri)


def test_a_server_that_is_being_started_is_waited_for_and_one_that_is_not_ours_is_not(monkeypatch):
    asked = []

    def answer(request):
        asked.append(request.path)
        if len(asked) < 3:
            raise ConnectionError("no answer yet")
        return 200, b"true" if request.path.endswith("/health") else b'"3.4.0"', {}

    with serving(answer) as uri:
        monkeypatch.setenv("PREFECT_API_URL", f"{uri}/api")
        reachable.await_orchestrator(60)
    assert asked == [*["/api/health"] * 3, "/api/admin/version"]
    with answering(b"<html>") as uri, pytest.raises(InputError, match="is no Prefect server"):
        monkeypatch.setenv("PREFECT_API_URL", f"{uri}/api")
        reachable.await_orchestrator(60)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(InputError, match="does not answer"):
        reachable.await_orchestrator(0)


def test_a_tracker_that_wants_a_login_for_all_it_says_is_known_with_it(monkeypatch):
    """As MLflow's own authentication does, its version included."""
    with answering(b"3.17.0", login="Basic aHVzaDpzZWNyZXQ=") as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "hush")
        for password in ("", "wrong"):
            monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
            assert "wants a login" in refused(monkeypatch, "MLFLOW_TRACKING_URI", uri)
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
        reachable.check_tracker()


def test_a_login_goes_to_nobody_whom_an_address_redirects_to(monkeypatch):
    seen = []
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "hush")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "hush:secret")
    with answering(b"3.17.0", seen=seen) as there, answering(b"", 302, location=f"{there}/version") as uri:
        for name in CHECKS:
            assert "answers, and is no" in refused(monkeypatch, name, uri)
    assert seen == []


def test_a_database_must_listen_or_be_one(monkeypatch, tmp_path):
    (tmp_path / "text.db").write_text("no database, this")
    assert "does not answer" in refused(
        monkeypatch, "MLFLOW_TRACKING_URI", "postgresql+psycopg2://u:p@127.0.0.1:9/m"
    )
    assert "no SQLite" in refused(monkeypatch, "MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/text.db")
    assert "cannot be created" in refused(monkeypatch, "MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/no/m.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new.db")
    reachable.check_tracker()


def test_what_is_not_set_is_not_asked_for(monkeypatch):
    for name, check in CHECKS.items():
        monkeypatch.delenv(name, raising=False)
        check()


def test_a_disk_that_is_full_is_told_first(monkeypatch):
    reachable.check_disk()
    monkeypatch.setattr(reachable, "LEAST_ROOM", 1 << 62)  # as if so much were needed
    with pytest.raises(InputError, match="MiB free") as caught:
        reachable.check_disk()
    assert "\n" not in str(caught.value) and "HUSH_HOME" in str(caught.value)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """One that MLflow made itself."""
    path = tmp_path_factory.mktemp("tracker") / "mlflow.db"
    copy_tracker(path)
    return path


@pytest.mark.parametrize(
    ("schema", "says"),
    [(None, ""), ("451aebb31d03", "older MLflow"), ("ffffffffffff", "newer MLflow")],
)
def test_the_schema_of_a_trackers_database_is_looked_at_first(database, monkeypatch, tmp_path, schema, says):
    copy = tmp_path / "mlflow.db"
    shutil.copyfile(database, copy)
    if schema:
        with sqlite3.connect(copy) as opened:
            opened.execute("UPDATE alembic_version SET version_num = ?", (schema,))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{copy}")
    if not says:
        return reachable.check_tracker()
    with pytest.raises(InputError, match=says) as caught:
        reachable.check_tracker()
    assert "Hint: " in str(caught.value) and "\n" not in str(caught.value)


def test_a_database_of_something_else_is_refused(monkeypatch, tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as opened:
        opened.execute("CREATE TABLE pets (name TEXT)")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InputError, match="no database of MLflow"):
        reachable.check_tracker()
