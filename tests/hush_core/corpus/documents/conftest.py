"""Real files in tmp_path; `read` gives (documents by name, counts of what was skipped)."""

import gzip
from pathlib import Path

import pytest

from hush_core.corpus.documents import DOCUMENT_SKIP_REASONS, read_documents


@pytest.fixture
def table(tmp_path: Path):
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return make


@pytest.fixture
def read():
    def run(path: Path, max_bytes: int = 1 << 20, **options):
        documents = read_documents(path, max_bytes=max_bytes, where="hush.yaml: tables[0]", **options)
        found = list(documents)
        assert set(documents.skipped) <= set(DOCUMENT_SKIP_REASONS)
        assert len({d.name for d in found}) == len(found)
        assert all(d.name.isprintable() and 0 < len(d.text) <= max_bytes for d in found)
        return {d.name: (d.text.decode("utf-8"), d.unit) for d in found}, dict(documents.skipped)

    return run
