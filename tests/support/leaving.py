"""All that leaves the private store of a home, as lines of text by place: databases, artifacts, pages, output."""

import json
import re
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

PRIVATE = ("store", "keys", "secrets")
"""Folders of a home that stay: the store, the keys, and the reports of `hush secrets`, which name files."""
HEX = "(?<![0-9a-f.])[0-9a-f]{%s}(?![0-9a-f])"
OF_ITS_OWN = {
    "picture": r"data:image/png;base64,[A-Za-z0-9+/=]+",
    "digest": HEX % "64" + "|" + HEX % "40" + "|" + HEX % "16" + "|(?<=items: )[0-9a-f]{80}",
    "uuid": HEX % "8" + "-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?![0-9a-f])|" + HEX % "32",
    "keyed name": r"(?<=[:/])[0-9a-f]{12}(?![0-9a-f])|(?<=[:/])[0-9a-f]{6}(?![0-9a-f])",
    "run's name": r"(?<=\bjob )[0-9a-f]{8}\b|(?<=\bjob-)[0-9a-f]{6}\b|(?<=objects/)[0-9a-f]{2}(?=/)"
    r"|(?<=[a-z]-)[0-9a-f]{3}(?![0-9a-zA-Z])",
    "time": r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:\.\d+)?"
    r"|(?<![\d.])1[6-9]\d{8,11}(?:\.\d+)?(?!\d)|\d+\.\d+it/s",
    "": r" \((?:[\d.e+]+ a second|[\d.e+-]+ s each|[^()]* left)[^)]*\)|; whole job \d+%, about [^\"\n]* left",
    "port": r"(?<=127\.0\.0\.1:)\d+",
}  # fmt: skip
"""What two runs on the same text differ in, too: name of it, and how it is written. Without a name: the pace of a
step, which may be missing. `digest`: of what has such a name or a time in it, of a model that noise was added to,
or keyed; `tests/flows/test_main_job.py` looks for others."""


def lines(home: Path, folder: Path, output: Mapping[str, str]) -> dict[str, list[str]]:
    """Place → its lines, sorted, with what each run has of its own replaced by the name of it.

    output: command → what it wrote.
    """
    found: dict[str, list[str]] = {}
    for place, told in _all(home, output):
        found.setdefault(_common(place, folder), []).extend(_common(line, folder) for line in told)
    return {place: sorted(told) for place, told in found.items()}


def _common(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "<folder>")
    for name, pattern in OF_ITS_OWN.items():
        text = re.sub(pattern, f"<{name}>" if name else "", text)
    return text


def _all(home: Path, output: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    for command, text in output.items():
        yield f"output of {command}", text.splitlines()
    for file in sorted(path for path in home.rglob("*") if path.is_file()):
        name = file.relative_to(home)
        if name.parts[0] in PRIVATE or file.suffix in (".db-wal", ".db-shm", ".lock"):
            continue
        if file.suffix == ".db":
            yield from _database(file)
        else:
            yield f"file {name}", _read(file)


def _database(file: Path) -> Iterator[tuple[str, list[str]]]:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = database.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            cells = ([f"{n}={cell}" for n, cell in zip(names, row, strict=True)] for row in rows)
            yield f"table {file.name} {table}", [line for row in cells for line in _row(row)]


def _row(cells: list[str]) -> list[str]:
    """A row is a line; with a text of several lines in it, these and the other cells are."""
    parts = [part for cell in cells for part in re.split(r"\n|\\n", cell)]
    return [" ".join(cells)] if len(parts) == len(cells) else parts


def _read(file: Path) -> list[str]:
    """A picture by its size in pixels, tables and JSON by cells, texts by lines, all else by its size."""
    data = file.read_bytes()
    if file.suffix == ".png":
        return ["{} x {} pixels".format(*struct.unpack(">II", data[16:24]))]
    if file.suffix == ".parquet":
        frame = pl.read_parquet(file)
        return [str(frame.schema), *(json.dumps(row, default=str) for row in frame.iter_rows())]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [f"{len(data)} bytes"]
    if file.suffix == ".json":
        return list(_cells(json.loads(text)))
    return re.split(r"\n|(?=<(?:li|tr|td)\b)|(?=</ul>)" if file.suffix == ".html" else r"\n", text)


def _cells(value: Any, key: str = "") -> Iterator[str]:
    """`key.key: value` of every value in a document; items of a list are told without their number."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _cells(inner, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        yield f"{key}: {len(value)} items"
        for inner in value:
            yield from _cells(inner, key)
    else:
        yield f"{key}: {value}"
