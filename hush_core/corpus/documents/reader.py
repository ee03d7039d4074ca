"""Any text table as a stream of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from hush_core.corpus.documents.changelog import looks_like_changelog, read_changelog
from hush_core.corpus.documents.columns import Columns, Rows
from hush_core.corpus.documents.csv_table import read_csv
from hush_core.corpus.documents.document import Document
from hush_core.corpus.documents.jsonl import read_jsonl
from hush_core.corpus.documents.mbox import read_mbox
from hush_core.corpus.documents.parquet import read_parquet
from hush_core.corpus.documents.streams import open_stream
from hush_core.errors import InputError

Format = Literal["parquet", "jsonl", "csv", "mbox", "changelog"]

_SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".mbox": "mbox",
}
_CONVERSATIONS = ("jsonl", "parquet")
_AUTHOR = {"mbox": "from", "changelog": "email"}


class Documents(Iterator[Document]):
    """The documents of one table, once, in its order; `skipped` counts by DOCUMENT_SKIP_REASONS what is left out.

    `skipped` is complete when the iteration has ended.
    """

    def __init__(self, stream: Iterator[Document], skipped: Counter[str]) -> None:
        self._stream, self.skipped = stream, skipped

    def __next__(self) -> Document:
        return next(self._stream)


def read_documents(
    path: Path,
    *,
    format: Format | None = None,
    text: str | Sequence[str] = "text",
    unit: str | None = None,
    id: str | None = None,
    chat_template: str | None = None,
    prompted: bool = False,
    max_bytes: int,
    where: str,
) -> Documents:
    """Read a text table, in memory that does not grow with it.

    (With `id`, 16 bytes a row and their overhead are kept, to be sure that ids are unique.)

    Args:
        path: a file; .jsonl, .csv, .mbox and ChangeLogs may be gzipped.
        format: None for: by the name's suffix, else by the first bytes.
        text: the column of texts, or several, joined by line breaks in the order given.
        unit: the column that says whose a row is; rows without one are then left out. Mailboxes (`from`) and
            ChangeLogs (`email`) have theirs whether asked or not.
        id: a column of unique names; None numbers the rows.
        chat_template: `text` is one column of conversations, rendered by this (`conversation.py`).
        prompted: `text` is two columns, a prompt and its completion.
        max_bytes: a text with more bytes of UTF-8 is left out and counted.
        where: what names this table in errors, e.g. "hush.yaml: tables[0]".

    Raises:
        InputError: here, for arguments and a file that cannot be; while iterating, for its content. Names file,
            row or line and column, never a value.
    """
    place = f"{where}: {path}"
    if not path.is_file():
        raise InputError(place, "is not a file", "give the path of one table")
    if max_bytes < 1:
        raise InputError(
            f"{where}: max_bytes", f"must be at least 1, got {max_bytes}", "give a positive number"
        )
    columns = Columns((text,) if isinstance(text, str) else tuple(text), unit, id, chat_template, prompted)
    if not columns.text or len(set(columns.text)) < len(columns.text):
        raise InputError(f"{where}: text", "names no column, or one twice", "name each column of text once")
    if id is not None and id in columns.text:
        raise InputError(
            f"{where}: id", "is a column of text, and names are shown", "name another, or leave it out"
        )
    kind = format or _format_of(path, place)
    if kind not in get_args(Format):
        raise InputError(f"{where}: format", f"is {kind!r}", "use one of " + ", ".join(get_args(Format)))
    if kind not in _CONVERSATIONS and chat_template is not None:
        raise InputError(
            f"{where}: messages", f"cannot be in a {kind}", "use one of " + ", ".join(_CONVERSATIONS)
        )
    skipped: Counter[str] = Counter()
    if kind in _AUTHOR:
        _only_fixed_columns(columns, kind, where)
        read = read_mbox if kind == "mbox" else read_changelog
        return Documents(read(path, place, max_bytes, skipped), skipped)
    read_table = {"parquet": read_parquet, "jsonl": read_jsonl, "csv": read_csv}[kind]
    return Documents(read_table(path, place, Rows(columns, max_bytes, skipped)), skipped)


def _only_fixed_columns(columns: Columns, kind: str, where: str) -> None:
    author = _AUTHOR[kind]
    for key, given, allowed in (
        ("text", columns.text, (("text",),)),
        ("unit", columns.unit, (None, author)),
        ("id", columns.id, (None,)),
    ):
        if given not in allowed:
            raise InputError(
                f"{where}: {key}",
                f"cannot be chosen for format {kind}: its columns are text and {author}",
                f"leave {key} out",
            )


def _format_of(path: Path, place: str) -> Format:
    """By the suffix under .gz, by a name that says ChangeLog, by the first bytes; in this order."""
    name = path.name.casefold().removesuffix(".gz")
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    if name.startswith("changelog") or name.endswith(".changelog"):
        return "changelog"
    with open_stream(path, place) as stream:
        head = stream.read(1 << 12)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.lstrip(b"\r\n").startswith(b"From "):
        return "mbox"
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    if any(looks_like_changelog(line) for line in head.split(b"\n")):
        return "changelog"
    raise InputError(
        place,
        "is of a format that neither name nor content shows",
        "set format: " + ", ".join(get_args(Format)),
    )
