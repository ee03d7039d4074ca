"""A process that runs tests on a tree whose files change between the calls: one fork a call.

What the tests import of other libraries (torch takes seconds) is imported once, before; of hush nothing is, so
that each call imports its files as they then are. Reads lines of JSON: {"tests": [ids, in the order in which to
run them], "seconds": limit of processor time, "all": whether each of them must be there}. Answers each with a line,
[pytest's exit status, or 124 where the limit (or ten times as long by the clock) was reached; the test that failed,
if one did].
"""

import contextlib
import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

LIBRARIES = (
    "numpy", "scipy", "torch", "polars", "pyarrow", "transformers", "peft", "pytorch_lightning", "ortools",
    "mpmath", "pydantic", "dp_accounting", "safetensors", "cryptography", "hypothesis", "anyio", "xdist",
    "_pytest", "pytest",
)  # fmt: skip
"""None of these starts a thread when it is imported, so a fork of this process is whole."""
IMPORTS = """
import hush_core.training, hush_core.weights, hush_core.certificate, dp_accounting, mpmath
import hypothesis.strategies, anyio, xdist
import sys
print(*sys.modules)
"""
MEMORY = 14 << 30
"""Bytes of address space: a mutant that asks for all memory fails, and nothing else does."""


class InOrder:
    """A pytest plugin: these tests, in this order; the one that fails is written down."""

    def __init__(self, tests: list[str], failed: Path, all_there: bool) -> None:
        self.failed, self.all_there = failed, all_there
        self.place = {test: number for number, test in enumerate(tests)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.write_text(report.nodeid)

    def pytest_collection_modifyitems(self, items: list) -> None:
        chosen = [(place, item) for item in items if (place := self._place(item.nodeid)) is not None]
        found = {name for _, item in chosen for name in names(item.nodeid)}
        items[:] = [item for _, item in sorted(chosen, key=lambda c: c[0])]
        if self.all_there and not self.place.keys() <= found:
            items.clear()  # pytest ends with 5

    def _place(self, test: str) -> int | None:
        return min((self.place[name] for name in names(test) if name in self.place), default=None)


def names(test: str) -> tuple[str, ...]:
    """What may stand for a test: itself, itself less its parameters, its file."""
    return test, test.partition("[")[0], test.partition("::")[0]


def main() -> None:
    # two mistakes of one length within a second are the same file to Python, which looks at what was compiled
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
    found = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in found.stdout.split():
        if name.partition(".")[0] in LIBRARIES:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(run(asked["tests"], asked["seconds"], asked["all"])), flush=True)


def run(tests: list[str], seconds: float, all_there: bool) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder) / "failed"
        code = _forked(tests, seconds, InOrder(tests, failed, all_there))
        return code, failed.read_text() if failed.exists() else ""


def _forked(tests: list[str], seconds: float, plugin: InOrder) -> int:
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
        code = 3
        with contextlib.suppress(BaseException):
            files = dict.fromkeys(names(test)[2] for test in tests)
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files], plugins=[plugin]))
        os._exit(code)
    end = time.monotonic() + 10 * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return 124 if code in (-signal.SIGKILL, -signal.SIGXCPU) else code
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


if __name__ == "__main__":
    main()
