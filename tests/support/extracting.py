"""Jobs of a few lines for an extraction, and which example it found to hold which secret."""

from __future__ import annotations

import random
import string
from pathlib import Path

import polars as pl

from hush_core.config import HushConfig, parse_config
from hush_core.secrets import Extraction

KEY = b"k" * 32
ALNUM = string.ascii_letters + string.digits
CREDENTIALS = {"id": "creds", "kind": "credentials"}


def token(seed: int = 0) -> str:
    """One that its form gives away."""
    return "ghp_" + "".join(random.Random(seed).choices(ALNUM, k=36))


def job(repos, secrets, mode: str = "tree", folder: Path = Path("/"), **keys) -> HushConfig:
    """Of repositories (with a `path`, as a path, or as an entry) and entries of `secrets`."""
    entries = [
        r if isinstance(r, dict) else {"path": str(getattr(r, "path", r)), "mode": mode} for r in repos
    ]
    data = {
        "version": 1,
        "repos": entries,
        "secrets": [{"level": 1e-3, **s} for s in secrets],
        "train": {"rounds": 1, "batch": 1},
        "chunk_bytes": 64,
        **keys,
    }
    return parse_config(data, where="test", folder=folder)


def named(repo) -> dict[str, str]:
    """The entry of a repository whose own folder's name does not count."""
    return {"path": str(repo.path), "name": "r"}


def held(
    result: Extraction, secret: str = "", columns: tuple[str, ...] = ("source", "path", "start")
) -> dict[tuple, str]:
    """These columns of the examples → why they hold a secret whose name begins so."""
    rows = result.edges.join(result.examples, on="example_id").join(result.secrets, on="secret_id")
    rows = rows.filter(pl.col("name").str.starts_with(secret)).select(*columns, "reason").rows()
    return {tuple(place): reason for *place, reason in rows}
