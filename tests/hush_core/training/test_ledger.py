"""The ledger never forgets a release, and never lets out more than were certified."""

from __future__ import annotations

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
