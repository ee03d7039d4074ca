"""What every first command of a user would do, done once: `python -m flows.set_up`, which `make setup` runs.

Compiles the rules for credentials, makes the index of fonts and an empty database of Prefect's, all in the user's
cache (~/.cache, or XDG_CACHE_HOME). Without it the first commands take ten seconds longer.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess

from hush_core.secrets.detectors.credential_scanner import compile_rules
from tasks.runtime.empty_database import make_empty


def set_up() -> str:
    rules = compile_rules()
    importlib.import_module("matplotlib.font_manager")  # writes the index as it is imported
    with contextlib.suppress(OSError, subprocess.CalledProcessError):  # the first run does without
        make_empty()
    if rules is None:
        return "nothing is kept: others may write to the cache of this user"
    return f"what first commands need is kept in {rules.parent}"


if __name__ == "__main__":
    print(set_up())
