"""The embedded tracker's database is whole or not there, whenever its first maker is killed."""

import signal
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
import warm
from fresh_process import environment
from sizes import some

MAKE = """
from tasks.runtime.environment import prepare_environment
place = prepare_environment()
import os, signal
from sqlalchemy import event
from sqlalchemy.engine import Engine
seen = 0

@event.listens_for(Engine, "after_cursor_execute")
def count(connection, cursor, statement, *rest):
    global seen
    seen += statement.lstrip().upper().startswith(("CREATE", "ALTER", "INSERT"))
    if seen == {statements}:
        os.kill(os.getpid(), signal.SIGKILL)

from tasks.runtime.tracking import tracker
print(len(tracker().search_experiments()), seen)
"""


def run(home):
    """`program.py` beside the home, in a forked process: what a database is does not depend on how that began."""
    return warm.run("program", [], cwd=home.parent, env=environment(home), timeout=600)


@pytest.mark.parametrize("statements", some([12, 1, 60], 1))
def test_a_kill_while_the_database_is_made_harms_no_later_start_nor_does_an_empty_file(tmp_path, statements):
    home = tmp_path / "home"
    (tmp_path / "program.py").write_text(MAKE.format(statements=statements))
    killed = run(home)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (home / "mlflow.db").exists()
    (home / "mlflow.db").touch()
    (tmp_path / "program.py").write_text(MAKE.format(statements=10**9))
    done = run(home)
    assert done.returncode == 0, done.stderr
    experiments, made = map(int, done.stdout.split()[-2:])
    assert experiments == 1
    assert made > 60  # so each kill above was amid the work
    assert stat.S_IMODE((home / "mlflow.db").stat().st_mode) == 0o600
    with sqlite3.connect(home / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)


def test_two_first_starts_together_share_one_database(tmp_path):
    code = (
        "from tasks.runtime.environment import prepare_environment; prepare_environment();"
        "from tasks.runtime.tracking import experiment_of, tracker; print(experiment_of(tracker(), 'both'))"
    )
    (tmp_path / "program.py").write_text(code)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(run, [tmp_path / "home"] * 2))
    assert [one.returncode for one in both] == [0, 0], [one.stderr[-2000:] for one in both]
    answers = {one.stdout.split()[-1] for one in both}
    assert len(answers) == 1, answers
    assert not list((tmp_path / "home").glob(".mlflow.db*"))


def test_a_database_that_another_process_made_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    from tasks.runtime import tracking

    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    database = tracking.home().create().mlflow_database
    monkeypatch.setattr(tracking, "sync", lambda part: database.write_bytes(b"of another process"))
    tracking.make_database(database)
    assert database.read_bytes() == b"of another process"


@pytest.mark.slow
def test_two_threads_make_the_database_of_a_new_home(tmp_path):
    """As live metrics and the flow do in the first run: MLflow's migrations cannot run twice at once."""
    (tmp_path / "program.py").write_text("""
import threading
from tasks.runtime.environment import prepare_environment
prepare_environment()
from tasks.runtime.tracking import tracker
failed = []
def use():
    try:
        tracker().search_experiments()
    except Exception as error:
        failed.append(repr(error))
threads = [threading.Thread(target=use) for _ in range(2)]
[one.start() for one in threads]; [one.join() for one in threads]
assert not failed, failed
""")
    done = run(tmp_path / "home")
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_link_shows_no_login_of_the_address(monkeypatch):
    import mlflow

    from tasks.runtime.tracking import link_of

    monkeypatch.delenv("HUSH_MLFLOW_PAGES", raising=False)
    monkeypatch.setattr(mlflow, "get_tracking_uri", lambda: "https://ada:pass@4711@mlflow.example/x/")
    assert link_of("1", "2").startswith("https://mlflow.example/x/#/experiments/1/runs/2")
