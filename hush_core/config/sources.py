"""Where the text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

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
