"""A worker of pytest-xdist, forked from the process that has loaded the libraries (`warm`): their import costs each
worker twenty seconds of processor time.

`conftest` names this file as the workers' interpreter, so execnet calls it as `python worker.py -u -c CODE`. It
hands its own streams to the fork and ends with it.
"""

import os
import sys
import tempfile
from pathlib import Path

FORKED = "TESTS_FORKED"
"""In the environment of a forked worker: HUSH_HOME is its own, and Prefect knows it already."""


def main() -> int:
    import warm

    with tempfile.TemporaryDirectory(prefix="hush-tests-") as home:
        others = ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI", "PYTHONPATH")
        kept = {name: value for name, value in os.environ.items() if name not in others}
        path = os.environ.get("PYTHONPATH", "")
        code = f"import os; os.environ['PYTHONPATH'] = {path!r}\n{sys.argv[-1]}"
        given = {**kept, "HUSH_HOME": home, FORKED: "1", "PYTHONPATH": str(Path(__file__).parent)}
        return warm.start("coded", [code], cwd=Path.cwd(), env=given, streams=(1, 2, 0)).wait(float("inf"))


if __name__ == "__main__":
    sys.exit(main())
