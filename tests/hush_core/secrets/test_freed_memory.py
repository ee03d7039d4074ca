"""Memory that an extraction needed for a while is not held until the process ends."""

import os
import subprocess
import sys

from waiting import PATIENCE
from warm import ROOT

PROGRAM = """
import contextlib, sys
from pathlib import Path
from hush_core.secrets.freed_memory import freed_at_once, give_back

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1000

warm = b"x" * int(3e7)  # after this one glibc maps no block of up to 30 MB by itself
del warm
with freed_at_once() if sys.argv[1] == "with" else contextlib.nullcontext():
    give_back()  # what imports and their compilation left free would be taken again, and hide the growth
    holes = [b"x" * 20_000 for _ in range(2_000)]  # or the findings would lie in these, below all texts
    before = resident()
    texts, kept = [], []
    for n in range(200):
        texts.append(bytes([n]) * 400_000)
        kept.append(bytes([n]) * 20_000)
    texts.clear()
    print(resident() - before)
"""


def held(how):
    """MB, in a process of its own: threads and freed blocks of other tests would be counted.

    Without MALLOC_TRIM_THRESHOLD_, which a Dask cluster of an earlier test leaves in this process's environment.
    """
    command = [sys.executable, "-c", PROGRAM, how]
    given = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    given |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return int(done.stdout)


def test_texts_freed_between_findings_that_stay_are_given_back():
    """glibc takes blocks from the heap, where one finding holds all below it."""
    assert held("with") < 20
    assert held("without") > 60, "the test is blind"
