"""A folder with a repository, a config and a HUSH_HOME: what the tests of the flows run `hush` in."""

import os
import random
import signal
import socket
import string
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from local_servers import stop

ROOT = Path(__file__).parents[2]
ALPHABET = string.ascii_letters + string.digits
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high}}
  - {{id: owners, kind: codeowners, teams: ["@acme/risk"], level: high}}
  - {{id: quants, kind: contributors, emails: ["*@quant.example.com"], level: high}}
  - {{id: creds, kind: credentials, level: critical}}
  - {{id: names, kind: literals, file: codenames.txt, level: high, bits: 20}}
chunk_bytes: 128
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 2, batch: 4}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 2}}
audit: {{alternatives: 20, unprotected: true}}
tracking: {{experiment: job, model: job}}
"""


class Job:
    """A folder with a repository, a config and a HUSH_HOME; `hush(...)` runs the command line in it."""

    def __init__(self, folder, seed):
        chance = random.Random(seed)
        self.folder, self.home = folder, folder / "home"
        self.server = {}
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
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
        return {**kept, "HUSH_HOME": str(self.home), "PYTHONPATH": str(ROOT), "COLUMNS": "120", **self.server}

    @contextmanager
    def served(self):
        """The commands inside share one Prefect server, on the database that theirs would have."""
        from tasks.runtime.environment import Home, settings

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {**self.environment, **settings(Home(self.home).create())}
        command = [
            sys.executable,
            "-m",
            "prefect",
            "server",
            "start",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
        url, deadline = f"http://127.0.0.1:{port}/api", time.monotonic() + 180
        try:
            while not _answers(f"{url}/health"):
                assert child.poll() is None and time.monotonic() < deadline, "Prefect does not start"
                time.sleep(0.2)
            self.server = {"PREFECT_API_URL": url}
            yield self
        finally:
            self.server = {}
            stop(child)

    def start(self, *arguments):
        command = [sys.executable, "-m", "flows.cli", *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # tests may run under nohup
        )  # fmt: skip

    def hush(self, *arguments, status=0):
        child = self.start(*arguments)
        output, _ = child.communicate(timeout=400)
        assert child.returncode == status, output[-4000:]
        return output

    def versions(self):
        from mlflow import MlflowClient

        uri = f"sqlite:///{self.home / 'mlflow.db'}"
        if not (self.home / "mlflow.db").exists():
            return []
        return sorted(int(v.version) for v in MlflowClient(uri, uri).search_model_versions())


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def git(path, *arguments, email="ada@acme.example.com"):
    path.mkdir(exist_ok=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=someone", "-c", f"user.email={email}"]
    subprocess.run(["git", "-C", path, *who, *arguments], check=True, env=environment, timeout=60)
