"""JSON lines: one object a line, keys as columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from hush_core.corpus.documents.columns import Rows, missing_column
from hush_core.corpus.documents.document import Document
from hush_core.corpus.documents.streams import lines, open_stream
from hush_core.errors import InputError

_ESCAPED = 6  # JSON may write one byte as \u0041
_OTHER_KEYS = 1 << 20
_KEYS_BY = 10_000  # a column that none of so many first lines has is taken for a mistake


def read_jsonl(path: Path, place: str, rows: Rows) -> Iterator[Document]:
    """The documents of a JSON lines file, named by id or `line-N`.

    A key that a line lacks is null. A line over 6·max_bytes a text plus 1 MiB counts as too_large, one that is
    no UTF-8 as undecodable. Blank lines are nothing.

    Raises:
        InputError: a line that is no JSON object, a column that no line has, and as Rows.document.
    """
    absent, keys, number = set(rows.columns.named), set(), 0
    limit = _ESCAPED * rows.max_bytes * len(rows.columns.text) + _OTHER_KEYS
    with open_stream(path, place) as stream:
        for number, line in lines(stream, limit):
            if absent and keys and number > _KEYS_BY:
                break
            if line is None:
                rows.skipped["too_large"] += 1
                continue
            if not line.strip():
                continue
            row = _object(line)
            if row is None:
                rows.skipped["undecodable"] += 1
                continue
            if isinstance(row, str):
                raise InputError(f"{place}: line {number}", row, "write one JSON object a line")
            if absent:
                absent -= row.keys()
                keys.update(key for key in list(row)[:100] if len(keys) < 1000)
            if rows.columns.id in absent:  # the one column that no row may lack
                break
            found = rows.document(f"{place}: line {number}", f"line-{number}", row)
            if found is not None:
                yield found
    if absent and keys:
        raise missing_column(place, min(absent), keys)


def _object(line: bytes) -> dict[str, object] | str | None:
    """A line's object, or what is wrong with it (None: it is no UTF-8): json's own errors carry the line along."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    except RecursionError:
        return "nests too deep"
    except ValueError:
        return "is no JSON"
    return value if isinstance(value, dict) else "is JSON but no object"
