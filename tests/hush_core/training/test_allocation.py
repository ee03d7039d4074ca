"""What a training loop changes in the process' memory, and that it is changed back."""

import gc
import sys
import weakref
from pathlib import Path

import pytest
import torch

from hush_core.training.allocation import steady_memory

BLOCK = 64 << 20


def resident() -> int:
    """Bytes of this process in memory."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS:"))
    return int(line.split()[1]) << 10


def use_and_free() -> int:
    """What stays in memory of a large block that was written to and freed."""
    before = resident()
    torch.ones(BLOCK, dtype=torch.uint8)
    return resident() - before


class Node:
    """In a circle with itself: only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's heap is Linux'")
def test_freed_memory_is_kept_for_the_next_micro_batch_and_given_back_at_the_end():
    assert use_and_free() < BLOCK / 4
    with steady_memory():
        assert use_and_free() > BLOCK / 2
        kept = resident()
    assert resident() < kept - BLOCK / 2
    assert use_and_free() < BLOCK / 4


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
