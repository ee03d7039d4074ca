"""A forked command has streams, status and environment of its own, and loads no flow of hush ahead."""

import os
import signal
import subprocess
import sys

import pytest
import warm
from waiting import PATIENCE

PROBE = """
import atexit, os, sys, threading
ours = sorted(n for n in sys.modules if n.split(".")[0] in ("flows", "hush", "tasks"))
from prefect.settings import get_current_settings
print(ours, "torch" in sys.modules, sys.argv, os.getcwd(), os.environ["GIVEN"], __name__, sys.stdin.read())
print(get_current_settings().home, get_current_settings().api.url, os.getsid(0) == os.getpid())
print("of errors", file=sys.stderr)
atexit.register(print, "at exit")
main = threading.main_thread()
threading.Thread(target=lambda: (main.join(), print("of a thread"))).start()
sys.exit(3)
"""


def environment(home, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    return {**kept, "HUSH_HOME": str(home), "PYTHONPATH": str(warm.ROOT), "COLUMNS": "120", **more}


def test_a_forked_command_has_its_own_environment_and_ends_as_a_process_does(tmp_path):
    (tmp_path / "probe.py").write_text(PROBE)
    given = environment(tmp_path / "home", GIVEN="yes", PREFECT_API_URL="http://127.0.0.1:9/api")
    done = warm.run("probe", ["a", 2], cwd=tmp_path, env=given)
    place, settings, *last = done.stdout.splitlines()
    probe = str(tmp_path / "probe.py")
    assert place == f"[] True {[probe, 'a', '2']} {tmp_path} yes __main__ "
    assert settings == f"{tmp_path / 'home' / 'prefect'} http://127.0.0.1:9/api True"
    assert last == ["of a thread", "at exit"] and done.stderr == "of errors\n" and done.returncode == 3
    assert "GIVEN" not in os.environ


def test_the_library_of_another_tree_is_not_taken_for_that_of_this_one(tmp_path):
    (tmp_path / "hush_core").mkdir()
    (tmp_path / "hush_core" / "__init__.py").touch()
    (tmp_path / "where.py").write_text(
        "import hush_core, sys; print('hush_core.plan' in sys.modules, hush_core.__file__)"
    )
    done = warm.run("where", [], cwd=tmp_path, env=environment(tmp_path / "home"))
    assert done.stdout == f"False {tmp_path / 'hush_core' / '__init__.py'}\n", done.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("words", [["--version"], ["schema"], ["nonsense"], ["verify", "nowhere"]])
def test_it_says_what_a_process_begun_from_nothing_says(tmp_path, words):
    command = [sys.executable, "-m", "flows.cli", *words]
    given = {"env": environment(tmp_path / "home"), "cwd": tmp_path}
    cold = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **given)
    forked = warm.run("flows.cli", words, **given)
    assert (forked.returncode, forked.stdout, forked.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_a_signal_is_its_status_and_a_limit_ends_it(tmp_path):
    (tmp_path / "sleeps.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(3600)\n")
    given = {"cwd": tmp_path, "env": environment(tmp_path)}
    read, write = os.pipe()
    child = warm.start("sleeps", [], streams=(write, write), **given)
    os.close(write)
    with open(read) as stream:
        assert stream.readline() == "up\n" and child.poll() is None
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait(PATIENCE) == -signal.SIGTERM
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run("sleeps", [], timeout=1, **given)
