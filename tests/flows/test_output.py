"""What machines get: one document on standard output that is as its schema says, and nothing else there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import warm
from jsonschema import Draft202012Validator

from flows.cli import app
from flows.output import SCHEMA
from flows.results import RESULTS, output_schema

ROOT = Path(__file__).parents[2]


def hush(home, *arguments, **more):
    environment = {**os.environ, "HUSH_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}
    for name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
        environment.pop(name, None)
    return warm.run("flows.cli", arguments, env=environment)


def document(done, command, status=0):
    assert done.returncode == status, done.stderr[-2000:]
    (line,) = done.stdout.splitlines()
    told = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    Draft202012Validator(output_schema(command)).validate(told)
    assert (told["schema"], told["command"]) == (SCHEMA, command)
    return told


def options(command):
    return {option for parameter in command.params for option in parameter.opts}


def test_every_command_with_a_result_has_both_options_and_a_schema():
    commands = typer.main.get_command(app).commands
    having = {name for name, command in commands.items() if {"--json", "--quiet"} <= options(command)}
    assert having == set(RESULTS)
    assert set(commands) - having == {"serve", "stop", "backup", "restore", "schema", "explain"}
    for name in RESULTS:
        Draft202012Validator.check_schema(output_schema(name))
    assert "--noise" in options(commands["run"]) and "config" in {p.name for p in commands["run"].params}


def test_the_list_of_commands_cuts_no_sentence(tmp_path):
    assert "..." not in (listed := hush(tmp_path, "--help").stdout.partition("Commands:")[2])
    assert all(f"\n  {name} " in listed for name in typer.main.get_command(app).commands)


def test_a_verified_certificate_as_a_document_and_as_lines(certified, tmp_path):
    done = hush(tmp_path, "verify", certified[1], "--json")
    told = document(done, "verify")["result"]
    assert [s["name"] for s in told["secrets"]] == ["first", "se|cond`"] and not told["model_seen"]
    assert all(s["prior"] <= s["bound"] <= s["target"] for s in told["secrets"])
    assert told["said"][0].startswith("certificate verified") and len(told["digest"]) == 64
    plain = hush(tmp_path, "verify", certified[1])
    assert plain.returncode == 0 and told["digest"] in plain.stdout and told["said"][0][:60] in plain.stdout
    quiet = hush(tmp_path, "verify", certified[1], "--quiet")
    assert quiet.stdout.startswith("certificate verified") and told["digest"] in quiet.stdout
    assert len(quiet.stdout) < len(plain.stdout), "progress is left out"


def test_what_fails_says_so_in_the_document_and_in_the_status(certified, tmp_path):
    folder = shutil.copytree(certified[1], tmp_path / "certificate")
    (folder / "bounds.parquet").write_bytes(b"x")
    done = hush(tmp_path, "verify", folder, "--json")
    error = document(done, "verify", status=1)["error"]
    assert error["status"] == 1 and any("bounds.parquet" in line for line in error["failures"])
    assert "bounds.parquet" in done.stderr and "Traceback" not in done.stderr
    done = hush(tmp_path, "run", tmp_path / "none.yaml", "--json")
    error = document(done, "run", status=2)["error"]
    assert "none.yaml" in error["where"] and error["hint"] and done.stderr.startswith("hush: ")


def test_small_commands_give_documents(tmp_path):
    assert document(hush(tmp_path, "runs", "--json"), "runs")["result"]["runs"] == []
    told = document(hush(tmp_path, "canaries", tmp_path / "c", "--count", 2, "--json"), "canaries")["result"]
    assert (Path(told["folder"]) / "canaries.csv").is_file() and "kind: literals" in told["config"]
    known = document(hush(tmp_path, "replicate", "--list", "--json"), "replicate")["result"]["replications"]
    assert {"infeasibility", "ngram"} <= {one["name"] for one in known}
    tmp_path.chmod(0o755)  # others can read the home
    found = document(hush(tmp_path, "doctor", "--json"), "doctor", status=1)["result"]["mistakes"]
    assert any("chmod 700" in mistake for mistake in found)


def test_numbers_that_json_has_not_are_null(capsys, monkeypatch):
    from flows import output

    monkeypatch.setattr(output.OUTPUT, "json", True)
    output.give({"a": [float("nan"), 1.5], "b": {"c": float("-inf")}}, lambda: pytest.fail("rendered"))
    assert json.loads(capsys.readouterr().out)["result"] == {"a": [None, 1.5], "b": {"c": None}}


def test_bash_completes_commands_and_options(tmp_path):
    """In a real bash, by what the command prints for it."""
    script = tmp_path / "hush"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m flows.cli "$@"\n')
    script.chmod(0o700)
    ask = """
    eval "$(hush --show-completion)"
    for words in "hush ver" "hush verify --del"; do
        COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hush_completion hush; echo "${COMPREPLY[@]}"
    done
    complete -p hush
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], env=environment, capture_output=True, text=True, timeout=600
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["verify", "--delta"] and "_hush_completion" in lines[2], done.stdout + done.stderr
