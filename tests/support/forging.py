"""Edits of a certificate by someone without a key: every hash and the digest are made anew."""

import hashlib
import json

import polars as pl

from hush_core.certificate.document import DOCUMENT, TABLES
from hush_core.files import file_sha256


def sealed(data):
    """The bytes of a document with its digest, whatever it says: no help from hush's own models."""
    text = {**data, "digest": ""}
    canonical = (json.dumps(text, indent=2, sort_keys=True) + "\n").encode()
    text["digest"] = hashlib.sha256(canonical).hexdigest()
    return (json.dumps(text, indent=2, sort_keys=True) + "\n").encode()


def forge(directory, *, document=lambda data: None, **tables):
    """Edit the document and tables (`bounds=frame → frame`), then make every hash and the digest anew."""
    for name, change in tables.items():
        path = directory / f"{name}.parquet"
        change(pl.read_parquet(path)).write_parquet(path)
    data = json.loads((directory / DOCUMENT).read_bytes())
    data["tables"] = {name: file_sha256(directory / name) for name in TABLES}
    document(data)
    (directory / DOCUMENT).write_bytes(sealed(data))


def put(path, value):
    """An edit of the document: `value` at a dotted path; a function is given what stood there."""

    def change(data):
        *way, last = path.split(".")
        for key in way:
            data = data[key]
        for place in data if isinstance(data, list) else [data]:
            place[last] = value(place[last]) if callable(value) else value

    return {"document": change}
