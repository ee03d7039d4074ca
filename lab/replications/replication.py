"""What a replication is: cells that are computed one by one, and what follows from their rows.

A cell is a table's name and the settings of some of its rows; `compute` makes the rows, plain JSON values. Tables,
claims and the picture follow from all rows, so that a page can be written again from the numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hush_core.errors import InputError
from hush_core.progress import Progress
from lab.replications.claims import Claim

Size = Literal["tiny", "short", "full"]
"""`tiny` shows that it runs and nothing else; `short` takes minutes on two cores; `full` is for a GPU."""
Row = dict[str, Any]
Rows = Mapping[str, Sequence[Row]]
"""By table."""


@dataclass(frozen=True)
class Cell:
    """Some rows of one table, by settings that are JSON values."""

    table: str
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        return f"{self.table}: " + ", ".join(f"{name} {value}" for name, value in self.settings.items())


@dataclass(frozen=True)
class Place:
    """What a cell may use besides its settings.

    Attributes:
        data: by name, the files that the replication asks for.
        work: a private folder of this replication, code and data alone, for what cells share (models, graphs);
            whatever is kept there must be whole or not there.
        progress: called as the work goes on; what it raises stops the cell.
    """

    data: Mapping[str, Path]
    work: Path
    progress: Progress = lambda stage, done, total: None


@dataclass(frozen=True)
class View:
    """How a table is shown on the page.

    Attributes:
        columns: (key, heading, format); a format of Python's, or "" for text. keep: rows to show (all).
    """

    table: str
    title: str
    columns: tuple[tuple[str, str, str], ...]
    keep: Callable[[Row], bool] = lambda row: True


@dataclass(frozen=True)
class Replication:
    """One figure, table or section of a paper.

    Attributes:
        source: paper and place in it. about: paragraphs: what is measured, and how it differs from the paper.
        seed: of everything that is drawn. version: raise it when rows mean something else.
        cells: by size, in the order in which they are computed.
        compute: by table: (settings, place) → rows.
        claims, draw: from the rows of all cells; `draw` writes a PNG.
        data: names of files that must be given.
    """

    name: str
    title: str
    source: str
    about: str
    seed: int
    cells: Callable[[Size], Sequence[Cell]]
    compute: Mapping[str, Callable[[Mapping[str, Any], Place], list[Row]]]
    views: tuple[View, ...]
    claims: Callable[[Rows], list[Claim]]
    draw: Callable[[Rows, Path], Path]
    data: tuple[str, ...] = field(default=())

    def rows_of(self, cell: Cell, place: Place) -> list[Row]:
        """The rows of one cell, each with its settings (lists left out) before what was found."""
        given = {name: value for name, value in cell.settings.items() if not isinstance(value, (list, tuple))}
        return [{**given, **row} for row in self.compute[cell.table](cell.settings, place)]


def find_data(folder: Path | None, names: Sequence[str]) -> dict[str, Path]:
    """The files of a folder that begin with these names, as `arxiv_public_20k.parquet` does with `arxiv_public` and
    `repository_click.bundle` with `repository.bundle`: a name without an ending means a parquet file.

    Raises:
        InputError: there is no folder, or not exactly one such file of a name.
    """
    if not names:
        if folder is not None:
            raise InputError("--data", "says nothing: this replication asks for none", "leave it out")
        return {}
    patterns = {}
    for name in names:
        stem, _, ending = name.partition(".")
        patterns[name] = f"{stem}*.{ending or 'parquet'}"
    wanted = ", ".join(patterns.values())
    if folder is None or not folder.is_dir():
        raise InputError(
            "--data", "is not a folder" if folder else "is missing", f"name one that holds {wanted}"
        )
    found = {}
    for name, pattern in patterns.items():
        files = sorted(folder.glob(pattern))
        if len(files) != 1:
            raise InputError(f"--data: {folder}", f"holds {len(files)} files {pattern}", "put one there")
        found[name] = files[0]
    return found
