"""The supervisor of servers and runner: who is begun again, and what happens to what a killed one had begun."""

import json
import os
import signal
import socket
import sys

import pytest
from local_servers import serving
from waiting import ended, until

from flows import supervision
from flows.supervision import Children
from hush_core.errors import HushError
from tasks.runtime.environment import OWN_SERVERS

ORCHESTRATOR = "PREFECT_API_URL"
RUNNER = """
import pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
begun = '''
import pathlib, time
folder = pathlib.Path({!r})
try:
    (folder / "trains").touch()
    time.sleep(600)
except KeyboardInterrupt:
    (folder / "checkpoint").touch()
'''
child = subprocess.Popen([sys.executable, "-c", begun.format(str(folder))])
with open(folder / "runners", "a") as file:
    file.write(f"{child.pid}\\n")
time.sleep(600)
"""


def begun(folder):
    file = folder / "runners"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize(
    "inherited", [signal.default_int_handler, signal.SIG_IGN], ids=["terminal", "background"]
)
def test_a_runner_that_was_killed_is_begun_again_and_what_it_had_begun_ends_with_a_checkpoint(
    tmp_path, inherited
):
    before = signal.signal(signal.SIGINT, inherited)
    with Children() as children:
        command = [sys.executable, "-c", RUNNER, str(tmp_path)]
        children.start("runner", command, dict(os.environ), again=False, first=True)
        until(lambda: len(begun(tmp_path)) == 1, "the runner")
        until((tmp_path / "trains").exists, "the training")
        os.kill(children.running[0].process.pid, signal.SIGKILL)
        until(lambda: children.check() or len(begun(tmp_path)) == 2, "another runner")
        assert (tmp_path / "checkpoint").exists(), "it was killed with its runner"
    assert signal.signal(signal.SIGINT, before) is inherited
    for pid in begun(tmp_path):
        ended(pid)


def test_a_runner_does_not_end_itself_and_all_where_its_servers_are_still_being_started(tmp_path):
    """Nor where what the one before it left cannot be closed yet."""
    asked, killed = [], tmp_path / "home" / "run" / "killed.json"
    killed.parent.mkdir(parents=True)
    record = {
        "host": socket.gethostname(),
        "locked": True,
        "own": [ORCHESTRATOR],
        "pid": 1,
        "started": "then",
    }
    killed.write_text(json.dumps(record))

    def answer(request):
        asked.append(request.path)
        if len(asked) < 3:
            raise ConnectionError("no answer yet")
        return 200, b"true" if request.path.endswith("/health") else b'"3.4.0"', {}

    job = json.dumps({"config_file": None, "cron": "0 3 * * *", "timezone": "UTC"})
    with serving(answer) as uri, Children() as children:
        own = {OWN_SERVERS: ORCHESTRATOR, ORCHESTRATOR: f"{uri}/api"}
        environment = {**os.environ, "HUSH_HOME": str(tmp_path / "home"), **own}
        children.start("runner", [sys.executable, "-m", "flows.serve", job], environment, again=False)
        runner = children.running[0].process
        until(lambda: any("/deployments/" in path for path in asked), "the runner's deployments", runner)
    assert asked[:4] == [*["/api/health"] * 3, "/api/admin/version"]
    assert killed.exists(), "the next start tries again"


def test_one_that_ends_by_itself_ends_all_and_so_does_one_that_dies_again_and_again(monkeypatch):
    with Children() as children:
        children.start("runner", [sys.executable, "-c", "raise SystemExit(3)"], dict(os.environ), again=False)
        with pytest.raises(HushError, match=r"the runner ended by itself \(status 3\)"):
            until(children.check, "its end")
    monkeypatch.setattr(supervision, "OFTEN", 2)
    with Children() as children:
        code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        children.start("runner", [sys.executable, "-c", code], dict(os.environ), again=False)
        with pytest.raises(HushError, match=r"was killed \(signal 9\)"):
            until(children.check, "its last death")
        assert len(children.running[0].deaths) == 3


def test_a_runner_that_served_for_a_while_and_ends_by_itself_is_begun_again(monkeypatch, tmp_path):
    monkeypatch.setattr(supervision, "SETTLED", 0.0)
    code = f"import os; os.mkdir({str(tmp_path)!r} + f'/{{os.getpid()}}')"
    with Children() as children:
        children.start("runner", [sys.executable, "-c", code], dict(os.environ), again=False)
        until(lambda: children.check() or len(list(tmp_path.iterdir())) == 2, "another runner")


def test_what_nothing_else_needs_is_done_without_where_it_dies_again_and_again(monkeypatch, capsys):
    monkeypatch.setattr(supervision, "OFTEN", 2)
    with Children() as children:
        children.start("runner", [sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ))
        broken = [sys.executable, "-c", "raise SystemExit(1)"]
        children.start("metrics server", broken, dict(os.environ), essential=False)
        until(lambda: children.check() or len(children.running) == 1, "its last end")
        children.check()
        assert children.running[0].process.poll() is None
    assert "metrics server ended by itself (status 1)" in (said := capsys.readouterr().out)
    assert said.splitlines()[-1].endswith("all else continues without it")
