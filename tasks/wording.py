"""Numbers in words, for all who write to a person: it loads nothing, so that `hush verify` may use it."""


def counted(number: int, what: str) -> str:
    """1 secret, 2 secrets."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def batch_in_words(expected: int, cycle: float | None) -> str:
    """`cycle`: mean items of a round that takes them in turn (`Calibrated.cycle_batch`), if it does."""
    if cycle is None:
        return f"expected batch {expected}"
    least = int(cycle)
    size = f"{least}" if cycle == least else f"{least} or {least + 1}"
    return f"batches of {size} in turn, divided by {expected}"
