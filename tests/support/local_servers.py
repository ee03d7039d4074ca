"""Processes on loopback for tests: a port, an answer, an end."""

import os
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
_claims = []


def free_port():
    """A port that stays free until a server of this test takes it.

    The kernel gives away ports from 32768 on. Of those below, each has a name that one process of the machine can
    claim, until it ends: so tests that run at once never choose the same one.
    """
    for port in range(20_000, 32_000):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0port of a hush test {port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
    raise AssertionError("no port is free")


def stop(child):
    """End the group of a process that these fixtures started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, sign)
            try:
                child.wait(600)
            except subprocess.TimeoutExpired:
                continue


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status == 200
    except OSError:
        return False
