"""Real `hush run`s that are killed with their servers at random moments, and what each came to.

Each job is a small repository in a home of its own. `hush run` is killed, started again, killed again, until it
ends by itself; then the next job begins, until --kills were made. In turn the kernel kills

    by processor time   ITIMER_PROF, uniform over what a whole run takes: imports, servers, scan, training, record
    by event            SIGKILL at the n-th fsync, replace or write to a file that Python makes, n uniform

and every second time all processes of its session are killed with it, else its Prefect server ends by itself. A
hook writes down each draw of noise before it is made, so releases are counted without hush's ledger. It fails where

    noise was drawn that the ledger does not count, or more than the plan's rounds;
    a job does not end in one registered version with a certificate that verifies;
    MLflow or Prefect shows a run that goes on, or files and processes are left over.

    python lab/benchmarks/kills.py --kills 60 --out kills.json       # 20 to 25 CPU-minutes
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import template  # noqa: E402
from jobs import Job  # noqa: E402
from waiting import PATIENCE, ended  # noqa: E402

from hush_core.certificate import read_certificate  # noqa: E402
from hush_core.history.ledger import LEDGER  # noqa: E402

ROUNDS = 24
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: 1.0e-3, bits: 20, protect: noise}}
  - {{id: names, kind: literals, file: codenames.txt, level: 1.0e-3, bits: 20, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 1, batch: 4}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 3}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""
HOOKS = '''\
import importlib.abc, importlib.util, os, signal, sys

NOTES, DIE, HOME = os.environ["KILLS_NOTES"], int(os.environ.get("KILLS_DIE", 0)), os.environ["HUSH_HOME"]
write, calls, me = os.write, 0, os.getpid()
MINE = "flows.cli" in open("/proc/self/cmdline").read()


def note(name, *words):
    file = os.open(f"{NOTES}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    write(file, (" ".join(map(str, words)) + chr(10)).encode())
    os.close(file)


def hook(word, real):
    def hooked(first, *args, **more):
        global calls
        if os.getpid() == me:
            place = args[0] if word == "replace" else first
            place = os.readlink(f"/proc/self/fd/{place}") if isinstance(place, int) else os.fspath(place)
            if str(place).startswith(HOME):
                calls += 1
                if calls == DIE:
                    note("died", word, place)
                    os.kill(me, signal.SIGKILL)
        return real(first, *args, **more)
    setattr(os, word, hooked)


class Draws(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Patches hush's noise when it is imported."""

    def find_spec(self, name, path, target=None):
        if name != "hush_core.training.noise":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        self.real, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        self.real.exec_module(module)
        stream = module.SecureGaussian.stream

        def noted(this, counter, *args, **more):
            note("draws", id(this), me, counter)
            return stream(this, counter, *args, **more)

        module.SecureGaussian.stream = noted


if MINE:
    import atexit
    sys.meta_path.insert(0, Draws())
    for word in ("write", "fsync", "replace"):
        hook(word, getattr(os, word))
    atexit.register(lambda: os.getpid() == me and note("calls", calls))
'''


@dataclass
class Attempt:
    """One `hush run`: how it was killed (empty: it was not), where, and what it said."""

    by: str
    at: str = ""
    status: int = 0
    said: str = ""
    cpu: float = 0.0


@dataclass
class Ended:
    """One job, from its first attempt to the one that ended by itself."""

    attempts: list[Attempt] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    released: int = 0
    drawn: int = 0
    runs: dict[str, dict[str, int]] = field(default_factory=dict)


class Killed:
    """A job under kills."""

    def __init__(self, folder: Path, seed: int, whole: tuple[float, int]) -> None:
        """`whole`: processor time and events of a run that nobody kills."""
        folder.mkdir()
        self.job, self.chance, self.whole = Job(folder, seed), random.Random(seed), whole
        self.config = self.job.write("kills.yaml", ROUNDS, 6, CONFIG)
        for name in ("tmp", "hooks"):
            (folder / name).mkdir()
        (folder / "hooks" / "sitecustomize.py").write_text(HOOKS)
        self.ended = Ended()

    def attempt(self, by: str, *, alone: bool) -> int:
        """One `hush run`; its status. `alone`: its servers are left to end by themselves."""
        seconds, calls = self.whole
        after = self.chance.uniform(0.05, seconds) if by == "processor time" else 0.0
        nth = self.chance.randint(1, calls) if by == "event" else 0
        folder = self.job.folder
        paths = os.pathsep.join((str(folder / "hooks"), str(ROOT)))
        environment = self.job.environment | {
            "PYTHONPATH": paths, "KILLS_NOTES": str(folder), "KILLS_DIE": str(nth), "TMPDIR": str(folder / "tmp"),
            "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "run", str(self.config)], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, preexec_fn=lambda: signal.setitimer(signal.ITIMER_PROF, after),
        )  # fmt: skip
        # its exit is the event; the pipe may be held by its server for longer
        with open(folder / "said", "w+") as said:
            os.set_blocking(child.stdout.fileno(), True)
            while line := child.stdout.readline():
                said.write(line)
            status = child.wait(PATIENCE)
            if status < 0 and not alone:
                for process in of_session(child.pid):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
            said.seek(0)
            lines = said.read().splitlines()
        for process in list(of_home(self.job.home)):
            ended(process)
        after_all = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after_all.ru_utime + after_all.ru_stime - before.ru_utime - before.ru_stime
        at = f"{after:.2f} s" if after else ""
        if status == -signal.SIGKILL and nth:
            at = last(folder / "died").replace(str(self.job.home), "")
        self.ended.attempts.append(
            Attempt(by, at, status, "" if status < 0 else "\n".join(lines[-4:]), round(used, 2))
        )
        self.count()
        return status

    def count(self) -> None:
        """Every draw so far is in the ledger, and no (key, counter) was drawn twice."""
        draws = self.job.folder / "draws"
        drawn = draws.read_text().splitlines() if draws.exists() else []
        ledgers = list(self.job.home.glob(f"store/work/*/{LEDGER}"))
        released = sum(max(0, len(path.read_bytes().splitlines()) - 1) for path in ledgers)
        self.ended.released, self.ended.drawn = released, len(drawn)
        if len(set(drawn)) != len(drawn) or len(drawn) > released or released > ROUNDS or len(ledgers) > 1:
            self.fault(f"{len(drawn)} draws, {released} releases in {len(ledgers)} ledgers")

    def fault(self, what: str) -> None:
        self.ended.faults.append(f"after attempt {len(self.ended.attempts)}: {what}")

    def finish(self) -> Ended:
        """What the home looks like when the job has ended by itself."""
        home, last_one = self.job.home, self.ended.attempts[-1]
        if last_one.status:
            self.fault(f"ended with {last_one.status}: {last_one.said}")
            return self.ended
        self.ended.runs = {
            "prefect runs": asked(home / "prefect" / "prefect.db", "SELECT state_type FROM flow_run"),
            "prefect steps": asked(home / "prefect" / "prefect.db", "SELECT state_type FROM task_run"),
            "mlflow runs": asked(home / "mlflow.db", "SELECT status FROM runs"),
            "versions": asked(home / "mlflow.db", "SELECT name FROM model_versions"),
        }
        going = {"RUNNING", "PENDING", "SCHEDULED", "CANCELLING", "PAUSED"}
        for kind, states in self.ended.runs.items():
            if going & states.keys():
                self.fault(f"ghosts: {kind} {states}")
        if self.ended.runs["versions"] != {"job": 1} or self.ended.runs["mlflow runs"].get("FINISHED") != 1:
            self.fault(f"registered: {self.ended.runs}")
        folder = next(home.glob("mlartifacts/**/certificate.json")).parent
        certificate = read_certificate(folder)
        counted = certificate.facts.training.rounds_released
        if not counted == self.ended.released == ROUNDS:
            self.fault(f"the certificate counts {counted}, the ledger {self.ended.released}")
        for name in ("store/tmp", "run"):
            left = [p.name for p in (home / name).glob("*") if p.suffix != ".lock"]
            if left:
                self.fault(f"left in {name}: {left}")
        left = [path.name for path in (self.job.folder / "tmp").iterdir()]
        if left := [
            name for name in left if not name.startswith("torchinductor_")
        ]:  # torch makes it each time
            self.fault(f"left in TMPDIR: {left}")
        hidden = [p for p in home.glob("store/**/.*") if p.name not in (".training", ".writing")]
        if hidden := [str(path.relative_to(home)) for path in hidden]:
            self.fault(f"half-written files are left: {hidden}")
        if left := list(of_home(home)):
            self.fault(f"processes are left: {left}")
        return self.ended


def asked(database: Path, query: str) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return dict(Counter(row[0] for row in connection.execute(query)))


def last(file: Path) -> str:
    return file.read_text().splitlines()[-1] if file.exists() else ""


def of_session(session: int):
    for process in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(process) == session:
                yield process


def of_home(home: Path):
    """Processes that work on a home."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("HUSH_HOME") == str(home):
                yield process.pid


def table(jobs: list[Ended]) -> str:
    """Rows of kills by kind, and how the next attempts ended."""
    attempts = [one for job in jobs for one in job.attempts]
    killed = Counter(one.by for one in attempts if one.status < 0)
    refused = Counter(one.said.splitlines()[-1][:90] for one in attempts if one.status > 0)
    faults = [fault for job in jobs for fault in job.faults]
    lines = [
        f"{len(jobs)} jobs, {sum(killed.values())} kills {dict(killed)}, "
        f"{sum(one.cpu for one in attempts) / 60:.1f} CPU-minutes",
        f"ended in a version: {sum(job.attempts[-1].status == 0 for job in jobs)}; refused: {dict(refused)}",
        f"rounds released {sum(job.released for job in jobs)}, drawn {sum(job.drawn for job in jobs)}",
        *faults,
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--whole", type=float, nargs=2, help="its processor time and events, if they are known"
    )
    parser.add_argument("--keep", type=Path, help="keep the folders of jobs with faults here")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    shared = template.share()
    jobs: list[Ended] = []
    with tempfile.TemporaryDirectory(prefix="hush-kills-") as folder:
        whole = (given.whole[0], int(given.whole[1])) if given.whole else (0.0, 0)
        if not given.whole:
            first = Killed(Path(folder) / "first", given.seed, whole)
            first.attempt("", alone=False)
            jobs.append(first.finish())
            whole = first.ended.attempts[0].cpu * 0.75, int(last(first.job.folder / "calls"))
            print(f"a whole run: {whole[0]:.1f} CPU-seconds, {whole[1]} events", flush=True)
        kills = 0
        while kills < given.kills:
            number = len(jobs) + 1
            job = Killed(Path(folder) / str(number), given.seed * 1000 + number, whole)
            while True:
                by = ("processor time", "event")[(kills + number) % 2]
                status = job.attempt(by, alone=kills // 2 % 2 == 0)
                kills += status < 0
                if status >= 0:
                    break
            jobs.append(job.finish())
            for one in jobs[-1].attempts:
                print(number, one.by, one.at, one.status, f"{one.cpu} s", flush=True)
            for fault in jobs[-1].faults:
                print("FAULT", number, fault, flush=True)
            if given.keep and jobs[-1].faults:
                job.job.folder.rename(given.keep / f"job-{given.seed}-{number}")
            if given.out:
                given.out.write_text(json.dumps([asdict(one) for one in jobs], indent=1))
    if shared:
        shared.cleanup()
    print(table(jobs))
    return int(any(job.faults for job in jobs))


if __name__ == "__main__":
    sys.exit(main())
