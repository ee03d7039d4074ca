"""Values that anybody can look up: examples of documentations and standards, and hashes of common passwords.

The examples are kept as the first twelve digits of their SHA-256, so that no scanner takes this file for a leak:
another value hits one of them with probability 2^-40.
"""

import hashlib
import re
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from hush_core.secrets.guessing import words
from hush_core.secrets.guessing.decoding import raw_forms
from hush_core.secrets.guessing.published_keys import PUBLISHED
from hush_core.secrets.kept import keep, kept

_GLUE = re.compile(r"-----[^-]{0,120}-----|\\[nrt]|\s")
_PART = re.compile(r"(?:[A-Za-z0-9_.-]|[+/](?=[A-Za-z0-9+/=]{4})){16,256}={0,2}")
_PREFIX = re.compile(r"^[A-Za-z0-9]{1,12}[_:.-]")
_EXAMPLE = re.compile(
    r"EXAMPLE(?:KEY|TOKEN|SECRET)?={0,2}\Z|\A(?:EXAMPLE|DUMMY|YOUR[_-]|INSERT[_-]|REPLACE[_-]|CHANGE[_-]?ME)"
)
_DIGESTS = {16: ("md5", "ntlm"), 20: ("sha1",), 32: ("sha256",), 64: ("sha512",)}


def key(value: str) -> str:
    """How a value is listed: without armour, line breaks and case, by its hash."""
    return hashlib.sha256(_GLUE.sub("", value).casefold().encode("utf-8", "replace")).hexdigest()[:12]


def without_published(value: str) -> str:
    """The value without the parts that are published examples or hashes of common passwords; empty if it is one.

    >>> without_published("admin:21232f297a57a5a7" + "43894a0e4a801fc3")
    'admin:'
    """
    value = value.strip()
    if _listed(value) or _is_common_hash(value):
        return ""
    return _PART.sub(lambda m: "" if _listed(m[0]) or _is_common_hash(m[0]) else m[0], value)


def is_published(value: str) -> bool:
    """Whether it is one of the examples, as a whole; a hash of a common password is not: somebody may use that."""
    return _listed(value.strip())


def _listed(value: str) -> bool:
    """Whether the value, or what follows its prefix, is in the list or says that it is an example."""
    if _EXAMPLE.search(value):
        return True
    for _ in range(3):
        if key(value) in PUBLISHED:
            return True
        match = _PREFIX.match(value)
        if not match:
            return False
        value = value[match.end() :]
    return False


def _is_common_hash(value: str) -> bool:
    """MD5, SHA-1, SHA-256, SHA-512 or NTLM of a common password, in hex or base64."""
    return any(len(data) in _DIGESTS and _is_common(data) for data in raw_forms(value))


def _is_common(digest: bytes) -> bool:
    short = np.uint64(int.from_bytes(digest[:8], "big"))
    for name in _DIGESTS[len(digest)]:
        listed = _hashes(name)
        at = int(np.searchsorted(listed, short))
        if at < len(listed) and listed[at] == short:
            return True
    return False


@cache
def _hashes(name: str) -> np.ndarray:
    """The first eight bytes of the hash of each common password, ascending; kept, as it takes a while."""
    file = f"{name}-{_made_by()}"
    if (data := kept(file)) is not None:
        return np.frombuffer(data, dtype=np.uint64)
    common = _common()
    if name == "ntlm":
        short = _ntlm([word for word in common if len(word) <= 27])
    else:
        new = getattr(hashlib, name)  # half the time of hashlib.new
        digests = b"".join([new(word, usedforsecurity=False).digest()[:8] for word in common])
        short = np.frombuffer(digests, dtype=">u8").astype(np.uint64)
    short = np.sort(short)
    keep(file, short.tobytes())
    return short


def _made_by() -> str:
    """Of the words, and of how they are hashed."""
    texts = [Path(module.__file__).read_bytes() for module in (words, sys.modules[__name__])]
    return hashlib.sha256(b"".join(texts) + version("zxcvbn").encode()).hexdigest()[:16]


@cache
def _common() -> list[bytes]:
    return [word.encode() for word in words.common_passwords()]


def _ntlm(words: list[bytes]) -> np.ndarray:
    """MD4 (RFC 1320) of each word in UTF-16, of which each fits one block; OpenSSL 3 has no MD4."""
    wide = [word.decode().encode("utf-16-le")[:54] for word in words]
    padded = b"".join(
        [(word + b"\x80").ljust(56, b"\0") + (len(word) * 8).to_bytes(8, "little") for word in wide]
    )
    x = np.frombuffer(padded, dtype="<u4").reshape(-1, 16).astype(np.uint32)
    a, b, c, d = first = tuple(np.full(len(words), v, dtype=np.uint32) for v in _START)
    for mix, added, order, turns in _ROUNDS:
        for n, k in enumerate(order):
            turn = np.uint32(turns[n % 4])
            new = a + mix(b, c, d) + x[:, k] + np.uint32(added)
            new = (new << turn) | (new >> np.uint32(32 - turns[n % 4]))
            a, b, c, d = d, new, b, c
    state = np.stack([u + v for u, v in zip((a, b), first, strict=False)], axis=1).astype("<u4")
    return np.ascontiguousarray(state).view(">u8").ravel().astype(np.uint64)


_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_ROUNDS = (
    (lambda x, y, z: (x & y) | (~x & z), 0, range(16), (3, 7, 11, 19)),
    (
        lambda x, y, z: (x & y) | (x & z) | (y & z),
        0x5A827999,
        (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        (3, 5, 9, 13),
    ),
    (
        lambda x, y, z: x ^ y ^ z,
        0x6ED9EBA1,
        (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15),
        (3, 9, 11, 15),
    ),
)
