"""What every command and every flow asks of a config before anything is started."""

from __future__ import annotations

from pathlib import Path

from hush_core.config import Changes, HushConfig, load_config
from hush_core.config.model_folder import check_model
from hush_core.errors import InputError
from hush_core.secrets.check import check_sources


def check_config(config_file: Path, changes: Changes | None = None, *, trains: bool = True) -> HushConfig:
    """Read a config and check all of it that can be checked in seconds: keys, model, sources, secrets.

    Where nothing is trained, a batch that cannot be is no mistake: `hush plan` says the largest that can.

    Raises:
        InputError: names the file, line or key, what is wrong and how to mend it.
    """
    config = load_config(config_file, changes)
    try:
        check_model(config)
        check_sources(config, trains=trains)
    except OSError as error:  # a disk or a permission that nobody foresaw
        where = str(error.filename or config_file)
        raise InputError(
            where, error.strerror or "cannot be read", "check its permissions and its disk"
        ) from None
    return config
