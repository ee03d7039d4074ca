"""The release ledger: how many noisy gradients of one plan were ever released, over all attempts.

A round is written and fsynced BEFORE its noisy gradient exists, so a crash at any moment can lose utility
(a round that is counted and never used) but never protection.

The file holds a header, then one line a release: its number, the number of the attempt that made it, and a
link: a hash of the line and of the link before it. Every attempt takes a fresh noise key, so the two numbers
distinguish one (key, counter) from all others; no key is written.

A file that lost lines at its end looks whole. So each link is also written to the witness: a file that may be in
another folder, or on another disk. A release is made when both are on disk.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path
from types import TracebackType

from hush_core.errors import InputError
from hush_core.files import sync

LEDGER = "releases.jsonl"
"""In a run's folder."""
WITNESS = ".witness"
_LINK = 16
"""Hexadecimal digits of a link."""


class ReleaseLedger:
    """An append-only file with one line a release; held under an exclusive lock while open.

    Args:
        path: the file, made private to its owner; its folder exists.
        run: digest of the plan, data and model of these releases.
        rounds: the releases that the plan certifies, over all attempts.
        witness: the second file; its folder exists. By default beside the ledger, which does not help if the folder
            is restored to an earlier state.

    Raises:
        InputError: a file belongs to another run, is damaged, lacks releases that the other has, cannot be
            written, or another process holds it.

    Guarantee: `released` is never below the releases made, however an attempt ended; damaged bytes are refused.
    Releases that both files have lost cannot be seen: `at_least` compares them with the checkpoint.
    """

    def __init__(self, path: Path, *, run: str, rounds: int, witness: Path | None = None) -> None:
        self.path, self.rounds, self._run = path, rounds, run
        self.witness = witness or path.with_suffix(WITNESS)
        self.released = 0
        """Releases ever counted, those of earlier attempts included."""
        self.attempt = 1
        """Number of this attempt (1, 2, …); one that counted no release gives it back."""
        self._files: dict[Path, int] = {}
        self._link = ""

    def __enter__(self) -> ReleaseLedger:
        for path in (self.path, self.witness):
            try:
                self._files[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            except OSError as error:
                self.__exit__(None, None, None)
                raise _unwritable(path, error) from None
        try:
            fcntl.flock(self._files[self.path], fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        while self._files:
            os.close(self._files.popitem()[1])

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
        line, link = _line(self.released, self.attempt, self._link)
        self._append(self.path, line)
        self._append(self.witness, _entry(link))
        self.released, self._link = self.released + 1, link
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
                self._restore(),
            )

    def _restore(self) -> str:
        return f"restore it from a backup; without one all {self.rounds} certified rounds count as spent"

    def _append(self, path: Path, data: bytes) -> None:
        if path not in self._files:
            raise InputError(str(path), "is closed", "open it: a failed write closes it too")
        try:
            while data:
                data = data[os.write(self._files[path], data) :]
            os.fsync(self._files[path])
        except OSError as error:
            # Half a line may be there. Only a new reading may add to it.
            self.__exit__(None, None, None)
            raise _unwritable(path, error) from None

    def _read(self) -> None:
        """Count the lines, and complete the last one if a kill or a full disk cut it; then the same for the
        witness."""
        data = self._content(self.path)
        header = (json.dumps({"run": self._run, "rounds": self.rounds}) + "\n").encode()
        if not data.startswith(header) and not header.startswith(data):
            raise InputError(
                str(self.path),
                "these releases belong to another plan, data set or model, or the first line is damaged",
                "train the other run in a folder of its own",
            )
        rest, last, links = header[len(data) :], 0, [hashlib.sha256(header).hexdigest()[:_LINK]]
        for number, line in enumerate(data[len(header) :].splitlines(keepends=True)):
            attempt = _attempt_of(line, number, last, links[-1])
            if attempt is None:
                raise InputError(
                    str(self.path),
                    f"line {number + 2} is damaged, so the releases cannot be counted",
                    self._restore(),
                )
            # A cut line counts: its release may have been about to happen.
            whole, link = _line(number, attempt, links[-1])
            rest, last = whole[len(line) :], attempt
            links.append(link)
        seen = self._content(self.witness)
        counted = b"".join(map(_entry, links[1:]))
        if len(seen) > len(counted) and seen.startswith(counted):
            raise InputError(
                str(self.path),
                f"counts {len(links) - 1} releases, its witness {self.witness} has seen {len(seen) // (_LINK + 1)}",
                self._restore(),
            )
        if not counted.startswith(seen):
            raise InputError(
                str(self.witness),
                f"does not agree with the releases in {self.path}: one of the two is damaged or of another run",
                self._restore(),
            )
        self._append(self.path, rest)
        self._append(self.witness, counted[len(seen) :])
        self.released, self.attempt, self._link = len(links) - 1, last + 1, links[-1]
        # Each time: the attempt that made the files may have been killed before it did this.
        for folder in dict.fromkeys((self.path.parent, self.witness.parent)):
            try:
                sync(folder)
            except OSError as error:
                raise _unwritable(folder, error) from None

    def _content(self, path: Path) -> bytes:
        return os.pread(self._files[path], os.fstat(self._files[path]).st_size, 0)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        str(path),
        f"cannot be written, so no round is released: {error.strerror}",
        "free space on this disk, or make the folder writable, and start again: training continues from "
        "the last checkpoint",
    )


def _line(release: int, attempt: int, link: str) -> tuple[bytes, str]:
    """A line, and its link; `link` is that of the line before."""
    numbers = {"release": release, "attempt": attempt}
    link = hashlib.sha256(f"{link} {release} {attempt}".encode()).hexdigest()[:_LINK]
    return (json.dumps({**numbers, "link": link}) + "\n").encode(), link


def _entry(link: str) -> bytes:
    return (link + "\n").encode()


def _attempt_of(line: bytes, release: int, last: int, link: str) -> int | None:
    """The attempt that wrote this line of the release, or the beginning of it; None if it is neither.

    Only the file's last line can be cut: every other ends in a newline, which no beginning does. A cut line that
    does not name its attempt counts as a new attempt.
    """
    for attempt in (last + 1, last) if last else (1,):
        if _line(release, attempt, link)[0].startswith(line):
            return attempt
    return None


def releases_in(*files: Path) -> int:
    """The most releases that any of these ledgers and witnesses counts, in whatever state they are.

    A cut line counts. Missing files count nothing.
    """
    most = 0
    for file in files:
        if file.exists():
            header = file.suffix != WITNESS
            most = max(most, len(file.read_bytes().splitlines()) - header)
    return most


def spend(path: Path, witness: Path) -> int:
    """Count all certified rounds of a ledger whose later lines may be lost, as after a backup was restored.

    Returns how many it added.

    Guarantee: the run that it belongs to releases nothing any more.

    Raises:
        InputError: it is damaged, so nothing opens it, or it cannot be written.
    """
    header = json.loads(path.read_bytes().partition(b"\n")[0])
    witness.unlink(missing_ok=True)  # it may have seen more or less
    with ReleaseLedger(path, run=header["run"], rounds=header["rounds"], witness=witness) as ledger:
        before = ledger.released
        while ledger.released < ledger.rounds:
            ledger.count()
    return ledger.released - before
