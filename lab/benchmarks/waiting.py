"""What a user waits for: the first command, the second one, a run, a night with nothing new; CPU and wall.

Each command is a process of its own on a repository of one file. CPU is user and system time of the whole process
tree, of detached servers too: each command runs under a subreaper that collects every descendant. Of servers that
were started before it counts what they use while it runs. Printed: medians, and the CPU of `import torch` and
`import prefect` on the same machine, as a unit. `--demo` adds `hush demo`, which takes minutes.

>>> python lab/benchmarks/waiting.py --out waiting.json        # in a shell
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import socket
import statistics
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("hush", "hush_core", "tasks", "flows")
PR_SET_CHILD_SUBREAPER = 36
TICK = os.sysconf("SC_CLK_TCK")
CONFIG = """\
version: 1
repos: [{path: repository}]
levels: {high: 1.0e-3}
secrets:
  - {id: creds, kind: credentials, level: high, protect: noise}
chunk_bytes: 128
weights: {c: 0.4}
model: {layers: 1, width: 32, heads: 2}
pretrain: {steps: 0}
train: {rounds: 2, batch: 4}
audit: {alternatives: 2, unprotected: false}
tracking: {experiment: job, model: job}
"""
Measured = dict[str, float]


class Place:
    """A folder with a repository of one file, its config, a HUSH_HOME and a user's cache."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        self.folder, self.servers = folder, dict[str, str]()
        repository = folder / "repository"
        repository.mkdir(parents=True)
        token = "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))
        lines = [line for n in range(40) for line in (f"def step_{n}(value):", f"    return value + {n}", "")]
        lines.insert(30, f'GITHUB_TOKEN = "{token}"')
        (repository / "app.py").write_text("\n".join(lines) + "\n")
        (folder / "job.yaml").write_text(config)
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all of it"]):
            who = ["-c", "user.name=someone", "-c", "user.email=ada@acme.example.com"]
            subprocess.run(["git", "-C", str(repository), *who, *words], check=True)

    @property
    def environment(self) -> dict[str, str]:
        left = ("PREFECT_", "MLFLOW_", "HUSH_", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(left)}
        own = {"HUSH_HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return {**kept, **own, "PYTHONPATH": str(ROOT), **self.servers}

    def set_up(self) -> Measured:
        """What `make setup` does for a user once, besides installing and byte code."""
        code = [sys.executable, "-m", "compileall", "-q", *(str(ROOT / name) for name in PACKAGES)]
        subprocess.run(code, check=True)
        return measured([sys.executable, "-m", "flows.set_up"], self.folder, self.environment)

    def hush(self, *words: str, beside: int | None = None) -> Measured:
        """CPU and wall seconds of a command; `beside`: a server, whose CPU of this time counts too."""
        return measured([sys.executable, "-m", "flows.cli", *words], self.folder, self.environment, beside)


def measured(
    command: Sequence[str], cwd: Path, environment: dict[str, str], beside: int | None = None
) -> Measured:
    """Run it in a child that collects all of its descendants, and ask the system what they used.

    Raises:
        RuntimeError: the command failed; its last lines.
    """
    before = tree_seconds(beside) if beside else 0.0
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            start = time.monotonic()
            run = subprocess.Popen(
                command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
            status, wall = run.wait(), time.monotonic() - start
            _reap()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            body = {"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime}
            os.write(writing, json.dumps(body).encode())
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as answer:
            found = json.loads(answer.read())
        os.waitpid(child, 0)
        said.seek(0)
        if found["status"]:
            text = said.read().decode(errors="replace")[-3000:]
            raise RuntimeError(f"{' '.join(command)}: {found['status']}\n{text}")
    if beside:
        found["cpu"] += tree_seconds(beside) - before
    return {"cpu": found["cpu"], "wall": found["wall"]}


def _reap() -> None:
    """Wait for every descendant that outlived the command."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def tree_seconds(root: int) -> float:
    """CPU seconds of a process and all its descendants, of those that have ended too."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))

    def below(pid: int | None) -> bool:
        while pid and pid != root:
            pid = parents.get(pid)
        return pid == root

    return sum(n for pid, n in ticks.items() if below(pid)) / TICK


class Servers:
    """Prefect's and MLflow's, as `hush serve --with-servers` starts them."""

    def __init__(self, place: Place) -> None:
        ports = [free_port(), free_port()]
        code = f"from flows.serve import serve; serve(None, with_servers=True, prefect_port={ports[0]}, "
        code += f"mlflow_port={ports[1]})"
        self.place, self.log = place, place.folder / "serve.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], cwd=place.folder, env=place.environment,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        record = place.folder / "home/run/servers.json"
        while not (record.exists() and b'"ready": true' in record.read_bytes()):
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text()[-3000:])
            time.sleep(0.2)
        self._settle()
        keys = place.folder / "home/keys"
        user, _, password = (keys / "mlflow.login").read_text().partition(":")
        place.servers = {
            "PREFECT_API_URL": f"http://127.0.0.1:{ports[0]}/api",
            "PREFECT_API_AUTH_STRING": (keys / "prefect.login").read_text(),
            "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{ports[1]}",
            "MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password,
        }  # fmt: skip

    def _settle(self) -> None:
        """Until starting up is over: a second in which they use little."""
        used = tree_seconds(self.process.pid)
        while True:
            time.sleep(2)
            now = tree_seconds(self.process.pid)
            if now - used < 1:
                return
            used = now

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(120)
        self.place.servers = {}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def changed(place: Place) -> None:
    """One more line in the one file, committed: what was kept of it no longer holds."""
    repository = place.folder / "repository"
    with open(repository / "app.py", "a") as file:
        file.write("LATER = 1\n")
    who = ["-c", "user.name=someone", "-c", "user.email=ada@acme.example.com"]
    subprocess.run(["git", "-C", str(repository), *who, "commit", "-qam", "more"], check=True)


def commands(folder: Path, *, demo: bool) -> dict[str, Measured]:
    """Every row once, in homes of its own."""
    rows: dict[str, Measured] = {}
    ready = Place(folder / "ready")
    rows["set-up"] = ready.set_up()

    def prepared(name: str, config: str = CONFIG) -> Place:
        place = Place(folder / name, config)
        shutil.copytree(ready.folder / "cache", place.folder / "cache")
        return place

    for command in ("secrets", "plan"):
        rows[f"first {command}, without set-up"] = Place(folder / f"bare {command}").hush(command, "job.yaml")
    place = prepared("secrets")
    rows["first secrets"] = place.hush("secrets", "job.yaml")
    rows["secrets, nothing new"] = place.hush("secrets", "job.yaml")
    changed(place)
    rows["secrets, one line new"] = place.hush("secrets", "job.yaml")
    place = prepared("plan")
    rows["first plan"] = place.hush("plan", "job.yaml")
    rows["plan, nothing new"] = place.hush("plan", "job.yaml")
    rows["first run"] = place.hush("run", "job.yaml")
    rows["run, nothing new"] = place.hush("run", "job.yaml")
    target = str(next((place.folder / "home/store").rglob("certificate.json")).parent)
    rows["verify"] = place.hush("verify", target)
    rows["--help"] = place.hush("--help")
    place = prepared("promise", CONFIG + "promise: {runs: 52}\n")
    place.hush("run", "job.yaml")
    rows["nightly run of 52, nothing new"] = place.hush("run", "job.yaml")
    served = prepared("servers", CONFIG + "promise: {runs: 52}\n")
    servers = Servers(served)
    try:
        for command in ("secrets", "plan", "run"):
            for what in (f"with servers: first {command}", f"with servers: {command}, nothing new"):
                rows[what] = served.hush(command, "job.yaml", beside=servers.process.pid)
    finally:
        servers.stop()
    if demo:
        place = Place(folder / "demo")
        rows["first demo"] = place.hush("demo")
        rows["demo, nothing new"] = place.hush("demo")
    return rows


def unit(module: str) -> Measured:
    return measured([sys.executable, "-c", f"import {module}"], ROOT, dict(os.environ))


def median(runs: Sequence[Measured]) -> Measured:
    return {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}


def main(ask: Callable[[], argparse.Namespace]) -> None:
    asked = ask()
    found: dict[str, list[Measured]] = {}
    for number in range(asked.times):
        with tempfile.TemporaryDirectory(prefix="hush-waiting-") as folder:
            rows = {f"import {module}": unit(module) for module in ("torch", "prefect")}
            rows |= commands(Path(folder), demo=asked.demo and not number)
        for name, row in rows.items():
            found.setdefault(name, []).append(row)
    table = {name: median(runs) for name, runs in found.items()}
    print(f"{'':36}{'CPU s':>8}{'wall s':>8}{'imports of torch':>18}")
    for name, row in table.items():
        ratio = row["cpu"] / table["import torch"]["cpu"]
        print(f"{name:36}{row['cpu']:8.1f}{row['wall']:8.1f}{ratio:18.1f}")
    if asked.out:
        body = {"times": asked.times, "cores": os.cpu_count(), "seconds": table}
        asked.out.write_text(json.dumps(body, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--times", type=int, default=3, help="medians of so many")
    words.add_argument("--out", type=Path, help="also write the table here, as JSON")
    words.add_argument("--demo", action="store_true", help="also `hush demo`, once")
    return words.parse_args()


if __name__ == "__main__":
    main(_arguments)
