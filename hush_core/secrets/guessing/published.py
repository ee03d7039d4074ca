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
    common = [word.encode() for word in words.common_passwords()]
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


PUBLISHED = frozenset(
    """
01eefb2a8612 02e6da7c69ec 034682f91502 03cf6dc15510 03fd0a9962f3 07e23ede2756 0a35c47b4f43 0aedba9d586f
0b1998edd08b 0c352f0a6723 0d402b1348f4 0e238bfc743a 0ee4be43c5d0 0f1a4cf6f786 107f75edc83d 109a9f004d74
11779b103df5 124afcebe52a 13e091b2098d 1619478337f6 1848aa578e36 1ae1920ebbf8 1dfdb406e871 203fa897acf2
2598f7d6adc1 2655067000c5 28375b3f0b48 28738bf97e57 28e543d3753f 293257ab6495 2aebabfb53b3 2b5ab1cb7beb
2eb6c6020c22 2ef2503d964e 3002888f967a 30a5154b77ab 320159ebe321 32c2dc15c512 3599ccd0b32f 359e12688466
38e69fdd19ae 39a92138de4c 3d14a015c7fb 3dfa95ce9d1c 3e2ac6155651 414b0f60b0b3 42944119de69 453a6f6206b9
47158065cb7a 4818806648ce 4c20e6f5cc11 4d3e46eec824 4deba7c71076 4e62034b313b 4feedff511d4 5029ac078774
54da4a7cf393 56d9c695a4b1 56e076c4827c 570dad43de1a 5765aa09612d 578592185588 57a6ebc8cb9f 581fa4c8dba5
5934331e1ef4 5bde0625664c 5c28b2022dca 5c9e1377e2b5 60a09e435786 62cba7da440b 64034b44c579 649e1f5c769e
6650ecac9fc1 66b4d84b49ac 679b04fe871e 6891bce6320f 6aa14267d949 6adbfd178516 6c38fd765f58 6c86c6aac5fb
6d503184291a 6e5476296f36 6ee95ffc8b13 6f49ced9c4d9 70791941f104 71784e6e8e92 71ed0939c04a 774482c86419
79e911a765bd 7c7c15ffb038 7c7dfd3404be 7cc84c806a94 7dec36ea11fe 7e61e16800fa 81518f53ac4e 8335c5533482
837e8e636d45 8f400c257611 8f7c647115d0 90580f4d2cba 967f21586cdf 96bfeba8acde 970c3d6db9c9 97d1e1703db1
986c0dc956dc 9b4d1fe07ab0 9ba53bcd10e9 9c846fdf0fa8 9ed7976ace6d 9edfa9b28bc7 9f9dd1d2e3f1 9fb80255482a
a3a9e1ed9732 a447ee1578a8 a4b8b245ab28 a64ed54f0b45 a8c6d482b73c ac688ac6c61f ad9fa86c8969 ae15cc9715cd
afa04b0138c7 b17b5010c474 b26ab6529d20 b4efc2632e48 b510da57fd50 b7aa5c72dc85 b8597163e9bb b8780f5a50a6
bae656572be8 bb9b1163338b bc1a50966c9e be20984b3edf bf7858613ce6 c12ce25303a0 c1d2e8726375 c20fbc2b9618
c6cc47d20166 c6d88c4e74dd c7aa09cd25da cb87c87e4a13 cd2561113a57 cd372fb85148 cf1ed4736ef4 d1967c602d15
d5298d6c991d d6696fffc50b d75bdee36a96 d9729d7effcb e1c74bc86f5f e1eab1c4d1ad e41b28a23462 e55621691eda
e5621d0cdb5d e5855ff48799 e5a8c401ae70 e5c3d6819487 e89343e0da57 f011b9ea0b25 f070994a8599 f109d3ddccb2
f215faf9d88b f2ed892d0a63 f40330bfce0c f42324145a53 f676a029005e f7e7896182dc f907dea641a1 f94acc636a24
fa7d6c8ddbcc fb4844f5c8d3 fc3537f42fef fc6e109e3927 fcc070589dd4 fe31500003b3
    """.split()  # noqa: SIM905
)
"""Examples of vendors' documentations and of standards, each as the first twelve digits of `key`.

- AWS, Azure, Stripe, jwt.io, Twilio, Slack, Telegram, Discord, Google, reCAPTCHA, Mailgun, Vault, Elastic, Docker,
  Kubernetes, OpenWeather, Flask, FastAPI, Symfony, Windows; Hardhat's and Ganache's accounts
- UUIDs of RFC 4122 and 9562, Python and PostgreSQL; the one that Terraform writes for a value it does not know yet
- keys of RFC 2617, 4226, 5849, 6238, 6455, 6749, 6750, 7515, 7519, 7616, 7617, 7636 and of FIPS 197
- one-time passwords of the manuals of Google's and Python's libraries
"""
