"""Draws strings that match a regular expression, and the few credentials whose format no expression can state.

The stranger's benchmark (`outside_recall.py`) states each credential's published format as an expression and draws
from it uniformly at each choice. Checksums (GitHub, npm, Grafana), signed tokens and key files have makers.
Nothing here reads hush.
"""

import base64
import binascii
import json
import random
import re
import string
from collections.abc import Callable
from re import _constants as sre  # the parsed form is the only public way to walk an expression
from re import _parser as parser

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
WORDS_TEXT = """
autumn badger bridge canyon cedar coffee copper dragon falcon forest garden ginger harbor island
jasper kettle lantern maple meadow monkey mountain nectar orange otter pepper pirate planet purple
rabbit river rocket saturn silver spring summer sunset thunder tiger timber velvet walnut willow
winter yellow zephyr
"""
WORDS = WORDS_TEXT.split()
KEY_HEADS = {
    "RSA PRIVATE KEY": b"\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01\x00",
    "OPENSSH PRIVATE KEY": b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01",
}


def draw(pattern: str, chance: random.Random) -> str:
    """One string that `pattern` matches whole: literals, classes, counts, groups and alternatives."""
    return "".join(_drawn(item, chance) for item in parser.parse(pattern))


def _drawn(item: tuple, chance: random.Random) -> str:
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.IN:
        letters = [chr(c) for low, high in map(_span, value) for c in range(low, high + 1)]
        return chance.choice(letters)
    if kind is sre.MAX_REPEAT:
        least, most, inner = value
        return "".join(_drawn(part, chance) for _ in range(chance.randint(least, most)) for part in inner)
    if kind is sre.SUBPATTERN:
        return "".join(_drawn(part, chance) for part in value[-1])
    if kind is sre.BRANCH:
        return "".join(_drawn(part, chance) for part in chance.choice(value[1]))
    raise ValueError(f"no way to draw {kind}")


def _span(item: tuple) -> tuple[int, int]:
    kind, value = item
    if kind is sre.RANGE:
        return value
    if kind is sre.LITERAL:
        return value, value
    raise ValueError(f"no way to draw {kind}")


def base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits.rjust(width, "0")


def letters(alphabet: str, count: int, chance: random.Random) -> str:
    return "".join(chance.choices(alphabet, k=count))


def coded(data: bytes | str, url: bool = False) -> str:
    """Base64; in the URL's alphabet without padding if `url`."""
    data = data.encode() if isinstance(data, str) else data
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode() if url else base64.b64encode(data).decode()


def checked(prefix: str) -> Callable[[random.Random], str]:
    """GitHub's and npm's: 30 letters and digits, then their CRC32 in base 62, six wide."""

    def make(chance: random.Random) -> str:
        body = letters(BASE62, 30, chance)
        return prefix + body + base62(binascii.crc32(body.encode()), 6)

    return make


def grafana(chance: random.Random) -> str:
    body = "glsa_" + letters(BASE62, 32, chance)
    return f"{body}_{binascii.crc32(body.encode()):08x}"


def jwt(chance: random.Random) -> str:
    """A signed token (RFC 7519): HS256, with a subject and times."""
    user, born = chance.randrange(10**9), chance.randrange(10**9, 2 * 10**9)
    claims = {"sub": str(user), "name": chance.choice(WORDS), "iat": born}
    head = {"alg": "HS256", "typ": "JWT"}
    parts = [coded(json.dumps(part, separators=(",", ":")), url=True) for part in (head, claims)]
    return ".".join([*parts, coded(chance.randbytes(32), url=True)])


def service_token(prefix: str, length: int) -> Callable[[random.Random], str]:
    """A prefix, then base64 of a JSON object: 1Password's, Grafana Cloud's, Sentry's organisation tokens."""

    def make(chance: random.Random) -> str:
        body = {
            "o": str(chance.randrange(10**6)),
            "n": chance.choice(WORDS),
            "k": coded(chance.randbytes(length)),
        }
        return prefix + coded(json.dumps(body, separators=(",", ":")), url=True)

    return make


def key_file(label: str, size: int) -> Callable[[random.Random], str]:
    """A PEM block (RFC 7468) of random content; lines of 64."""

    def make(chance: random.Random) -> str:
        body = coded(KEY_HEADS.get(label, b"\x30\x81\x87\x02\x01\x00\x30") + chance.randbytes(size))
        lines = [body[i : i + 64] for i in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])

    return make


def wallet_key(chance: random.Random) -> str:
    """A Bitcoin private key in wallet import format: base 58 with a double SHA-256 check."""
    from hashlib import sha256

    data = b"\x80" + chance.randbytes(32)
    data += sha256(sha256(data).digest()).digest()[:4]
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return text


def human_password(chance: random.Random) -> str:
    """As people choose them: a word or two, digits, a mark, a letter turned into a sign."""
    first, second = chance.sample(WORDS, 2)
    year, few = str(chance.randrange(1970, 2026)), str(chance.randrange(10, 9999))
    shapes = [first.title() + year + chance.choice("!#?*"), first + few, f"{first}-{second}-{few}",
              first.title() + second.title() + few, first.replace("a", "@").replace("o", "0").title() + few,
              chance.choice("!#*") + second.upper() + few, f"{first}_{year}"]  # fmt: skip
    return chance.choice(shapes)


def matches(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value, re.S) is not None
