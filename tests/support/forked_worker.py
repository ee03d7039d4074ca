"""What xdist begins in place of a Python for each of its workers: one that `warm` forks, with the libraries loaded.

Importing them takes a worker ten seconds of processor time. This process passes its streams on, and ends with it.
"""

import os
import sys
import tempfile
from pathlib import Path

import warm

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hush-tests-") as home:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_"))}
        code, environment = sys.argv[-1], {**kept, "HUSH_HOME": home}
        child = warm.start("-c", [code], cwd=Path.cwd(), env=environment, streams=(1, 2, 0))
        status = child.wait(timeout=1 << 30)
    sys.exit(status)
