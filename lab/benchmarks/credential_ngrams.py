"""The table of `hush_core/secrets/detectors/credential_randomness.py`, counted from the standard library.

Every distinct token of its source counts once: names, words, numbers, file names, which stand in code and are
nobody's secret. A row a symbol, a column the symbol that follows it; the character says, in quarters of a bit, how
much of a surprise that is: -log2 of its frequency, half a count added to each.

    python lab/benchmarks/credential_ngrams.py            # the rows, to be pasted
    python lab/benchmarks/credential_ngrams.py --judge    # and how far identifiers lie from random values
"""

from __future__ import annotations

import itertools
import math
import random
import re
import string
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SYMBOLS = string.ascii_lowercase + string.ascii_uppercase + string.digits + "_-./+= "
LEVELS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
TOKEN = re.compile(rb"[A-Za-z0-9_./+=-]{2,60}")


def tokens() -> Iterator[str]:
    root = Path(sysconfig.get_path("stdlib"))
    seen = set()
    for path in sorted(root.rglob("*.py")):
        if "site-packages" not in path.parts and "lib2to3" not in path.parts:
            seen.update(TOKEN.findall(path.read_bytes()))
    return (token.decode() for token in sorted(seen))


def table() -> list[str]:
    """One row a symbol."""
    size = len(SYMBOLS)
    place = {symbol: n for n, symbol in enumerate(SYMBOLS)}
    counts = [[0.5] * size for _ in range(size)]
    for token in tokens():
        padded = f" {token} "
        for a, b in itertools.pairwise(padded):
            counts[place[a]][place[b]] += 1
    rows = []
    for row in counts:
        total = sum(row)
        rows.append("".join(LEVELS[min(63, round(-4 * math.log2(n / total)))] for n in row))
    return rows


def judge() -> None:
    from hush_core.secrets.detectors.credential_randomness import surprise

    rng = random.Random(0)
    found = [t for t in tokens() if 20 <= len(t) <= 40]
    alphabets = {
        "base62": string.ascii_letters + string.digits, "hex": "0123456789abcdef", "letters": string.ascii_letters,
        "base36": string.ascii_lowercase + string.digits, "base32": string.ascii_uppercase + "234567",
    }  # fmt: skip
    drawn = {name: ["".join(rng.choices(a, k=20)) for _ in range(4000)] for name, a in alphabets.items()}
    for name, values in {"tokens of the library": found, **drawn}.items():
        scores = sorted(surprise(v.encode()) for v in values)
        quantiles = [scores[int(q * (len(scores) - 1))] for q in (0, 0.001, 0.01, 0.5, 0.99, 0.999, 1)]
        print(f"{name:<24}{len(values):>7}", " ".join(f"{q:6.2f}" for q in quantiles))


if __name__ == "__main__":
    print("\n".join(f"    {row!r}," for row in table()))
    if "--judge" in sys.argv:
        judge()
