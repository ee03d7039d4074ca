"""How a run in several processes ends that did not succeed: by which rank, and why, in one line."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

from hush_core.errors import InputError
from hush_core.training.hosts import INTERFACE
from hush_core.training.meeting import AGAIN, Meeting, RankFailed

INTERRUPTED = 130
"""A worker's exit status after it was asked to stop."""


def raise_failure(codes: Sequence[int | None], folder: Path, work_dir: Path, meeting: Meeting) -> None:
    """The cause, where several ranks failed: a refusal before a kill before the first other error. Ranks that could
    not meet may be the effect of a kill.

    Args:
        codes: exit statuses by rank; None of those that had to be killed.
        folder: where ranks left their `failure.RANK.json`. work_dir: where their logs are.

    Raises:
        InputError: a rank's refusal; a machine that did not begin its ranks. KeyboardInterrupt: all were asked to
            stop. RankFailed: anything else.
    """
    files = sorted(folder.glob("failure.*.json"), key=lambda path: path.stat().st_mtime_ns)
    failures = [(path.name.split(".")[1], json.loads(path.read_text())) for path in files]
    refusals = [InputError(*failure["input"]) for _, failure in failures if "input" in failure]
    for refusal in refusals:
        if refusal.where != INTERFACE:
            raise refusal
    for rank, code in enumerate(codes):
        if code is not None and code < 0 and code != -signal.SIGINT:
            name = signal.Signals(-code).name
            why = " (the kernel does this when memory runs out)" if name == "SIGKILL" else ""
            raise RankFailed(f"the process of rank {rank} was ended by {name}{why}; {AGAIN}")
    if INTERRUPTED in codes or -signal.SIGINT in codes:
        raise KeyboardInterrupt
    told = {int(rank) for rank, _ in failures}
    for ended, code in enumerate(codes):
        if code and ended not in told:
            meeting.lose(ended, code, work_dir / f"rank-{ended}.log")
    if refusals:
        raise refusals[0]
    rank, failure = failures[0] if failures else (next(i for i, c in enumerate(codes) if c), {})
    what = failure.get("what", f"exit status {codes[int(rank)]}")
    raise RankFailed(f"the process of rank {rank} failed: {what} (see {work_dir / f'rank-{rank}.log'})")
