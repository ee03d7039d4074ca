"""Files as bounded pieces of lines, decompressed on the way: memory is flat whatever the file holds."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hush_core.corpus.git.blobs import unreadable
from hush_core.errors import InputError

BOMB_FLOOR = 16 << 20
BOMB_RATIO = 200
"""More than this many bytes out of one byte in, once BOMB_FLOOR bytes are out, is a bomb. Deflate can do 1032;
text does 3 to 10, a log of one line repeated about 100."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


@contextmanager
def open_stream(path: Path, place: str) -> Iterator[io.BufferedReader]:
    """The bytes of a file, gunzipped if it begins like gzip, without the mark of UTF-8.

    Raises:
        InputError: at opening or at any later read: unreadable, UTF-16 or UTF-32, damaged gzip, a bomb.
    """
    try:
        raw = open(path, "rb")  # noqa: SIM115 (closed below, together with what is stacked on it)
    except OSError as error:
        raise InputError(
            place, f"cannot be opened ({error.strerror})", "check path and permissions"
        ) from None
    with raw, io.BufferedReader(_Guarded(raw, place), 1 << 16) as stream:
        head = stream.peek(4)[:4]
        if unreadable(head) == "utf16":
            raise InputError(place, "is UTF-16 or UTF-32", "convert it to UTF-8 (iconv -t utf-8)")
        if head.startswith(_BOM):
            stream.read(len(_BOM))
        yield stream


def pieces(stream: io.BufferedReader, limit: int) -> Iterator[tuple[int, bool, bytes]]:
    r"""(line number from 1, whether the line starts here, up to `limit` bytes of it with its b"\n" if reached)."""
    number, starts = 1, True
    while piece := stream.readline(limit):
        yield number, starts, piece
        starts = piece.endswith(b"\n")
        number += starts


def lines(stream: io.BufferedReader, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """(line number, line without its end), with None for a line of more than `limit` bytes: it is passed over."""
    for number, starts, piece in pieces(stream, limit + 2):
        if starts:
            whole = piece.removesuffix(b"\n").removesuffix(b"\r")
            yield number, whole if len(whole) <= limit else None


class _Guarded(io.RawIOBase):
    """A raw reader over a plain or gzip file that turns every failure into an InputError."""

    def __init__(self, raw: BinaryIO, place: str) -> None:
        self._raw, self._place, self._given = raw, place, 0
        zipped = raw.read(2) == _GZIP
        raw.seek(0)
        self._source = gzip.GzipFile(fileobj=raw, mode="rb") if zipped else raw
        self._zipped = zipped

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        problem = None
        try:
            data = self._source.read(len(buffer))
        except (OSError, EOFError, zlib.error):
            problem = "is damaged or cut short"
        if problem is not None:
            raise InputError(self._place, problem, "check it (gzip -t), or fetch it again")
        self._given += len(data)
        if self._zipped and self._given > max(BOMB_FLOOR, BOMB_RATIO * self._raw.tell()):
            raise InputError(
                self._place,
                f"decompresses to more than {BOMB_RATIO} times its size: a bomb, or no text",
                "if it is what you want, decompress it yourself and give the plain file",
            )
        buffer[: len(data)] = data
        return len(data)
