"""Code run in a fresh interpreter under a HUSH_HOME of its own: settings are read once, at import."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(home: Path, **extra: str) -> dict[str, str]:
    """This process's variables without those of hush and its servers; `extra` on top."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    return {**kept, "HUSH_HOME": str(home), "PYTHONPATH": str(ROOT), **extra}


def run(code: str, home: Path, **extra: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(home, **extra),
        capture_output=True,
        text=True,
        timeout=600,
    )
