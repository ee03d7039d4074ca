"""Where the text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from hush_core.config.section import Section


class Repository(Section):
    """One git repository: the files of one revision, or every version that it reaches (`mode: history`)."""

    path: Path
    rev: str = "HEAD"
    mode: Literal["tree", "history"] = "tree"
    name: str | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name.removesuffix(".git")


class Table(Section):
    """One text table: every row, mail or entry is a document, read like a file."""

    path: Path
    name: str | None = None
    format: Literal["parquet", "jsonl", "csv", "mbox", "changelog"] | None = None
    """None: by the name's suffix, else by the first bytes."""
    text: str | Annotated[tuple[str, ...], Field(min_length=1)] = "text"
    unit: str | None = None
    """The column that says whose a row is; mailboxes and ChangeLogs have theirs whether asked or not."""
    id: str | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name
