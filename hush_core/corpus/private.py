"""Files that only their owner may read, and that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


@contextlib.contextmanager
def private_file(target: Path):
    """A new file of mode 0600, moved into place when it is whole."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
