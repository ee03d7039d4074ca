"""Files encrypted for storage that others may read: AES-256-GCM piece by piece, so that no size needs the memory.

A file is a line of magic, 32 random bytes and its pieces of 1 MiB. Its key is derived (HKDF-SHA256) from the given
key, those bytes and the file's name, so a file under another name does not open. A piece's nonce is its number and
whether it is the last. So pieces that were left out, swapped, cut off or added do not open either. This is the
STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO 2015).

A folder travels as a tar of its plain files. Anyone with the key may have sealed anything. So only plain files are
unpacked, and an archive that does not unpack counts as damaged, so that a home that has the object replaces it.
"""

from __future__ import annotations

import secrets
import shutil
import tarfile
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tasks.runtime.full_disk import FULL

MAGIC = b"hush sealed 1\n"
SALT = 32
PIECE = 1 << 20
TAG = 16


class NotWhole(ValueError):
    """A sealed file was changed, cut, moved to another name, or is of another key."""


def seal(plain: BinaryIO, into: BinaryIO, key: bytes, name: str) -> None:
    """Encrypt all of `plain`. key: 32 bytes. name: what the file will be called; it opens under no other."""
    salt = secrets.token_bytes(SALT)
    cipher = _cipher(key, salt, name)
    into.write(MAGIC + salt)
    number, piece = 0, plain.read(PIECE)
    while True:
        after = plain.read(PIECE)
        into.write(cipher.encrypt(_nonce(number, last=not after), piece, None))
        if not after:
            return
        number, piece = number + 1, after


def unseal(sealed: BinaryIO, into: BinaryIO, key: bytes, name: str) -> None:
    """Decrypt all of `sealed`; after a failure, discard what was written. Raises NotWhole: it is not, to the byte,
    what was sealed under this name with this key."""
    head = sealed.read(len(MAGIC) + SALT)
    if len(head) != len(MAGIC) + SALT or not head.startswith(MAGIC):
        raise NotWhole("no sealed file")
    cipher = _cipher(key, head[len(MAGIC) :], name)
    number, piece = 0, sealed.read(PIECE + TAG)
    while True:
        after = sealed.read(PIECE + TAG)
        try:
            into.write(cipher.decrypt(_nonce(number, last=not after), piece, None))
        except (InvalidTag, ValueError):  # ValueError: shorter than a tag
            raise NotWhole("a piece does not open") from None
        if not after:
            return
        number, piece = number + 1, after


def _cipher(key: bytes, salt: bytes, name: str) -> AESGCM:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=salt, info=b"hush object " + name.encode())
    return AESGCM(derived.derive(key))


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


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
