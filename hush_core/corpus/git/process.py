"""One git process: an environment with nothing of the caller's in it, and limits on time, memory and output.

A repository may be built to make git hang (trees that hold nothing but trees, a billion of them), to fill the
memory (a kilobyte that inflates to gigabytes) or to list without end. Each ends here as one `InputError`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from hush_core.errors import InputError

PIPE_BYTES = 1 << 20
QUIET_SECONDS = 600.0
"""Longest silence of a git that is waited for; the longest seen in sound repositories is under a minute."""
WAIT_SECONDS = 4 * 3600.0
"""Longest time that one git is waited for in all; what its reader takes does not count."""
ALLOCATION = "2g"
"""Most memory that git may take for one thing, such as an inflated object. Git itself makes no deltas of blobs
over 512 MiB, and blobs over the limit of a job are never read: only a trap needs more."""

MEMORY_BYTES = 8 << 30
"""Most memory of one git, packs mapped from disk aside: `git log` holds all that one commit changes before it
writes a line. Where the system cannot set it (not on Linux) only ALLOCATION limits."""

_HINT = "run git fsck --full there; clone it afresh to a local disk (git clone --no-local) and give the clone"


class GitFailed(Exception):
    """Git ended with another status than 0; its own message may quote data and is not kept.

    status: as the operating system says; below 0 the signal that ended it.
    """

    def __init__(self, status: int = 1) -> None:
        super().__init__(status)
        self.status = status


def clean_environment() -> dict[str, str]:
    """The whole environment in which git runs: nothing of the caller's goes in but where git itself is."""
    git = shutil.which("git")
    if git is None:
        raise InputError("git", "is not installed", "install git 2.39 or later")
    return {
        "PATH": os.pathsep.join(dict.fromkeys([os.path.dirname(git), "/usr/bin", "/bin"])),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_ALLOC_LIMIT": ALLOCATION,
    }


def pieces(command: Sequence[str], where: str, stdin: bytes = b"") -> Iterator[bytes]:
    """Standard output of one git command as it comes; the process ends with the iterator, read out or not.

    Args:
        where: the repository, for messages.

    Raises:
        GitFailed: at the end, where git did not end with status 0.
        InputError: git was silent for QUIET_SECONDS, or kept its reader waiting for WAIT_SECONDS.
    """
    with contextlib.ExitStack() as stack:
        given = subprocess.DEVNULL
        if stdin:
            given = stack.enter_context(tempfile.TemporaryFile())
            given.write(stdin)
            given.seek(0)
        process = _started(stack, command, given, subprocess.PIPE)
        assert process.stdout is not None
        output = stack.enter_context(process.stdout)
        with contextlib.suppress(OSError, AttributeError):  # git works on while we write to disk
            fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        yield from _read(output.fileno(), where)
        try:
            process.wait(QUIET_SECONDS)
        except subprocess.TimeoutExpired:
            raise _silent(where) from None
        if process.returncode:
            raise GitFailed(process.returncode)


def whole(command: Sequence[str], where: str, stdin: bytes, most: int) -> bytes:
    """All of what `pieces` gives.

    Raises:
        GitFailed, InputError: as `pieces`; or it is more than `most` bytes.
    """
    kept, size = [], 0
    with contextlib.closing(pieces(command, where, stdin)) as output:
        for piece in output:
            kept.append(piece)
            size += len(piece)
            if size > most:
                raise InputError(
                    where,
                    f"holds more names than can be read: their list is over {most >> 20} MiB "
                    "(trees that repeat one another without end?)",
                    "give a revision with fewer files, or a part of the repository (git filter-repo)",
                )
    return b"".join(kept)


@contextlib.contextmanager
def writing(command: Sequence[str], where: str, out: int, most: int) -> Iterator[Callable[[], None]]:
    """One git that writes to the file open at `out`, while its caller does something else.

    The yielded function waits for its end, as long as it continues writing. The process ends with the context, and
    is killed before it writes beyond byte `most` of the file.

    Raises:
        GitFailed: from the yielded function, if git did not end with status 0.
        InputError: likewise, if git was silent for QUIET_SECONDS.
    """
    with contextlib.ExitStack() as stack:
        process = _started(stack, command, subprocess.DEVNULL, out)
        with contextlib.suppress(AttributeError, OSError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))

        def wait() -> None:
            place, since = -1, time.monotonic()
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    if status := process.wait(1.0):
                        raise GitFailed(status)
                    return
                now = os.lseek(out, 0, os.SEEK_CUR)
                if now != place:
                    place, since = now, time.monotonic()
                elif time.monotonic() - since > QUIET_SECONDS:
                    raise _silent(where)

        yield wait


def _started(
    stack: contextlib.ExitStack, command: Sequence[str], stdin: int | IO[bytes], stdout: int
) -> subprocess.Popen[bytes]:
    """A git within its limits of memory, which ends with the stack."""
    process = subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, env=clean_environment()
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    with contextlib.suppress(AttributeError, OSError):
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    return process


def _read(descriptor: int, where: str) -> Iterator[bytes]:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN | select.POLLHUP)
    left = WAIT_SECONDS
    while True:
        start = time.monotonic()
        if not ready.poll(max(0.0, min(left, QUIET_SECONDS)) * 1000):
            raise _silent(where)
        left -= time.monotonic() - start
        piece = os.read(descriptor, PIPE_BYTES)
        if not piece:
            return
        yield piece


def _silent(where: str) -> InputError:
    waited = f"{QUIET_SECONDS / 60:.0f} minutes at a stretch, or {WAIT_SECONDS / 3600:.0f} hours in all"
    return InputError(where, f"keeps git busy without a result (it was waited for {waited})", _HINT)


def parted(pieces: Iterable[bytes], separator: bytes) -> Iterator[bytes]:
    """What is between the separators of a stream in pieces, the last of it only if it is not empty."""
    rest: list[bytes] = []  # of one part, which may be as long as a message can be
    for piece in pieces:
        first, *more = piece.split(separator)
        rest.append(first)
        if more:
            yield b"".join(rest)
            yield from more[:-1]
            rest = more[-1:]
    if any(rest):
        yield b"".join(rest)
