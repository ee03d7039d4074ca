"""The batch of a plan, in words; apart, so that a report that was kept is shown without what makes plans."""

from __future__ import annotations


def batch_in_words(expected: int, cycle: float | None) -> str:
    """`cycle`: mean items of a round that takes them in turn (`Calibrated.cycle_batch`), if it does."""
    if cycle is None:
        return f"expected batch {expected}"
    least = int(cycle)
    size = f"{least}" if cycle == least else f"{least} or {least + 1}"
    return f"batches of {size} in turn, divided by {expected}"
