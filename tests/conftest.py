"""A HUSH_HOME of their own for all tests, in place before anything imports prefect or torch."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="hush-tests-")
os.environ["HUSH_HOME"] = _FOLDER.name
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # one a test process: more fight for the cores, many times slower
for _name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
    os.environ.pop(_name, None)

from tasks.runtime.environment import prepare_environment  # noqa: E402

prepare_environment()
