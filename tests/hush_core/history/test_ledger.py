"""The ledger never forgets a release, and never lets out more than were certified."""

import json
import os
import random

import pytest

from hush_core.errors import InputError
from hush_core.history.ledger import WITNESS, _line, releases_in
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
    data, seen = path.read_bytes(), path.with_suffix(".witness").read_bytes()
    for cut in range(1, len(data.splitlines(keepends=True)[-1])):
        path.write_bytes(data[:-cut])
        path.with_suffix(".witness").write_bytes(seen[: len(seen) // 2])  # it is written after the line
        with ReleaseLedger(path, run="r", rounds=9) as ledger:
            assert ledger.released == 2
        assert len(path.with_suffix(".witness").read_bytes()) == len(seen)
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
    data, seen = path.read_bytes(), path.with_suffix(".witness").read_bytes()
    for place in range(len(data)):
        for byte in (data[place] ^ 1 << rng.randrange(8), ord("\n"), 0):
            if byte == data[place]:
                continue
            damaged = data[:place] + bytes([byte]) + data[place + 1 :]
            path.write_bytes(damaged)
            with pytest.raises(InputError, match="damaged"):
                count_to(path, 0)
            assert path.read_bytes() == damaged and path.with_suffix(".witness").read_bytes() == seen
    path.write_bytes(data)
    for place in range(len(seen)):
        path.with_suffix(".witness").write_bytes(seen[:place] + bytes([seen[place] ^ 1]) + seen[place + 1 :])
        with pytest.raises(InputError, match="does not agree with the releases"):
            count_to(path, 0)
    path.with_suffix(".witness").write_bytes(seen)
    for rows in range(1, 12):  # a lost line in the middle
        kept = data.splitlines(keepends=True)
        path.write_bytes(b"".join(kept[:rows] + kept[rows + 1 :]))
        with pytest.raises(InputError, match="is damaged, so the releases cannot be counted"):
            count_to(path, 0)
    path.write_bytes(b"\0" * 20)
    with pytest.raises(InputError, match="first line is damaged"):
        count_to(path, 0)


@pytest.mark.parametrize("kept", range(15))
def test_a_ledger_cut_at_the_end_is_refused_by_its_witness(tmp_path, kept):
    """7 of 15 lines are a whole ledger of 7 releases: nothing in the file tells, and 8 rounds would be made anew
    beyond the certificate. A checkpoint at 5 does not tell either."""
    (tmp_path / "elsewhere").mkdir()
    files = {"path": tmp_path / "ledger", "witness": tmp_path / "elsewhere" / "seen"}
    with ReleaseLedger(**files, run="r", rounds=30) as ledger:
        for _ in range(15):
            ledger.count()
    whole = files["path"].read_bytes().splitlines(keepends=True)
    assert len(whole) == 16
    files["path"].write_bytes(b"".join(whole[: kept + 1]))
    with (
        pytest.raises(InputError, match=f"counts {kept} releases, its witness .*seen has seen 15") as refused,
        ReleaseLedger(**files, run="r", rounds=30),
    ):
        pass
    assert refused.value.where == str(files["path"]) and "all 30 certified rounds count as spent" in str(
        refused.value
    )
    with ReleaseLedger(
        files["path"], run="r", rounds=30
    ) as alone:  # what the old ledger did, and why it is not enough
        alone.at_least(min(kept, 5))
        assert alone.released == kept


def test_every_line_stands_for_all_before_it(tmp_path):
    """A release put down to another attempt in both files, as one would write it: the next line tells.
    And the witness of another run, with as many releases by the same attempts, is none of this one."""
    path = tmp_path / "ledger"
    for releases in (2, 2):
        count_to(path, releases)
    witness, lines = path.with_suffix(WITNESS), path.read_bytes().splitlines(keepends=True)
    before = json.loads(lines[2])["link"]
    lines[3], link = _line(2, 1, before)
    seen = witness.read_bytes().splitlines(keepends=True)
    seen[2] = link.encode() + b"\n"
    kept = path.read_bytes(), witness.read_bytes()
    path.write_bytes(b"".join(lines))
    witness.write_bytes(b"".join(seen))
    with pytest.raises(InputError, match="line 5 is damaged"):
        count_to(path, 1)
    path.write_bytes(kept[0])
    other = tmp_path / "other"
    for releases in (2, 2):
        count_to(other, releases, rounds=31)
    witness.write_bytes(other.with_suffix(WITNESS).read_bytes())
    with pytest.raises(InputError, match="does not agree"):
        count_to(path, 1)
    witness.write_bytes(kept[1])
    count_to(path, 1)


def test_a_witness_that_is_behind_or_gone_is_brought_up_to_the_count(tmp_path):
    path, witness = tmp_path / "ledger", tmp_path / "ledger.witness"
    count_to(path, 6)
    seen = witness.read_bytes()
    for state in (b"", seen[:17], seen[:30], seen):
        witness.write_bytes(state)
        assert count_to(path, 0) == 6 and witness.read_bytes() == seen
    witness.unlink()
    assert count_to(path, 1) == 7 and witness.read_bytes().startswith(seen)
    assert releases_in(path, witness) == 7 == releases_in(witness) == releases_in(path)
    assert releases_in(tmp_path / "none") == 0


def test_a_release_that_the_witness_cannot_take_is_not_made(tmp_path):
    ledger = ReleaseLedger(tmp_path / "l", run="r", rounds=3, witness=tmp_path / "w")
    with ledger:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, ledger._files[tmp_path / "w"])
        os.close(full)
        with pytest.raises(InputError, match="w: cannot be written, so no round is released: No space left"):
            ledger.count()
    assert count_to(tmp_path / "l", 0, rounds=3) == 1  # counted, as it may have been about to happen


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
        os.dup2(full, ledger._files[ledger.path])
        os.close(full)
        with pytest.raises(InputError, match="so no round is released: No space left"):
            ledger.count()
        with pytest.raises(InputError, match="is closed"):
            ledger.count()
        assert ledger.released == 0
    assert count_to(tmp_path / "other", 3, rounds=3) == 3
    with pytest.raises(InputError, match="No such file"):
        count_to(tmp_path / "gone" / "ledger", 1)
