"""The organisation's private key, and the public keys that somebody trusts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hush_core.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

CURVES = ("secp256r1", "secp384r1", "secp521r1")
"""Those of model-signing."""
MAKE = "make one with: openssl ecparam -name prime256v1 -genkey -noout -out signing.pem"
PUBLISH = "give the public half: openssl ec -in signing.pem -pubout -out NAME.pem"


@dataclass(frozen=True)
class PublicKey:
    """One key of a trust root.

    Attributes:
        name: who signs with it: the name of its file, without the suffix.
        path: where it lies. key: itself.
        fingerprint: SHA-256 of its PEM form, hexadecimal, as model-signing hints at keys.
    """

    name: str
    path: Path
    key: EllipticCurvePublicKey = field(compare=False, repr=False)
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.name} (key {self.fingerprint[:16]})"


@dataclass(frozen=True)
class TrustRoot:
    """The public keys whose signatures count, and where they were read."""

    keys: tuple[PublicKey, ...]
    where: Path

    def find(self, fingerprint: str) -> PublicKey | None:
        """The key of this fingerprint; None where it is not trusted."""
        return next((key for key in self.keys if key.fingerprint == fingerprint), None)


@dataclass(frozen=True)
class SigningKey:
    """The private key, and its public half's fingerprint; shown by neither `repr` nor `str`."""

    path: Path
    key: EllipticCurvePrivateKey = field(compare=False, repr=False)
    fingerprint: str


def read_signing_key(path: Path) -> SigningKey:
    """The private key of a PEM file.

    Raises:
        InputError: it cannot be read, is encrypted, or is no private key on one of these curves.
    """
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = _read(path, MAKE)
    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        raise InputError(
            str(path), "is encrypted", "hand it over decrypted, in a file that hush's account alone may read"
        ) from None
    except ValueError:
        raise InputError(str(path), "holds no private key in PEM form", MAKE) from None
    if not isinstance(key, EllipticCurvePrivateKey) or key.curve.name not in CURVES:
        raise InputError(str(path), f"is no key on {', '.join(CURVES)}", MAKE)
    return SigningKey(path, key, fingerprint_of(key.public_key()))


def read_trust(path: Path) -> TrustRoot:
    """The trust root: a file with one public key, or a folder of them (`NAME.pem`; hidden files are ignored).

    Raises:
        InputError: no key is there, or one cannot be read, is a private key, or is on another curve.
    """
    if path == Path():  # an empty word, which would be the working directory
        raise InputError("the trust root", "is named by nothing", "name a public key, or a folder of them")
    if path.is_dir():
        files = sorted(file for file in path.glob("*.pem") if not file.name.startswith("."))
        if not files:
            raise InputError(str(path), "holds no NAME.pem", PUBLISH)
    else:
        files = [path]
    return TrustRoot(tuple(_public(file) for file in files), path)


def trust_in(key: SigningKey) -> TrustRoot:
    """Of who signs, and names no others: the public half of the own key."""
    public = PublicKey(key.path.stem, key.path, key.key.public_key(), key.fingerprint)
    return TrustRoot((public,), key.path)


def fingerprint_of(key: EllipticCurvePublicKey) -> str:
    return hashlib.sha256(pem_of(key)).hexdigest()


def pem_of(key: EllipticCurvePublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _public(path: Path) -> PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _read(path, PUBLISH)
    if b"PRIVATE KEY" in data:
        raise InputError(str(path), "is a private key, and a trust root is public", PUBLISH)
    try:
        key = load_pem_public_key(data)
    except ValueError:
        raise InputError(str(path), "holds no public key in PEM form", PUBLISH) from None
    if not isinstance(key, EllipticCurvePublicKey) or key.curve.name not in CURVES:
        raise InputError(str(path), f"is no key on {', '.join(CURVES)}", PUBLISH)
    return PublicKey(path.stem, path, key, fingerprint_of(key))


def _read(path: Path, hint: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read", hint) from None
