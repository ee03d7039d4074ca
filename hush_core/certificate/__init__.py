"""The certificate: what a reviewer reads and a machine re-checks.

A directory of one JSON document and eight tables. `write_certificate` makes it. `verify_certificate` recomputes
every number in it from the tables, and refuses any mismatch, missing file or edited byte. docs/certificates.md says
what it means, docs/reference/certificate_fields.rst every field.
"""

from hush_core.certificate.chain import check_chain, verified_against
from hush_core.certificate.document import (
    Audit,
    Certificate,
    Facts,
    read_certificate,
    read_tables,
)
from hush_core.certificate.other_priors import bounds_at, own_bounds, own_redacted
from hush_core.certificate.privacy import PrivacyReport, privacy_report
from hush_core.certificate.verify import Verification, check_files, verify_certificate
from hush_core.certificate.write import write_certificate
from hush_core.files import hash_directory

__all__ = [
    "Audit", "Certificate", "Facts", "PrivacyReport", "Verification", "bounds_at", "check_chain",
    "check_files", "hash_directory", "own_bounds", "own_redacted", "privacy_report", "read_certificate",
    "read_tables", "verified_against", "verify_certificate", "write_certificate",
]  # fmt: skip
