"""Data-parallel training: starts one `worker.py` a rank, on this machine or several, and waits for them.

    fit_in_processes(4, Job(plan, texts, model_dir, settings, lora, work_dir, out_dir))

What they need is in a folder of their own below the run's private one. Texts go nowhere else, and never into
arguments, environment or logs. The page docs/running.md says what is guaranteed, and why torchrun does not do it.
"""

import fcntl
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from hush_core.errors import InputError
from hush_core.progress import Progress, Watch
from hush_core.training.hosts import Hosts, elsewhere
from hush_core.training.job import Job
from hush_core.training.rendezvous import INTERRUPTED, JOINED, Rendezvous, raise_failure
from hush_core.training.run import Fitted

_TICK = 0.1
_GRACE = 5.0
"""Seconds that the other ranks have to end by themselves after one has failed."""
_PREFIX = "processes-"
_HANDED_ON = (
    "OMP_NUM_THREADS",
    "PYTHONPATH",
    "HF_HUB_OFFLINE",
    "HF_HUB_DISABLE_TELEMETRY",
    "TRANSFORMERS_OFFLINE",
)
"""To ranks on other machines, which have an environment of their own."""


def fit_in_processes(
    processes: int,
    job: Job,
    progress: Progress | None = None,
    *,
    watch: Watch | None = None,
    lock: int | None = None,
    hosts: Hosts = Hosts(),  # noqa: B008 - frozen
) -> Fitted:
    """`fit_private` with the batch shared out over several processes; call it again to resume, with as many
    processes as you like.

    Each process holds the whole model. On CUDA each takes a device of its own.

    Args:
        progress, watch: as in `fit_private`.
        lock: a descriptor that the first rank, which makes the releases, inherits (`RunHistory.training`).
        hosts: the machines, which see all these folders at the same paths, with locks; this one alone by default.

    Raises:
        InputError: from any process, as it was raised there; fewer devices than processes; another process
            trains in `work_dir`. SetupError: another machine does not begin its processes, or is not reached.
        RankFailed: a process failed or was killed: says which, and names its log. Those are
            `work_dir/rank-N.log`; they hold types and places of errors, and no text.
        KeyboardInterrupt: after SIGINT, when the round is finished and a checkpoint written. Whatever else is
            raised in this thread while it waits (by `progress`, by an orchestrator that cancels) has the same
            effect and is raised again; a second one kills the processes.

    Guarantee: that of `fit_private`; the model is the one of a single process: sums are exact. When
    this function has returned or raised, none of its processes is alive on this machine; if this process is
    killed, they end. One elsewhere ends when the connection of its command does.
    """
    if processes < 1:
        raise InputError("train.processes", f"must be at least 1, got {processes}", "give a positive number")
    hosts.check(processes)
    here = sum(not hosts.of(rank, processes)[0] for rank in range(processes))
    if torch.cuda.is_available() and torch.cuda.device_count() < here:
        raise InputError(
            "train.processes",
            f"are {here} on this machine, and it has {torch.cuda.device_count()} devices",
            "set it to the number of devices",
        )
    job.work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _only_one(job.work_dir) as own, _private_folder(job.work_dir) as folder:
        job.write(folder)
        held = (own,) if lock is None else (own, lock)
        _run(folder, job.work_dir, processes, hosts, progress, watch, held)
        return Fitted(**json.loads((folder / "result.json").read_text()))


@contextmanager
def _only_one(work_dir: Path) -> Iterator[int]:
    """Hold the folder, by a descriptor that the first rank inherits, which may outlive a killed parent."""
    descriptor = os.open(work_dir, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                str(work_dir), "another process is training this run", "wait for it to end"
            ) from None
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _private_folder(work_dir: Path) -> Iterator[Path]:
    """A new folder, deleted at the end, after those that killed parents have left."""
    for left in work_dir.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=work_dir))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    folder: Path,
    work_dir: Path,
    count: int,
    hosts: Hosts,
    progress: Progress | None,
    watch: Watch | None,
    held: tuple[int, ...],
) -> None:
    """Start the ranks, relay the progress of the first, and leave none alive, whatever happens."""
    children: list[subprocess.Popen[bytes]] = []
    reading, writing = os.pipe()
    rendezvous = Rendezvous(folder, count, hosts)
    try:
        for rank in range(count):
            with _interrupted_after():
                fds = (writing, *held) if rank == 0 else (writing,)
                children.append(_start(folder, rank, count, hosts, fds, work_dir / f"rank-{rank}.log"))
        try:
            codes = _wait(children, reading, rendezvous, progress, watch)
        except BaseException:
            if not rendezvous.over:  # nothing is released, and who waits for another machine hears nobody
                raise
            for child in children:
                with suppress(BrokenPipeError):
                    child.stdin.write(b"s")
            _wait(children, reading, rendezvous, None, None)
            raise
        if any(codes):
            raise_failure(codes, folder, work_dir, rendezvous)
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()
            child.stdin.close()
        os.close(reading)
        os.close(writing)


@contextmanager
def _interrupted_after() -> Iterator[None]:
    """A Ctrl-C amid the start of a process comes after it: else nothing would know of that process, and end it."""
    if threading.current_thread() is not threading.main_thread():  # no signal reaches this one
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _start(
    folder: Path, rank: int, count: int, hosts: Hosts, fds: tuple[int, ...], log: Path
) -> subprocess.Popen[bytes]:
    """A worker in a process group of its own: a Ctrl-C at the terminal reaches the parent alone. `fds` are what it
    inherits: where it reports its progress, then locks."""
    command, local = hosts.of(rank, count)
    ranked = {
        "RANK": str(rank),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(count),
        # What the ranks send one another is not noised yet. Else gloo listens where the host's name points to.
        "GLOO_SOCKET_IFNAME": hosts.interface,
        "NCCL_SOCKET_IFNAME": hosts.interface,
    }
    threads = {"OMP_NUM_THREADS": str(max(1, _cores() // hosts.most_on_one(count)))}
    own = [sys.executable, "-P", "-m", "hush_core.training.worker", str(folder), str(fds[0])]
    if command:
        handed_on = {name: os.environ[name] for name in _HANDED_ON if os.environ.get(name)}
        own = elsewhere(command, {**threads, **handed_on, **ranked}, own)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            own,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            env={**threads, **os.environ, **ranked},
            pass_fds=fds,
            process_group=0,
            bufsize=0,
        )
    finally:
        os.close(file)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _wait(
    children: Sequence[subprocess.Popen[bytes]],
    reading: int,
    rendezvous: Rendezvous,
    progress: Progress | None,
    watch: Watch | None,
) -> list[int | None]:
    """The exit statuses, when all have ended; or one has failed, and the others had their grace. Of ranks that were
    asked to stop the first may take longer than the others: it writes the checkpoint."""
    rest, failed_at = b"", None
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            codes = [child.poll() for child in children]
            while selector.select(_TICK if None in codes else 0):
                *lines, rest = (rest + os.read(reading, 1 << 16)).split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    rendezvous.over |= message == JOINED
                    if isinstance(message, dict) and watch is not None:
                        watch(message)
                    elif isinstance(message, list) and progress is not None:
                        progress(*message)
            if failed_at is None and any(code not in (None, 0, INTERRUPTED) for code in codes):
                failed_at = time.monotonic()
            if None not in codes or (failed_at is not None and time.monotonic() - failed_at > _GRACE):
                return codes
            if failed_at is None:
                rendezvous.check()
