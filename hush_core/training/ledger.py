"""The release ledger: how many noisy gradients of one plan were ever let out, over all attempts.

A round is written and fsynced BEFORE its noisy gradient is applied, so a crash at any moment can lose
utility (a round that is counted and never used) but never protection.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType

from hush_core.errors import InputError


class ReleaseLedger:
    """An append-only file with one line a release; held under an exclusive lock while open.

    Args:
        path: the file, made private to its owner; its folder exists.
        run: digest of the plan, data and model that the releases are of.
        rounds: the releases that the plan certifies, over all attempts.

    Raises:
        InputError: the file belongs to another run, was damaged, or another process holds it.
    """

    def __init__(self, path: Path, *, run: str, rounds: int) -> None:
        self.path, self.rounds, self._run = path, rounds, run
        self.released = 0
        """Releases ever counted, those of earlier attempts included."""
        self._file: int | None = None

    def __enter__(self) -> ReleaseLedger:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.__exit__(None, None, None)
            raise InputError(
                str(self.path), "another process is training this run", "wait for it to end"
            ) from None
        try:
            self.released = self._read()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def count(self) -> int:
        """Count one more release, durably, and return its number (0, 1, …).

        Raises:
            InputError: every round that the plan certifies is spent.
        """
        if self.released >= self.rounds:
            raise InputError(
                str(self.path),
                f"all {self.rounds} certified rounds are spent",
                "make a plan with more rounds",
            )
        self._append({"release": self.released})
        self.released += 1
        return self.released - 1

    def _append(self, line: dict[str, object]) -> None:
        data = (json.dumps(line) + "\n").encode()
        if os.write(self._file, data) != len(data):
            raise OSError(f"{self.path}: the release could not be counted; is the disk full?")
        os.fsync(self._file)

    def _read(self) -> int:
        size = os.fstat(self._file).st_size
        data = os.pread(self._file, size, 0)
        if b"\n" not in data:  # new, or killed while its first line was written: nothing was released yet
            os.ftruncate(self._file, 0)
            self._append({"run": self._run, "rounds": self.rounds})
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            return 0
        if not data.endswith(b"\n"):  # a torn line counts: its release may have been about to happen
            os.write(self._file, b"\n")
            os.fsync(self._file)
        first, *releases = data.splitlines()
        try:
            header = json.loads(first)
        except ValueError:
            header = None
        if header != {"run": self._run, "rounds": self.rounds}:
            raise InputError(
                str(self.path),
                "these releases belong to another plan, data set or model",
                "train the other run in a folder of its own",
            )
        return len(releases)
