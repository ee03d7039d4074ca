"""Files encrypted for storage that others may read: AES-256-GCM piece by piece, so that no size needs the memory.

A file is a line of magic, 32 random bytes and its pieces of 1 MiB. Its key is derived (HKDF-SHA256) from the given
key, those bytes and the file's name, so a file under another name does not open. A piece's nonce is its number and
whether it is the last. So pieces that were left out, swapped, cut off or added do not open either. This is the
STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO 2015).
"""

from __future__ import annotations

import secrets
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

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
