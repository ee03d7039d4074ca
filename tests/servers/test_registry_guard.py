"""A real MLflow server with its login on: who may crown a model, and by which words no one else can."""

import base64
import json
import os
import secrets
import urllib.error
import urllib.request

import pytest
from fresh_process import environment
from local_servers import answers, free_port, module, stop
from template import copy_tracker
from waiting import until

from tasks.runtime.environment import Home, settings
from tasks.runtime.registry_guard import SERVICE, write_login

pytestmark = pytest.mark.servers


class Registry:
    """Requests to the server, by account: `call(who, method, path, body)` → status."""

    def __init__(self, url):
        self.url, self.passwords = url, {}

    def call(self, who, method, path, body, kind="application/json", api="api/2.0"):
        token = base64.b64encode(f"{who}:{self.passwords[who]}".encode()).decode()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/{api}/mlflow/{path}", data,
            {"Authorization": f"Basic {token}", "Content-Type": kind}, method=method,
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def champion(self):
        from mlflow import MlflowClient

        os.environ.update(MLFLOW_TRACKING_USERNAME=SERVICE, MLFLOW_TRACKING_PASSWORD=self.passwords[SERVICE])
        try:
            return dict(MlflowClient(self.url, self.url).get_registered_model("code").aliases)
        finally:
            for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
                os.environ.pop(name)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """With a model of two versions; `ada` manages it, `root` is an admin."""
    folder, port = tmp_path_factory.mktemp("guarded"), free_port()
    found = Registry(f"http://127.0.0.1:{port}")
    found.passwords = {name: secrets.token_hex(16) for name in (SERVICE, "ada", "root")}
    write_login(folder / "login.ini", f"sqlite:///{folder / 'users%20.db'}")
    assert (folder / "login.ini").stat().st_mode & 0o777 == 0o600
    copy_tracker(folder / "mlflow.db")
    given = {
        **environment(folder / "home"), **settings(Home(folder / "home").create()),
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / "login.ini"),
        "MLFLOW_AUTH_ADMIN_PASSWORD": found.passwords[SERVICE],
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }  # fmt: skip
    command = ["mlflow", "server", "--app-name", "hush", "--workers", "1"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    child = module(command, folder / "log", given)
    try:
        until(lambda: answers(f"{found.url}/health"), "MLflow")
        for name in ("ada", "root"):
            made = found.call(
                SERVICE, "POST", "users/create", {"username": name, "password": found.passwords[name]}
            )
            assert made == 200, (folder / "log").read_text()[-3000:]
        assert (
            found.call(SERVICE, "PATCH", "users/update-admin", {"username": "root", "is_admin": True}) == 200
        )
        assert found.call("ada", "POST", "registered-models/create", {"name": "code"}) == 200
        for _ in range(2):
            assert found.call("ada", "POST", "model-versions/create", NEW) == 200
        yield found
    finally:
        stop(child)


NEW = {"name": "code", "source": "s3://nowhere/x"}
PROMPT = {"name": "code", "key": "mlflow.prompt.is_prompt", "value": "true"}
ALIAS = {"name": "code", "alias": "champion", "version": "1"}
TAG = {"name": "code", "version": "1", "key": "validation_status", "value": "approved"}


@pytest.mark.parametrize("who", ["ada", "root"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "registered-models/alias", ALIAS),
        ("POST", "registered-models/alias", {**ALIAS, "alias": "Champion"}),
        ("POST", "model-versions/set-tag", TAG),
        ("POST", "model-versions/set-tag", {**TAG, "key": "review_signature"}),
        ("POST", "model-versions/set-tag", {**TAG, "key": "decision_7"}),
        ("POST", "model-versions/set-tag", {**TAG, "key": "mlflow.prompt.is_prompt", "value": "true"}),
        ("POST", "registered-models/set-tag", PROMPT),
        ("DELETE", "model-versions/delete-tag", {k: TAG[k] for k in ("name", "version", "key")}),
        ("POST", "model-versions/create", {**NEW, "tags": [{"key": TAG["key"], "value": "approved"}]}),
    ],
)
def test_others_may_neither_crown_nor_decide(registry, who, method, path, body):
    assert registry.call(who, method, path, body) == 403
    assert "champion" not in registry.champion()


def test_no_other_form_of_the_request_comes_through(registry):
    """Of the address, of the body, of its type: MLflow's own parser reads what the guard looks at."""
    for api in ("api/2.0", "ajax-api/2.0"):
        for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
            for body in (ALIAS, json.dumps(json.dumps(ALIAS)).encode()):
                assert registry.call("ada", "POST", "registered-models/alias", body, kind, api) >= 400
    for path in ("registered-models//alias", "registered-models/alias/", "registered-models/./alias"):
        assert registry.call("ada", "POST", path, ALIAS) >= 400
    assert "champion" not in registry.champion()


def test_all_else_is_as_mlflow_decides(registry):
    assert registry.call("ada", "POST", "registered-models/alias", {**ALIAS, "alias": "beta"}) == 200
    assert registry.call("ada", "POST", "model-versions/set-tag", {**TAG, "key": "note"}) == 200
    assert registry.champion() == {"beta": "1"}
    registry.passwords["nobody"] = "wrong" * 4
    assert registry.call("nobody", "POST", "registered-models/alias", ALIAS) == 401


def test_hush_crowns_and_its_champion_stays(registry):
    assert registry.call(SERVICE, "POST", "model-versions/set-tag", TAG) == 200
    assert registry.call(SERVICE, "POST", "registered-models/alias", ALIAS) == 200
    crowned = {"champion": "1"}.items()
    assert crowned <= registry.champion().items()
    gone = {"name": "code", "alias": "champion"}
    for who in ("ada", "root"):
        assert registry.call(who, "DELETE", "registered-models/alias", gone) == 403
        for version in ("1", "01", " 1", "+1"):  # MLflow reads all of them as 1
            body = {"name": "code", "version": version}
            assert registry.call(who, "DELETE", "model-versions/delete", body) == 403
        assert registry.call(who, "DELETE", "registered-models/delete", {"name": "code"}) == 403
        assert (
            registry.call(who, "POST", "registered-models/rename", {"name": "code", "new_name": "x"}) == 403
        )
    assert crowned <= registry.champion().items()
    assert registry.call("ada", "DELETE", "model-versions/delete", {"name": "code", "version": "2"}) == 200
    assert registry.call(SERVICE, "DELETE", "registered-models/alias", gone) == 200


def test_an_admin_cannot_become_hush(registry):
    taken = {"username": SERVICE, "password": "a-new-password-of-roots"}
    assert registry.call("root", "PATCH", "users/update-password", taken) == 403
    assert registry.call("root", "DELETE", "users/delete", {"username": SERVICE}) == 403
    own = {"username": "ada", "password": "another-password-of-adas"}
    assert registry.call("root", "PATCH", "users/update-password", own) == 200
