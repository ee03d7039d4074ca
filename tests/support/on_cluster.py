"""What tests/tasks/runtime/test_runner.py has a cluster do; a module of its own, so that workers can import it."""

import os
import re
import threading
import time
from contextlib import suppress

import distributed
import psutil
import pytest
from prefect import flow, task
from waiting import until

from hush_core.errors import HushError, InputError
from hush_core.mapping import map_parts
from tasks.runtime.caching import cached_task
from tasks.runtime.dask_workers import Required, facts_of_worker, new_mark
from tasks.runtime.environment import home
from tasks.runtime.flow_runs import ChosenRunner
from tasks.runtime.progress import STOPPING, progress_log
from tasks.runtime.runner import FEW, cluster, elsewhere, in_parts
from tasks.runtime.store import Ref, Store


@flow(task_runner=ChosenRunner())
def spread(folder):
    return steps(folder)


def steps(folder):
    address = cluster().client.scheduler.address
    for refused in (address.replace("tls", "tcp"), address):  # without TLS, without a certificate
        with pytest.raises((OSError, TypeError, ValueError)):
            distributed.Client(refused, timeout=3, set_as_default=False)
    found = {
        "address": address, "listens": set(listening()), "many": worked_out(40), "few": worked_out(FEW - 1),
    }  # fmt: skip
    cluster().required = Required("", {}, apart=True)
    with pytest.raises(HushError, match=r"the step go_on needs HUSH_HOME, which the workers of HUSH_RUNNER"):
        go_on.submit(folder)
    assert elsewhere(go_on) is go_on and not (folder / "begun").exists()
    cluster().required = None
    mark = new_mark()
    for hush, words in (
        (facts_of_worker(mark)["hush"], None),
        ("another", "the worker tls://.* has another hush"),
    ):
        cluster().required = Required(mark, facts_of_worker(mark) | {"hush": hush}, apart=False)
        done = touch.submit(folder / hush).result(raise_on_failure=False)
        assert (folder / hush).exists() is (words is None), done
        assert words is None or (isinstance(done, InputError) and re.search(words, str(done))), done
    cluster().required.forget()
    cluster().required = None
    threading.Thread(target=stop_when, args=(folder / "begun",), daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            elsewhere(go_on)(folder)
    finally:
        STOPPING.clear()
    until((folder / "dismissed").exists, "the step's end")
    with_homes_of_their_own(folder)
    return found


def with_homes_of_their_own(folder):
    """The workers in another home with this one's store.key, and a storage in between (`HUSH_STORE`)."""
    theirs, store = folder / "worker", Store(home().store)
    (theirs / "keys").mkdir(parents=True)
    (theirs / "keys" / "store.key").write_bytes(home().store_key())
    cluster().client.run(live_in, str(theirs))
    home().fingerprint("")  # makes the key that tells a copy of this home
    mark, text = new_mark(), os.urandom(50)
    facts = facts_of_worker(mark)
    given, ours = store.put_bytes(text), set(home().results.iterdir())
    (there,) = (path for path in (folder / "shared").rglob("*") if path.is_file())
    there.write_bytes(there.read_bytes()[:-1])  # damaged after it was noted as published
    cluster().required = Required(mark, facts, apart=True)
    assert store.read_bytes(twice.submit(given).result()) == 2 * text
    assert set(home().results.iterdir()) == ours, "a worker writes into its own home alone"
    assert list((theirs / "store" / "results").iterdir())
    cluster().required = Required(mark, facts | {"hush": "another"}, apart=True)
    again = twice.submit(given).result(raise_on_failure=False)
    assert isinstance(again, InputError) and "has another hush" in str(again), "answered by a result it had"
    cluster().required.forget()
    cluster().required = None


@task
@in_parts
def worked_out(many):
    """(twice the part, who did it) of each part."""
    return list(map_parts(by_whom, range(many)))


def by_whom(part):
    return 2 * part, os.getpid()


@task
def touch(file):
    """What a worker that may work does."""
    file.touch()


def live_in(folder):
    os.environ["HUSH_HOME"] = folder


@cached_task(name="price", version=1)
def twice(text: Ref) -> Ref:
    """A step of those that a worker with a home of its own may do."""
    store = Store(home().store)
    return store.put_bytes(2 * store.read_bytes(text))


@task
def go_on(folder):
    """Until it is dismissed."""
    progress = progress_log()
    (folder / "begun").touch()
    try:
        while True:
            progress("going on", 0, 1)
            time.sleep(0.02)  # what it does all the time
    except HushError as error:
        (folder / "dismissed").write_text(type(error).__name__)
        raise


def stop_when(file):
    until(file.exists, "the step")
    STOPPING.set()


def listening():
    """Addresses on which this process and the cluster's wait for others."""
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):  # it has just ended
            if process.pid == os.getpid() or "dask" in " ".join([process.name(), *process.cmdline()]):
                yield from (c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN)
