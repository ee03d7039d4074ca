"""Where the objects of HUSH_STORE lie: a folder that every machine has mounted, or an object store that speaks S3.

Their keeper may put anything there: no link is followed, no other thing than a plain file is read, and of that no
more than was asked for.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hush_core.files import whole_file
from tasks.runtime.sealed import PIECE, NotWhole

CONNECT, ANSWER, TRIES = 10, 60, 4
"""Seconds, seconds, and how often a request is made."""
SLOWEST = 1 << 16
"""Bytes a second, below which a file that comes from an object store is not waited for."""


class TooLong(NotWhole):
    """A file is longer than what was asked for."""


class Folder:
    """Files by name, a file whole or none, in a folder that is mounted on every machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(self) -> None:
        """See that it answers this account."""
        if not self._root.is_dir():  # never made here: an empty mount point would take all in
            raise NotADirectoryError(errno.ENOTDIR, "is no folder")
        if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "may not be written to")

    def has(self, name: str) -> bool:
        try:
            return stat.S_ISREG(self._path(name).lstat().st_mode)
        except FileNotFoundError:
            return False

    def write(self, file: Path, name: str) -> None:
        with open(file, "rb") as found, whole_file(self._path(name, make=True)) as out:
            shutil.copyfileobj(found, out, PIECE)

    def read(self, name: str, into: Path, most: int) -> None:
        """Copy a file of at most so many bytes here. Raises FileNotFoundError: it does not exist. TooLong: it is
        longer. NotWhole: another thing than a file has its name."""
        path = self._path(name)
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotWhole("no file")
        with (
            open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as found,
            open(into, "wb") as out,
        ):
            seen = os.fstat(found.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise NotWhole("no file")
            if seen.st_size > most:
                raise TooLong("longer than asked for")
            while piece := found.read(PIECE):
                if (most := most - len(piece)) < 0:
                    raise TooLong("longer than asked for")
                out.write(piece)

    def _path(self, name: str, *, make: bool = False) -> Path:
        """Where a file lies, or is to lie; the folders on the way are folders, and no links to some."""
        self.check()
        path = self._root
        for part in Path(name).parts[:-1]:
            path = path / part
            if make:
                path.mkdir(mode=0o700, exist_ok=True)
            if not stat.S_ISDIR(path.lstat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "a link where a folder should be")
        return self._root / name


class Bucket:
    """The same in an object store that speaks S3: a write is seen whole or not at all, by its own promise."""

    def __init__(self, root: str) -> None:
        import fsspec

        limits = {"connect_timeout": CONNECT, "read_timeout": ANSWER, "retries": {"max_attempts": TRIES}}
        self._root = root
        self._files = fsspec.filesystem(
            "s3", config_kwargs=limits, use_listings_cache=False, skip_instance_cache=True
        )
        self._files.retries = 1  # botocore tries again by itself

    def check(self) -> None:
        self._files.call_s3("head_bucket", Bucket=self._root.partition("/")[0])

    def has(self, name: str) -> bool:
        return bool(self._files.exists(f"{self._root}/{name}"))

    def write(self, file: Path, name: str) -> None:
        self._files.put_file(str(file), f"{self._root}/{name}")

    def read(self, name: str, into: Path, most: int) -> None:
        from fsspec.asyn import sync

        sync(self._files.loop, self._read, name, into, most)

    async def _read(self, name: str, into: Path, most: int) -> None:
        from s3fs.core import S3_RETRYABLE_ERRORS

        bucket, _, key = f"{self._root}/{name}".partition("/")
        for left in reversed(range(TRIES)):
            answer = await self._files._call_s3("get_object", Bucket=bucket, Key=key)
            try:  # botocore does not try again once an answer has begun
                return await _copy(answer, into, most)
            except S3_RETRYABLE_ERRORS:
                if not left:
                    raise


Place = Folder | Bucket


async def _copy(answer: Mapping[str, Any], into: Path, most: int) -> None:
    length = answer.get("ContentLength", most)
    async with asyncio.timeout(ANSWER + min(length, most) / SLOWEST), answer["Body"] as body:
        if length > most:
            raise TooLong("longer than asked for")
        with open(into, "wb") as out:
            while piece := await body.read(PIECE):
                if (most := most - len(piece)) < 0:
                    raise TooLong("longer than asked for")
                out.write(piece)
