"""What every command and every flow asks of a config before anything is started."""

from __future__ import annotations

import os
from pathlib import Path

from hush_core.config import Changes, HushConfig, load_config
from hush_core.config.calendar import schedule_of
from hush_core.config.model_folder import check_model
from hush_core.errors import InputError
from hush_core.secrets.check import check_sources
from tasks.reachable import training_hosts
from tasks.runtime.trust import signing_key


def check_config(config_file: Path, changes: Changes | None = None, *, command: str = "run") -> HushConfig:
    """Read a config and check all of it that can be checked in seconds: keys, model, sources, secrets.

    Where a deployment sets HUSH_CRON and HUSH_TIMEZONE (deploy/prefect.yaml), they replace the schedule of the
    promise.

    Args:
        config_file: for `hush secrets`, a folder means the repository in it.
        changes: values that replace those of the file.
        command: the one that asks.

    Raises:
        InputError: names the file, line or key, what is wrong and how to fix it.
    """
    config = load_config(config_file, changes, command=command)
    trains = command not in ("secrets", "plan")
    if config.promise:
        deployed = os.environ.get("HUSH_CRON"), os.environ.get("HUSH_TIMEZONE")
        schedule_of(config.promise.schedule, deployed, ("HUSH_CRON", "HUSH_TIMEZONE"))
    try:
        try:
            if command != "secrets":
                check_model(config)
            check_sources(config)
        except InputError as error:
            in_file = f"{config_file}: {error.where}"  # a folder is its one repository
            where = error.where.removeprefix("repos.1: ") if config_file.is_dir() else in_file
            raise InputError(where, error.what, error.hint) from None
        if trains:
            signing_key()  # the run signs its result: a wrong key shows before training
            training_hosts(config.train.processes)
    except OSError as error:  # a disk or a permission that nobody foresaw
        where = str(error.filename or config_file)
        hint = "check its permissions and its disk"
        raise InputError(where, error.strerror or "cannot be read", hint) from None
    return config
