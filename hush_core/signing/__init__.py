"""The organisation's signature: it shows anyone with the public key who vouches for a model.

A certificate proves that its numbers follow from its tables; anyone can make one of that form. The signature
says who made this one. One key (ECDSA on P-256, P-384 or P-521), one envelope (DSSE) and one form of what is
signed (an in-toto Statement) serve three subjects:

- `model.sig`: every file of a registered model, by PyPI's `model-signing`, whose own command verifies it;
- `certificate.intoto.json`: the certificate, as an attestation of the model's files and its tables;
- the decision of a review, in a tag of the registered version.

Nothing here asks a network. docs/certificates.md says how keys are made, kept, changed and taken back.
"""

from hush_core.signing.bom import BOM, bill_of_materials
from hush_core.signing.envelope import open_statement, sign_statement
from hush_core.signing.keys import PublicKey, SigningKey, TrustRoot, read_signing_key, read_trust
from hush_core.signing.package import (
    SIGNATURE_FOLDER,
    check_older_signature,
    check_signature,
    sign_package,
    unsigned_files,
)

__all__ = [
    "BOM", "SIGNATURE_FOLDER", "PublicKey", "SigningKey", "TrustRoot", "bill_of_materials", "check_older_signature",
    "check_signature",
    "open_statement", "read_signing_key", "read_trust", "sign_package", "sign_statement", "unsigned_files",
]  # fmt: skip
