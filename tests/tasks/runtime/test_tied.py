"""A tied child ends with its parent, by `kill -9`, too; the control shows that another one does not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE, ended

from tasks.runtime import tied

ROOT = Path(__file__).parents[3]
PARENT = """
import subprocess, sys
from tasks.runtime.tied import tied
said = "import os; print(os.getpid(), flush=True); input(); print('lives')"
subprocess.Popen({command}, process_group=0).wait()
"""


def gone_with_its_parent(command, sign):
    """Whether the child that a parent begins so answers no more when that is ended by the signal."""
    code = PARENT.replace("{command}", command)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    child = int(parent.stdout.readline())
    parent.send_signal(sign)
    parent.wait(PATIENCE)  # its children have their signal before this returns
    answer = parent.communicate("are you there?\n")[0]
    ended(child)
    return not answer


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_tied_child_ends_with_its_parent_however_that_ends(sign):
    assert gone_with_its_parent("tied([sys.executable, '-c', said])", sign)
    assert not gone_with_its_parent("[sys.executable, '-c', said]", sign)


def test_one_whose_parent_is_gone_before_it_is_told_does_not_begin(tmp_path):
    file = tmp_path / "begun"
    other = subprocess.Popen(["true"])
    other.wait()
    command = [sys.executable, "-I", "-S", tied.__file__, str(other.pid), "touch", str(file)]
    assert subprocess.run(command).returncode == 1 and not file.exists()
