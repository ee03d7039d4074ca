"""A Dask cluster as Prefect's task runner: processes of this machine, or workers that a scheduler has.

Its own cluster listens on loopback, speaks TLS with keys made for it alone, and serves no page: whoever may connect
to a Dask scheduler may run code. Imported only where HUSH_RUNNER asks for it; needs the extra `dask`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import distributed
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_dask import DaskTaskRunner
from prefect_dask.client import PrefectDaskClient
from prefect_dask.task_runners import PrefectDaskFuture
from pydantic import BaseModel

from hush_core.errors import HushError, InputError
from hush_core.files import private_folder
from tasks.runtime.environment import RUNNER, STORE, Home, home, store_address
from tasks.runtime.store import Store, refs_in

BY_STORE = frozenset({"weigh", "price", "parts"})
"""Steps that are functions of stored objects alone. The others keep something in the home: scans, the ledger."""
PATH, MARK, IDENTITY = "HUSH_HOME", "home than this one, perhaps a copy", "identity key"
OF_HOME = (PATH, MARK, IDENTITY)
"""What a worker with a home of its own has otherwise."""
GRACE = 120.0
"""Seconds."""
_NO_PAGES = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}


def dask_runner(chosen: str) -> ClusterRunner:
    """A cluster of this machine's processors for `dask`, else the one at this address."""
    if chosen != "dask":
        return ClusterRunner(address=chosen)
    dask.config.set(_NO_PAGES)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    folder = private_folder(home().store / "work" / "dask")
    return ClusterRunner(
        cluster_kwargs={
            "n_workers": len(os.sched_getaffinity(0)), "threads_per_worker": 1, "processes": True,
            "security": True, "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False},
            "local_directory": str(folder), "preload": ["tasks.runtime.dask_preload"],
            "env": {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"},  # the flow says what happens
            "memory_limit": 0,  # Dask would end a worker that takes its share of the memory
        }
    )  # fmt: skip


class ClusterRunner(DaskTaskRunner):
    """Prefect's, begun by one thread only, and refused where the workers are not of this installation."""

    spreads = True
    shares_home = True
    """Whether the workers have this home; else only what needs none is sent to them (`BY_STORE`)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._beginning = threading.Lock()
        self.logger.setLevel(logging.WARNING)  # it would name a page that is not served

    def duplicate(self) -> ClusterRunner:
        return ClusterRunner(address=self.address, cluster_kwargs=self.cluster_kwargs)

    @property
    def client(self) -> PrefectDaskClient:
        """The connection, made when it is first asked for.

        Raises:
            InputError: nobody answers at the address, its workers have another hush or another home, or there is no
            Prefect server that they can reach.
        """
        with self._beginning:
            if self._client is None and self.address:
                self.shares_home = _check_workers(self.address)
            return super().client

    def submit(
        self, task: Any, parameters: dict[str, Any], *args: Any, **kwargs: Any
    ) -> PrefectDaskFuture[Any]:
        """Begin a task in a worker. Its records go to the Prefect server of this process, where that began one.

        Raises:
            HushError: the task needs this home, and the workers have homes of their own.
        """
        if not self.with_home():
            if task.name not in BY_STORE:
                raise HushError(
                    f"the step {task.name} needs HUSH_HOME, which the workers of {RUNNER} do not share"
                )
            store = Store(home().store)
            for ref in refs_in(_plain(parameters)):
                store.publish(ref, asked=True)
        with get_client(sync_client=True) as prefect:
            url = str(prefect.api_url)
        with temporary_settings({PREFECT_API_URL: url}):
            return super().submit(task, parameters, *args, **kwargs)

    def with_home(self) -> bool:
        """Whether the workers have this home: they are asked first."""
        return self.client is not None and self.shares_home

    @property
    def processes(self) -> int:
        """How many tasks are done at a time."""
        return max(1, sum(self.client.nthreads().values()))

    def __exit__(self, *failure: Any) -> None:
        """A flow that fails or is stopped waits for what its own workers do, which end after their round with a
        checkpoint; workers of others go on by themselves."""
        if failure[0] is not None and self._client is not None and self._cluster is not None:
            until = time.monotonic() + GRACE
            while time.monotonic() < until and sum(self._client.run(at_work).values()):
                time.sleep(0.2)
        super().__exit__(*failure)


def _plain(value: Any) -> Any:
    """As JSON has it, as far as references may lie in it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _check_workers(address: str) -> bool:
    """See that all workers can do what they will be given; whether they have this home, not only its objects."""
    if not os.environ.get("PREFECT_API_URL"):
        what = "the workers of another cluster cannot reach the Prefect server that hush begins for itself"
        raise InputError(
            "PREFECT_API_URL", f"is not set: {what}", "begin a server, and set it to its address"
        )
    mark = new_mark()
    wanted = facts_of_worker(mark.name)
    try:
        with distributed.Client(address, timeout=30, set_as_default=False) as client:
            found = client.run(facts_of_worker, mark.name)
    except (OSError, TimeoutError, RuntimeError, ValueError, ImportError) as error:
        what = f"cannot be used: {type(error).__name__}"
        raise InputError(RUNNER, what, "start the scheduler, or correct address and certificates") from None
    finally:
        mark.unlink(missing_ok=True)
    if not found:
        raise InputError(RUNNER, "has no worker", "start one: dask worker ADDRESS")
    shared = all(facts[MARK] == wanted[MARK] for facts in found.values())
    apart = bool(store_address()) and not shared
    for worker, facts in found.items():
        if apart and facts[IDENTITY] == wanted[IDENTITY] and facts[MARK] != wanted[MARK]:
            hint = "give it a new HUSH_HOME with this one's keys/store.key alone"
            raise InputError(
                RUNNER, f"the worker {worker} has a copy of this home, which counts for itself", hint
            )
        for name, value in facts.items():
            if value != wanted[name] and not (apart and name in OF_HOME):
                what = f"the worker {worker} has another {name}"
                hint = (
                    "give it this installation, HUSH_STORE, and keys/store.key of this home"
                    if apart
                    else "give it this installation, and HUSH_HOME on a file system that all machines share"
                )
                raise InputError(RUNNER, what, hint)
    return shared


def new_mark() -> Path:
    """A new file in this home: a worker that reads it has the same one, and not a copy."""
    folder = private_folder(home().store / "work")
    mark = folder / f"workers-{secrets.token_hex(8)}"
    mark.write_text(secrets.token_hex(16))
    return mark


def facts_of_worker(mark: str) -> dict[str, str]:
    """What a worker must have in common with who asks: hush itself, the libraries that decide bytes, the home with
    the file `mark` in it."""
    names = ("numpy", "scipy", "polars", "torch", "ortools", "prefect", "distributed")
    place = home()
    file = place.store / "work" / mark
    known = (place.keys / "identity.key").is_file()  # asked for elsewhere it would be made
    return {
        "hush": _code(),
        **{name: version(name) for name in names},
        PATH: str(place.root),
        MARK: file.read_text() if file.is_file() else "",
        IDENTITY: place.fingerprint("worker") if known else "",
        STORE: store_address(),
        "keys/store.key": _digest_of_store_key(place, mark),
        "environment (--preload tasks.runtime.dask_preload)": os.environ.get("HF_HUB_OFFLINE", ""),
    }


def _digest_of_store_key(place: Home, mark: str) -> str:
    if not store_address():
        return ""
    return hmac.new(place.store_key(), f"worker {mark}".encode(), hashlib.sha256).hexdigest()


def _code() -> str:
    """A digest of this installation's sources: two checkouts may have one version."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[2]
    for room in ("hush_core", "tasks", "flows"):
        for file in sorted((root / room).rglob("*.py")):
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def at_work() -> int:
    """In a worker: how many tasks its threads are doing, wanted or not."""
    return distributed.get_worker().state.executing_count
