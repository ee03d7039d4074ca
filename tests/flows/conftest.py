"""A HUSH_HOME of their own for the tests of the flows, in place before anything imports prefect."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="hush-tests-")
if not os.environ.get("HUSH_HOME"):
    os.environ["HUSH_HOME"] = _FOLDER.name

from tasks.environment import prepare_environment  # noqa: E402

prepare_environment()
