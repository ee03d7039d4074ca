"""What an extraction depends on, by content: cheap to tell, and imported without Prefect."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from hush_core.config import HushConfig
from hush_core.errors import InputError
from hush_core.files import file_sha256
from hush_core.secrets import detector_versions, source_revisions
from tasks.runtime.environment import home

SECTIONS = {
    "repos", "tables", "levels", "prior_cap_bits", "public", "secrets", "chunk_bytes", "max_file_bytes",
}  # fmt: skip
"""The keys of the config that decide what is extracted; a change elsewhere re-uses the tables."""


class Sources(BaseModel, frozen=True):
    """What extraction depends on, by content."""

    settings: dict
    revisions: dict[str, str]
    """By label: the commit of a repository, the SHA-256 of a table's file."""
    files: dict[str, str]
    identity: str
    detectors: str


def sources(config: HushConfig) -> Sources:
    """Resolve every revision, hash every table and every file that an entry names: cheap, and the whole cache key.
    Raises InputError: a repository, revision, table or file that is not there."""
    settings = config.model_dump(mode="json", include=SECTIONS)
    for entry in settings["secrets"]:
        del entry["may_be_empty"]  # decides nothing of what is extracted
    files = [(s.id, key, file) for s in config.secrets for key, file in s.files().items()]
    return Sources(
        settings=settings,
        revisions=source_revisions(config),
        files={f"{entry}.{key}": _sha256(entry, key, path) for entry, key, path in files},
        identity=home().fingerprint("identity"),
        detectors=detector_versions({s.kind for s in config.secrets}),
    )


def _sha256(entry: str, key: str, path: Path) -> str:
    if not path.is_file():
        raise InputError(str(path), "no such file", f"correct `{key}:` of the secret {entry!r} in the config")
    return file_sha256(path)
