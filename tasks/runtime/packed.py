"""An object of the store as one encrypted file, and back: a folder travels as a tar of its plain files.

Anyone with the key may have sealed anything. So only plain files are unpacked, and an archive that does not unpack
counts as damaged, so that a home that has the object replaces it.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from tasks.runtime.full_disk import FULL
from tasks.runtime.sealed import NotWhole, seal

A_FILE = 1 << 14
"""Bytes of a tar, at most, for a file's name and its rounding."""


def pack_and_seal(path: Path, into: Path, key: bytes, name: str) -> None:
    """Encrypt a file or a folder into a new file. key, name: as of `seal`."""
    packed = into.with_name(into.name + ".tar")
    try:
        if path.is_dir():
            with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as archive:
                for file in sorted(path.rglob("*")):
                    if file.is_file():
                        archive.add(file, arcname=file.relative_to(path).as_posix(), recursive=False)
        with open(packed if path.is_dir() else path, "rb") as plain, open(into, "xb") as out:
            seal(plain, out, key, name)
    finally:
        packed.unlink(missing_ok=True)


def most_of(path: Path) -> int:
    """Bytes that a sealed file or folder has at most."""
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    plain = sum(file.stat().st_size + A_FILE for file in files)
    return plain + plain // 1024 + A_FILE


def unpack(packed: Path, into: Path) -> None:
    """Make a folder of a tar. Raises NotWhole: it is no tar, or not one of plain files. OSError: the disk is
    full."""
    into.mkdir(mode=0o700)
    try:
        with tarfile.open(packed, "r:") as archive:  # of no compression: nothing grows
            for member in archive:
                if not member.isreg() or member.issparse():
                    raise NotWhole("another thing than a file")
                archive.extract(member, into, filter="data")
        for path in into.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
    except Exception as error:  # tarfile raises a dozen kinds, all of which say: no such folder
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise NotWhole("no folder") from None


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
