"""Which process does a run, and does it live? So what a killed one left is distinguished from what another does.

Each process that runs flows has a token: a file HUSH_HOME/run/TOKEN.json, which it holds a lock on as long as it
lives. The system gives the lock back however the process ends, so a lock that can be taken means that nobody of it
is left. Neither a number that another process has by now nor a restart of the machine can pass for it. The lock
counts among processes of one machine, so records of another host are left alone.

The token is a tag of flow runs and the tracker's runs, and names the folder of a process's temporary files.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.runtime.environment import OWN_SERVERS, Home
from tasks.runtime.steps import is_alone

RUN_TAG = "hush.owner"
"""The tag of a tracker's run that holds the token."""

_PART = re.compile(r"\..+\.[0-9a-f]{16}")

_held: dict[tuple[Path, int], tuple[str, int]] = {}
"""By home and process (a fork is another one): the token, and the descriptor that holds its lock."""


@dataclass(frozen=True)
class Owner:
    """A process that is no more.

    own: which of its servers were in this home. server: number and start of the Prefect server that it had begun.
    """

    token: str
    pid: int
    started: str
    own: frozenset[str]
    server: tuple[int, int] | None

    def __str__(self) -> str:
        return f"process {self.pid}, started {self.started}, was killed"


def own_servers(place: Home) -> frozenset[str]:
    """Which of the two servers are in this home: embedded, or begun by `hush serve --with-servers`.

    A command without an orchestrator has no run in either.
    """
    if is_alone():
        return frozenset()
    begun = os.environ.get(OWN_SERVERS, "").split()
    embedded = {"PREFECT_API_URL": "", "MLFLOW_TRACKING_URI": f"sqlite:///{place.mlflow_database}"}
    return frozenset(n for n, value in embedded.items() if n in begun or os.environ.get(n, "") in ("", value))


def token_of(place: Home) -> str:
    """The token of this process in a home; its record is made, and locked, when it is first asked for."""
    key = (place.root, os.getpid())
    if key not in _held:
        _held[key] = _claim(place)
        atexit.register(_release, place, os.getpid())
    return _held[key][0]


def temporary_folder(place: Home, store: Path) -> Path:
    """Where this process keeps what it is making: on the store's disk, and swept if it is killed."""
    folder = store / "tmp" / token_of(place)
    for private in (folder.parent, folder):
        private.mkdir(mode=0o700, exist_ok=True)
    return folder


def note_server(place: Home, pid: int) -> None:
    """Write into the record which server this process has begun: it outlives one that is killed."""
    path = place.root / "run" / f"{token_of(place)}.json"
    record = json.loads(path.read_text())
    with open(path, "r+") as file:  # in place: another file would not be the locked one
        file.write(json.dumps({**record, "server": [pid, process_start(pid)]}))
        file.truncate()


def dead_owners(place: Home) -> Iterator[Owner]:
    """Every process of this home and host that has ended without a word; the loop's next step removes its record.

    One whose servers are not those of this process is left for a start that has them.
    """
    here = own_servers(place)
    for path in sorted((place.root / "run").glob("*.json")):
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            continue  # it has just ended
        try:
            with suppress(OSError, ValueError, KeyError, TypeError):
                record = json.loads(os.read(descriptor, 1 << 16))
                own = frozenset(record["own"])
                if record["host"] != socket.gethostname() or not record["locked"] or not own <= here:
                    continue
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: it lives
                server = tuple(record["server"]) if record.get("server") else None
                yield Owner(path.stem, int(record["pid"]), str(record["started"]), own, server)
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


@contextmanager
def one_at_a_time(place: Home, what: str) -> Iterator[None]:
    """Held by one process of the home; the others wait. The system gives it back when its holder ends, however."""
    folder = place.root / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / f"{what}.lock", "ab") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sweep_files(place: Home) -> None:
    """Remove the temporary files of dead owners that had no server."""
    for owner in dead_owners(place):
        remove_files(owner, place.store)
        remove_parts(place)


def remove_files(owner: Owner, store: Path) -> None:
    shutil.rmtree(store / "tmp" / owner.token, ignore_errors=True)


def remove_parts(place: Home) -> None:
    """Remove what dead owners left of files that they were writing (`hush_core.files.beside`), unless another
    process of the home lives, which may be writing."""
    own = place.root / "run" / f"{token_of(place)}.json"
    if any(_may_live(path) for path in own.parent.glob("*.json") if path != own):
        return
    begun = own.stat().st_mtime_ns
    for folder, _, files in os.walk(place.store):
        for name in filter(_PART.fullmatch, files):
            with suppress(OSError):
                if (Path(folder) / name).stat().st_mtime_ns < begun:  # of before this process was
                    (Path(folder) / name).unlink()


def _may_live(path: Path) -> bool:
    """Whether the process of a record lives, as far as this host can know."""
    try:
        with open(path, "rb") as file:
            record = json.load(file)
            if record["host"] != socket.gethostname() or not record["locked"]:
                return True
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True


def end_server(owner: Owner) -> None:
    """End the Prefect server that a dead owner began, if the process of that number is still the same one."""
    if owner.server and owner.server[1] and process_start(owner.server[0]) == owner.server[1]:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(owner.server[0], signal.SIGTERM)


def process_start(pid: int) -> int:
    """When a process began, in ticks since the machine did; 0 where the system does not say, or it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return 0 if fields[0] == "Z" else int(fields[19])
    except (OSError, ValueError, IndexError):
        return 0


def _claim(place: Home) -> tuple[str, int]:
    folder = place.root / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    hidden = folder / f".{token}"
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except OSError:  # a file system without locks: what is left there is never swept
        locked = False
    record: dict[str, Any] = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": Path(sys.argv[0]).name,
        "locked": locked,
        "own": sorted(own_servers(place)),
    }
    os.write(descriptor, json.dumps(record).encode())
    hidden.rename(folder / f"{token}.json")  # in sight only once it is locked
    return token, descriptor


def _release(place: Home, pid: int) -> None:
    if os.getpid() == pid and (held := _held.pop((place.root, pid), None)):
        with suppress(OSError):
            (place.store / "tmp" / held[0]).rmdir()
        (place.root / "run" / f"{held[0]}.json").unlink(missing_ok=True)
        os.close(held[1])
