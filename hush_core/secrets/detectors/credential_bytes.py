r"""Keys that are spelled byte by byte: arrays of numbers, escapes in strings, pairs of hexadecimal digits.

Random bytes are no text, so what counts is the name beside them (`aesKey`, `seed`, `SecretKeySpec`), and that there are
16, 24, 32, 48 or 64 of them. Under a password's name 8 characters or more count. An array with an answer
beside it is a test vector; S-boxes, tables and pictures are longer, shorter, or counted.

>>> drawn = bytes.fromhex("57abe5091c7f23d8946be08235c1fa4d")
>>> go = b"var aesKey = []byte{" + b", ".join(b"0x%02x" % byte for byte in drawn) + b"}\n"
>>> [go[start:end][:12] for _, start, end in key_bytes(go, [(0, len(go))])]
[b'0x57, 0xab, ']
>>> java = b"byte[] KEY = {" + b", ".join(b"(byte)0x%02X" % byte for byte in drawn) + b"};\n"
>>> python = b"SEED = b'" + b"".join(b"\\x%02x" % byte for byte in drawn) + b"'\n"
>>> [rule for text in (java, python) for rule, *_ in key_bytes(text, [(0, len(text))])]
['hush.key-bytes', 'hush.key-bytes']
>>> [list(key_bytes(text, [(0, len(text))])) for text in (go.replace(b"aesKey", b"iv"), go.replace(b"aesKey", b"table"))]
[[], []]
"""

# ruff: noqa: E501  (patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from hush_core import linear
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.credential_looks import is_passphrase, is_strong
from hush_core.secrets.detectors.credential_public import is_everybodys, is_placeholder
from hush_core.secrets.detectors.credential_randomness import looks_made
from hush_core.secrets.detectors.credential_words import words
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.guessing.byte_lists import BETWEEN, ESCAPED, ITEM, PAIRS, listed_bytes
from hush_core.secrets.priors import KEY_BYTES

SIZES = frozenset((16, 24, 32, 48, 64))
"""Bytes of a symmetric key, a seed, and an ed25519 key pair (Solana's)."""
BEFORE, MOST, BESIDE = 200, 4096, 600
_LIST = rb"(?:" + ITEM + BETWEEN + rb"){6}"
BYTES_GATE = (
    rb"(?:key|secret|seed|priv|token|psk|pass|pwd|wallet|cipher|hmac|\bsk\b|[dkm]ek\b)[^\n]{0,100}(?:\r?\n[^\n]{0,60})?(?:"
    rb"(?:[0-9$&(\"'-][0-9a-z $&()#.\"']{0,16}[,;]\s{0,40}){6}|(?:-?[0-9]{1,3}[ ]){8}|(?:-[ ]+[0-9]{1,3}\r?\n[ ]*){6}|(?:\\(?:x[0-9a-f]{2}|u00[0-9a-f]{2}|[0-3][0-7]{2})[^\\\n]{0,3}){4}|\b[0-9a-f]{2}(?:[: -][0-9a-f]{2}){15})"
)
"""A name, and on its line or the next the first numbers of an array."""
_STRING = ESCAPED + rb"+(?:[\"'][ \t]*[+.\\]?[ \t]*\r?\n?[ \t]*[+.]?[ \t]*b?[\"']" + ESCAPED + rb"+)*"
_RUN = linear.compile(rb"(?:" + ITEM + BETWEEN + rb"){7,}" + ITEM + rb"|[\"']" + _STRING + rb"[\"']|" + PAIRS)
_ESCAPE, _PAIRS = re.compile(rb"\\x[0-9A-Fa-f]|\\u00|\\[0-3][0-7]{2}"), re.compile(PAIRS)
_CLOSED = linear.compile(
    rb"[ \t]*[,;]?[ \t]*(?:(?://|#)[^\n]{0,60}\n|/\*[^*\n]{0,60}\*/)?\s{0,40}(?:[\]})>;\"'`]|\|\]|\Z)|[ \t]*(?:\r?\n)"
)
_QUOTED_ITEM = re.compile(rb"[\"']0x[0-9A-Fa-f]{2}[\"'],")
_NAME = re.compile(rb"[A-Za-z_$][\w$-]*")
_NO_NAME = frozenset(
    b"new byte bytes uint int u sint unsigned signed char array buffer from of vec slice list pack const static final var let val mut "
    b"public private protected internal readonly constexpr to hex as string str raw return x b c r f return type data value values "
    b"copy ref immutable uint8array bytearray byte_array uint8_t uint8 "
    b"sha sha256 sha512 sha1 md5 fromcharcode db fromhex unhexlify decodehex decodestring hextobytes hexstringtobytes hex2bin decode parse bs bytestring progmem implode array_map chr map defconstant def".split()
)
"""Words between a name and its bytes: types, constructors, modifiers."""
_OF_KEYS = frozenset(
    b"key keys secret seed token password passwd passphrase pwd psk private priv privkey sk keypair wallet mnemonic cipher hmac kek dek mek "
    b"keydata keybytes secretkey privatekey aeskey master pepper pass pw".split()
)
_PASSWORDS = frozenset(b"password passwd passphrase pwd pass pw psk".split())
_NOT_OF_KEYS = frozenset(
    b"iv nonce salt public pub pk expected expect want test hash digest sig signature mac tag plain ciphertext text len length size id ids "
    b"index code codes board pad press frame frames event map type name names field vector sbox box magic header guid uuid color colour "
    b"table char chars count width height offset down up monkey turkey hockey order sort point points fingerprint checksum crc".split()
)
_ANSWER = linear.compile(
    rb"(?i)(?:\b(?:plain|cipher)_?-?text\w*|\b\w{0,12}expect\w*|\bwant\w*|\boutput\w*|\bdigest|\b[pc]t|\bmsg|\bmessage|\bresult|\btag)\b[\"']?[^\n]{0,40}?(?:\r?\n[^\n]{0,40}?)?(?:"
    + (
        _LIST
        + rb"|(?:\\x[0-9a-f]{2}){4}|[0-9a-f]{32})|\bRFC ?-?[0-9]{3}|\bNIST\b|\bFIPS\b|\bSP ?800|test ?_?-?vectors?\b|\bKAT\b|\bWycheproof\b"
    )
)
"""What is beside a test vector: its answer as bytes, or whose vectors it is of."""


def key_bytes(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of the bytes of keys that begin on these lines or end there."""
    seen = 0
    for first, last in lines:
        top = max(seen, content.rfind(b"\n", 0, max(0, first - BEFORE)) + 1)
        for run in _RUN.finditer(content, top, min(len(content), last + MOST)):
            deadline.check()
            start, end = run.span()
            if start >= last:
                break
            seen = max(seen, end)
            if content[start : start + 1] in b"\"'" and not _QUOTED_ITEM.match(content, start):
                start, end = start + 1, end - 1
                escapes = len(_ESCAPE.findall(content, start, end))
                if escapes < 4 and not _PAIRS.fullmatch(content, start, end):
                    continue
            elif not _CLOSED.match(content, end):
                continue
            name = _name(content[max(0, start - BEFORE) : start])
            if not name or not _is_of_key(name):
                continue
            if reason := _no_key(content, start, end, name):
                rejected(reason, content[start:end])
            else:
                yield KEY_BYTES, start, end


def _no_key(content: bytes, start: int, end: int, name: bytes) -> str:
    """Why an array under the name of a key is not one; "" if it may be."""
    data = listed_bytes(content[start:end])
    if data is None or not (is_drawn(data) or _is_password(data, _PASSWORDS.intersection(words(name)))):
        return "an array of bytes that are no key by their number, or not random"
    beside = (max(0, start - BESIDE), start), (end, min(len(content), end + BESIDE))
    if is_everybodys(data.hex().encode()) or any(_ANSWER.search(content, *near) for near in beside):
        return "a test vector: its answer, or the standard, is beside it"
    return ""


def key_alone(content: bytes) -> Iterator[tuple[str, int, int]]:
    """A file that is nothing but an array of 64 numbers: a key pair as Solana's tools keep it.

    >>> list(key_alone(b"[" + b",".join(b"%d" % (37 * n * n % 251) for n in range(1, 65)) + b"]")), list(key_alone(b"[1,2,3]"))
    ([('hush.key-bytes', 1, 235)], [])
    """
    text = content.strip()
    if text[:1] != b"[" or text[-1:] != b"]":
        return
    inner = text[1:-1].strip()
    run = _RUN.fullmatch(inner)
    data = listed_bytes(inner) if run else None
    if data is not None and len(data) == 64 and is_drawn(data):
        start = content.find(inner)
        yield KEY_BYTES, start, start + len(inner)


def is_drawn(data: bytes) -> bool:
    """Whether bytes are as many as a key has, and look drawn: neither counted nor sorted, smooth, or text.

    >>> is_drawn(bytes.fromhex("57abe5091c7f23d8946be08235c1fa4d")), is_drawn(bytes(range(32))), is_drawn(bytes(16))
    (True, False, False)
    """
    count = len(data)
    if count not in SIZES or len(set(data)) < 0.7 * count:
        return False
    high = sum(byte >= 128 for byte in data)
    steps = [b - a for a, b in pairwise(data)]
    return (
        count / 8 <= high <= count * 7 / 8
        and len(set(steps)) >= count / 2
        and sum(map(abs, steps)) >= 40 * len(steps)
    )


def _is_password(data: bytes, named: Collection[bytes] = ()) -> bool:
    """Whether bytes are the characters of a password, which under a password's name any are."""
    if not 8 <= len(data) <= 64 or not all(31 < byte < 127 for byte in data):
        return False
    if named and len(set(data)) >= 5 and data.strip(b" ") == data:
        return not is_placeholder(data)
    return (is_strong(data) or is_passphrase(data) or bool(looks_made(data))) and not is_placeholder(data)


def _name(before: bytes) -> bytes:
    """The name that is nearest before an array, without types and constructors.

    >>> _name(b"private static final byte[] KEY = new byte[] {"), _name(b"Keypair.fromSecretKey(Uint8Array.from([")
    (b'KEY', b'fromSecretKey')
    """
    lines = before.rsplit(b"\n", 2)
    for line in (lines[-1], b" ".join(lines[-2:])):
        for name in reversed(_NAME.findall(line)):
            if name.lower() not in _NO_NAME and not all(word in _NO_NAME for word in words(name)):
                return name
    return b""


def _is_of_key(name: bytes) -> bool:
    named = words(name)
    if not named or any(word in _NOT_OF_KEYS for word in named):
        return False
    return any(word in _OF_KEYS or word.endswith((b"key", b"secret", b"passwd")) for word in named)
