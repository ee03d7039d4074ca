"""Private keys in host files, and their certificates, requests and public keys: who reports those is right.

Hosts' key files are left out by their ending (`outside_planting.KEYS`); keys in source files of theirs are
credentials all the same. A certificate, a request for one or a public key is of such a key if the public key
computed from the private one is its own, and by nothing less: it leaves one candidate for the key (Definition 3.1
of docs/mathematics.md). Others, those of keys that are encrypted, and all other lines remain what they were.
"""

import base64
import re
from collections.abc import Iterator

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
    load_ssh_private_key,
)
from cryptography.x509 import InvalidVersion, load_der_x509_certificate, load_der_x509_csr

LABEL = r"(?:[A-Z0-9]+ )*(?:PRIVATE KEY|PUBLIC KEY|CERTIFICATE(?: REQUEST)?)"
BLOCK = re.compile(
    rf"-----BEGIN (?P<label>{LABEL})-----\n(?:[A-Za-z0-9-]+: [^\n]*\n)*\n?"
    rf"([A-Za-z0-9+/=\s]+)-----END {LABEL}-----"
)
WRITTEN = re.compile(rf"-----BEGIN (?P<label>{LABEL})-----([^-]{{100,12000}})-----END {LABEL}-----")
PGP = re.compile(
    r"-----BEGIN PGP PRIVATE KEY BLOCK-----\n(?:[ \t]*[A-Za-z]+: [^\n]*\n)*\s*((?:[ \t]*[A-Za-z0-9+/]+={0,2}\n)+?)"
    r"[ \t]*=([A-Za-z0-9+/]{4})\n[ \t]*-----END PGP PRIVATE KEY BLOCK-----"
)
JOINT = re.compile(r"[\"'`]\s*(?:[+.,&|\\]\s*)?[\"'`]")
GLUE = re.compile(r"\\[nrt]|[\s\"'`,;\\]")
BODY = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")
ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}(?==?)")
OPENSSH = b"openssh-key-v1\0"
NOT_READ = (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion)
"""Cut short, encrypted, or of a kind that nobody reads."""
Lines = set[tuple[str, int]]


def key_lines(files: dict[str, str]) -> tuple[Lines, Lines]:
    """(path, line from 1) of the private keys in `files`; and of the certificates, requests and public keys of
    those, in whichever file.

    A private key is armoured, and base64 of one whole DER sequence or of OpenSSH's own format; where it is written
    in strings or in base64, one that can be computed with.
    """
    keys: Lines = set()
    publics: set[bytes] = set()
    shown: list[tuple[bytes, Lines]] = []
    for path, text in files.items():
        for label, data, first, last in _blocks(text):
            lines = {(path, line) for line in range(first, last + 1)}
            if "PRIVATE" not in label:
                shown.append((data, lines))
            elif label.startswith("PGP") or data.startswith(OPENSSH) or _is_sequence(data):
                keys |= lines
                publics |= _public_of_key(data)
    return keys, set().union(*(lines for data, lines in shown if _public_shown(data) & publics))


def _public_of_key(data: bytes) -> set[bytes]:
    """The public key that a private one gives, computed; none where it is encrypted or not consistent."""
    try:
        if data.startswith(OPENSSH):
            body = base64.encodebytes(data).decode()
            pem = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----\n"
            key = load_ssh_private_key(pem.encode(), None)
        else:
            key = load_der_private_key(data, None)
    except NOT_READ:
        return set()
    return {key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)}


def _public_shown(data: bytes) -> set[bytes]:
    """The public key that a certificate or a request states, or that the data is."""
    for load in (load_der_x509_certificate, load_der_x509_csr, load_der_public_key):
        try:
            read = load(data)
            key = read.public_key() if hasattr(read, "public_key") else read
        except NOT_READ:
            continue
        return {key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)}
    return set()


def _blocks(text: str) -> Iterator[tuple[str, bytes, int, int]]:
    """(label, content, first line, last line) of every armoured block that is base64: as it is, in strings with
    their quotes and escapes (then its content must be one that can be read), or in base64 as a whole."""
    for match in BLOCK.finditer(text):
        try:
            data = base64.b64decode("".join(match[2].split()), validate=True)
        except ValueError:
            continue
        first = text.count("\n", 0, match.start()) + 1
        yield match["label"], data, first, first + match[0].count("\n")
    for match in PGP.finditer(text):
        data = base64.b64decode("".join(match[1].split()))
        if crc24(data) == int.from_bytes(base64.b64decode(match[2]), "big"):
            first = text.count("\n", 0, match.start()) + 1
            yield "PGP PRIVATE KEY", data, first, first + match[0].count("\n")
    for match in WRITTEN.finditer(text):
        body = GLUE.sub("", JOINT.sub("", match[2]))
        if body == "".join(match[2].split()) or not BODY.fullmatch(body):
            continue
        if len(body.rstrip("=")) % 4 == 1:
            continue
        data = base64.b64decode(body + "=" * (-len(body) % 4))
        if _public_of_key(data) or _public_shown(data):
            first = text.count("\n", 0, match.start()) + 1
            yield match["label"], data, first, first + match[0].count("\n")
    for match in ENCODED.finditer(text):
        whole = match[0][: len(match[0]) - (len(match[0]) % 4 == 1)]
        armoured = base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
        line = text.count("\n", 0, match.start()) + 1
        for label, data, _, _ in _blocks(armoured):
            yield label, data, line, line


def crc24(data: bytes) -> int:
    """The checksum of OpenPGP's armour (RFC 4880, section 6.1)."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
    return crc


def _is_sequence(data: bytes) -> bool:
    """Whether the bytes are one DER sequence, from the first to the last."""
    if len(data) < 48 or data[0] != 0x30:
        return False
    more = data[1] & 0x7F if data[1] & 0x80 else 0
    size = int.from_bytes(data[2 : 2 + more], "big") if more else data[1]
    return len(data) == 2 + more + size
