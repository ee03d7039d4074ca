"""Processes on loopback for tests: a free port, a wait, an end."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 150


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(check, what, seconds=PATIENCE, pause=0.5):
    """The first truthy value of `check()`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = check()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"waited {seconds} s for {what}")


def stop(child):
    """End the group of a process that these fixtures started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, sign)
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                continue


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
