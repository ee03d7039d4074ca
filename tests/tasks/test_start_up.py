"""What a command does not need is not loaded: who asks for help does not wait for torch."""

import os
import re
import shutil
import subprocess
import sys
from typing import get_args

import pytest
from fresh_process import ROOT, environment
from jobs import Job

from flows.commands.jobs import METHODS
from hush_core.config import Method

HEAVY = {
    "torch", "transformers", "pytorch_lightning", "peft", "prefect", "mlflow", "matplotlib", "polars", "numpy",
    "scipy", "ortools", "dp_accounting", "hyperscan", "sqlalchemy", "fastapi", "pandas", "rich",
}  # fmt: skip


def loaded(home, *arguments):
    """The top-level modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "flows.cli", *map(str, arguments)],
        env=environment(home), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    names = set(re.findall(r"^import time: .*\| +([\w.]+)$", done.stderr, re.M))
    assert "typer" in names, done.stderr[-2000:]
    return done, {name.split(".")[0] for name in names}


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["serve", "--help"]])
def test_help_loads_none_of_it(tmp_path, arguments):
    done, names = loaded(tmp_path / "home", *arguments)
    assert done.returncode == 0 and "Usage:" in done.stdout
    assert not HEAVY & names and not (tmp_path / "home").exists()


def test_a_mistake_in_the_file_loads_none_of_it(tmp_path):
    config = tmp_path / "job.yaml"
    config.write_text("version: 2\n")
    done, names = loaded(tmp_path / "home", "run", config)
    assert done.returncode == 2 and "job.yaml" in done.stderr
    assert not HEAVY & names


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["secrets", "verify"])
def test_numpy_is_told_to_begin_no_threads_before_a_look_loads_it(tmp_path, command):
    """It begins a thread a core, which spin for a second of processor time; told later, it does not listen."""
    (tmp_path / "job.yaml").write_text("version: 2\n")
    code = "import atexit, os, sys; from flows.cli import main; sys.argv[0] = 'hush'; "
    code += "atexit.register(lambda: print(os.environ.get('OPENBLAS_NUM_THREADS'), 'numpy' in sys.modules)); "
    kept = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code + "main()", command, str(tmp_path / "job.yaml")],
        env={**kept, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout.split()[0] == "1", done.stderr[-2000:]
    if command != "verify":
        assert done.stdout.split()[1] == "False", "the test is blind"


def test_a_folder_is_verified_without_orchestrator_tracker_and_torch(certified, tmp_path):
    done, names = loaded(tmp_path / "home", "verify", certified[1])
    assert done.returncode == 0 and "verified" in done.stdout, done.stderr[-2000:]
    assert {"polars", "numpy"} <= names, "the test is blind"
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
    return job, {words: loaded(job.home, words, job.config) for words in ("secrets", "plan")}


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
    done, names = loaded(job.home, command, job.config)
    assert done.returncode == 0 and "polars" in names, done.stderr[-2000:]
    assert not {"matplotlib", "ortools", "dp_accounting", *NO_LOOK_NEEDS} & names
    assert done.stdout == found[command][0].stdout


def test_the_methods_of_the_help_are_those_of_the_config():
    assert get_args(Method) == METHODS
