"""The empty database that a new home begins with: whole, nobody else's, and never in place of one that is there."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

from tasks.runtime import empty_database
from tasks.runtime.empty_database import begin_database, make_empty


@pytest.fixture()
def kept(tmp_path, monkeypatch):
    """One that is kept, with a table in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with closing(sqlite3.connect(tmp_path / "made.db")) as database:
        database.execute("CREATE TABLE flow (id)")
    data = (tmp_path / "made.db").read_bytes()
    file = empty_database._file()
    file.write_bytes(hashlib.sha256(data).digest() + data)
    return file


@pytest.fixture()
def place(tmp_path):
    (tmp_path / "prefect").mkdir()
    return tmp_path / "prefect"


def test_a_new_home_begins_with_a_private_copy(kept, place):
    begin_database(place)
    (file,) = place.iterdir()
    assert file.name == "prefect.db" and file.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("flow",)]


@pytest.mark.parametrize("name", ["prefect.db", "prefect.db-wal"])
def test_a_home_that_has_one_or_its_log_keeps_it(kept, place, name):
    """SQLite would play a log that was left into any database of its name."""
    (place / name).write_bytes(b"mine")
    begin_database(place)
    assert [(file.name, file.read_bytes()) for file in place.iterdir()] == [(name, b"mine")]


def test_one_that_another_process_has_put_there_meanwhile_stays(kept, place, monkeypatch):
    read = empty_database._read

    def late(file):
        (place / "prefect.db").write_bytes(b"theirs")
        return read(file)

    monkeypatch.setattr(empty_database, "_read", late)
    begin_database(place)
    assert [(file.name, file.read_bytes()) for file in place.iterdir()] == [("prefect.db", b"theirs")]


def test_a_damaged_one_and_one_that_others_may_have_written_are_not_taken(kept, place):
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-9], whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]):
        kept.write_bytes(damaged)
        begin_database(place)
    kept.write_bytes(whole)
    kept.parent.chmod(0o770)
    begin_database(place)
    assert not list(place.iterdir())


def test_where_another_database_is_named_none_is_put_beside_it(kept, place, monkeypatch):
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "postgresql+asyncpg://u:p@127.0.0.1/prefect")
    begin_database(place)
    assert not list(place.iterdir())


@pytest.mark.slow
def test_what_prefect_makes_has_its_tables_and_no_row(place, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = make_empty()
    assert list(file.parent.iterdir()) == [file]
    stamp = file.stat().st_mtime_ns
    assert make_empty() == file and file.stat().st_mtime_ns == stamp, "made twice"
    begin_database(place)
    with closing(sqlite3.connect(place / "prefect.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
    assert "flow_run" in rows and {name for name, count in rows.items() if count} == {"alembic_version"}
