"""A text table as a tree: its documents are the files, and each says whose it is."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from hush_core.config import Table
from hush_core.config.chat_template import PLAIN
from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.documents import Documents, read_documents
from hush_core.corpus.git.blobs import git_id
from hush_core.corpus.git.tree import Tree
from hush_core.corpus.paths import Paths
from hush_core.errors import InputError
from hush_core.files import file_sha256


def table_digest(table: Table) -> str:
    """SHA-256 (hexadecimal) of the table's file: its revision, as a commit id is a repository's.

    Raises:
        InputError: no such file, or it cannot be read.
    """
    where = f"tables.{table.label}: {table.path}"
    if not table.path.is_file():
        raise InputError(where, "is not a file", "give the path of one table")
    try:
        return file_sha256(table.path)
    except OSError as error:
        raise InputError(where, error.strerror or "cannot be read", "check its permissions") from None


def read_table(
    table: Table, max_file_bytes: int, contents: BlobStore, paths: Paths, hashes: tuple[str, ...] = ("sha1",)
) -> Tree:
    """Read every document into `contents`; its path is its name, its language "text".

    Args:
        hashes: the object formats of the job's repositories. A document gets the id that git would give to its
            text, so that it is one content with an equal file, and all that is said of either holds for both.

    Raises:
        InputError: as `read_documents`; names the table, row and column, never a value.
    """
    revision = table_digest(table)
    documents = documents_of(table, max_file_bytes)
    path, blob, unit, completions = array("i"), array("i"), array("i"), array("q")
    units: dict[str, int] = {}
    owned = True
    for document in documents:
        for start, end in document.completions:
            completions.extend((len(path), start, end))
        path.append(_path(document.name, paths))
        blob.append(_content(document.text, contents, hashes))
        if document.unit is None:
            owned = False
        else:
            unit.append(units.setdefault(document.unit, len(units)))
    return Tree(
        table.label,
        revision,
        paths,
        contents,
        np.array(path, dtype=np.int32),
        np.array(blob, dtype=np.int32),
        documents.skipped,
        origin=Path(table.path),
        mode="table",
        facts={"units": len(units)},
        unit=np.array(unit, dtype=np.int32) if owned else None,
        units=tuple(units),
        completions=np.array(completions).reshape(-1, 3) if table.loss_on == "completions" else None,
    )


def documents_of(table: Table, max_file_bytes: int) -> Documents:
    """The documents of a table as its entry in the config says; see `read_documents`."""
    return read_documents(
        table.path,
        format=table.format,
        text=table.text_columns,
        unit=table.unit,
        id=table.id,
        chat_template=None if table.messages is None else table.chat_template or PLAIN,
        prompted=table.prompt is not None,
        max_bytes=max_file_bytes,
        where=f"tables.{table.label}",
    )


def _path(name: str, paths: Paths) -> int:
    before = len(paths)
    number = paths.add(name.encode())
    if number == before:  # else a repository has a file of this name: the language is descriptive only
        paths.language[number] = "text"
    return number


def _content(text: bytes, contents: BlobStore, hashes: tuple[str, ...]) -> int:
    ids = [git_id(text, name) for name in hashes]
    known = next((number for one in ids if (number := contents.number(one)) is not None), None)
    return contents.add(ids[0], text) if known is None else known
