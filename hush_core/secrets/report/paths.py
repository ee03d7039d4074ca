"""Credentials in the names of files: no report shows one.

A path is asked for by the same rules as contents, whole and part by part. In a report what they find is shown as an
HMAC under the identity key, so that two files stay two and a baseline finds them again; in a message not at all.
"""

import hashlib
import hmac
import re

import polars as pl

from hush_core.secrets.detectors.credential_files import FILE_SECRET
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.detectors.credential_values import Values
from hush_core.secrets.priors import WEAK_BITS, surface_bits

_LONG = re.compile(r"[A-Za-z0-9_+=~.-]{16,}")


def without_credentials(frame: pl.DataFrame, key: bytes) -> pl.DataFrame:
    """The table with its column `path` masked."""
    masks = {path: mask for path in frame["path"].unique().to_list() if (mask := masked(path, key)) != path}
    return frame.with_columns(pl.col("path").replace(masks)) if masks else frame


def masked(path: str, key: bytes | None = None) -> str:
    """The path, with `[credential …]` for what the rules take for one; compiled only if it may hold one."""
    if not any(surface_bits(run.encode()) >= WEAK_BITS for run in _LONG.findall(path)):
        return path
    scanner = CredentialScanner()
    texts = {path, *path.split("/")}
    texts |= {stem for part in path.split("/") if (stem := part.rpartition(".")[0])}
    values = Values()
    for text in texts:
        for found in scanner.scan(text.encode()):
            # that a whole content is one value says nothing of a name
            if found.exact and found.rule != FILE_SECRET:
                values.add(0, found, stands=True)
    values.settle()
    for value in sorted(values.spellings, key=lambda v: (-len(v), v)):
        name = "" if key is None else f" {hmac.new(key, value, hashlib.sha256).hexdigest()[:12]}"
        path = path.replace(value.decode("utf-8", "replace"), f"[credential{name}]")
    return path
