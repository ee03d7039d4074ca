"""Memory that a long step needed is not held until the process ends, and the process is afterwards as it was."""

import gc
import os
import subprocess
import sys
import weakref

import pytest
from waiting import PATIENCE
from warm import ROOT

from hush_core.memory import freed_at_once, kept_for_reuse

BLOCK = 64 << 20
RESIDENT = """
import contextlib, sys
from pathlib import Path
from hush_core.memory import freed_at_once, give_back, kept_for_reuse

def resident(kind):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) << 10
"""
EXTRACTION = """
warm = b"x" * int(3e7)  # after this one glibc maps no block of up to 30 MB by itself
del warm
with freed_at_once() if sys.argv[1] == "with" else contextlib.nullcontext():
    give_back()  # what imports and their compilation left free would be taken again, and hide the growth
    holes = [b"x" * 20_000 for _ in range(2_000)]  # or the findings would lie in these, below all texts
    before = resident("RssAnon")
    texts, kept = [], []
    for n in range(16):
        texts.append(bytes([n]) * 5_000_000)
        kept.append(bytes([n]) * 20_000)
    texts.clear()
    print((resident("RssAnon") - before) >> 20)
"""
TRAINING = f"""
import torch

def kept_of_a_freed_block():
    before = resident("VmRSS:")
    torch.ones({BLOCK}, dtype=torch.uint8)
    return resident("VmRSS:") - before

outside = kept_of_a_freed_block()
with kept_for_reuse():
    within, at_the_end = kept_of_a_freed_block(), resident("VmRSS:")
print(outside, within, resident("VmRSS:") - at_the_end, kept_of_a_freed_block())
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc's heap is Linux'")


def measured(program, *arguments):
    """What it prints, in a process of its own: threads and freed blocks of other tests would be counted.

    Without MALLOC_TRIM_THRESHOLD_, which a Dask cluster of an earlier test leaves in this process's environment.
    """
    command = [sys.executable, "-c", RESIDENT + program, *arguments]
    given = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    given |= {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return map(int, done.stdout.split())


def test_texts_freed_between_findings_that_stay_are_given_back():
    """glibc takes blocks from the heap, where one finding holds all below it."""
    (within,), (without,) = measured(EXTRACTION, "with"), measured(EXTRACTION, "without")
    assert within < 20
    assert without > 60, "the test is blind"


@pytest.mark.slow
def test_freed_memory_is_kept_for_the_next_micro_batch_and_given_back_at_the_end():
    outside, within, given_back, after = measured(TRAINING)
    assert outside < BLOCK / 4
    assert within > BLOCK / 2
    assert given_back < -BLOCK / 2
    assert after < BLOCK / 4


class Node:
    """In a circle with itself: only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def unfrozen():
    """As in a process of a user; the tests' own froze what it had loaded."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.parametrize("long_step", [freed_at_once, kept_for_reuse])
def test_the_collector_passes_over_what_was_there_before_and_finds_what_is_new(long_step, unfrozen):
    old = weakref.ref(Node())
    with long_step():
        assert gc.get_freeze_count() > 0
        new = weakref.ref(Node())
        gc.collect()
        assert old() is not None
        assert new() is None
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert old() is None


@pytest.mark.parametrize("long_step", [freed_at_once, kept_for_reuse])
def test_a_step_that_fails_leaves_the_process_as_it_was(long_step, unfrozen):
    before = gc.get_threshold()
    with pytest.raises(ValueError), long_step():
        raise ValueError
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == before


def test_what_a_caller_has_kept_from_the_collector_stays_so():
    """Else each test process, which froze two million objects, walks them again after its first extraction."""
    gc.freeze()
    with freed_at_once(), kept_for_reuse():
        pass
    assert gc.get_freeze_count() > 0
