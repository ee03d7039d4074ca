"""Files that are whole or absent and that only their owner may read; and the digest of a file's content.

Only this module writes atomically and durably. It writes beside the target, syncs the file, renames it and syncs
the folder, so neither a kill nor a power cut leaves half a file.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO


def private_folder(folder: Path) -> Path:
    """Make a folder that only its owner may enter."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def users_cache(name: str) -> Path | None:
    """A folder of this user under XDG_CACHE_HOME (~/.cache), for what all homes share; None where others could put
    something there.

    The folder is the user's own with mode 0700, and only this user and root may rename a folder above it.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "hush" / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve()
        for place in (folder, *folder.parents):
            about = place.stat()
            mine = about.st_uid == os.geteuid()
            if place == folder:
                safe = mine and not about.st_mode & 0o077
            else:
                safe = (mine or about.st_uid == 0) and (
                    not about.st_mode & 0o022 or bool(about.st_mode & stat.S_ISVTX)
                )
            if not safe:
                return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # no home, or a disk that takes no file
        return None


def write_whole(target: Path, data: bytes) -> None:
    """Write a file wholly or not at all, durably; mode 0600.

    Raises:
        OSError: it could not be written; what was there is unchanged.
    """
    with whole_file(target) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A new file of mode 0600 that takes the target's place when the block ends; nothing stays of a failed one."""
    part = beside(target)
    try:
        with new_file(part) as file:
            yield file
        put_in_place(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A new file of mode 0600, on the disk when the block ends."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def beside(target: Path) -> Path:
    """A fresh hidden name in the same folder, and so on the same disk."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}")


def put_in_place(part: Path, target: Path) -> None:
    """Rename what is on the disk already, and bring the rename to the disk."""
    os.replace(part, target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Bring a file's content, or a folder's entries (new files and renames), to the disk.

    Raises:
        OSError: as fsync.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_digest(model_files: Mapping[str, str]) -> str:
    """SHA-256 over names and hashes of a model's files: the same for every certificate of the model."""
    return hashlib.sha256(json.dumps(dict(model_files), sort_keys=True).encode()).hexdigest()


def hash_directory(directory: Path) -> dict[str, str]:
    """Relative path → SHA-256 of every file below `directory`, sorted."""
    files = sorted(p for p in directory.rglob("*") if p.is_file())
    return {p.relative_to(directory).as_posix(): file_sha256(p) for p in files}
