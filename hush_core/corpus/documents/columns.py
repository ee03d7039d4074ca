"""Which columns of a table are text, unit and id, and what one row's values make of them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from hush_core.corpus.documents.conversation import Conversation, prompted, render, turns_of
from hush_core.corpus.documents.document import Document, admit, normal_unit
from hush_core.corpus.paths import printable_path
from hush_core.errors import InputError

LABEL_LIMIT = 256
"""Characters of an id or a unit: a longer one is a text in the wrong column."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_NAMES_SHOWN = 20


@dataclass(frozen=True)
class Columns:
    """The columns a user named, in order; what texts of a row are not empty is joined by a line break.

    chat_template: the one column of text holds conversations, which this renders. prompted: the two columns of text
    are a prompt and its completion.
    """

    text: tuple[str, ...]
    unit: str | None
    id: str | None
    chat_template: str | None = None
    prompted: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Every column needed, once."""
        return tuple(dict.fromkeys((*self.text, *(c for c in (self.unit, self.id) if c is not None))))


def missing_column(place: str, column: str, there_are: Iterable[str]) -> InputError:
    """The refusal for a missing column; it names the existing ones.

    Only short plain names are shown. In a CSV file without a header, or JSON keyed by customer, other names may be
    data.
    """
    names = sorted(set(there_are))
    shown = [name for name in names if _PLAIN_NAME.fullmatch(name)][:_NAMES_SHOWN]
    more = len(names) - len(shown)
    listed = ", ".join(shown) or "none with a plain name"
    return InputError(
        place,
        f"has no column {column!r}; there are: {listed}" + (f" and {more} more" if more else ""),
        "set text, unit and id to columns of this table (in CSV, the first line must name them)",
    )


@dataclass
class Rows:
    """What turns the rows of one table into documents: names stay unique, what is left out is counted."""

    columns: Columns
    max_bytes: int
    skipped: Counter[str]
    _seen: set[bytes] = field(default_factory=set, repr=False)  # 16-byte hashes of ids; empty without id

    def document(self, place: str, position: str, row: dict[str, object]) -> Document | None:
        """The document of a row (absent keys are null), or None where it is skipped and counted.

        Raises:
            InputError: a value of the wrong type, an id that is missing or not unique; names place and column.
        """
        chat = self._conversation(place, row)
        if chat is None:
            self.skipped["null_text"] += 1
            return None
        unit = None
        if self.columns.unit is not None:
            unit = normal_unit(_label(place, self.columns.unit, row.get(self.columns.unit)) or "")
            if not unit:
                self.skipped["no_unit"] += 1
                return None
        key = self.columns.id
        name = position if key is None else _label(place, key, row.get(key))
        if not name:
            raise InputError(
                place,
                f"has nothing in {self.columns.id!r}",
                "fill it, or leave id out: rows are then numbered",
            )
        try:
            whole = [part.encode("utf-8") for part in (name, unit or "")]
        except UnicodeEncodeError:  # half a surrogate pair, from a JSON escape
            self.skipped["undecodable"] += 1
            return None
        document = admit(
            printable_path(whole[0]), chat.text, unit, self.max_bytes, self.skipped, chat.completions
        )
        if document is not None and self.columns.id is not None:
            self._only_once(place, whole[0])
        return document

    def _conversation(self, place: str, row: dict[str, object]) -> Conversation | None:
        """The row's text; None where it has none."""
        columns = self.columns
        if columns.chat_template is not None:
            (column,) = columns.text
            if row.get(column) is None:
                return None
            return render(place, turns_of(place, column, row[column]), columns.chat_template)
        texts = [part for c in columns.text if (part := _string(place, c, row.get(c))) is not None]
        if columns.prompted:
            return prompted(*texts) if len(texts) == 2 else None
        return Conversation("\n".join(filter(None, texts)), []) if texts else None

    def _only_once(self, place: str, name: bytes) -> None:
        digest = hashlib.blake2b(name, digest_size=16).digest()
        if digest in self._seen:
            raise InputError(
                place,
                f"repeats an id of an earlier row in {self.columns.id!r}",
                "give a column of unique ids, or leave id out: rows are then numbered",
            )
        self._seen.add(digest)


def check_distinct(place: str, column: str, there_are: Collection[str]) -> None:
    """Refuse a column name that is twice, or not at all."""
    times = sum(name == column for name in there_are)
    if times == 0:
        raise missing_column(place, column, there_are)
    if times > 1:
        raise InputError(place, f"has {times} columns named {column!r}", "rename all but one")


def _string(place: str, column: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InputError(
        place,
        f"has {_kind(value)} in {column!r}, where text belongs",
        "name a column of strings, or convert it",
    )


def _label(place: str, column: str, value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InputError(
            place, f"has {_kind(value)} in {column!r}, a unit or id", "name a column of strings or integers"
        )
    if value is not None and len(value) > LABEL_LIMIT:
        raise InputError(
            place,
            f"has more than {LABEL_LIMIT} characters in {column!r}, a unit or id",
            "name a column of short labels: this one looks like text",
        )
    return value


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
