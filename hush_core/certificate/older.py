"""A certificate of an older hush: whether it and what it names are still, byte for byte, as they were written.

What it proves is not looked at: its promise was worded otherwise. But a model that a person approved by it is
not to be taken for a damaged one because hush was upgraded, and one that was edited meanwhile is not to pass
for an old one.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hush_core.certificate.document import DOCUMENT, OLDER, hash_directory
from hush_core.errors import VerificationError
from hush_core.files import file_sha256


def check_unchanged(directory: Path, model_dir: Path) -> str:
    """The public name of the store that wrote the certificate in `directory`, whose own bytes, tables and model
    files (`model_dir`) are as its digests have them.

    Raises:
        VerificationError: they are not, or it is of no older schema.
    """
    path = directory / DOCUMENT
    try:
        data = path.read_bytes()
        document = json.loads(data)
        blank = {**document, "digest": ""}
        tables, files, store = document["tables"], document["model_files"], document["facts"]["store"]
        known = {str(name): str(sha256) for name, sha256 in (*tables.items(), *files.items())}
        older = document["schema_version"] in OLDER
    except OSError:
        raise VerificationError([f"{path}: missing or unreadable"]) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VerificationError([f"{path}: is no document of a certificate"]) from None
    if not older:
        raise VerificationError([f"{path}: schema_version: is of no older hush"])
    if data != _canonical(document) or hashlib.sha256(_canonical(blank)).hexdigest() != document["digest"]:
        raise VerificationError([f"{path}: was edited: its bytes do not give its digest"])
    wrong = [name for name in tables if _hash(directory / name) != known[name]]
    found = hash_directory(model_dir)
    wrong += [f"model/{name}" for name in sorted({*found, *files}) if found.get(name) != files.get(name)]
    if wrong:
        raise VerificationError([f"{path}: {name} is missing or was changed" for name in wrong])
    return str(store)


def _hash(path: Path) -> str:
    return file_sha256(path) if path.is_file() else ""


def _canonical(document: dict[str, object]) -> bytes:
    """As every hush has written it: sorted keys, two spaces, a final newline."""
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
