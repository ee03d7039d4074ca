"""What a training loop changes in the process' memory, and that it is changed back."""

import gc
import subprocess
import sys
import weakref

import pytest

from hush_core.training.loop import steady_memory

BLOCK = 64 << 20


MEASURED = """
import torch
from pathlib import Path
from hush_core.training.loop import steady_memory

def resident():
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS:"))
    return int(line.split()[1]) << 10

def kept_of_a_freed_block():
    before = resident()
    torch.ones(BLOCK, dtype=torch.uint8)
    return resident() - before

outside = kept_of_a_freed_block()
with steady_memory():
    within, at_the_end = kept_of_a_freed_block(), resident()
print(outside, within, resident() - at_the_end, kept_of_a_freed_block())
"""


class Node:
    """In a circle with itself: only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's heap is Linux'")
def test_freed_memory_is_kept_for_the_next_micro_batch_and_given_back_at_the_end():
    # in a process of its own: in this one, blocks that earlier tests freed would serve
    script = f"BLOCK = {BLOCK}\n{MEASURED}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    outside, within, given_back, after = map(int, done.stdout.split())
    assert outside < BLOCK / 4
    assert within > BLOCK / 2
    assert given_back < -BLOCK / 2
    assert after < BLOCK / 4


def test_the_collector_passes_over_what_was_there_before_and_finds_what_is_new():
    before = gc.get_freeze_count()
    old = weakref.ref(Node())
    with steady_memory():
        assert gc.get_freeze_count() > before
        new = weakref.ref(Node())
        gc.collect()
        assert old() is not None
        assert new() is None
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert old() is None


def test_a_training_that_fails_leaves_the_process_as_it_was():
    with pytest.raises(ValueError), steady_memory():
        raise ValueError
    assert gc.get_freeze_count() == 0
