"""What is public by its encoding, ASN.1's DER or PEM, in base64: certificates, requests, ECDSA signatures.

Recognised by the structure (X.690, RFC 5280, 2986, 3279), whatever the name before. Not taken for these: private keys,
which begin with an integer (RFC 8017, 5915, 5958), encrypted ones, with an algorithm (RFC 5958), and PKCS #12, with
version 3 (RFC 7292).
"""

# ruff: noqa: E501  (patterns: one row a form)

from __future__ import annotations

import base64
import binascii
import re

from hush_core import linear

SEQUENCE, INTEGER, VERSION = 0x30, 0x02, 0xA0
LEAST_CERTIFICATE = 128
"""Bytes; no certificate, request or list is shorter."""
HEAD = 64
"""Characters of base64 that hold all by which a certificate is recognised."""
SIGNED = range(16, 70)
"""Bytes of each number of an ECDSA signature, on curves of 128 to 521 bits."""
REACH = 8192
"""Bytes before a line in which the first line of its certificate is looked for: some have 6 KiB."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_LINE = linear.compile(
    rb"(?:[ \t\"'`+.&|>#*/]*[ \t\"'`.&|>#*])?([A-Za-z0-9+/]{16,}={0,2})(?:\\[nr])*[ \t\"'`+.&|,;)\\\r]*"
)
_FIRST = linear.compile(rb"(?<![A-Za-z0-9+/])(MI[A-Za-z0-9+/]{38,})(?:\\[nr])*[ \t\"'`+.&|,;)\\\r]*\Z")
_ARMOURED = linear.compile(
    rb"\s*-----BEGIN (TRUSTED CERTIFICATE|X509 CRL|(?:NEW )?CERTIFICATE(?: REQUEST)?|(?:[A-Z]{2,10} )?PUBLIC KEY)-----"
    rb"[A-Za-z0-9+/=\s]*(?:-----END ([A-Z0-9 ]+)-----\s*|\Z)"
)


def is_public_der(token: bytes) -> bool:
    """Whether base64 holds a certificate, a request for one or a list of revoked ones (or begins one), or an ECDSA
    signature, nothing more.

    >>> is_public_der(b"MIIDMTCCAhmgAwIBAgIUGZ4lxgGFw0r7pT"), is_public_der(b"MIIEvgIBADANBgkqhkiG9w0BAQEFAASC")
    (True, False)
    """
    if not token.startswith((b"MI", b"MC", b"MD", b"ME", b"MF", b"MG")) or not _BASE64.fullmatch(token):
        return False
    return certificate_bytes(token) > 0 or _is_signature(_decoded(token))


def certificate_bytes(token: bytes) -> int:
    """How many bytes the certificate, request or list has that base64 begins with; 0 where it begins none.

    Of random bytes one in 2^40 begins one.
    """
    data = _decoded(token[:HEAD].rstrip(b"="))
    outer = _opened(data, 0, SEQUENCE)
    inner = outer and _opened(data, outer[0], SEQUENCE)
    if not outer or not inner or outer[0] + outer[1] < LEAST_CERTIFICATE or inner[1] > outer[1]:
        return 0
    at = inner[0]
    if data[at : at + 5] in (b"\xa0\x03\x02\x01\x01", b"\xa0\x03\x02\x01\x02"):  # versions 2 and 3
        at += 5
    number = _opened(data, at, INTEGER)  # a certificate's number, or the version of a request or a list
    if not number or number[1] > 20:
        return 0
    behind = number[0] + number[1]
    if behind < len(data) and data[behind] != SEQUENCE:
        return 0
    return outer[0] + outer[1]


def _is_signature(data: bytes) -> bool:
    outer = _opened(data, 0, SEQUENCE)
    if not outer or sum(outer) != len(data):
        return False
    first = _opened(data, outer[0], INTEGER)
    second = first and _opened(data, sum(first), INTEGER)
    return bool(first and second and sum(second) == len(data) and {first[1], second[1]} <= set(SIGNED))


def _opened(data: bytes, at: int, tag: int) -> tuple[int, int] | None:
    """Where the content of the value at `at` begins, and its length; None unless it has this tag and DER's shortest
    length."""
    if at + 2 > len(data) or data[at] != tag:
        return None
    size = data[at + 1]
    if size < 0x80:
        return at + 2, size
    width = size - 0x80
    length = int.from_bytes(data[at + 2 : at + 2 + width], "big")
    if not 1 <= width <= 3 or at + 2 + width > len(data) or length < max(0x80, 1 << (8 * (width - 1))):
        return None
    return at + 2 + width, length


def _decoded(token: bytes) -> bytes:
    plain = token.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4))
    except binascii.Error:
        return b""


def in_certificate(content: bytes, first: int, last: int) -> bool:
    """Whether the line [first, last) is one of a certificate's in base64, without armour, in lines of one width.

    Its first line must say how long the certificate is, and the line lie within that.
    """
    own = _LINE.fullmatch(content[first:last].rstrip(b"\n"))
    if not own or len(own[1]) > 512:
        return False
    width, before, at = 0, 0, first
    while at > max(0, first - REACH):
        above = content.rfind(b"\n", 0, at - 1) + 1
        line = content[above : at - 1]
        whole = _LINE.fullmatch(line) if len(line) <= 640 else None
        if whole and whole[1].startswith(b"MI") and certificate_bytes(whole[1]):
            before += len(whole[1])
            return before * 3 // 4 < certificate_bytes(whole[1])
        if not whole or (width and len(whole[1]) != width) or len(whole[1]) < len(own[1]):
            head = _FIRST.search(line[-640:])
            size = certificate_bytes(head[1]) if head else 0
            return (before + len(head[1])) * 3 // 4 < size if head else False
        width, before, at = len(whole[1]), before + len(whole[1]), above
    return False


def is_public_armour(value: bytes) -> bool:
    r"""Whether base64 holds certificates or public keys in PEM's armour (the last may be cut), nothing else.

    >>> begin, end = b"-----BEGIN CERTIFICATE-----\nMIIB\n", b"-----END CERTIFICATE-----\n"
    >>> [is_public_armour(base64.b64encode(text)) for text in (begin, begin + end, begin + end + b"key")]
    [True, True, False]
    """
    if not value.startswith(b"LS0tLS1CRUdJTi") or not _BASE64.fullmatch(value):
        return False
    text, at = _decoded(value), 0
    while at < len(text):
        block = _ARMOURED.match(text, at)
        if block is None or block[2] not in (None, block[1]):
            return False
        at = block.end()
    return True
