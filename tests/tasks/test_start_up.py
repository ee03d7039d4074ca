"""What a command does not need is not loaded: who asks for help does not wait for torch."""

import json
import re
import shutil
import subprocess
import sys
from typing import get_args

import pytest
from fresh_process import environment
from jobs import Job

from flows.commands.jobs import METHODS
from hush_core.config import Method

HEAVY = {
    "torch", "transformers", "pytorch_lightning", "peft", "prefect", "mlflow", "matplotlib", "polars", "numpy",
    "scipy", "ortools", "dp_accounting", "hyperscan", "sqlalchemy", "fastapi", "pandas", "rich",
}  # fmt: skip


COMMANDS = """\
import atexit, json, os, sys
from flows import cli

atexit.register(lambda: print("threads:", os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.stderr))
status = 0
for words in json.loads(sys.argv[1]):
    sys.argv = ["hush", *words]
    try:
        cli.main()
    except SystemExit as end:
        status = end.code
sys.exit(status)
"""


def loaded(home, *commands):
    """The top-level modules that commands load, one after the other in one process."""
    given = {name: value for name, value in environment(home).items() if name != "OPENBLAS_NUM_THREADS"}
    words = json.dumps([[*map(str, command)] for command in commands])
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", COMMANDS, words],
        env=given, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    names = set(re.findall(r"^import time: .*\| +([\w.]+)$", done.stderr, re.M))
    assert "typer" in names, done.stderr[-2000:]
    return done, {name.split(".")[0] for name in names}


def test_help_loads_none_of_it(tmp_path):
    done, names = loaded(tmp_path / "home", ["--help"], ["run", "--help"], ["serve", "--help"])
    assert done.returncode == 0 and done.stdout.count("Usage:") == 3
    assert not HEAVY & names and not (tmp_path / "home").exists()


def test_a_mistake_in_the_file_loads_none_of_it(tmp_path):
    config = tmp_path / "job.yaml"
    config.write_text("version: 2\n")
    done, names = loaded(tmp_path / "home", ["run", config], ["secrets", config])
    assert done.returncode == 2 and done.stderr.count("job.yaml: version") == 2
    assert not HEAVY & names
    assert few_threads(done), "told later, a look's numpy begins a thread a core, which spin for a second"


def few_threads(done):
    return "threads: 1" in done.stderr


def test_a_folder_is_verified_without_orchestrator_tracker_and_torch(certified, tmp_path):
    done, names = loaded(tmp_path / "home", ["verify", certified[1]])
    assert done.returncode == 0 and "verified" in done.stdout, done.stderr[-2000:]
    assert {"polars", "numpy"} <= names and few_threads(done)
    assert not {"matplotlib", *NO_VERIFICATION_NEEDS} & names
    assert not (tmp_path / "home").exists()


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """A folder with a job of which `secrets`, then `plan`, was done; by command, the names that each loaded. Its
    home has the compiled rules alone."""
    folder = tmp_path_factory.mktemp("looks")
    job = Job(folder, seed=3)
    shutil.rmtree(job.home / "prefect")
    (job.home / "mlflow.db").unlink()
    return job, {words: loaded(job.home, [words, job.config]) for words in ("secrets", "plan")}


NO_VERIFICATION_NEEDS = {"torch", "transformers", "pytorch_lightning", "prefect", "mlflow"}
NO_LOOK_NEEDS = NO_VERIFICATION_NEEDS | {"sqlalchemy", "fastapi", "pandas"}


@pytest.mark.parametrize("command", ["secrets", "plan"])
def test_a_look_needs_no_orchestrator_no_tracker_and_no_training(looked, command):
    job, found = looked
    done, names = found[command]
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"matplotlib", "polars"} <= names, "the test is blind"
    assert not NO_LOOK_NEEDS & names
    assert not (job.home / "mlflow.db").exists() and not list((job.home / "prefect").iterdir())


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["secrets", "plan"])
def test_a_second_look_draws_and_computes_nothing(looked, command):
    job, found = looked
    done, names = loaded(job.home, [command, job.config])
    assert done.returncode == 0 and "polars" in names, done.stderr[-2000:]
    assert not {"matplotlib", "ortools", "dp_accounting", *NO_LOOK_NEEDS} & names
    assert done.stdout == found[command][0].stdout


def test_the_methods_of_the_help_are_those_of_the_config():
    assert get_args(Method) == METHODS
