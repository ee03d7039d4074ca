"""Where the text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from hush_core.config.section import Section

Column = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class Repository(Section):
    """One git repository: the files of one revision, or every version that it reaches (`mode: history`)."""

    path: Path
    rev: Annotated[str, Field(min_length=1, max_length=1000)] = "HEAD"
    mode: Literal["tree", "history"] = "tree"
    name: Name | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name.removesuffix(".git")


class Table(Section):
    """One text table: every row, mail or entry is a document, read like a file."""

    path: Path
    name: Name | None = None
    format: Literal["parquet", "jsonl", "csv", "mbox", "changelog"] | None = None
    """None: by the name's suffix, else by the first bytes."""
    text: Column | Annotated[tuple[Column, ...], Field(min_length=1)] = "text"
    unit: Column | None = None
    """The column that says whose a row is; mailboxes and ChangeLogs have theirs whether asked or not."""
    id: Column | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name
