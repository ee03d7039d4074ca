"""What a run says first of rounds that are predicted to gain nothing."""

from flows.settling import Settled
from hush_core.weights import Way


def way(entry, *, little):
    numbers = {"secrets": 1, "examples": 2, "noise": 0.0, "redact": None}
    return Way(entry=entry, asked="noise", taken="noise", why="it gains nothing", little=little, **numbers)


def test_entries_that_gain_nothing_for_one_reason_are_one_warning_and_hide_no_other():
    ways = (way("a", little=True), way("b", little=False), way("c", little=True))
    settled = Settled(None, None, ways=ways, replaced=("train.batch: 9 is taken",))
    assert settled.warnings == ["a, c: learned under noise (it gains nothing)", "train.batch: 9 is taken"]
