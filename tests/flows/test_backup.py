"""A backup of a home without servers: what it holds fits together, whoever decides meanwhile. (With servers and
trainings: tests/servers/test_faults.py.)"""

import fcntl
import os
import sqlite3
import tarfile
import threading

import pytest
from waiting import PATIENCE

from flows import backup
from flows.backup import back_up, restore
from tasks.ownership import one_at_a_time
from tasks.runtime.environment import Home


@pytest.fixture
def place(tmp_path):
    home = Home(tmp_path / "home").create()
    home.identity_key()
    with sqlite3.connect(home.mlflow_database) as registry:
        registry.execute("CREATE TABLE decided (version)")
    for folder in ("decisions", "outbox", "store/tmp/token", "store/objects/empty"):
        (home.root / folder).mkdir(parents=True)
    for name in ("decisions/1", "outbox/decision-1.json", "store/tmp/token/half", "store/objects/one"):
        (home.root / name).write_text("old")
    return home


def names(archive):
    with tarfile.open(archive) as opened:
        return set(opened.getnames())


def test_a_decision_comes_before_the_backup_or_after_all_of_what_tells_of_it(place, tmp_path, monkeypatch):
    tried, decided, real = threading.Event(), threading.Event(), backup._copy_databases

    def decide():
        tried.set()
        with one_at_a_time(place, "decisions"):
            (place.root / "decisions" / "2").write_text("new")
            (place.root / "outbox" / "decision-2.json").write_text("new")
        decided.set()

    def copied(*arguments):
        real(*arguments)
        with open(place.root / "run" / "decisions.lock") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        threading.Thread(target=decide).start()
        assert tried.wait(PATIENCE)

    monkeypatch.setattr(backup, "_copy_databases", copied)
    back_up(place, tmp_path / "monday")
    assert decided.wait(PATIENCE)
    assert names(tmp_path / "monday" / "decisions.tar") == {"decisions", "decisions/1"}
    assert names(tmp_path / "monday" / "outbox.tar") == {"outbox", "outbox/decision-1.json"}


def test_what_goes_away_amid_it_is_left_out_and_the_rest_comes_back(place, tmp_path, monkeypatch):
    real = tarfile.TarFile.add

    def add(self, name, *arguments, **options):
        if str(name).endswith("objects/one"):
            os.unlink(name)  # after its folder was read
        return real(self, name, *arguments, **options)

    monkeypatch.setattr(tarfile.TarFile, "add", add)
    back_up(place, tmp_path / "monday")
    monkeypatch.undo()
    home = Home(tmp_path / "new")
    restore(home, tmp_path / "monday")
    assert (
        home.identity_key() == place.identity_key() and (home.root / "decisions" / "1").read_text() == "old"
    )
    assert (home.store / "objects" / "empty").is_dir() and not list((home.store / "objects").glob("one"))
    assert not (home.store / "tmp").exists() and (home.root / "outbox" / "decision-1.json").is_file()
