"""The folders of a store's runs: what each run is called in public, how many rounds it released, who may write.

Two copies of a store, or a store and its restored backup, may each make the run that one config describes. Its key
is the same in both, its releases are not. So a public name also depends on random bytes that a store draws when it
first notes a run. The certificates of both then name two runs, and each store can count the other's.
"""

import contextlib
import fcntl
import hashlib
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from hush_core.errors import InputError
from hush_core.files import private_folder, write_whole
from hush_core.history.ledger import LEDGER, WITNESS, releases_in, spend
from hush_core.history.record import RUN

ADDED = "added-"
"""Folders of runs of other stores, with their public names."""
NAME = "name"
MODEL = "model.sha256"
"""In the folder of a run that ended in a model."""


class RunFolders:
    """`store/history/KEY/` and `store/work/KEY/` of every run. `root`: the store's. `key`: of the public names."""

    def __init__(self, root: Path, key: bytes) -> None:
        self.store, self.root, self._key = root, root / "history", key

    def begin(self, run: str) -> Path:
        """The folder of a run that is about to be noted, with what its public name depends on."""
        folder = private_folder(self.root / run)
        if not any((folder / name).exists() for name in (RUN, NAME)):  # an older hush noted a run without
            write_whole(folder / NAME, secrets.token_bytes(16))
        return folder

    def public_name(self, run: str) -> str:
        """A keyed hash: the run's own name is a hash of its text, against which guesses could be tried."""
        if run.startswith(ADDED):
            return run.removeprefix(ADDED)
        drawn = self.root / run / NAME
        named = run.encode() + (drawn.read_bytes() if drawn.exists() else b"")
        return hashlib.blake2b(named, key=self._key, digest_size=32).hexdigest()

    def witness(self, run: str) -> Path:
        """Where the ledger's second count belongs."""
        return self.root / run / f"releases{WITNESS}"

    def all(self) -> set[str]:
        """Names of all runs that are noted or have a ledger."""
        noted = self.root.iterdir() if self.root.exists() else ()
        ledgers = (self.store / "work").glob(f"*/{LEDGER}")
        return {*(path.name for path in noted if path.is_dir()), *(path.parent.name for path in ledgers)}

    def releases(self, run: str) -> int:
        """The most rounds that the ledger or its witness counts."""
        return releases_in(self.store / "work" / run / LEDGER, self.witness(run))

    def released(self, but: str = "") -> Iterator[tuple[Path, int]]:
        """Folder and releases of every other run that made any, in the order of their keys. A run with a ledger
        alone was noted once: its folder and its record are gone."""
        for name in sorted(self.all()):
            if name != but and (rounds := self.releases(name)):
                yield self.root / name, rounds

    def restored(self) -> list[str]:
        """Call once after the store was restored to an earlier state. Returns public names of the runs that had not
        ended then. They count with all their rounds now: their later releases are unknown, so they release no more.

        A run that had released nothing is forgotten: if it begins again, it is another run.
        """
        spent = []
        for run in sorted(self.all()):
            ledger, name = self.store / "work" / run / LEDGER, self.public_name(run)
            if run.startswith(ADDED) or (self.root / run / MODEL).exists():
                continue
            if not self.releases(run):
                shutil.rmtree(self.root / run, ignore_errors=True)
                shutil.rmtree(ledger.parent, ignore_errors=True)
                continue
            with contextlib.suppress(
                OSError, ValueError, KeyError, TypeError, InputError
            ):  # nothing opens it
                spend(ledger, self.witness(run))
            spent.append(name)
        return spent

    def unnoted(self) -> int:
        """Runs of an older hush: `runs/TABLE/KEY` names them, and not whose text they saw.

        One whose ledger is gone counts; of others the ledger says whether they released anything (`released`).
        """
        found = {path.name for path in (self.store / "runs").glob("*/*")}
        return sum(not (self.store / "work" / run / LEDGER).exists() for run in found)

    @contextlib.contextmanager
    def training(self, *, exclusive: bool, why: str) -> Iterator[int]:
        """Held while a run trains; exclusive: no other one does. Yields the lock's descriptor: a process that
        inherits it holds the lock until it ends, though this one is killed.

        Raises:
            InputError: another process holds it otherwise (`why`).
        """
        private_folder(self.root)
        with open(self.root / ".training", "w") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError:
                raise InputError(str(self.root), why, "wait for it to end") from None
            yield file.fileno()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Held while records are read and written: what two processes find out of one run, both stay noted."""
        private_folder(self.root)
        with open(self.root / ".writing", "w") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
