"""How fast all values are sought in text that holds none: the interpreter's library and its packages.

    python lab/benchmarks/value_search_speed.py                         # this tree
    PYTHONPATH=/path/to/another/tree python lab/benchmarks/value_search_speed.py

One core, files in groups of 1 MiB as an extraction hands them over; the least of several rounds.
"""

from __future__ import annotations

import argparse
import random
import string
import sys
import sysconfig
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch


def texts(limit: int) -> list[bytes]:
    """Files of text, drawn at random, until there are `limit` bytes."""
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    files = sorted({p for folder in folders for p in Path(folder).rglob("*") if p.is_file()})
    random.Random(1).shuffle(files)
    chosen: list[bytes] = []
    for file in files:
        text = file.read_bytes()
        if text and len(text) <= 1 << 20 and b"\0" not in text:
            chosen.append(text)
            limit -= len(text)
        if limit < 0:
            break
    return chosen


def values(count: int) -> list[bytes]:
    draw = random.Random(2)
    kinds = (string.ascii_letters + string.digits, string.ascii_letters + "+/=-_!#$%&", "0123456789abcdef")
    return [
        "".join(draw.choices(draw.choice(kinds), k=draw.choice((16, 20, 32, 40)))).encode()
        for _ in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--values", type=int, default=3000)
    parser.add_argument("--bytes", type=int, default=24 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    contents = texts(options.bytes)
    size = sum(map(len, contents))
    began = time.process_time()
    search = ValueSearch([SearchTerm(value) for value in values(options.values)])
    compiled = time.process_time() - began
    groups: list[list[bytes]] = [[]]
    for content in contents:
        if sum(map(len, groups[-1])) > 1 << 20:
            groups.append([])
        groups[-1].append(content)
    each = getattr(search, "each", lambda group: [list(search.find(content)) for content in group])
    times = []
    for _ in range(options.rounds):
        began = time.process_time()
        hits = sum(map(len, (found for group in groups for found in each(group))))
        times.append(time.process_time() - began)
    rate = size / min(times) / 1e6
    print(
        f"{len(contents)} files, {size / 1e6:.1f} MB, {search.patterns} byte strings compiled in {compiled:.2f} s"
    )
    print(f"{rate:.1f} MB/s ({1e3 / rate:.1f} ns a byte), {hits} hits")


if __name__ == "__main__":
    main()
