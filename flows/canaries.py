"""Canaries as files of a job: a table of texts, the list of their values, and the lines of the config for both.

So they go the way of every other secret: found, weighed, certified, trained on under the promise, and attacked.
"""

from __future__ import annotations

import csv
import io
import secrets
from pathlib import Path

from hush_core.auditing.canaries import plant_canaries
from hush_core.files import private_folder, write_whole

TABLE, VALUES = "canaries.csv", "canaries.txt"
LINES = """\
tables: [{{path: {table}, name: canaries, text: [text]}}]
secrets:
  - {{id: canary, kind: literals, file: {values}, bits: {bits:.1f}, level: high}}
"""


def write_canaries(
    folder: Path, *, count: int, length: int, repeats: tuple[int, ...], seed: int | None
) -> str:
    """Write both files, readable by their owner only; the lines to add to the config. Raises InputError: fewer
    values than canaries."""
    seed = secrets.randbits(63) if seed is None else seed
    planted = plant_canaries(count, length=length, repeats=repeats, seed=seed)
    first = planted.occurrences.unique("secret_id", keep="first", maintain_order=True)
    values = [planted.texts[i][start:end] for _, i, start, end in first.iter_rows()]
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["text"])
    rows.writerows([text.decode()] for text in planted.texts)
    private_folder(folder)
    write_whole(folder / TABLE, table.getvalue().encode())
    write_whole(folder / VALUES, b"\n".join(values) + b"\n")
    return LINES.format(table=folder / TABLE, values=folder / VALUES, bits=planted.bits)
