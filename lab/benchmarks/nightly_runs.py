"""Ten runs that a cron starts on a real Prefect server, commits in between, a kill, a repetition, and the eleventh.

`hush serve --with-servers` is started on free ports with a schedule of every minute and a promise of --runs runs.
After each run that ends there is a new commit (untagged text, a tagged file that grows, a renamed one, a new
credential), but for one, so that a run meets nothing new; one is killed with SIGKILL once it has released a round.
After each registered version its bound of all runs is computed again from the certificates' own weights and edges,
by inverting the characteristic function (`hush_core.certificate.recheck`, which shares no code with the
accounting); of the killed run by what its note says. It ends when a run is refused, and fails where anything is not
as it should be:

    a version's bound lies below the independent one, or more than 2 % above it, or above its target;
    a version does not count every run before it, the killed one among them; a repetition counts as a run;
    more or fewer than --runs runs release anything.

--champion: each version is approved (`hush review`), and later runs go on from it with a tenth of the rounds.

    python lab/benchmarks/nightly_runs.py --runs 10 --out nightly.json          # 12 to 15 minutes
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import signal
import socket
import string
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.certificate.recheck import posterior_of_runs
from hush_core.history.ledger import LEDGER, releases_in

ROOT = Path(__file__).parents[2]
ROUNDS = 20
DRAWN = random.Random(7)
TOKENS = [f"ghp_{''.join(DRAWN.choices(string.ascii_letters + string.digits, k=36))}" for _ in range(3)]
CONFIG = """\
version: 1
repos: [{{path: repository}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: trading, kind: path, globs: ["trading/**"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
promise: {{runs: {runs}}}
model: {{layers: 1, width: 32, heads: 2}}
train: {{rounds: {rounds}, batch: 6, checkpoint_every: 5{start}}}
audit: {{alternatives: 10}}
tracking: {{experiment: nightly, model: nightly}}
"""
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--champion", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.runs < 6:
        parser.error("--runs: 6 at least, as the fifth is killed")
    with tempfile.TemporaryDirectory(prefix="hush-nightly-") as folder:
        rows = nights(Path(folder), given.runs, given.champion)
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1))
    return 0


def nights(folder: Path, runs: int, champion: bool) -> list[dict]:
    """One row a run that ended, in order; it raises where one is not as it should be."""
    start = f", start: champion, later_rounds: {ROUNDS // 10}" if champion else ""
    (folder / "job.yaml").write_text(CONFIG.format(runs=runs, rounds=ROUNDS, start=start))
    repository = Repository(folder / "repository")
    server = Server(folder)
    rows: list[dict] = []
    counted: list[dict] = []
    idle = killed = False
    try:
        print(
            " run before it                ended      version       σ rounds worst all runs/target, independent"
        )
        change = "first commit"
        while True:
            kill = len(counted) == 4 and not killed
            run = server.next_run(kill=kill)
            version = server.versions()
            new = len(version) > sum(row["version"] is not None for row in rows)
            row = {"before": change, "state": run["state_type"], "version": None}
            if kill:
                killed = True
                counted.append({"killed": True})
                assert not new, "a killed run has a version"
            elif new:
                row |= checked(server.certificate(len(version)), counted)
                row["version"] = len(version)
                if champion:
                    server.approve(len(version))
            elif run["state_type"] == "FAILED":
                row["message"] = run["state"]["message"]
            rows.append(row)
            print(line_of(len(rows), row), flush=True)
            if "message" in row:
                break
            idle, change = (
                (True, "nothing") if len(counted) == 2 and not idle else (idle, repository.commit(len(rows)))
            )
        spent = f"{runs} runs of this store have released what was promised for {runs}"
        assert spent in rows[-1]["message"], rows[-1]["message"]
        assert len(counted) == runs and killed and idle
        repeated = [row for row in rows if row["state"] == "COMPLETED" and row["version"] is None]
        assert repeated, "no run met the text of the one before"
        print(
            f"{runs} runs released something, one of them killed; {len(repeated)} met nothing new; then: {spent}"
        )
        return rows
    finally:
        server.stop()


def checked(folder: Path, counted: list[dict]) -> dict:
    """What a certificate says, against the independent bound of the runs `counted`; it is added to them."""
    facts = json.loads((folder / "certificate.json").read_bytes())["facts"]
    tables = {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}
    plan, runs = facts["plan"], tables["runs"]
    mine: dict[str, tuple] = {}
    rates = tables["weights"]["weight"].to_numpy()
    rates = rates / rates.sum() * plan["expected_batch"]
    for secret, name in tables["secrets"].select("secret_id", "name").iter_rows():
        own = rates[tables["edges"].filter(secret_id=secret)["example_id"].to_numpy()]
        drawn = np.unique(own[own > 0], return_counts=True)
        mine[name] = (*drawn, plan["noise_multiplier"], plan["rounds"])
    known = {run["key"]: run for run in counted if "key" in run}
    worst = 0.0
    bounds = tables["bounds"].join(tables["secrets"].select("secret_id", "name"), on="secret_id")
    for row in bounds.iter_rows(named=True):
        noted = tables["history"].filter(secret_id=row["secret_id"]).join(runs, on="run")
        history = []
        for one in noted.iter_rows(named=True):
            if one["key"] in known:
                history.append(known[one["key"]]["drawn"][row["name"]])
            else:  # the killed run has no certificate: what the run's own note came to
                drawn = np.array([one["rate"]]), np.array([one["examples"]])
                history.append((*drawn, one["noise_multiplier"], one["rounds"]))
        exact = posterior_of_runs([*history, mine[row["name"]]], prior=row["prior"]).value
        assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02, (row["name"], exact, row["all_runs"])
        assert row["all_runs"] <= row["posterior"], row["name"]
        since = sum(row["name"] in run["drawn"] for run in counted if "drawn" in run)
        assert noted.height >= since, f"{row['name']}: a run is not counted"
        if row["all_runs"] / row["posterior"] > worst:
            worst, beside = row["all_runs"] / row["posterior"], exact / row["posterior"]
    assert runs.height == len(counted), f"{runs.height} runs are counted, {len(counted)} were made"
    assert set(known) <= set(runs["key"].to_list()), "a run is not counted"
    counted.append({"key": facts["run"], "drawn": mine})
    return {
        "noise_multiplier": plan["noise_multiplier"],
        "rounds": plan["rounds"],
        "worst": worst,
        "independent": beside,
    }


def line_of(number: int, row: dict) -> str:
    if row["version"] is None:
        return f"{number:4} {row['before']:24} {row['state'].lower():10} {'-':>7}"
    return (
        f"{number:4} {row['before']:24} {row['state'].lower():10} {row['version']:7} "
        f"{row['noise_multiplier']:7.3f} {row['rounds']:6} {row['worst']:.5f} {row['independent']:.5f}"
    )


class Repository:
    """A repository that gets another kind of commit each time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for number in range(20):
            code = "".join(f"def step_{number}_{i}(v):\n    return v + {number * i}\n" for i in range(8))
            self._write(f"app/module_{number}.py", code)
            self._write(f"third_party/lib_{number}.py", code[::-1])
        for number in range(5):
            self._write(f"deploy/config_{number}.py", f'GITHUB_TOKEN = "{TOKENS[0]}"\nx = {number}\n')
        self._write("trading/strategy.py", "".join(f"LIMIT_{i} = {i * 37 % 101}\n" for i in range(20)))
        self._git("init", "-q", "-b", "main")
        self._commit()

    def commit(self, number: int) -> str:
        """One more commit; what it is."""
        kinds = ("untagged text", "a tagged file grows", "a tagged file is renamed", "a new credential")
        kind = kinds[number % 4]
        if kind == "untagged text":
            self._write(f"app/new_{number}.py", f"VALUE = {number}\n" * 30)
        elif kind == "a tagged file grows":
            with open(self.path / "trading/strategy.py", "a") as file:
                file.write(f"EDGE_{number} = {number * 41 % 97}\n" * 8)
        elif kind == "a tagged file is renamed":
            (old,) = sorted((self.path / "deploy").glob("*_0*.py"))[:1]
            self._git("mv", f"deploy/{old.name}", f"deploy/renamed_0_{number}.py")
        else:
            self._write(
                f"deploy/more_{number}.py", f'TOKEN = "{TOKENS[1 + number // 4 % 2]}"\ny = {number}\n'
            )
        self._commit()
        return kind

    def _write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def _commit(self) -> None:
        self._git("add", ".")
        self._git("commit", "-q", "-m", "more")

    def _git(self, *arguments: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        subprocess.run(["git", "-C", self.path, *who, *arguments], check=True, timeout=60)


class Server:
    """`hush serve --with-servers` with a schedule of every minute, on free ports."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.seen = folder, folder / "home", set()
        prefect, mlflow = _free_port(), _free_port()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
        self.environment = {
            **kept, "HUSH_HOME": str(self.home), "PYTHONPATH": str(ROOT), "PREFECT_RUNNER_POLL_FREQUENCY": "2",
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",
        }  # fmt: skip
        job, ports = str(folder / "job.yaml"), f"prefect_port={prefect}, mlflow_port={mlflow}"
        code = (
            "from pathlib import Path; from flows.serve import serve;"
            f"serve(Path({job!r}), cron='* * * * *', with_servers=True, {ports})"
        )
        with open(folder / "log", "wb") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-c", code],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.api, self.tracker = f"http://127.0.0.1:{prefect}/api", f"http://127.0.0.1:{mlflow}"
        self.deployment = self._wait(self._deployed, "the deployments")["id"]
        user, _, password = (self.home / "keys" / "mlflow.login").read_text().partition(":")
        os.environ |= {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password}

    def next_run(self, *, kill: bool) -> dict:
        """The next run that ends; with `kill`, killed once it has released a round."""
        before = {path.parent for path in self.home.glob(f"store/work/*/{LEDGER}")}
        started = self._wait(lambda: self._first("RUNNING", *ENDED), "a run", 300)
        if kill:

            def released() -> bool:
                made = {path.parent for path in self.home.glob(f"store/work/*/{LEDGER}")} - before
                return any(releases_in(folder / LEDGER) for folder in made)

            self._wait(released, "a release", 300, pause=0.05)
            os.kill(_process_of(started["id"]), signal.SIGKILL)
        run = self._wait(
            lambda: (r := self._call(f"/flow_runs/{started['id']}"))["state_type"] in ENDED and r,
            "its end",
            400,
        )
        self.seen.add(run["id"])
        return run

    def versions(self) -> list:
        return self._client().search_model_versions("name = 'nightly'")

    def certificate(self, version: int) -> Path:
        os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
        import mlflow

        mlflow.set_tracking_uri(self.tracker)
        into = self.folder / f"version-{version}"
        into.mkdir()
        return Path(
            mlflow.artifacts.download_artifacts(f"models:/nightly/{version}/certificate", dst_path=str(into))
        )

    def approve(self, version: int) -> None:
        answer = ["--decision", "approve", "--reason", "within every target", "--reviewer", "nightly"]
        command = [sys.executable, "-m", "flows.cli", "review", f"models:/nightly/{version}", *answer]
        login = {name: os.environ[name] for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")}
        environment = {**self.environment, **login, "MLFLOW_TRACKING_URI": self.tracker}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)

    def stop(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if self.child.poll() is None:
                os.killpg(self.child.pid, sign)
                try:
                    self.child.wait(90)
                except subprocess.TimeoutExpired:
                    continue

    def _client(self):
        from mlflow import MlflowClient

        return MlflowClient(self.tracker, self.tracker)

    def _deployed(self) -> dict | None:
        assert self.child.poll() is None, (self.folder / "log").read_text()[-3000:]
        try:
            return self._call("/deployments/name/train/hush-train")
        except OSError:
            return None

    def _first(self, *states: str) -> dict | None:
        body = {
            "sort": "START_TIME_ASC",
            "flow_runs": {
                "state": {"type": {"any_": list(states)}},
                "deployment_id": {"any_": [self.deployment]},
            },
        }
        return next(
            (run for run in self._call("/flow_runs/filter", body) if run["id"] not in self.seen), None
        )

    def _call(self, path: str, body: dict | None = None) -> dict:
        login = self.home / "keys" / "prefect.login"
        token = base64.b64encode(login.read_bytes()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.api}{path}", data, headers), timeout=30
        ) as answer:
            return json.loads(answer.read())

    def _wait(self, check, what: str, seconds: float = 180, pause: float = 0.5):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := check():
                return found
            time.sleep(pause)
        raise TimeoutError(f"waited {seconds} s for {what}: {(self.folder / 'log').read_text()[-3000:]}")


def _process_of(run: str) -> int:
    """The process in which Prefect's runner executes a flow run."""
    mark = f"PREFECT__FLOW_RUN_ID={run}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in entry.read_bytes().split(b"\0"):
                return int(entry.parent.name)
        except OSError:
            continue
    raise ProcessLookupError(f"no process executes flow run {run}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
