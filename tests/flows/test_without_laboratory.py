"""Where the laboratory is not installed, its two commands say how to get it, and hush needs nothing of it."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from flows import command_line
from flows.cli import app
from hush_core.errors import InputError


@pytest.fixture
def absent(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "lab"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lab", None)


@pytest.mark.parametrize(
    "words", [["replicate", "ngram"], ["replicate", "--list"], ["audit", "--code"], ["audit", "--statistics"]]
)
def test_its_commands_say_how_to_get_it(absent, words):
    with pytest.raises(InputError, match=r"needs hush's laboratory.* pip install 'hush-secrets\[lab\]'"):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_a_broken_laboratory_is_not_taken_for_one_that_is_missing():
    with pytest.raises(ModuleNotFoundError), command_line.laboratory("hush replicate"):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")


def test_what_every_command_loads_has_nothing_of_it():
    told = "import hush, flows.cli, sys; print([name for name in sys.modules if name.split('.')[0] == 'lab'])"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "[]\n"
