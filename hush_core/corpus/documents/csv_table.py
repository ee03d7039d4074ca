"""CSV as RFC 4180 has it: commas, quotes doubled inside quotes, a first line of names.

Not the csv module: its limit on a field is one setting for the whole process, and a field beyond it ends the
reading; here it costs one skipped row. Nothing is guessed and a field is only ever text: no formula is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hush_core.corpus.documents.columns import Rows, check_distinct
from hush_core.corpus.documents.document import Document
from hush_core.corpus.documents.streams import open_stream, pieces
from hush_core.errors import InputError

_PIECE = 1 << 16
_OTHER_FIELDS = 1 << 20
_UNQUOTED_END = re.compile(rb"[,\n]")
_HINT = 'put fields with commas, quotes or line breaks in quotes, and double the quotes inside ("")'


def read_csv(path: Path, place: str, rows: Rows) -> Iterator[Document]:
    """The documents of a CSV file, named by id or `line-N`, the line on which the row begins.

    An empty text counts as empty, a row over max_bytes a text plus 1 MiB as too_large.

    Raises:
        InputError: a column that is not there or there twice, a row with more or fewer fields than the first,
            a quote that does not close, and as Rows.document; names the line.
    """
    with open_stream(path, place) as stream:
        records = _Records(rows.max_bytes * len(rows.columns.text) + _OTHER_FIELDS, place)
        where: dict[str, int] = {}
        for number, record in records.read(pieces(stream, _PIECE)):
            spot = f"{place}: line {number}"
            if not where:
                names = [name.decode("utf-8", "replace").strip() for name in record or ()]
                for column in rows.columns.named:
                    check_distinct(spot, column, names)
                    where[column] = names.index(column)
                records.width = len(names)
                continue
            if record is None:
                rows.skipped["too_large"] += 1
                continue
            try:
                row: dict[str, object] = {c: record[i].decode("utf-8") for c, i in where.items()}
            except UnicodeDecodeError:
                rows.skipped["undecodable"] += 1
                continue
            found = rows.document(spot, f"line-{number}", row)
            if found is not None:
                yield found


class _Records:
    """The fields of each record; a state machine over pieces, so that a field may be of any length.

    Attributes:
        width: how many fields a record must have; 0 until the first one sets it.
    """

    def __init__(self, limit: int, place: str) -> None:
        self.limit, self.place, self.width = limit, place, 0
        self._new_record(0)

    def read(self, stream: Iterator[tuple[int, bool, bytes]]) -> Iterator[tuple[int, list[bytes] | None]]:
        """(line, fields) of each record that is not a blank line; None for the fields of one over the limit."""
        number = 0
        for number, _, piece in stream:
            at = 0
            while at < len(piece):
                if self._state == "new":
                    self._new_record(number)
                at, ended = self._step(number, piece, at)
                if ended and (record := self._close()) != []:
                    yield self._line, record
        if self._state == "quoted":
            raise InputError(
                f"{self.place}: line {self._opened}", "opens a quote that is never closed", _HINT
            )
        if self._state != "new":
            self._end_field()
            if (record := self._close()) != []:
                yield self._line, record

    def _step(self, number: int, piece: bytes, at: int) -> tuple[int, bool]:
        """One move through the piece: the next position, and whether a record ended there."""
        if self._state == "field":
            quote = piece[at : at + 1] == b'"'
            self._state, self._opened = ("quoted" if quote else "plain"), number
            return at + quote, False
        if self._state == "quoted":
            end = piece.find(b'"', at)
            self._store(piece[at : end if end >= 0 else len(piece)])
            self._state = "quote" if end >= 0 else "quoted"
            return (end + 1 if end >= 0 else len(piece)), False
        if self._state == "plain":
            end = _UNQUOTED_END.search(piece, at)
            self._store(piece[at : end.start() if end else len(piece)])
            return self._delimit(piece, end.start()) if end else (len(piece), False)
        # After a quote inside quotes: a second one, or the end of the field.
        after = piece[at : at + 1]
        if after == b'"' and self._state == "quote":
            self._store(after)
            self._state = "quoted"
            return at + 1, False
        if after == b"\r" and self._state == "quote":
            self._state = "return"
            return at + 1, False
        if after == b"\n" or (after == b"," and self._state == "quote"):
            return self._delimit(piece, at)
        raise InputError(f"{self.place}: line {number}", "continues after a closing quote", _HINT)

    def _delimit(self, piece: bytes, at: int) -> tuple[int, bool]:
        ends = piece[at : at + 1] == b"\n"
        if ends and self._state == "plain" and self._parts and self._parts[-1].endswith(b"\r"):
            self._parts[-1] = self._parts[-1][:-1]
        self._end_field()
        self._state = "new" if ends else "field"
        return at + 1, ends

    def _store(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self.limit:
            self._parts, self._fields = [], []
        elif part:
            self._parts.append(part)

    def _end_field(self) -> None:
        self._count += 1
        self._size += 1
        if self.width and self._count > self.width:
            raise self._ragged(f"more than the {self.width} fields")
        if self._size <= self.limit:
            self._fields.append(b"".join(self._parts))
        self._blank = self._count == 1 and self._state == "plain" and self._fields == [b""]
        self._parts = []

    def _close(self) -> list[bytes] | None:
        """The record's fields, [] for a blank line; the next move begins a new record."""
        self._state = "new"
        if self._blank:
            return []
        if self._count < self.width:
            raise self._ragged(f"{self._count} of the {self.width} fields")
        return self._fields if self._size <= self.limit else None

    def _ragged(self, has: str) -> InputError:
        return InputError(f"{self.place}: line {self._line}", f"has {has} that the first line names", _HINT)

    def _new_record(self, line: int) -> None:
        self._state, self._line, self._opened = ("field" if line else "new"), line, line
        self._fields: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = self._count = 0
        self._blank = False
