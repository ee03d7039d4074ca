"""An in-toto Statement in a DSSE envelope: signed with one key, opened by anyone who trusts it.

The statement is JSON (in-toto attestation framework, v1): its subjects (`subject`: names and SHA-256), what it says
(`predicate`) and the form of that (`predicateType`). The envelope also signs the type of its content (DSSE's
pre-authentication encoding), and an envelope is opened for one `predicateType` only. So a signature over one kind
of statement does not count for another.
"""

import json
from collections.abc import Mapping
from typing import Any

from hush_core.errors import VerificationError
from hush_core.signing.keys import PublicKey, SigningKey, TrustRoot

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"


def statement_of(
    subjects: Mapping[str, str], predicate_type: str, predicate: Mapping[str, Any]
) -> dict[str, Any]:
    """The statement; `subjects`: name → SHA-256, hexadecimal."""
    listed = [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in sorted(subjects.items())]
    return {
        "_type": STATEMENT,
        "subject": listed,
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }


def sign_statement(
    key: SigningKey, subjects: Mapping[str, str], predicate_type: str, predicate: Mapping[str, Any]
) -> str:
    """The envelope, as one line of JSON."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

    payload = json.dumps(statement_of(subjects, predicate_type, predicate), sort_keys=True).encode()
    envelope = Envelope(payload, PAYLOAD, {})
    public = SSlibKey.from_crypto(key.key.public_key(), keyid=key.fingerprint)
    envelope.sign(CryptoSigner(key.key, public))
    return json.dumps(envelope.to_dict(), sort_keys=True)


def open_statement(
    text: str, where: str, trust: TrustRoot, predicate_type: str
) -> tuple[dict[str, Any], PublicKey]:
    """The statement in an envelope, and the trusted key that signed it.

    Raises:
        VerificationError: it is malformed, of another type, edited, or signed by no trusted key.
    """
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import UnverifiedSignatureError
    from securesystemslib.exceptions import VerificationError as NotVerified
    from securesystemslib.signer import SSlibKey

    try:
        envelope = Envelope.from_dict(json.loads(text))
        signers = list(envelope.signatures)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VerificationError([f"{where}: is no signed envelope"]) from None
    known = next((key for signer in signers if (key := trust.find(signer)) is not None), None)
    if known is None:
        raise VerificationError([unknown_signer(where, signers[0] if signers else "", trust)])
    try:
        envelope.verify([SSlibKey.from_crypto(known.key, keyid=known.fingerprint)], 1)
        statement = json.loads(envelope.payload)
    except (NotVerified, UnverifiedSignatureError, ValueError):
        raise VerificationError([f"{where}: was edited: key {known} did not sign it so"]) from None
    if envelope.payload_type != PAYLOAD or not isinstance(statement, dict):
        raise VerificationError([f"{where}: holds no in-toto statement"])
    if statement.get("_type") != STATEMENT or statement.get("predicateType") != predicate_type:
        raise VerificationError([f"{where}: is a statement of another kind than {predicate_type}"])
    return statement, known


def signer_of(text: str) -> str:
    """Which key an envelope says that it was signed with, unchecked; empty where it is no envelope."""
    try:
        return str(json.loads(text)["signatures"][0]["keyid"])
    except (ValueError, KeyError, TypeError, IndexError):
        return ""


def unknown_signer(where: str, fingerprint: str, trust: TrustRoot) -> str:
    """The refusal of a key that nobody trusts here."""
    key = f"key {fingerprint[:16]}" if fingerprint else "no key"
    return f"{where}: is signed with {key}, which is not one of those that are trusted here ({trust.where})"
