"""A folder with a repository, a config and a HUSH_HOME: what the tests of the flows run `hush` in."""

import os
import random
import re
import signal
import string
import subprocess
import sys
from contextlib import contextmanager

import warm
from fresh_process import environment
from local_servers import answers, free_port, stop
from template import copy_home
from waiting import PATIENCE, until

ALPHABET = string.ascii_letters + string.digits
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high, protect: noise}}
  - {{id: owners, kind: codeowners, teams: ["@acme/risk"], level: high, protect: noise}}
  - {{id: quants, kind: contributors, emails: ["*@quant.example.com"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
  - {{id: names, kind: literals, file: codenames.txt, level: high, bits: 20, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 2, batch: 4}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 2}}
audit: {{alternatives: 20, unprotected: true}}
tracking: {{experiment: job, model: job}}
"""
COMPILE_RULES = """\
import sys
from pathlib import Path
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
CredentialScanner(Path(sys.argv[1])).scan(b"password = 'none'")
"""


class Job:
    """A folder with a repository, a config and a HUSH_HOME; `hush(...)` runs the command line in it.

    Its home has the tables of both databases and compiled rules for credentials, unless it is `empty`.
    """

    def __init__(self, folder, seed, *, empty=False):
        chance = random.Random(seed)
        self.folder, self.home = folder, folder / "home"
        self.server = {}
        if not empty:
            copy_home(self.home, _make_home)
        self.token = "ghp_" + "".join(chance.choices(ALPHABET, k=36))
        self.codename = "zephyr" + "".join(chance.choices(string.ascii_lowercase, k=8))
        self.values = [self.token.encode(), self.codename.encode()]
        (folder / "codenames.txt").write_text(self.codename + "\n")
        self._repository(folder / "repository")
        self.config = self.write()

    def write(self, name="job.yaml", rounds=4, batch=6, text=CONFIG, **more):
        path = self.folder / name
        path.write_text(text.format(repository="repository", rounds=rounds, batch=batch, **more))
        return path

    def _repository(self, path):
        def put(name, lines):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text("\n".join(lines) + "\n")

        for i in range(20):
            code = [line for j in range(8) for line in (f"def step_{i}_{j}(v):", f"    return v + {i * j}")]
            put(f"app/module_{i}.py", code)
            put(f"third_party/lib_{i}.py", code[::-1])
        for i in range(5):
            put(
                f"deploy/config_{i}.py",
                [f'GITHUB_TOKEN = "{self.token}"', f"# project {self.codename}", "x = 1"],
            )
        put("trading/strategy.py", [f"LIMIT_{i} = {i * 37 % 101}" for i in range(20)])
        put("risk/model.py", [f"RISK_{i} = {i * 53 % 97}" for i in range(20)])
        put("CODEOWNERS", ["* @acme/all", "/risk/ @acme/risk"])
        git(path, "init", "-q", "-b", "main")
        git(path, "add", ".")
        git(path, "commit", "-q", "-m", "all of it")
        put("app/module_3.py", ["QUANT = 5"] * 12)
        git(path, "commit", "-q", "-a", "-m", "by a quant", email="noor@quant.example.com")

    @property
    def environment(self):
        return {**environment(self.home), "COLUMNS": "120", **self.server}

    @contextmanager
    def served(self, *, services=False):
        """The commands inside share one Prefect server, on the database that theirs would have; `services`: with
        its loops, of which a command needs none."""
        with _prefect(self.home, self.environment, services=services) as url:
            self.server = {"PREFECT_API_URL": url}
            try:
                yield self
            finally:
                self.server = {}

    def start(self, *arguments):
        command = [sys.executable, "-m", "flows.cli", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # tests may run under nohup
        )  # fmt: skip

    def hush(self, *arguments, status=0):
        """The output of a command that ends with this status. By `warm`, unless Python's own switches are set."""
        if any(name.startswith("PYTHONPROFILE") for name in os.environ):
            child = self.start(*arguments)
            output, _ = child.communicate(timeout=PATIENCE)
            code = child.returncode
        else:
            done = warm.run(
                "flows.cli", arguments, cwd=self.folder, env=self.environment, timeout=PATIENCE, apart=False
            )
            code, output = done.returncode, done.stdout
        assert code == status, output[-4000:]
        return output

    def versions(self):
        from mlflow import MlflowClient

        uri = f"sqlite:///{self.home / 'mlflow.db'}"
        if not (self.home / "mlflow.db").exists():
            return []
        return sorted(int(v.version) for v in MlflowClient(uri, uri).search_model_versions())


@contextmanager
def prefect_server(home):
    """The API of a Prefect server of its own, in a new home that has the tables."""
    copy_home(home, _make_home)
    with _prefect(home, environment(home)) as url:
        yield url


@contextmanager
def _prefect(home, given, *, services=False):
    """The API of a Prefect server on the database of a home."""
    from tasks.runtime.environment import Home, settings

    given = {**given, **settings(Home(home).create())}
    port = free_port()
    address = ["--host", "127.0.0.1", "--port", str(port)]
    if not services:
        address.append("--no-services")
    with open(os.devnull, "w") as file:
        quiet = (file.fileno(), file.fileno())
        child = warm.start("prefect", ["server", "start", *address], cwd=home, env=given, streams=quiet)
    url = f"http://127.0.0.1:{port}/api"
    try:
        until(lambda: answers(f"{url}/health"), "Prefect", child, pause=0.2)
        yield url
    finally:
        stop(child)


def _make_home(home):
    """By what makes it for a user: a start of Prefect's server, hush's own of its rules."""
    given = environment(home)
    with _prefect(home, given, services=True):
        pass
    subprocess.run(
        [sys.executable, "-c", COMPILE_RULES, home / "store" / "extraction"],
        env=given,
        check=True,
        timeout=PATIENCE,
    )


def states(output):
    """Name of a step → how its runs ended, in order."""
    ended = {}
    for name, state in re.findall(r"Task run '([\w-]+)-\w+' - Finished in state (\w+)", output):
        ended.setdefault(name, []).append(state)
    return ended


def git(path, *arguments, email="ada@acme.example.com"):
    path.mkdir(exist_ok=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", path, "-c", "user.name=someone", "-c", f"user.email={email}", *arguments]
    done = subprocess.run(
        command, check=True, env=environment, timeout=PATIENCE, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(path, files=None, message="more", **who):
    """Write these files (name → text) to a repository, made where there is none, and commit all that changed."""
    for name, text in (files or {}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    if not (path / ".git").exists():
        git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", message, **who)
    return git(path, "rev-parse", "HEAD")
