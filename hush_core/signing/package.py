"""The two signatures that travel with a registered model, and their check.

`model.sig` is over every file of the folder but this one's own and MLflow's note of a download, so the command

    model_signing verify key --signature FOLDER/signature/model.sig --public_key NAME.pem FOLDER

says whether a copy is what was signed, without hush. `certificate.intoto.json` attests the certificate, over the
SHA-256 of each of the model's files and tables; it can be checked where the model is not at hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hush_core.errors import VerificationError
from hush_core.files import file_sha256
from hush_core.signing.envelope import open_statement, sign_statement, signer_of, unknown_signer
from hush_core.signing.keys import PublicKey, SigningKey, TrustRoot

if TYPE_CHECKING:
    from hush_core.certificate import Certificate
    from hush_core.certificate.older import OlderCertificate

SIGNATURE_FOLDER = "signature"
MODEL_SIGNATURE = "model.sig"
ATTESTATION = "certificate.intoto.json"
_OWN = (MODEL_SIGNATURE, ATTESTATION)
ADDED_LATER = ("registered_model_meta",)
"""By MLflow, to a copy that it downloads: name and version."""
PREDICATE = "urn:hush:certificate:8"
DOCUMENT = "certificate.json"


def sign_package(root: Path, certificate: Certificate, key: SigningKey) -> None:
    """Sign a folder that is otherwise complete: `root` holds model/, certificate/ and what MLflow loads them by."""
    from model_signing import hashing, signing

    folder = root / SIGNATURE_FOLDER
    folder.mkdir()
    subjects = _subjects(certificate, file_sha256(root / "certificate" / DOCUMENT))
    envelope = sign_statement(key, subjects, PREDICATE, certificate.model_dump(mode="json"))
    (folder / ATTESTATION).write_text(envelope + "\n")
    ignored = hashing.Config().set_ignored_paths(
        paths=[SIGNATURE_FOLDER, *ADDED_LATER], ignore_git_paths=False
    )
    signer = signing.Config().use_elliptic_key_signer(private_key=key.path).set_hashing_config(ignored)
    signer.sign(root, folder / MODEL_SIGNATURE)


def check_signature(
    certificate: Certificate, directory: Path, trust: TrustRoot | None, *, whole: Path | None = None
) -> str:
    """Who signed the certificate in `directory`, in words; with `whole`, the folder of the model around it too.

    Without a trust root nothing is checked, and the words say so.

    Raises:
        VerificationError: there is a trust root, and no key of it signed this certificate (and these files); or
            the folder of signatures holds something else.
    """
    folder = directory.parent / SIGNATURE_FOLDER
    attestation, signature = folder / ATTESTATION, folder / MODEL_SIGNATURE
    if strange := unsigned_files(directory.parent):
        raise VerificationError([f"{directory.parent / name}: is no signature of hush" for name in strange])
    text = attestation.read_text("utf-8", "replace") if attestation.is_file() else None
    if trust is None:
        if text is None:
            return "NOT signed by an organisation: anyone may have made all of these files"
        signer = signer_of(text)[:16] or "none"
        return f"NOT CHECKED who signed it: key {signer} is named, and no trust root is configured (--key)"
    if text is None:
        raise VerificationError([f"{attestation}: is missing: no organisation signed this certificate"])
    signer = _check_attestation(certificate, certificate.model_dump(mode="json"), directory, trust, PREDICATE)
    if whole is not None:
        _check_files(whole, signature, trust)
    return f"signed by {signer}" + ("" if whole else "; the model's files NOT checked")


def check_older_signature(certificate: OlderCertificate, root: Path, trust: TrustRoot | None) -> None:
    """The same of the whole package of an older hush, which attested its certificate under its own schema's number.

    Raises:
        VerificationError: as `check_signature`.
    """
    if strange := unsigned_files(root):
        raise VerificationError([f"{root / name}: is no signature of hush" for name in strange])
    if trust is None:
        return
    attestation = root / SIGNATURE_FOLDER / ATTESTATION
    if not attestation.is_file():
        raise VerificationError([f"{attestation}: is missing: no organisation signed this certificate"])
    number = str(certificate.document["schema_version"]).rpartition("/")[2]
    kind = f"{PREDICATE.rpartition(':')[0]}:{number}"
    _check_attestation(certificate, dict(certificate.document), root / "certificate", trust, kind)
    _check_files(root, root / SIGNATURE_FOLDER / MODEL_SIGNATURE, trust)


def _check_attestation(
    certificate: Certificate | OlderCertificate, document: dict, directory: Path, trust: TrustRoot, kind: str
) -> PublicKey:
    """Who signed that this is the certificate in `directory`, with these tables and files."""
    attestation = directory.parent / SIGNATURE_FOLDER / ATTESTATION
    text = attestation.read_text("utf-8", "replace")
    statement, signer = open_statement(text, str(attestation), trust, kind)
    expected = _subjects(certificate, file_sha256(directory / DOCUMENT))
    attested = {one.get("name"): one.get("digest", {}).get("sha256") for one in statement.get("subject", ())}
    if attested != expected or statement.get("predicate") != document:
        raise VerificationError([f"{attestation}: attests another certificate, or other files"])
    return signer


def unsigned_files(root: Path) -> list[str]:
    """What is in a package's folder of signatures beside the two of hush, which nothing signs."""
    folder = root / SIGNATURE_FOLDER
    own = {folder / name for name in _OWN}
    found = (p for p in folder.rglob("*") if p not in own or p.is_symlink() or not p.is_file())
    return sorted(path.relative_to(root).as_posix() for path in found)


def _subjects(certificate: Certificate | OlderCertificate, document: str) -> dict[str, str]:
    tables = {**certificate.tables, DOCUMENT: document}
    return {f"certificate/{name}": digest for name, digest in tables.items()} | {
        f"model/{name}": digest for name, digest in certificate.model_files.items()
    }


def _check_files(root: Path, signature: Path, trust: TrustRoot) -> None:
    """By model-signing itself, with the key that the signature names."""
    from model_signing import verifying

    if not signature.is_file():
        raise VerificationError([f"{signature}: is missing: no organisation signed the model's files"])
    try:
        bundle = json.loads(signature.read_bytes())
        hint = str(bundle["verificationMaterial"]["publicKey"]["hint"])
    except (ValueError, KeyError, TypeError):
        raise VerificationError([f"{signature}: is no signature of model-signing with a key"]) from None
    key = trust.find(hint)
    if key is None:
        raise VerificationError([unknown_signer(str(signature), hint, trust)])
    import tempfile

    from hush_core.signing.keys import pem_of

    with tempfile.NamedTemporaryFile(suffix=".pem") as public:  # of an own key there is a private file only
        public.write(pem_of(key.key))
        public.flush()
        try:
            verifying.Config().use_elliptic_key_verifier(public_key=public.name).verify(root, signature)
        except Exception as error:  # whatever it stumbles over, it did not say yes
            raise VerificationError(
                [f"{signature}: does not hold for these files: {type(error).__name__}: {error}"[:2000]]
            ) from None
