"""Copies of a store, a restored backup, two processes at once, kills amid a note: no run is lost for the count."""

import fcntl
import os
import shutil

import pytest
from histories_of_runs import counts, history, released
from histories_of_runs import text as text_of

from hush_core.errors import InputError
from hush_core.history import RunRecord
from hush_core.history.folders import RunFolders
from hush_core.history.ledger import ReleaseLedger
from tasks.runtime.environment import home
from tasks.runtime.store import Store

KEY_A, KEY_B, KEY_C = "a" * 64, "b" * 64, "c" * 64
NAMES, OTHERS = (tuple(("path", name) for name in names) for names in (("alpha", "beta", "gamma"), "xyz"))


def text(*texts, names=NAMES):
    return text_of(*texts, names=names)


ONE = text(b"a", b"b", b"c")


class Killed(BaseException):
    """In place of SIGKILL: nothing is tidied up by who expects errors."""


@pytest.fixture
def copied(store, tmp_path, monkeypatch):
    """`copied()`: the home as it is now, copied as a file system's snapshot does it; the copy's store."""

    def copy():
        other = shutil.copytree(tmp_path, tmp_path.with_name(tmp_path.name + "-copy"))
        monkeypatch.setenv("HUSH_HOME", str(other))
        here = Store(home().store)
        monkeypatch.setenv("HUSH_HOME", str(tmp_path))
        return here

    return copy


def certificate_of(store, run):
    """What `hush runs --add` takes from the certificate of a run: its name, what it drew, and its releases."""
    record = RunRecord.read(store.root / "history" / run, home().fingerprint("identity"))
    return history(store).public_name(run), record, 1


def test_one_run_that_two_copies_of_a_store_make_is_counted_as_two(store, copied):
    released(store, KEY_C, ONE)
    other = copied()
    for place in (store, other):
        released(place, KEY_A, ONE)
    assert history(store).public_name(KEY_C) == history(other).public_name(KEY_C)
    assert history(store).public_name(KEY_A) != history(other).public_name(KEY_A)
    added = [history(store).add(*certificate_of(other, run)) for run in (KEY_A, KEY_C, KEY_A)]
    assert added == [True, False, False] and counts(store, KEY_B, ONE) == [3, 3, 3]


def test_a_run_of_an_older_hush_keeps_its_name(store):
    released(store, KEY_A, ONE)
    (store.root / "history" / KEY_A / "name").unlink()
    name = history(store).public_name(KEY_A)
    released(store, KEY_A, ONE)
    assert history(store).public_name(KEY_A) == name


def test_a_run_that_was_noted_here_and_made_elsewhere_counts_when_it_is_added(store, copied):
    history(store).note(KEY_A, ONE)
    other = copied()
    released(other, KEY_A, ONE)
    assert history(store).add(*certificate_of(other, KEY_A)) and counts(store, KEY_B, ONE) == [1, 1, 1]
    with pytest.raises(InputError, match="its witness .* has seen 1"):
        released(store, KEY_A, ONE)


def killed_at(monkeypatch, nth):
    """Ends the process before the nth file takes its place; whether it did."""
    real, calls = os.replace, []

    def replace(*arguments):
        calls.append(arguments)
        if len(calls) == nth:
            raise Killed
        return real(*arguments)

    monkeypatch.setattr(os, "replace", replace)


def test_an_addition_that_was_killed_anywhere_is_made_again(store, copied, monkeypatch):
    other = copied()
    released(other, KEY_A, ONE)
    known, kills = certificate_of(other, KEY_A), 0
    for nth in range(1, 20):
        with monkeypatch.context() as patch:
            killed_at(patch, nth)
            try:
                assert history(store).add(*known)
                break
            except Killed:
                kills += 1
        assert counts(store, KEY_B, ONE) == [0, 0, 0]
    assert kills == 8 and counts(store, KEY_B, ONE) == [1, 1, 1]


@pytest.mark.parametrize(
    "change",
    [
        lambda store: released(store, KEY_A, text(b"a", b"b", b"d", names=OTHERS)),
        lambda store: history(store).earlier(KEY_B, text(b"a", b"b", b"c", names=OTHERS)),
    ],
    ids=["the run goes on under other names", "another run finds its text"],
)
def test_a_kill_amid_a_note_leaves_the_one_before_it_whole(store, monkeypatch, change):
    """Else the run says nothing any more, which ends every promise; and a new note of it forgets the one before."""
    released(store, KEY_A, ONE)
    kills = 0
    for nth in range(1, 20):
        with monkeypatch.context() as patch:
            killed_at(patch, nth)
            try:
                change(store)
                break
            except Killed:
                kills += 1
        only_by_name = history(store).earlier(KEY_B, text(b"1", b"2", b"3"))
        assert (only_by_name.unknown, only_by_name.counts.tolist()) == (0, [1, 1, 1])
    assert kills >= 2
    for names in (NAMES, OTHERS):
        assert counts(store, KEY_B, text(b"1", b"2", b"3", names=names)) == [1, 1, 1]
    assert len(list((store.root / "history" / KEY_A).glob("*.parquet"))) <= 12, "older tables are left"


def test_two_processes_that_note_at_once_lose_nothing(store, monkeypatch):
    """Who writes what it found out of a run holds the lock from before it read the note."""
    released(store, KEY_A, ONE)
    steps = []

    def held(real, what):
        def step(*arguments, **more):
            with open(store.root / "history" / ".writing") as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            steps.append(what)
            return real(*arguments, **more)

        return step

    for name in ("read", "write"):
        monkeypatch.setattr(RunRecord, name, held(getattr(RunRecord, name), name))
    history(store).earlier(KEY_B, text(b"a", b"b", b"c", names=OTHERS))
    assert steps == ["read", "write"]
    history(store).note(KEY_A, ONE)
    assert steps[2:] == ["read", "write"]


def test_two_runs_that_train_at_once_each_count_the_other(store):
    with history(store).training(KEY_A, ONE, None), history(store).training(KEY_B, ONE, None):
        for run in (KEY_A, KEY_B):
            released(store, run, ONE)
    assert counts(store, KEY_A, ONE) == counts(store, KEY_B, ONE) == [1, 1, 1]


def test_a_run_that_had_not_ended_when_a_backup_was_taken_releases_no_more(store):
    """What it released after the backup is lost for the count; it is counted with all rounds of its plan."""
    released(store, KEY_A, ONE, releases=3)
    released(store, KEY_B, ONE, releases=3)
    history(store).note_model(KEY_B, "1" * 64)  # it had ended
    history(store).note(KEY_C, ONE)
    names = [history(store).public_name(run) for run in (KEY_A, KEY_C)]
    witness = store.root / "history" / KEY_A / "releases.witness"
    witness.write_bytes(witness.read_bytes()[:-5])  # it was copied before the ledger was
    folders = RunFolders(store.root, home().identity_key())
    assert folders.restored() == names[:1] and folders.restored() == names[:1]
    assert [folders.releases(run) for run in (KEY_A, KEY_B, KEY_C)] == [9, 3, 0]
    with pytest.raises(InputError, match="all 9 certified rounds are spent"):
        released(store, KEY_A, ONE)
    released(store, KEY_C, ONE)
    assert history(store).public_name(KEY_C) != names[1], "the run after the backup and this one are two"


def test_a_damaged_ledger_of_a_backup_stays_counted(store):
    released(store, KEY_A, ONE, releases=3)
    ledger = store.work_dir(KEY_A) / "releases.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"attempt": 1', b'"attempt": 7', 1))
    RunFolders(store.root, home().identity_key()).restored()
    assert counts(store, KEY_B, ONE) == [1, 1, 1]
    with pytest.raises(InputError, match="is damaged"), ReleaseLedger(ledger, run=KEY_A, rounds=9):
        pass


def test_the_last_model_is_the_last_one_though_a_clock_was_set_back(store):
    """A night without a promoted model goes on from it."""
    for number, run in enumerate((KEY_B, KEY_C, KEY_A)):
        released(store, run, ONE)
        history(store).note_model(run, str(number) * 64)
        file = store.root / "history" / run / "model.sha256"
        os.utime(file, ns=(0, file.stat().st_mtime_ns + (3 - number) * 10**15))  # weeks ahead, ever less
    assert [sha256[0] for _, sha256 in history(store).models()] == ["0", "1", "2"]
