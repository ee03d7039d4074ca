"""A HUSH_HOME of their own for all tests, in place before anything imports prefect."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="hush-tests-")
os.environ["HUSH_HOME"] = _FOLDER.name
for _name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
    os.environ.pop(_name, None)

from tasks.environment import prepare_environment  # noqa: E402

prepare_environment()
