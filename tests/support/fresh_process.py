"""Code run in a fresh interpreter under a HUSH_HOME of its own: settings are read once, at import."""

import os
import subprocess
import sys
from pathlib import Path


def run(code: str, home: Path, **extra: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    environment = {**kept, "HUSH_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2]), **extra}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600
    )
