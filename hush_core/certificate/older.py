"""A certificate of an older hush: whether it and what it names are still, byte for byte, as they were written.

What it proves is not checked: its promise had other words. But a model approved by it must not count as damaged
after an upgrade of hush, and an edited one must not pass for an old one. Anyone can write a document of this form.
So only what somebody signed elsewhere is believed: the decision on its version, or the organisation's package.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hush_core.certificate.document import DOCUMENT, OLDER
from hush_core.errors import VerificationError
from hush_core.files import file_sha256, hash_directory

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
"""Of a table: a plain name that every file system takes, and no path."""
_RUNS = "runs.parquet"


@dataclass(frozen=True)
class OlderCertificate:
    """What a document of an older schema says of itself; none of it is verified but the hashes."""

    document: Mapping[str, Any]
    """All of it, as JSON."""
    digest: str
    store: str
    """The public name of the store that wrote it."""
    run: str
    """The public name of its run; empty where that schema had none."""
    continued: bool
    """Whether the model continues from the releases of an earlier run."""
    code: Mapping[str, str]
    """Name → version of what made it."""
    tables: Mapping[str, str]
    model_files: Mapping[str, str]
    """Name → SHA-256, as of the tables."""


def check_unchanged(directory: Path, model_dir: Path) -> OlderCertificate:
    """The certificate in `directory`, if its own bytes, tables and model files (`model_dir`) match its digests and
    the folder holds nothing else.

    Raises:
        VerificationError: they are not, or it is of no older schema.
    """
    path = directory / DOCUMENT
    try:
        data = path.read_bytes()
        found = _read(path, data)
        hashes = {
            name: file_sha256(directory / name) for name in found.tables if (directory / name).is_file()
        }
        wrong = [name for name, sha256 in found.tables.items() if hashes.get(name, "") != sha256]
        there, known = hash_directory(model_dir), found.model_files
        wrong += [f"model/{name}" for name in sorted({*there, *known}) if there.get(name) != known.get(name)]
        more = sorted({p.name for p in directory.iterdir()} - {DOCUMENT, *found.tables})
    except OSError as error:
        raise VerificationError([f"{error.filename or path}: missing or unreadable"]) from None
    failures = [f"{path}: {name} is missing or was changed" for name in wrong]
    failures += [f"{path}: {name} beside it is not one of its tables" for name in more]
    if failures:
        raise VerificationError(failures)
    return found


def _read(path: Path, data: bytes) -> OlderCertificate:
    try:
        document = json.loads(data)
        facts, digest = document["facts"], document["digest"]
        training = facts.get("training", {})
        found = OlderCertificate(
            document=document, digest=_word(digest), store=_word(facts["store"]), run=_word(facts.get("run", "")),
            continued=training.get("started_from") is not None, code=_words(facts.get("code", {})),
            tables=_words(document["tables"]), model_files=_words(document["model_files"]),
        )  # fmt: skip
        older = document["schema_version"] in OLDER
        canonical, blank = _canonical(document), _canonical({**document, "digest": ""})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VerificationError([f"{path}: is no document of a certificate"]) from None
    if not older:
        raise VerificationError([f"{path}: schema_version: is of no older hush"])
    if data != canonical or hashlib.sha256(blank).hexdigest() != digest:
        raise VerificationError([f"{path}: was edited: its bytes do not give its digest"])
    if not all(_NAME.fullmatch(name) for name in found.tables):
        raise VerificationError([f"{path}: tables: holds what is no plain name of a file"])
    return found


def counted_runs(older: OlderCertificate, directory: Path) -> tuple[str, ...]:
    """The public names of the earlier runs whose releases its model may hold, of its table; none where it continues
    from no run.

    Raises:
        VerificationError: its table does not say.
    """
    if not older.continued:
        return ()
    try:
        return tuple(map(str, pl.read_parquet(directory / _RUNS, columns=["key"])["key"]))
    except (OSError, pl.exceptions.PolarsError):
        what = "does not say from which earlier runs the model continues"
        raise VerificationError([f"{directory / _RUNS}: {what}"]) from None


def _words(found: object) -> dict[str, str]:
    if not isinstance(found, dict):
        raise TypeError
    return {name: _word(value) for name, value in found.items()}


def _word(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError
    return found


def _canonical(document: dict[str, object]) -> bytes:
    """As every hush has written it: sorted keys, two spaces, a final newline."""
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
