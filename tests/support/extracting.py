"""Jobs of a few lines for an extraction, and which example it found to hold which secret."""

import argparse
import base64
import inspect
import random
import string
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from hush_core.config import HushConfig, parse_config
from hush_core.secrets import Extraction

KEY = b"k" * 32
ALNUM = string.ascii_letters + string.digits
CREDENTIALS = {"id": "creds", "kind": "credentials"}


def token(seed: int = 0) -> str:
    """One that its form gives away."""
    return "ghp_" + "".join(random.Random(seed).choices(ALNUM, k=36))


SOURCE = inspect.getsource(argparse).encode()
"""Real text, to put values into."""


def drawn(n: int, seed: int = 0) -> bytes:
    """An assigned secret of n random characters: its length is its own."""
    return "".join(random.Random(f"{n}/{seed}").choices(ALNUM, k=n)).encode()


def copied(value: bytes, other: bytes) -> dict[str, bytes]:
    """Files with one value, found once and copied in every way, beside another, twice in one chunk, at ends."""
    lines = SOURCE.splitlines(keepends=True)
    cut = len(lines) // 3
    line = b'    api_key = "' + value + b'"\n'
    wrapped = base64.b64encode(SOURCE[:100] + value + SOURCE[100:400])
    block = "\n".join(textwrap.wrap(wrapped.decode(), 76)).encode()
    return {
        "a.py": b"".join(lines[:cut]) + line + b"".join(lines[cut:]),
        "b.env": b"TOKEN=" + value + b"\nAGAIN=" + value + b"\n" + SOURCE[:3600],
        "c.txt": value + b"\n" + SOURCE[:2800] + value,
        "d.yaml": SOURCE[:300] + b"\ndata:\n  k: " + wrapped + b"\n  other: 1\n" + SOURCE[300:3900],
        "e.pem": SOURCE[:310] + b"\n" + block + b"\n\n# after the block\n" + SOURCE[300:3900],
        "f.json": SOURCE[:500] + b'{"a": "' + value + b'", "b": "' + other + b'"}\n' + SOURCE[500:5400],
        "g.hex": SOURCE[:77] + b" " + value.hex().encode() + b" " + SOURCE[77:4200],
        "third_party/x.py": SOURCE[:8000] + line + SOURCE[8000:15000],
        "h.py": SOURCE[:9000],
    }


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


def found_in(result: Extraction, **other: Any) -> Any:
    """What a report is made of: the `ReportTables` of tasks.publish_secrets."""
    from tasks.publish_secrets import ReportTables

    tables = {
        one.name: getattr(result, one.name) for one in fields(ReportTables) if hasattr(result, one.name)
    }
    return ReportTables(**{"skipped": {}, **tables, **other})
