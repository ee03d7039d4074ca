"""Waiting in tests: for an event, never for a time. The deadline ends only a test that hangs."""

import os
import select
import time

PATIENCE = 600
"""Seconds: twenty times what any of these events takes on an idle machine. pytest's own limit is 900 a test."""


def until(check, what, child=None, pause=0.5):
    """The first truthy value of `check()`; fails with `what` at the deadline, or when `child` has ended by itself.

    Asked at once, then ever more rarely, up to `pause` seconds apart."""
    deadline, wait = time.monotonic() + PATIENCE, min(0.01, pause)
    while not (value := check()):
        assert child is None or child.poll() is None, f"a process ended amid the wait for {what}"
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}"
        time.sleep(wait)
        wait = min(2 * wait, pause)
    return value


def ended(pid):
    """Wait for the end of a process, be it a child of this one or not; a zombie has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([watched], [], [], PATIENCE)[0], f"process {pid} does not end"
    finally:
        os.close(watched)
