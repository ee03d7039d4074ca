"""Everything of a HUSH_HOME in one folder, and back: both databases, the store, the artifacts, the keys.

>>> hush backup /backups/monday                     # in a shell; the servers and a training may run meanwhile
>>> HUSH_HOME=/new hush restore /backups/monday

The databases are copied first and what they name after them, so that nothing that they name is missing. Decisions
and their messages are copied together with the databases, under the lock of decisions. A backup is as private as
the home: it holds protected text and keys. Servers outside this home are their owner's to back up.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from flows.local_servers import DATABASES, HOST, binaries, start_postgres
from flows.serve import supervisor
from flows.supervision import Children
from hush_core.errors import HushError, InputError
from hush_core.files import file_sha256, private_folder, write_whole
from hush_core.history.folders import RunFolders
from tasks.ownership import one_at_a_time
from tasks.runtime.environment import Home

MANIFEST = "manifest.json"
SQLITE = ("mlflow.db", "mlflow_users.db", "prefect/prefect.db")
DECIDED = ("decisions", "outbox")
"""Each with a lock of its name; they say what the registry should say."""
FOLDERS = ("keys", "store", "mlartifacts")
"""In this order: what is named after what names it would be."""
TEMPORARY = ("store/tmp",)


def back_up(place: Home, into: Path) -> dict[str, str]:
    """Write a backup to a folder that is new or empty; file → SHA-256, as the manifest has it. Raises InputError:
    the folder holds something; or the home has a PostgreSQL that does not run."""
    if not (place.keys / "identity.key").is_file():
        raise InputError(f"HUSH_HOME ({place.root})", "holds nothing yet", "name the home that you use")
    try:
        if into.exists() and any(into.iterdir()):
            raise InputError(str(into), "is not empty", "name a new folder")
        private_folder(into)
    except OSError as error:  # a file, a loop of links, a name that cannot be
        raise InputError(str(into), error.strerror or "cannot be made", "name a new folder") from None
    with one_at_a_time(place, DECIDED[0]), one_at_a_time(place, DECIDED[1]):
        _copy_databases(place, into)
        _pack(place, into, DECIDED)
    _pack(place, into, FOLDERS)
    files = {path.name: file_sha256(path) for path in sorted(into.iterdir())}
    for path in into.iterdir():
        path.chmod(0o600)
    taken = {"taken": datetime.now(UTC).isoformat(timespec="seconds"), "files": files}
    write_whole(into / MANIFEST, json.dumps(taken, indent=2).encode())
    return files


def _copy_databases(place: Home, into: Path) -> None:
    if (place.keys / "postgres.password").exists():
        running = supervisor(place)
        if running is None or not running.get("postgres"):
            raise InputError("PostgreSQL", "of this home does not run", "start it: make up")
        for name in DATABASES:
            with _login(place, name, running["postgres"]) as (where, environment):
                _run(["pg_dump", *where, "--format=custom", f"--file={into / name}.dump"], environment)
    for name in filter(lambda name: (place.root / name).is_file(), SQLITE):
        copy = into / name.replace("/", "-")
        with closing(sqlite3.connect(place.root / name)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)  # consistent, also while others write


def _pack(place: Home, into: Path, names: tuple[str, ...]) -> None:
    """An archive of each folder; a file that goes away meanwhile is one that nobody needs."""
    for name in names:
        if not (place.root / name).is_dir():
            continue
        with tarfile.open(into / f"{name}.tar", "w") as archive:
            archive.add(place.root / name, name, recursive=False)
            for folder, folders, files in os.walk(place.root / name):
                here = Path(folder).relative_to(place.root)
                folders[:] = [one for one in folders if str(here / one) not in TEMPORARY]
                for one in sorted([*folders, *files]):
                    with suppress(FileNotFoundError):
                        archive.add(Path(folder) / one, str(here / one), recursive=False)


def restore(place: Home, source: Path, *, postgres_port: int = 5433) -> tuple[str, list[str]]:
    """Make a home from a backup; when that was taken, and the public names of the runs that had not ended then.

    Such a run may have released any of its rounds since. So it counts with all of them, and releases no more.
    Raises InputError: the folder is no backup, or the home is not empty. HushError: a file of the backup is missing
    or was changed; nothing is restored."""
    try:
        manifest = json.loads((source / MANIFEST).read_bytes())
        listed, taken = dict(manifest["files"]), str(manifest["taken"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise InputError(str(source), f"holds no {MANIFEST} of a backup", "name the folder of one") from None
    if place.root.exists() and any(place.root.iterdir()):
        hint = "set HUSH_HOME to a new folder, or move this one away"
        raise InputError(str(place.root), "is not empty", hint)
    wrong = [
        f"{source / name}: is missing or was changed"
        for name, digest in listed.items()
        if name != Path(name).name or not (source / name).is_file() or file_sha256(source / name) != digest
    ]
    if wrong:
        raise HushError(f"the backup is not whole: {'; '.join(wrong)}")
    place.create()
    for name in (*FOLDERS, *DECIDED):
        if f"{name}.tar" in listed:
            with tarfile.open(source / f"{name}.tar") as archive:
                archive.extractall(place.root, filter="data")
    for name in SQLITE:
        if (kept := name.replace("/", "-")) in listed:
            shutil.copyfile(source / kept, place.root / name)
            (place.root / name).chmod(0o600)
    place.create()
    if f"{DATABASES[0]}.dump" in listed:
        with Children() as children:
            start_postgres(children, place, dict(os.environ), postgres_port)
            for name in DATABASES:
                with _login(place, name, postgres_port) as (where, environment):
                    options = ["--no-owner", "--exit-on-error", "--single-transaction", f"--dbname={name}"]
                    _run(["pg_restore", *where[:-1], *options, str(source / f"{name}.dump")], environment)
    return taken, RunFolders(place.store, place.identity_key()).restored()


@contextmanager
def _login(place: Home, name: str, port: int) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Options of PostgreSQL's commands, the database last, and their environment with the password."""
    secret = place.password(f"postgres_{name}")
    yield (
        [f"--host={HOST}", f"--port={port}", f"--username={name}", f"--dbname={name}"],
        {**os.environ, "PGPASSWORD": secret},
    )


def _run(command: list[str], environment: dict[str, str]) -> None:
    command[0] = str(binaries() / command[0])
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise HushError(f"{Path(command[0]).name} failed: {done.stderr[-500:]}")
