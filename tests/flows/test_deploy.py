"""The containers' entry point, run with a stand-in for the programs that it starts: what those get."""

import os
import subprocess

import pytest
import yaml
from local_servers import ROOT

from tasks.runtime.environment import JSON_LOGS

SECRETS = ("prefect_password", "prefect_db_password", "mlflow_password", "webhook_url")


@pytest.fixture
def begin(tmp_path):
    """(role, variables) → the environment of the program that takes the entry point's place."""
    programs, secrets = tmp_path / "bin", tmp_path / "secrets"
    programs.mkdir()
    secrets.mkdir()
    for name in SECRETS:
        (secrets / name).write_text(f"the {name}\n")
    said = tmp_path / "environment"
    (programs / "prefect").write_text(f'#!/bin/sh\nenv -0 > "{said}"\n')
    (programs / "prefect").chmod(0o755)

    def run(role, **variables):
        given = {"PATH": f"{programs}:{os.environ['PATH']}", "HUSH_SECRETS": str(secrets), **variables}
        done = subprocess.run(
            [ROOT / "deploy" / "entrypoint.sh", role], env=given, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return dict(part.split("=", 1) for part in said.read_text().split("\0") if part)

    run.secrets = secrets
    return run


@pytest.mark.parametrize("role", ["worker", "prefect"])
def test_json_logs_reach_every_program_of_prefect(begin, role):
    assert JSON_LOGS.items() <= begin(role, HUSH_LOG_FORMAT="json").items()
    assert (
        not JSON_LOGS.keys() & begin(role).keys()
        and not JSON_LOGS.keys() & begin(role, HUSH_LOG_FORMAT="text").keys()
    )
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert "HUSH_LOG_FORMAT" in stack["services"][role]["environment"]
    ((name, value),) = JSON_LOGS.items()
    assert f"export {name}={value}" in (ROOT / "docs" / "runbook.md").read_text()


def test_the_webhooks_address_comes_from_a_file_and_an_empty_one_names_nobody(begin):
    assert begin("worker")["HUSH_WEBHOOK_URL"] == "the webhook_url"
    (begin.secrets / "webhook_url").write_text("")
    assert begin("worker")["HUSH_WEBHOOK_URL"] == ""
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    worker = stack["services"]["worker"]
    assert "webhook_url" in worker["secrets"] and "HUSH_WEBHOOK_URL" not in str(worker["environment"])
    assert worker["environment"]["REQUESTS_CA_BUNDLE"] == "${HUSH_CA_BUNDLE:-}"
    assert "WEBHOOK" not in (ROOT / "deploy" / ".env.example").read_text()
