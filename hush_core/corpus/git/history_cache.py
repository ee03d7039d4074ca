"""What was read of a history, kept for the next run: only newer commits are read then.

The file holds paths, object ids and addresses, so it is as private as the repository: mode 0600 in a folder
of mode 0700. Its name is keyed.
"""

from __future__ import annotations

import hmac
import json
import os
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from hush_core.corpus.git.history_log import Log
from hush_core.files import private_folder, whole_file

_VERSION = "history-2"
_LISTS = ("commit", "paths", "blobs")


def log_file(folder: Path, key: bytes, repository: Path) -> Path:
    """Where the log of a repository is kept."""
    name = hmac.digest(key, b"history " + os.fsencode(repository.resolve()), "sha256").hex()
    return folder / "history" / f"{name[:32]}.npz"


def load_log(file: Path) -> Log | None:
    """A kept log; None if it is missing, damaged or of another version."""
    try:
        with np.load(file, allow_pickle=False) as kept:
            if bytes(kept["version"]).decode() != _VERSION:
                return None
            columns = {f.name: kept[f.name] for f in fields(Log) if f.type == "np.ndarray"}
            lists = {name: _split(kept[name]) for name in _LISTS}
            groups = [tuple(group) for group in json.loads(bytes(kept["groups"]))]
            return Log(tip=bytes(kept["tip"]), groups=groups, **lists, **columns)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def save_log(file: Path, log: Log) -> None:
    """Keep a log."""
    private_folder(file.parent.parent)
    private_folder(file.parent)
    texts = {name: b"\0".join(getattr(log, name)) for name in _LISTS}
    texts |= {"groups": json.dumps(log.groups).encode(), "tip": log.tip, "version": _VERSION.encode()}
    columns = {f.name: getattr(log, f.name) for f in fields(Log) if f.type == "np.ndarray"}
    with whole_file(file) as out:
        np.savez(out, **{k: np.frombuffer(v, dtype=np.uint8) for k, v in texts.items()}, **columns)


def _split(column: np.ndarray) -> list[bytes]:
    return bytes(column).split(b"\0") if len(column) else []
