"""How much of a test `make test` runs. `make test-all` sets HUSH_TESTS=all and runs all of it."""

import os
from collections.abc import Sequence

WHOLE = os.environ.get("HUSH_TESTS") == "all"


def examples(count: int) -> int:
    """Examples of a property: a tenth."""
    return count if WHOLE else max(count // 10, 5)


def seeds(count: int) -> range:
    """Seeds of an input that is drawn: two."""
    return range(count if WHOLE else min(count, 2))


def some(cases: Sequence, count: int) -> Sequence:
    """So many rows of a long table, spread evenly over it."""
    return cases if WHOLE or len(cases) <= count else [cases[i * len(cases) // count] for i in range(count)]
