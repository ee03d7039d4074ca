"""Which code finds secrets, as one digest: what other code found and kept is not used."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("kingfisher-secret-scanner", "zxcvbn")
"""Of which the installed version decides too."""


def sources() -> list[Path]:
    """All of hush that may decide what is found in a text, where it is, and what it is worth."""
    return sorted(file for room in ("linear", "corpus", "secrets") for file in (ROOT / room).rglob("*.py"))


@cache
def code_version() -> str:
    """Another one after any change of these; made in some milliseconds when it is first asked for."""
    parts = [f"{name} {version(name)}" for name in PACKAGES]
    for file in sources():
        parts.append(f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
