"""The stack under load: 50 plan runs asked for at once, 1,000 in the queue, 10,000 runs in the history.

`hush serve --with-servers` (SQLite, or `--postgres`) is started on free ports with a tiny job, and asked as the UIs
ask it. Then, each part told in JSON:

    at once    --plans runs of `plan` and --trainings of `train` are asked for in one breath. How
               many end within --minutes, the most that ran side by side, the memory of the worker's processes, and
               whether two trainings overlapped; the rest is cancelled.
    queued     --queued further runs of `plan`. What one request costs to ask for, how the server's calls fare while
               they wait, how many are done in --minutes, and that none is lost; the rest is cancelled.
    history    the finished training is copied into both databases, --history times (`load_history`): one model's
               versions in MLflow and runs over 104 days in Prefect. Then the calls behind the UIs' pages, the pages
               in a real browser, `hush run` and `hush watch`, and the sizes of the databases; before it and after.

It fails where a run is lost or two trainings of the model overlap. Milliseconds are of this machine; CPU is what
the servers' own processes used for a call, which other work on the machine disturbs less.

    python lab/benchmarks/load.py --postgres --out load.json            # 15 to 25 minutes
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from load_history import fill, sizes

ROOT = Path(__file__).parents[2]
CONFIG = """\
version: 1
repos: [{path: repository}]
secrets: [{id: vault, kind: path, globs: ["vault/"], level: 0.01, bits: 20, protect: noise}]
chunk_bytes: 64
model: {layers: 1, width: 32, heads: 2}
train: {rounds: 3, batch: 4, checkpoint_every: 2}
audit: {alternatives: 10}
tracking: {experiment: tiny, model: tiny}
"""
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
SERVERS = ("prefect server", "mlflow server", "bin/postgres")
TICK = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--trainings", type=int, default=4)
    parser.add_argument("--queued", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--history", type=int, default=10_000)
    parser.add_argument("--mlflow-alone", action="store_true", help="copy no history in Prefect's database")
    parser.add_argument("--browser", action="store_true", help="time pages in Chromium, too (playwright)")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="hush-load-") as name:
        folder = Path(name)
        stack = Stack(folder, postgres=given.postgres)
        results: dict[str, Any] = {"database": "PostgreSQL" if given.postgres else "SQLite"}
        try:
            stack.first()
            parts = {
                "at once": given.plans
                and (lambda: at_once(stack, given.plans, given.trainings, given.minutes)),
                "queued": given.queued and (lambda: queued(stack, given.queued, given.minutes)),
                "before": given.history and (lambda: history(stack, 0, given)),
                "history": given.history and (lambda: history(stack, given.history, given)),
            }
            for part, made in parts.items():
                if not made:
                    continue
                results[part] = made() | {"answers that the server was busy, so far": stack.busy}
                print(f"{part}: {json.dumps(results[part], indent=1)}", flush=True)
                if given.out:
                    given.out.write_text(json.dumps(results, indent=1))
        finally:
            stack.stop()
    return 0


def at_once(stack: Stack, plans: int, trainings: int, minutes: float) -> dict[str, Any]:
    """All asked for in one breath; until all have ended, or the time is over: then the rest is cancelled."""
    began, cpu = time.monotonic(), stack.cpu()
    runs = [stack.start("train", {}) for _ in range(trainings)]
    runs += [stack.start("plan", {"sweep": [0.4]}) for _ in range(plans)]
    asked = time.monotonic() - began
    most = memory = 0
    while True:
        states = stack.states(runs)
        most = max(most, states["RUNNING"] + states["PENDING"])
        memory = max(memory, stack.worker_memory())
        ended = sum(states[state] for state in ENDED)
        if ended == len(runs) or time.monotonic() - began > 60 * minutes:
            break
        time.sleep(2)
    took = time.monotonic() - began
    spent = stack.cpu() - cpu
    assert sum(states.values()) == len(runs) and ended == states["COMPLETED"], states
    states = cancelled(stack, runs)
    assert sum(states[state] for state in ENDED) == len(runs), states
    assert stack.overlaps("train") == 0, "two trainings of one model ran side by side"
    return {
        "runs": len(runs), "asked for in s": round(asked, 1), "watched for s": round(took), "ended": ended,
        "runs a minute": round(60 * ended / took, 1), "most pending or running": most,
        "worker's memory, most, MiB": memory >> 20, "cpu s for a run": round(spent / max(1, ended), 1),
        "in the end": dict(states),
    }  # fmt: skip


def queued(stack: Stack, number: int, minutes: float) -> dict[str, Any]:
    """Many in the queue: what asking costs, what the server does with them, and that none is lost."""
    idle = timed(stack, stack.prefect_calls())
    began = time.monotonic()
    runs = [stack.start("plan", {"sweep": [0.4]}) for _ in range(number)]
    asked = time.monotonic() - began
    busy = timed(stack, stack.prefect_calls())
    most = memory = 0
    server, whole = stack.cpu("prefect server"), stack.cpu()
    until = time.monotonic() + 60 * minutes
    before = sum(stack.states(runs)[state] for state in ENDED)
    while time.monotonic() < until:
        states = stack.states(runs)
        most = max(most, states["RUNNING"] + states["PENDING"])
        memory = max(memory, stack.worker_memory())
        time.sleep(2)
    done = sum(states[state] for state in ENDED) - before
    cpu = {"Prefect's server": stack.cpu("prefect server") - server, "all": stack.cpu() - whole}
    assert sum(states.values()) == number and not states["FAILED"] and not states["CRASHED"], states
    states = cancelled(stack, runs)
    assert sum(states[state] for state in ENDED) == number, states
    return {
        "runs": number, "asked for in s": round(asked, 1), "ended a minute": round(done / minutes, 1),
        "most pending or running": most, "worker's memory, most, MiB": memory >> 20,
        "cpu s a minute": {name: round(spent / minutes, 1) for name, spent in cpu.items()},
        "calls, queue empty": idle, "calls, queue full": busy, "in the end": dict(states),
    }  # fmt: skip


def cancelled(stack: Stack, runs: list[str]) -> Counter[str]:
    """What has not ended is cancelled as the UI does it; the states when all have ended."""
    for run in runs:
        if stack.states([run]).keys() - set(ENDED):
            with suppress(urllib.error.HTTPError):  # over meanwhile
                stack.call(f"/flow_runs/{run}/set_state", {"state": {"type": "CANCELLING"}})
    deadline = time.monotonic() + 600
    while sum((states := stack.states(runs))[state] for state in ENDED) < len(runs):
        if time.monotonic() > deadline:
            raise AssertionError(f"cancelled runs go on: {states}")
        time.sleep(2)
    return states


def history(stack: Stack, copies: int, given: argparse.Namespace) -> dict[str, Any]:
    """The calls, pages and commands, with so many copies of the finished training."""
    found: dict[str, Any] = {}
    if copies:
        began = time.monotonic()
        places = stack.databases()
        fill({"mlflow": places["mlflow"]} if given.mlflow_alone else places, copies)
        found["copied in s"] = round(time.monotonic() - began)
    found["sizes, MiB"] = sizes(stack.databases())
    found["Prefect"] = timed(stack, stack.prefect_calls())
    found["MLflow"] = timed(stack, stack.mlflow_calls())
    found["commands"] = {name: stack.hush(*command) for name, command in COMMANDS.items()}
    if given.browser:
        from load_pages import pages

        found["pages, s"] = pages(stack)
    return found


COMMANDS = {
    "hush run (nothing new)": ("run", "job.yaml"),
    "hush runs": ("runs",),
    "hush watch": ("watch", "job.yaml"),
    "hush verify": ("verify", "models:/tiny/1"),
}


def timed(stack: Stack, calls: dict[str, Any], times: int = 5) -> dict[str, str]:
    """Each call so many times: the median and the slowest in ms, and the servers' CPU for one."""
    found = {}
    for name, call in calls.items():
        spent, cpu = [], stack.cpu(*SERVERS)
        for _ in range(times):
            began = time.monotonic()
            call()
            spent.append(1000 * (time.monotonic() - began))
        used = 1000 * (stack.cpu(*SERVERS) - cpu) / times
        found[name] = f"{statistics.median(spent):.0f} ms, at most {max(spent):.0f}; cpu {used:.0f} ms"
    return found


class Stack:
    """`hush serve --with-servers` on a tiny job, as a process, and small clients of both servers."""

    def __init__(self, folder: Path, *, postgres: bool) -> None:
        self.folder, self.home, self.postgres = folder, folder / "home", postgres
        self.busy = 0
        self.ports = {name: _free_port() for name in ("prefect", "mlflow", "postgres")}
        repository(folder / "repository")
        self.config = folder / "job.yaml"
        self.config.write_text(CONFIG)
        data = folder / "postgres"
        if postgres and os.getuid() == 0:  # its user must come by
            folder.chmod(0o777)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
        self.environment = {
            **kept, "HUSH_HOME": str(self.home), "PYTHONPATH": str(ROOT), "HUSH_POSTGRES": str(data),
            "OMP_NUM_THREADS": "1", "COLUMNS": "120",
        }  # fmt: skip
        ports = ", ".join(f"{name}_port={port}" for name, port in self.ports.items())
        code = (
            f"from pathlib import Path; from flows.serve import serve; serve(Path({str(self.config)!r}), "
            f"cron='0 2 29 2 *', with_servers=True, postgres={postgres}, {ports})"
        )
        with open(folder / "log", "wb") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-c", code], env=self.environment, cwd=folder, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 400
        while not self._deployed():
            assert self.child.poll() is None and time.monotonic() < deadline, self.log()
            time.sleep(1)

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")[-3000:]

    def first(self) -> None:
        """One training, from which the history is copied, and its approval."""
        run = self.start("train", {})
        while (state := self.call(f"/flow_runs/{run}")["state_type"]) not in ENDED:
            time.sleep(1)
        assert state == "COMPLETED", self.log()
        answer = ("--decision", "approve", "--reason", "within every target", "--reviewer", "load")
        self.hush("review", "models:/tiny/1", *answer)

    # Prefect

    def call(self, path: str, body: Any = None) -> Any:
        return self._ask(f"http://127.0.0.1:{self.ports['prefect']}/api{path}", "prefect", body)

    def _ask(self, url: str, login: str, body: Any = None) -> Any:
        token = base64.b64encode((self.home / "keys" / f"{login}.login").read_bytes()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request, until = urllib.request.Request(url, data, headers), time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(request, timeout=300) as answer:
                    return json.loads(answer.read() or "null")
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > until:
                    raise
            self.busy += 1  # its database was locked: Prefect's own clients ask again, too
            time.sleep(1)

    def _deployed(self) -> bool:
        try:
            return bool(self.call("/deployments/name/watch/hush-watch"))
        except OSError:
            return False

    def deployment(self, flow: str) -> str:
        return self.call(f"/deployments/name/{flow}/hush-{flow}")["id"]

    def start(self, flow: str, parameters: dict[str, Any]) -> str:
        self.known = getattr(self, "known", {})
        if flow not in self.known:
            self.known[flow] = self.deployment(flow)
        body = {"parameters": {"config_file": str(self.config), **parameters}}
        return self.call(f"/deployments/{self.known[flow]}/create_flow_run", body)["id"]

    def states(self, runs: list[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        for i in range(0, len(runs), 200):
            body = {"flow_runs": {"id": {"any_": runs[i : i + 200]}}, "limit": 200}
            found.update(run["state_type"] for run in self.call("/flow_runs/filter", body))
        return found

    def overlaps(self, flow: str) -> int:
        """How many pairs of runs of a flow ran at the same time."""
        body = {"flows": {"name": {"any_": [flow]}}, "limit": 200}
        spans = [
            (run["start_time"], run["end_time"])
            for run in self.call("/flow_runs/filter", body)
            if run["start_time"]
        ]
        spans.sort()
        return sum(a[1] > b[0] for a, b in pairwise(spans))

    def prefect_calls(self) -> dict[str, Any]:
        """What the pages *Dashboard*, *Runs*, a run and *Deployments* ask for."""
        newest = {"sort": "START_TIME_DESC", "limit": 15}
        (run,) = self.call(
            "/flow_runs/filter",
            {"limit": 1, "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}},
        )
        own = {"flow_runs": {"id": {"any_": [run["id"]]}}}
        logs = {"logs": {"flow_run_id": {"any_": [run["id"]]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
        day = {"flow_runs": {"start_time": {"after_": _hours_ago(24)}}}
        return {
            "runs, newest 15": lambda: self.call("/flow_runs/filter", newest),
            "runs, page 100": lambda: self.call("/flow_runs/paginate", {**newest, "page": 100}),
            "runs, count": lambda: self.call("/flow_runs/count", {}),
            "runs of a day, by state": lambda: self.call("/flow_runs/count", day),
            "task runs of a day": lambda: self.call("/task_runs/count", day),
            "a run's steps": lambda: self.call("/task_runs/filter", {**own, "limit": 200}),
            "a run's log": lambda: self.call("/logs/filter", logs),
            "artifacts, newest": lambda: self.call("/artifacts/latest/filter", {"limit": 40}),
            "deployments": lambda: self.call("/deployments/paginate", {"limit": 50}),
        }

    # MLflow

    def tracker(self, path: str, body: Any = None) -> Any:
        return self._ask(f"http://127.0.0.1:{self.ports['mlflow']}/api/2.0/mlflow/{path}", "mlflow", body)

    def mlflow_calls(self) -> dict[str, Any]:
        """What the pages of an experiment, a run, the registry and a model ask for."""
        (place,) = [
            one["experiment_id"]
            for one in self.tracker("experiments/search", {"max_results": 25})["experiments"]
            if one["name"] == "tiny"
        ]
        runs = {"experiment_ids": [place], "max_results": 100, "order_by": ["attributes.start_time DESC"]}
        run = self.tracker("runs/search", runs)["runs"][0]["info"]["run_id"]
        named = urllib.parse.quote("name='tiny'")
        loss = {**runs, "order_by": ["metrics.`loss/protected` ASC"]}
        return {
            "runs, newest 100": lambda: self.tracker("runs/search", runs),
            "runs, by loss": lambda: self.tracker("runs/search", loss),
            "a run": lambda: self.tracker(f"runs/get?run_id={run}"),
            "a metric's history": lambda: self.tracker(
                f"metrics/get-history?run_id={run}&metric_key=training/rounds_released"
            ),
            "models": lambda: self.tracker("registered-models/search?max_results=25"),
            "versions, newest 25": lambda: self.tracker(
                f"model-versions/search?filter={named}&max_results=25&order_by=version_number%20DESC"
            ),
            "versions, all": lambda: self.tracker(f"model-versions/search?filter={named}&max_results=10000"),
            "champion": lambda: self.tracker("registered-models/alias?name=tiny&alias=champion"),
        }

    # processes

    def hush(self, *command: str) -> str:
        user, _, password = (self.home / "keys" / "mlflow.login").read_text().partition(":")
        environment = {
            **self.environment, "PREFECT_API_URL": f"http://127.0.0.1:{self.ports['prefect']}/api",
            "PREFECT_API_AUTH_STRING": (self.home / "keys" / "prefect.login").read_text(),
            "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{self.ports['mlflow']}",
            "MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password,
        }  # fmt: skip
        began, servers = time.monotonic(), self.cpu(*SERVERS)
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-m", "flows.cli", *command], env=environment, cwd=self.folder,
            capture_output=True, text=True, timeout=1500,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        after = os.times()
        own = after.children_user + after.children_system - before.children_user - before.children_system
        spent, servers = time.monotonic() - began, self.cpu(*SERVERS) - servers
        return f"{spent:.1f} s; cpu {own:.1f} s, of the servers {servers:.1f} s"

    def _members(self, word: str) -> list[Path]:
        """The supervisor's children in whose command a word stands, and all processes that they began."""
        parents, commands = {}, {}
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        found = []
        for process in parents:
            above = process
            while above and parents.get(above) != self.child.pid:
                above = parents.get(above, 0)
            if above and word in commands[above]:
                found.append(Path("/proc") / str(process))
        return found

    def cpu(self, *words: str) -> float:
        """CPU seconds of these processes and of the children that they waited for."""
        total = 0
        for place in {place for word in words or [""] for place in self._members(word)}:
            with suppress(OSError):
                total += sum(map(int, (place / "stat").read_text().rpartition(")")[2].split()[11:15]))
        return total / TICK

    def worker_memory(self) -> int:
        """Bytes of the worker and of the runs that it has begun: their proportional shares."""
        total = 0
        for place in self._members("flows.serve"):
            with suppress(OSError):
                for line in (place / "smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
        return total

    def databases(self) -> dict[str, str]:
        """Where each is: an address for psycopg2, or a file."""
        if not self.postgres:
            return {
                "prefect": str(self.home / "prefect" / "prefect.db"),
                "mlflow": str(self.home / "mlflow.db"),
            }
        password = (self.home / "keys" / "postgres.password").read_text()
        where = f"host=127.0.0.1 port={self.ports['postgres']} user=hush password={password}"
        return {name: f"{where} dbname={name}" for name in ("prefect", "mlflow")}

    def stop(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if self.child.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.child.pid, sign)
                with suppress(subprocess.TimeoutExpired):
                    self.child.wait(120)


def repository(path: Path) -> None:
    path.mkdir()
    for number in range(12):
        code = "".join(f"def step_{number}_{i}(v):\n    return v + {number * i}\n" for i in range(6))
        (path / f"module_{number}.py").write_text(code)
    (path / "vault").mkdir()
    (path / "vault" / "inside.py").write_text("LIMIT = 12\n" * 10)
    git = ["git", "-C", str(path), "-c", "user.name=l", "-c", "user.email=l@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True, timeout=60)


def _hours_ago(hours: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600 * hours))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
