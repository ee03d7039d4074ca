"""Where the text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hush_core.config.section import Section


class Repository(Section):
    """One git repository, read at one revision (`mode: tree`)."""

    path: Path
    rev: str = "HEAD"
    mode: Literal["tree"] = "tree"
    name: str | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name.removesuffix(".git")
