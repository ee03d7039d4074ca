"""The release ledger: how many noisy gradients of one plan were ever let out, over all attempts.

A round is written and fsynced BEFORE its noisy gradient exists, so a crash at any moment can lose utility
(a round that is counted and never used) but never protection.

The file holds a header, then one line a release: its number, and the number of the attempt that made it.
Every attempt takes a fresh noise key, so the two tell one (key, counter) from all others; no key is written.
But for the attempt each line is known in advance, so a damaged one is seen.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType

from hush_core.errors import InputError
from hush_core.files import sync


class ReleaseLedger:
    """An append-only file with one line a release; held under an exclusive lock while open.

    Args:
        path: the file, made private to its owner; its folder exists.
        run: digest of the plan, data and model that the releases are of.
        rounds: the releases that the plan certifies, over all attempts.

    Raises:
        InputError: the file belongs to another run, is damaged, cannot be written, or another process holds it.

    Guarantee: `released` is never below the releases made, however an attempt ended; damaged bytes are refused.
    Lines lost at the end cannot be seen in the file alone: `at_least` compares it with the checkpoint.
    """

    def __init__(self, path: Path, *, run: str, rounds: int) -> None:
        self.path, self.rounds, self._run = path, rounds, run
        self.released = 0
        """Releases ever counted, those of earlier attempts included."""
        self.attempt = 1
        """Number of this attempt (1, 2, …); one that counted no release gives it back."""
        self._file: int | None = None

    def __enter__(self) -> ReleaseLedger:
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.__exit__(None, None, None)
            raise InputError(
                str(self.path), "another process is training this run", "wait for it to end"
            ) from None
        try:
            self._read()
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
            InputError: every round that the plan certifies is spent, or the release could not be written
                (disk full). Then no release may be made; a half-written line is counted by the next attempt.
        """
        if self.released >= self.rounds:
            raise InputError(
                str(self.path),
                f"all {self.rounds} certified rounds are spent",
                "make a plan with more rounds",
            )
        self._append(_line(self.released, self.attempt))
        self.released += 1
        return self.released - 1

    def at_least(self, released: int) -> None:
        """Compare with another witness: the rounds that a checkpoint has seen.

        Raises:
            InputError: the ledger counts fewer, so lines are missing.
        """
        if self.released < released:
            raise InputError(
                str(self.path),
                f"counts {self.released} releases, the checkpoint beside it has seen {released}",
                f"restore it from a backup; without one all {self.rounds} certified rounds count as spent",
            )

    def _append(self, data: bytes) -> None:
        if self._file is None:
            raise InputError(str(self.path), "is closed", "open it: a failed write closes it too")
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            # Half a line may be there. Only a new reading may add to it.
            self.__exit__(None, None, None)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            str(self.path),
            f"cannot be written, so no round is released: {error.strerror}",
            "free space on this disk, or make the folder writable, and start again: training goes on from the "
            "last checkpoint",
        )

    def _read(self) -> None:
        """Count the lines, and complete the last one if a kill or a full disk cut it."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        header = (json.dumps({"run": self._run, "rounds": self.rounds}) + "\n").encode()
        if not data.startswith(header) and not header.startswith(data):
            raise InputError(
                str(self.path),
                "these releases belong to another plan, data set or model, or the first line is damaged",
                "train the other run in a folder of its own",
            )
        rest, last, self.released = header[len(data) :], 0, 0
        for line in data[len(header) :].splitlines(keepends=True):
            attempt = _attempt_of(line, self.released, last)
            if attempt is None:
                raise InputError(
                    str(self.path),
                    f"line {self.released + 2} is damaged, so the releases cannot be counted",
                    f"restore it from a backup; without one all {self.rounds} certified rounds count as spent",
                )
            # A cut line counts: its release may have been about to happen.
            rest, last = _line(self.released, attempt)[len(line) :], attempt
            self.released += 1
        self._append(rest)
        self.attempt = last + 1
        # Each time: the attempt that made the file may have been killed before it did this.
        try:
            sync(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from None


def _line(release: int, attempt: int) -> bytes:
    return (json.dumps({"release": release, "attempt": attempt}) + "\n").encode()


def _attempt_of(line: bytes, release: int, last: int) -> int | None:
    """The attempt that wrote this line of the release, or the beginning of it; None if it is neither.

    Only the file's last line can be cut: every other ends in a newline, which no beginning does. Where a cut
    line does not say whose it was, it is taken for an attempt of its own.
    """
    for attempt in (last + 1, last) if last else (1,):
        if _line(release, attempt).startswith(line):
            return attempt
    return None
