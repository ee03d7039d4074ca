"""Which workers of somebody's Dask cluster may do a flow's tasks: those of this installation that have this home,
or a home of their own and the objects of this one (`HUSH_STORE`).

All are asked before the first task; one that joins later is asked in its first one, before that does anything
or looks for a result that it has already.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import ParamSpec, TypeVar

import distributed

from hush_core.errors import InputError, SetupError
from tasks.ownership import temporary_folder
from tasks.runtime.environment import RUNNER, STORE, home, store_address

PATH, MARK, IDENTITY = "HUSH_HOME", "home than this one, perhaps a copy", "identity key"
OF_HOME = (PATH, MARK, IDENTITY)
"""What a worker with a home of its own has otherwise."""
P, R = ParamSpec("P"), TypeVar("R")


@dataclass(frozen=True)
class Required:
    """What each worker must have.

    mark: a file of the store that was made for this, and is in no copy of the home. apart: the workers have homes
    of their own.
    """

    mark: str
    facts: dict[str, str]
    apart: bool

    def check(self, worker: str, facts: dict[str, str]) -> None:
        """See that a worker, called by its address, may work. Raises InputError: it may not."""
        copied = bool(facts[IDENTITY]) and facts[IDENTITY] == self.facts[IDENTITY]
        if self.apart and copied and facts[MARK] != self.facts[MARK]:
            what = f"the worker {worker} has a copy of this home, which counts for itself"
            raise SetupError(RUNNER, what, "give it a new HUSH_HOME with this one's keys/store.key alone")
        for name, value in facts.items():
            if value != self.facts[name] and not (self.apart and name in OF_HOME):
                hint = "give it this installation, and HUSH_HOME on a file system that all machines share"
                if self.apart:
                    hint = "give it this installation, HUSH_STORE, and keys/store.key of this home"
                raise SetupError(RUNNER, f"the worker {worker} has another {name}", hint)

    def forget(self) -> None:
        """Take the mark away: nobody will be asked any more."""
        (home().store / self.mark).unlink(missing_ok=True)


def check_workers(address: str) -> Required:
    """See that all workers can do what they will be given. Raises InputError: nobody answers at the address, a
    worker is of another kind, or they reach no Prefect server."""
    if not os.environ.get("PREFECT_API_URL"):
        what = "the workers of another cluster cannot reach the Prefect server that hush begins for itself"
        hint = "begin a server, and set it to its address"
        raise SetupError("PREFECT_API_URL", f"is not set: {what}", hint)
    mark = new_mark()
    required = Required(mark, facts_of_worker(mark), apart=False)
    try:
        with distributed.Client(address, timeout=30, set_as_default=False) as client:
            found = client.run(facts_of_worker, mark)
        if not found:
            raise SetupError(RUNNER, "has no worker", "start one: dask worker ADDRESS")
        shared = all(facts[MARK] == required.facts[MARK] for facts in found.values())
        required = Required(mark, required.facts, apart=bool(store_address()) and not shared)
        for worker, facts in found.items():
            required.check(worker, facts)
    except BaseException as error:
        required.forget()
        if isinstance(error, (OSError, TimeoutError, RuntimeError, ValueError, ImportError, TypeError)):
            # TypeError: no certificate is named
            what = f"cannot be used: {type(error).__name__}"
            hint = "start the scheduler, or correct address and certificates"
            raise SetupError(RUNNER, what, hint) from None
        raise
    return required


def on_required_worker(function: Callable[P, R], required: Required) -> Callable[P, R]:
    """The function, for a worker that may have joined since: it does nothing where that may not work."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        check_this_worker(required)
        return function(*args, **kwargs)

    return run


def key_on_required_worker(key: Callable[P, str | None], required: Required) -> Callable[P, str | None]:
    """A cache key, for such a worker: none where that may not work, so that nothing which was done there before
    passes for an answer, and the function says why."""

    @wraps(key)
    def run(*args: P.args, **kwargs: P.kwargs) -> str | None:
        try:
            check_this_worker(required)
        except InputError:
            return None
        return key(*args, **kwargs)

    return run


def check_this_worker(required: Required) -> None:
    """In a worker: refuse what was sent here. Raises InputError: this one may not work."""
    required.check(distributed.get_worker().address, _known_facts(required.mark))


def new_mark() -> str:
    """A new file in this home: a worker that reads it has the same one, and not a copy. Its place in the store."""
    place = home()
    mark = temporary_folder(place, place.store) / f"workers-{secrets.token_hex(8)}"
    mark.write_text(secrets.token_hex(16))
    return mark.relative_to(place.store).as_posix()


def facts_of_worker(mark: str) -> dict[str, str]:
    """What a worker must have in common with who asks: hush itself, the libraries that decide bytes, the home with
    the file `mark` in its store, or the same HUSH_STORE."""
    names = ("numpy", "scipy", "polars", "torch", "ortools", "prefect", "distributed")
    place = home()
    file = place.store / mark
    keyed = f"worker {mark}".encode(), hashlib.sha256
    known = (place.keys / "identity.key").is_file()  # asked for elsewhere it would be made
    return {
        "hush": _code(),
        **{name: version(name) for name in names},
        PATH: str(place.root),
        MARK: file.read_text() if file.is_file() else "",
        IDENTITY: place.fingerprint("worker") if known else "",
        STORE: store_address(),
        "keys/store.key": hmac.new(place.store_key(), *keyed).hexdigest() if store_address() else "",
        "environment (--preload tasks.runtime.dask_preload)": os.environ.get("HF_HUB_OFFLINE", ""),
    }


_known_facts = lru_cache(maxsize=8)(facts_of_worker)


def _code() -> str:
    """A digest of this installation's sources: two checkouts may have one version."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[2]
    for room in ("hush_core", "tasks", "flows"):
        for file in sorted((root / room).rglob("*.py")):
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
