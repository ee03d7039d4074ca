"""The containers' entry point, run with a stand-in for the programs that it starts: what those get."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from local_servers import ROOT

from tasks.runtime.environment import JSON_LOGS, OWN_SERVERS

SECRETS = ("prefect_password", "prefect_db_password", "mlflow_password", "mlflow_db_password", "webhook_url")
RUNBOOK = (ROOT / "docs" / "running.md").read_text()


@pytest.fixture
def begin(tmp_path):
    """(role, variables) → the environment of the program that takes the entry point's place."""
    programs, secrets = tmp_path / "bin", tmp_path / "secrets"
    programs.mkdir()
    secrets.mkdir()
    for name in SECRETS:
        (secrets / name).write_text(f"the {name}\n")
    said = tmp_path / "environment"
    for name in ("prefect", "mlflow", "python", "hush"):
        (programs / name).write_text(f'#!/bin/sh\nprintf %s "$*" > "{said}.words"\nenv -0 > "{said}"\n')
        (programs / name).chmod(0o755)

    def run(role, *words, **variables):
        given = {"PATH": f"{programs}:{os.environ['PATH']}", "HUSH_SECRETS": str(secrets), **variables}
        done = subprocess.run(
            [ROOT / "deploy" / "entrypoint.sh", role, *words],
            env=given,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return dict(part.split("=", 1) for part in said.read_text().split("\0") if part)

    run.secrets, run.words = secrets, tmp_path / "environment.words"
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
    assert f"export {name}={value}" in RUNBOOK


def test_the_webhooks_address_comes_from_a_file_and_an_empty_one_names_nobody(begin):
    assert begin("worker")["HUSH_WEBHOOK_URL"] == "the webhook_url"
    (begin.secrets / "webhook_url").write_text("")
    assert begin("worker")["HUSH_WEBHOOK_URL"] == ""
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    worker = stack["services"]["worker"]
    assert "webhook_url" in worker["secrets"] and "HUSH_WEBHOOK_URL" not in str(worker["environment"])
    assert worker["environment"]["REQUESTS_CA_BUNDLE"] == "${HUSH_CA_BUNDLE:-}"
    assert "WEBHOOK" not in (ROOT / "deploy" / ".env.example").read_text()


def test_prune_deletes_for_good_what_is_old_and_no_command_line_shows_a_password(begin):
    found = begin("prune", "30d")
    assert begin.words.read_text() == "gc --artifacts-destination /data/artifacts --older-than 30d"
    assert found["MLFLOW_BACKEND_STORE_URI"].startswith(
        "postgresql+psycopg2://mlflow:the mlflow_db_password@"
    )
    assert found["MLFLOW_TRACKING_URI"] == found["MLFLOW_BACKEND_STORE_URI"]
    begin("prune")
    assert begin.words.read_text().endswith("--older-than 90d") and "hush-entrypoint prune 90d" in RUNBOOK


def test_the_worker_ends_its_runs_first_and_closes_what_a_killed_one_left(begin):
    begin("worker")
    assert begin.words.read_text() == "-m flows.worker hush-process"
    worker = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["worker"]
    # one record of processes for every container that this one becomes; nothing else reaches these servers' runs
    assert worker["hostname"] == "worker" and worker["stop_grace_period"] == "2m"
    assert worker["environment"][OWN_SERVERS].split() == ["PREFECT_API_URL", "MLFLOW_TRACKING_URI"]


def test_a_command_in_the_workers_container_has_its_logins(begin):
    found = begin("hush", "verify", "models:/tiny/1")
    assert begin.words.read_text() == "verify models:/tiny/1" and "hush-entrypoint hush verify" in RUNBOOK
    assert found["PREFECT_API_AUTH_STRING"] == "hush:the prefect_password"
    assert (found["MLFLOW_TRACKING_USERNAME"], found["MLFLOW_TRACKING_PASSWORD"]) == (
        "hush",
        "the mlflow_password",
    )


def test_the_images_parts_agree_with_the_project():
    """What is copied exists and reaches the builder, the file of versions is used, and root runs nothing."""
    lines = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [
        word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1] if word[0] != "-"
    ]
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(copied) == sorted(sent) and all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= set(copied) and set(project["project"]["license-files"]) <= set(copied)
    (torch,) = (one for one in project["project"]["dependencies"] if one.startswith("torch="))
    installs = [line for line in lines if line.startswith("RUN pip install")]
    assert installs[0].endswith(f" {torch}") and " -c constraints.txt " in installs[1]
    users = [line for line in lines if line.startswith(("USER", "ENTRYPOINT"))]
    assert users == ["USER hush", 'ENTRYPOINT ["hush-entrypoint"]']
    folder = re.search(r"PREFECT_UI_STATIC_DIRECTORY=(\S+)", "\n".join(lines)).group(1)
    assert folder.startswith("/home/hush/"), "Prefect writes its pages there, and has none where it may not"


def test_the_runbooks_secrets_are_readable_in_the_containers_and_in_no_other_way(tmp_path):
    """As printed, by somebody whose umask is 077: compose mounts the files as they are."""
    blocks = re.findall(r"```\n(.*?)```", RUNBOOK, re.S)
    (block,) = (one for one in blocks if "deploy/secrets" in one)
    (tmp_path / "deploy" / "secrets").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / ".env.example", tmp_path / "deploy")
    done = subprocess.run(
        ["sh", "-euc", f"umask 077\n{block}"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "deploy" / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    wanted = {Path(one["file"]).name for one in stack["secrets"].values()}
    made = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert made == dict.fromkeys(wanted, 0o444)
    passwords = {(folder / name).read_text() for name in wanted if name.endswith("_password")}
    assert len(passwords) == 5 and min(map(len, passwords)) >= 64
    assert "PRIVATE KEY" in (folder / "signing_key").read_text() and (tmp_path / ".env").is_file()
