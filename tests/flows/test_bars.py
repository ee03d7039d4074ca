"""What a long step shows: lines with rate and time left, and in a terminal a bar in their place."""

import os
import pty
import re
import subprocess
import sys

import pytest
from terminal import shown
from waiting import PATIENCE

from hush_core.progress import WholeJob
from tasks.runtime.progress import Lines, Pace, time_in_words

PROGRAM = """
from tasks.runtime.environment import prepare_environment
prepare_environment()
from prefect.logging import get_logger
from prefect.logging.configuration import setup_logging
import flows.bars
from tasks.runtime.progress import A_LINE, SCREENS
log = get_logger("test")
with flows.bars.bars():
    setup_logging()  # as the first flow does
    for done in range(1, 9):
        for screen in SCREENS:
            screen("train", done, 9)
            screen._bars.refresh()  # as every tenth of a second
        log.info("train: %d of 9", done, extra=A_LINE)
    log.info("something else")
log.info("train: after", extra=A_LINE)
"""


def run(stderr):
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PREFECT_LOGGING_TO_API_ENABLED": "false"}
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": stderr}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, **streams)


def in_a_terminal():
    ours, theirs = pty.openpty()
    child = run(theirs)
    os.close(theirs)
    seen = shown(ours)
    assert child.wait(PATIENCE) == 0 and not child.stdout.read()
    return seen


def test_a_terminal_has_a_bar_and_no_lines_of_the_same():
    seen = in_a_terminal()
    assert "━" in seen and "8/9" in seen and "/s" in seen and re.search(r"\d\d:\d\d", seen)
    assert "train: 8 of 9" not in seen and "something else" in seen
    assert "train: after" in seen, "the lines are back when the bars are gone"


@pytest.mark.slow
def test_a_file_has_lines_and_no_bar():
    child = run(subprocess.PIPE)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0 and not output
    assert b"train: 8 of 9" in errors and "━".encode() not in errors and b"\x1b[2K" not in errors


def test_the_pace_is_of_what_was_done_since_it_was_heard_of():
    pace = Pace(100.0, 900)  # resumed at 900 of 1,000
    assert pace.words(100.5, 905, 1000) == "" == pace.words(105.0, 900, 1000)
    assert pace.words(110.0, 920, 1000) == " (2 a second, 40 s left)"
    assert pace.words(110.0, 902, 1000) == " (5 s each, 8 min 10 s left)"
    assert pace.words(150.0, 1000, 1000) == " (2 a second)"


def test_a_stage_has_a_line_first_last_and_every_ten_seconds():
    lines = Lines()
    told = [lines.of(now, "train", now, 40) for now in (0, 5, 12, 15, 40)]
    assert [bool(line) for line in told] == [True, False, True, False, True]
    assert told[2] == "train: 12 of 40 (1 a second, 28 s left)"
    assert not lines.of(41, "detect", 0, 0), "nothing to do is no progress"
    assert not lines.of(42, "calibrating", 1, 1), "it is over already"


def test_a_share_has_no_rate():
    lines = Lines()
    assert [lines.of(now, "read, %", now, 100) for now in (0, 25)] == [
        "read: 0 %",
        "read: 25 % (1 min 15 s left)",
    ]
    assert lines.of(90, "read, %", 100, 100) == "read: 100 %"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (86_399, "23 h 59 min"), (90_000, "1 d 1 h")],
)
def test_times(seconds, words):
    assert time_in_words(seconds) == words


def test_the_whole_job_is_told_by_the_time_that_its_stages_take():
    job = WholeJob([("read", 10), ("train", 60), ("attack", 10), ("attack", 20)], now=100.0)
    assert job.done("read", 0, 5) == 0 and job.seconds_left(101.0) is None
    assert job.done("read", 5, 5) == 0.1 and job.done("of no list", 1, 2) == 0.1
    assert job.done("train", 30, 60) == 0.4 and job.seconds_left(140.0) == 60.0
    assert job.done("train", 60, 60) == 0.7
    assert job.done("attack", 9, 9) == 0.8 and job.done("attack", 0, 9) == 0.8, "the second of that name"
    assert job.done("attack", 9, 9) == 1 and job.seconds_left(200.0) == 0
    assert job.done("attack", 9, 9) == 1, "there is no third"


def test_a_stage_that_is_heard_of_at_its_end_alone_counts():
    job = WholeJob([("attack", 30), ("attack", 10)], now=0.0)
    assert [job.done("attack", 4, 4), job.done("attack", 4, 4)] == [0.75, 1.0]


def test_what_is_reused_is_no_part_of_the_whole():
    job = WholeJob([("read", 10), ("train", 60), ("attack", 30)], now=0.0)
    job.done("read", 1, 1)
    assert job.done("attack", 0, 3) == 0.25 and job.seconds_left(10.0) == 30.0
