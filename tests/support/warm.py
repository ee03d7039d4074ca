"""Commands in processes of their own, forked from one that has loaded the libraries of others already.

Half of what a short `hush …` takes is the import of torch, SciPy, Prefect and MLflow. One process a test run
imports them once, and `hush_core`, which reads no setting as it is imported; hush's other modules not. It forks for
every test process, and that fork for every command: environment, folder, streams, signals, exit status and exit
handlers are those of a new process. What is different: the hash seed is the same for all commands of a run, and
a library is there before its settings are; Prefect's are read again; flows send no heartbeats.

Tests that interrupt, look at what is imported, or begin from nothing on purpose call `subprocess` instead.
"""

from __future__ import annotations

import ast
import atexit
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

from template import SHARED

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "support")))
"""The PYTHONPATH of a command that is a module of tests."""
OURS = ("flows", "hush", "hush_core", "lab", "tasks", "prctl")
CORE = (
    "accounting", "auditing", "certificate", "config", "corpus", "history", "mechanisms", "plan", "secrets",
    "training", "weights",
)  # fmt: skip
NOT_AHEAD = ("mlflow.server", "mlflow.store", "fastapi", "flask", "psycopg2")
"""What sets up servers as it is imported."""
STORE = "mlflow.store.tracking.sqlalchemy_store"
"""The one part of that which a command without servers loads: it sets up nothing."""


class Child:
    """A forked command, in a session of its own: as much of `subprocess.Popen` as tests need."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid, self.nursery = pid, nursery
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.nursery.ended(self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            # a tenth of a second at most: another thread may take the line that says so
            select.select([self.nursery.line], [], [], 0.1)
        return status


class Nursery:
    """The process that has everything loaded and forks for this test process; gone with it."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.lock = threading.Lock()
        # the process that forks may end just as it is asked; one that cannot load ends each time
        line = next(filter(None, (_connected() for _ in range(3))), None)
        assert line is not None, "the process that loads the libraries ends: its error stands above"
        self.line = line
        atexit.register(self.line.close)

    def start(
        self, module: str, arguments: list[str], *, cwd: Path, env: dict[str, str], streams: tuple[int, ...]
    ) -> Child:
        """Begin `python -m module arguments…`; `streams`: the files for what it prints, for its errors, and, if it
        has one, the file that it reads."""
        request = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": env}
        with self.lock:
            socket.send_fds(self.line, [json.dumps(request).encode()], streams)
            while isinstance(answer := json.loads(self.line.recv(1 << 16)), list):
                self.statuses[answer[0]] = answer[1]
        return Child(self, answer)

    def ended(self, pid: int) -> int | None:
        """The exit status of a child, negative for a signal; None while it runs."""
        with self.lock:
            while pid not in self.statuses and select.select([self.line], [], [], 0)[0]:
                data = self.line.recv(1 << 16)
                assert data, "the process that forks commands is gone"
                ended, status = json.loads(data)
                self.statuses[ended] = status
            return self.statuses.get(pid)


def _connected() -> socket.socket | None:
    """A line to the process that forks, begun by the first that asks; None where it just ended."""
    shared = Path(os.environ[SHARED])
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(shared / "warm.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            line.connect(str(shared / "warm"))
        except OSError:
            _begin(shared)
            line.connect(str(shared / "warm"))
    try:
        if line.recv(1 << 16):
            return line
    except ConnectionResetError:
        pass
    line.close()
    return None


def _begin(shared: Path) -> None:
    (shared / "warm").unlink(missing_ok=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    environment = {**kept, "HUSH_HOME": str(shared / "warm-home"), "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(shared / "warm"))
        listener.listen(64)
        _begun.append(
            subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno())],
                pass_fds=[listener.fileno()], env=environment, stdin=subprocess.DEVNULL, start_new_session=True,
            )
        )  # fmt: skip


_begun: list[subprocess.Popen] = []
_nursery: list[Nursery] = []


def start(
    module: str, arguments: list[str], *, cwd: Path, env: dict[str, str], streams: tuple[int, ...]
) -> Child:
    """A command, forked; see `Nursery.start`."""
    if not _nursery:
        _nursery.append(Nursery())
    return _nursery[0].start(module, arguments, cwd=cwd, env=env, streams=streams)


def run(
    module: str,
    arguments: Iterable[object],
    *,
    env: dict[str, str],
    cwd: Path = ROOT,
    timeout: float = 300,
    apart: bool = True,
) -> subprocess.CompletedProcess:
    """A command, forked, to its end; `apart`: what it prints and its errors, or all of it as `stdout`."""
    given = [str(argument) for argument in arguments]
    pipes = [os.pipe() for _ in range(2 if apart else 1)]
    try:
        child = start(module, given, cwd=cwd, env=env, streams=(pipes[0][1], pipes[-1][1]))
    finally:
        for _, write in pipes:
            os.close(write)
    told, deadline = {read: bytearray() for read, _ in pipes}, time.monotonic() + timeout
    left = set(told)
    try:
        while left:
            ready, _, _ = select.select(left, [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                os.killpg(child.pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([module, *given], timeout, bytes(told[pipes[0][0]]))
            for read in ready:
                part = os.read(read, 1 << 16)
                told[read] += part
                left -= set() if part else {read}
    finally:
        for read in told:
            os.close(read)
    status = child.wait(max(1.0, deadline - time.monotonic()))
    out, *errors = (data.decode(errors="replace") for data in told.values())
    return subprocess.CompletedProcess([module, *given], status, out, "".join(errors))


def libraries() -> list[str]:
    """The modules of others that any module of hush imports."""
    named = set()
    for folder in OURS:
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name == "benchmarks":  # scripts, which import one another, and peers
                continue
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Import):
                    named |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    named.add(node.module)
    ours = (*OURS, *NOT_AHEAD)
    return sorted(
        n for n in named
        if n.split(".")[0] not in sys.stdlib_module_names and not any(f"{n}.".startswith(f"{o}.") for o in ours)
    )  # fmt: skip


def _load() -> None:
    import importlib

    from tasks.runtime.environment import prepare_environment

    prepare_environment()
    for name in (*libraries(), STORE):
        importlib.import_module(name)
    from prefect.flow_engine import BaseFlowRunEngine

    BaseFlowRunEngine.heartbeat_seconds = None  # its thread looks once a second whether the flow has ended
    for name in CORE:
        importlib.import_module(f"hush_core.{name}")
    _forget_ours(but="hush_core")
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, all of it


def _forget_ours(but: str = "") -> None:
    for name in [n for n in sys.modules if n.split(".")[0] in OURS and n.split(".")[0] != but]:
        del sys.modules[name]


def _accept(listener: socket.socket) -> socket.socket:
    """Fork for every test process and return its line there; end with the last of them."""
    children: set[int] = set()
    while True:
        if select.select([listener], [], [], 1.0 if children else 600.0)[0]:
            line, _ = listener.accept()
            pid = os.fork()
            if not pid:
                listener.close()
                return line
            line.close()
            children.add(pid)
        children = {pid for pid in children if not os.waitpid(pid, os.WNOHANG)[0]}
        if not children:
            os._exit(0)


def _serve(line: socket.socket) -> None:
    """Fork for every request until the line is closed; returns in the children only."""
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(awake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    line.send(json.dumps("up").encode())
    while True:
        ready, _, _ = select.select([line, awake], [], [])
        if awake in ready:
            os.read(awake, 1 << 10)
            _report(line)
        if line in ready:
            try:
                data, fds, _, _ = socket.recv_fds(line, 1 << 20, 3)
            except ConnectionResetError:  # the test process ended without reading the last status
                data = b""
            if not data:
                os._exit(0)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for fd in (awake, wake, line.detach()):
                    os.close(fd)
                _become(json.loads(data), *fds)
                return
            for fd in fds:
                os.close(fd)
            line.send(json.dumps(pid).encode())


def _report(line: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        line.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())


def _become(request: dict, *streams: int) -> None:
    """What a process begun from nothing would be, but for the libraries."""
    os.setsid()
    for stream, number in zip(streams, (1, 2, 0), strict=False):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[:] = [request["module"], *request["arguments"]]
    sys.path[0] = request["cwd"]
    added = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in sys.path]
    sys.path[1:1] = added

    import numpy as np

    np.random.seed(None)
    from tasks.runtime.environment import home, settings

    if os.environ.get("HUSH_HOME"):
        given = {k: v for k, v in settings(home()).items() if not os.environ.get(k)}
        os.environ.update(given)
    another = any((Path(p) / "hush_core").is_dir() for p in (request["cwd"], *added) if Path(p) != ROOT)
    _forget_ours(but="" if another else "hush_core")
    import prefect.context

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a home that is not there yet
        prefect.context.refresh_global_settings_context()


def _run() -> None:
    """The module as the main program, to its end: threads are waited for and exit handlers run; only the modules
    are not taken down one by one, which would copy them all."""
    import runpy
    import traceback

    status = 0
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    _load()
    _serve(_accept(socket.socket(fileno=int(sys.argv[1]))))
    _run()
