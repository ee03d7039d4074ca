"""A tied child ends with its parent, by `kill -9`, too; the control shows that another one does not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.ownership import process_start
from tasks.runtime import tied

ROOT = Path(__file__).parents[3]
PARENT = """
import subprocess, sys, time
from tasks.runtime.tied import tied
command = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
child = subprocess.Popen({command}, stdout=subprocess.PIPE, process_group=0)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def gone_with_its_parent(command, sign):
    """Whether the child that a parent begins so ends within seconds when that gets the signal."""
    code = PARENT.replace("{command}", command)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )
    child = int(parent.stdout.readline())
    parent.send_signal(sign)
    parent.wait(30)
    try:
        for _ in range(30 if "tied" in command else 5):
            if not process_start(child):
                return True
            time.sleep(0.1)
        return False
    finally:
        if process_start(child):
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_tied_child_ends_with_its_parent_however_that_ends(sign):
    assert gone_with_its_parent("tied(command)", sign)
    assert not gone_with_its_parent("command", sign)


def test_one_whose_parent_is_gone_before_it_is_told_does_not_begin(tmp_path):
    file = tmp_path / "begun"
    other = subprocess.Popen(["true"])
    other.wait()
    command = [sys.executable, "-I", "-S", tied.__file__, str(other.pid), "touch", str(file)]
    assert subprocess.run(command).returncode == 1 and not file.exists()
