"""The ledger never forgets a release, and never lets out more than were certified."""

from __future__ import annotations

import os
import random

import pytest

from hush_core.errors import InputError
from hush_core.training import ReleaseLedger


def count_all(path, rounds=3, run="r"):
    with ReleaseLedger(path, run=run, rounds=rounds) as ledger:
        while ledger.released < rounds:
            ledger.count()
        return ledger.released


def test_counts_over_attempts_and_refuses_one_more(tmp_path):
    path = tmp_path / "l"
    with ReleaseLedger(path, run="r", rounds=3) as ledger:
        assert [ledger.count(), ledger.count()] == [0, 1]
    with ReleaseLedger(path, run="r", rounds=3) as ledger:
        assert ledger.released == 2 and ledger.count() == 2
        with pytest.raises(InputError, match="all 3 certified rounds are spent"):
            ledger.count()
    assert path.stat().st_mode & 0o077 == 0


def test_a_torn_line_counts_as_a_release(tmp_path):
    path = tmp_path / "l"
    with ReleaseLedger(path, run="r", rounds=9) as ledger:
        ledger.count()
        ledger.count()
    data = path.read_bytes()
    for cut in range(1, len(data.splitlines(keepends=True)[-1])):
        path.write_bytes(data[:-cut])
        with ReleaseLedger(path, run="r", rounds=9) as ledger:
            assert ledger.released == 2
        with ReleaseLedger(path, run="r", rounds=9) as ledger:
            assert ledger.released == 2 and ledger.count() == 2


def test_killed_while_the_header_was_written(tmp_path):
    path = tmp_path / "l"
    path.write_bytes(b'{"run": "r", "ro')
    assert count_all(path) == 3


def test_another_run_or_another_number_of_rounds_is_refused(tmp_path):
    path = tmp_path / "l"
    count_all(path)
    for run, rounds in (("other", 3), ("r", 4)):
        with (
            pytest.raises(InputError, match="another plan"),
            ReleaseLedger(path, run=run, rounds=rounds),
        ):
            pass
    path.write_bytes(b"garbage\n")
    with pytest.raises(InputError, match="another plan"):
        count_all(path)


def test_two_processes_cannot_hold_it(tmp_path):
    path = tmp_path / "l"
    with (
        ReleaseLedger(path, run="r", rounds=3),
        pytest.raises(InputError, match="another process"),
        ReleaseLedger(path, run="r", rounds=3),
    ):
        pass
    assert count_all(path) == 3


def count_to(path, releases, rounds=30):
    with ReleaseLedger(path, run="r", rounds=rounds) as ledger:
        for _ in range(releases):
            ledger.count()
        return ledger.released


def test_a_damaged_ledger_never_counts_less(tmp_path):
    path, rng = tmp_path / "ledger", random.Random(6)
    count_to(path, 4), count_to(path, 3), count_to(path, 5)
    data = path.read_bytes()
    accepted = []
    for place in range(len(data)):
        for byte in (data[place] ^ 1 << rng.randrange(8), ord("\n"), 0):
            if byte == data[place]:
                continue
            damaged = data[:place] + bytes([byte]) + data[place + 1 :]
            path.write_bytes(damaged)
            try:
                with ReleaseLedger(path, run="r", rounds=30) as ledger:
                    assert ledger.released == 12
                    accepted.append(place)
            except InputError as error:
                assert "damaged" in str(error) and path.read_bytes() == damaged
    assert len(accepted) <= 3  # no more than the digit of an attempt, which counts nothing
    for rows in range(1, 12):  # a lost line in the middle
        kept = data.splitlines(keepends=True)
        path.write_bytes(b"".join(kept[:rows] + kept[rows + 1 :]))
        with pytest.raises(InputError, match="is damaged, so the releases cannot be counted"):
            count_to(path, 0)
    path.write_bytes(b"\0" * 20)
    with pytest.raises(InputError, match="first line is damaged"):
        count_to(path, 0)


def test_lines_lost_at_the_end_are_seen_beside_a_checkpoint(tmp_path):
    path = tmp_path / "ledger"
    with ReleaseLedger(path, run="r", rounds=30) as ledger:
        ledger.count()
        ledger.at_least(1)
        with pytest.raises(InputError, match="counts 1 releases, the checkpoint beside it has seen 2"):
            ledger.at_least(2)


def test_after_a_failed_write_nothing_more_is_counted(tmp_path):
    (tmp_path / "ledger").symlink_to("/dev/full")
    with (
        pytest.raises(InputError, match="cannot be written, so no round is released: No space left"),
        ReleaseLedger(tmp_path / "ledger", run="r", rounds=3),
    ):
        pass
    ledger = ReleaseLedger(tmp_path / "other", run="r", rounds=3)
    with ledger:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, ledger._file)
        os.close(full)
        with pytest.raises(InputError, match="so no round is released: No space left"):
            ledger.count()
        with pytest.raises(InputError, match="is closed"):
            ledger.count()
        assert ledger.released == 0
    assert count_to(tmp_path / "other", 3, rounds=3) == 3
    with pytest.raises(InputError, match="No such file"):
        count_to(tmp_path / "gone" / "ledger", 1)
