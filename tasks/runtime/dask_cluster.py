"""A Dask cluster as Prefect's task runner: processes of this machine, or workers that a scheduler has.

Its own cluster listens on loopback, speaks TLS with keys made for it alone, and serves no page: anyone who may
connect to a Dask scheduler may run code. Imported only if HUSH_RUNNER asks for it; needs the extra `dask`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import dask
import distributed
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_dask import DaskTaskRunner
from prefect_dask.client import PrefectDaskClient
from prefect_dask.task_runners import PrefectDaskFuture
from pydantic import BaseModel

from hush_core.errors import Unavailable
from hush_core.files import private_folder
from tasks.runtime.dask_workers import Required, check_workers, key_on_required_worker, on_required_worker
from tasks.runtime.environment import RUNNER, home
from tasks.runtime.shared_store import shared_store
from tasks.runtime.store import Ref, Store, StoreError, content_sha256, open_store, refs_in

BY_STORE = frozenset({"weigh", "price", "parts"})
"""Steps that are functions of stored objects alone. The others keep something in the home: scans, the ledger."""
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
    """Prefect's, begun by one thread only, and refused where the workers are not of this installation.

    Who joins later is asked at its first task, and does none where it is not.
    """

    spreads = True
    required: Required | None = None
    """What each worker of a cluster that somebody else began must have."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._beginning = threading.Lock()
        self.logger.setLevel(logging.WARNING)  # it would name a page that is not served

    def duplicate(self) -> ClusterRunner:
        return ClusterRunner(address=self.address, cluster_kwargs=self.cluster_kwargs)

    @property
    def client(self) -> PrefectDaskClient:
        """The connection, made when it is first asked for. Raises InputError: nobody answers at the address, its
        workers have another hush or another home, or they reach no Prefect server."""
        with self._beginning:
            if self._client is None and self.address:
                self.required = check_workers(self.address)
            return super().client

    def submit(
        self, task: Any, parameters: dict[str, Any], *args: Any, **kwargs: Any
    ) -> PrefectDaskFuture[Any]:
        """Begin a task in a worker. Its records go to the Prefect server of this process, where that began one.
        Raises Unavailable: the task needs this home, and the workers have homes of their own."""
        if not self.with_home():
            if task.name not in BY_STORE:
                raise Unavailable(
                    f"the step {task.name} needs HUSH_HOME, which the workers of {RUNNER} do not share"
                )
            return self._on_storage(task, parameters, *args, **kwargs)
        return self._submitted(task, parameters, *args, **kwargs)

    def _on_storage(self, task: Any, parameters: Any, *args: Any, **kwargs: Any) -> PrefectDaskFuture[Any]:
        store, refs = open_store(), list(refs_in(_plain(parameters)))
        for ref in refs:
            store.publish(ref, asked=True)

        def again() -> PrefectDaskFuture[Any]:
            for ref in refs:
                _replace_damaged(store, ref)
            return self._submitted(task, parameters, *args, **kwargs)

        return RetriedFuture(self._submitted(task, parameters, *args, **kwargs), again)

    def _submitted(self, task: Any, parameters: Any, *args: Any, **kwargs: Any) -> PrefectDaskFuture[Any]:
        with get_client(sync_client=True) as prefect:
            url = str(prefect.api_url)
        with temporary_settings({PREFECT_API_URL: url}):
            return super().submit(self._checked(task), parameters, *args, **kwargs)

    def _checked(self, task: Any) -> Any:
        """The task, that a worker which joined since does not do unless it has what the others have."""
        if self.required is None:
            return task
        checked = copy(task)
        checked.fn = on_required_worker(task.fn, self.required)
        if task.cache_key_fn is not None:
            checked.cache_key_fn = key_on_required_worker(task.cache_key_fn, self.required)
            checked.cache_policy = CacheKeyFnPolicy(cache_key_fn=checked.cache_key_fn)
        return checked

    def with_home(self) -> bool:
        """Whether the workers have this home: they are asked first."""
        return self.client is not None and (self.required is None or not self.required.apart)

    @property
    def processes(self) -> int:
        """How many tasks are done at a time."""
        return max(1, sum(self.client.nthreads().values()))

    def __exit__(self, *failure: Any) -> None:
        """A flow that fails or is stopped waits for what its own workers do, which end after their round with a
        checkpoint; workers of others continue by themselves."""
        if failure[0] is not None and self._client is not None and self._cluster is not None:
            until = time.monotonic() + GRACE
            while time.monotonic() < until and sum(self._client.run(at_work, on_error="ignore").values()):
                time.sleep(0.2)
        super().__exit__(*failure)
        if self.required is not None:
            self.required.forget()


class RetriedFuture(PrefectDaskFuture[Any]):
    """What a worker without this home does. Where it does not find an object whole in HUSH_STORE, which is asked
    for names alone when a task begins, the task's objects are put right there and it is done again, once."""

    def __init__(self, first: PrefectDaskFuture[Any], again: Callable[[], PrefectDaskFuture[Any]]) -> None:
        super().__init__(wrapped_future=first.wrapped_future, task_run_id=first.task_run_id)
        self._again: Callable[[], PrefectDaskFuture[Any]] | None = again
        self._second: PrefectDaskFuture[Any] | None = None
        self._result_lock = threading.Lock()

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        with self._result_lock:
            if self._again is not None:
                found = super().result(timeout, raise_on_failure=False)
                if isinstance(found, StoreError):
                    self._second = self._again()
                self._again = None
        if self._second is not None:
            return self._second.result(timeout, raise_on_failure)
        return super().result(timeout, raise_on_failure)


def _replace_damaged(store: Store, ref: Ref) -> None:
    """Read what HUSH_STORE has of an object, whatever was noted, and replace it where it is something else."""
    shared, path = shared_store(home()), store.path(ref, verify=True)
    if shared is not None:
        with store.scratch() as work:
            shared.publish(path.name, path, Path(work), lambda found: content_sha256(found) == ref.sha256)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def at_work(dask_worker: distributed.Worker) -> int:
    """In a worker, one that closes too: how many tasks its threads are doing, wanted or not."""
    return dask_worker.state.executing_count
