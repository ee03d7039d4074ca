"""Peers that a benchmark runs beside ours, in a folder of their own below build/."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def install_peers(folder: Path, pinned: Mapping[str, str]) -> None:
    """Importable from now on, without what they depend on: they run on the very numpy and scipy that ours does."""
    if not folder.exists():
        named = [f"{name}=={number}" for name, number in pinned.items()]
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *named]
        subprocess.run(command, check=True)
    sys.path.append(str(folder))
