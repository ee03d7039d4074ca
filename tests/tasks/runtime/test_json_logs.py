"""Log lines for machines: each is JSON, and what an error quotes is in none of them. (Of a whole stack:
tests/servers/test_faults.py.)"""

import io
import json
import logging

import pytest
from fresh_process import run

from hush_core.errors import InputError
from tasks.runtime.environment import Home, settings
from tasks.runtime.json_logs import JsonLines

CANARY = "ghp_Zk3TqX81vLwR0yNbC5sMfJ7uHd2gPaEo6tQi"
PROGRAM = """
from tasks.runtime.environment import prepare_environment
prepare_environment()
from prefect.logging import get_logger
from prefect.logging.configuration import setup_logging
setup_logging()  # what a flow does first
get_logger("hush.job").info("reads %d", 3, extra={"flow_run_name": "train job", "flow_run_id": 7})
"""


@pytest.fixture
def told():
    """(a logger, what it has told so far)"""
    stream, logger = io.StringIO(), logging.getLogger("test_json_logs")
    handler = JsonLines(stream, styles={})
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)


def test_an_error_is_told_by_its_type_and_place_and_nothing_that_it_quotes(told):
    logger, lines = told
    try:
        try:
            int(CANARY)
        except ValueError as error:
            raise RuntimeError(f"stumbled over {CANARY}") from error
    except RuntimeError as error:
        logger.exception("Task run failed with exception: %r", error)
        logger.error("Finished in state Failed('stumbled over %s')", CANARY)
        logger.error("before: invalid literal for int() with base 10: %r", CANARY)
    first, *rest = lines()
    assert first["error"]["type"] == "RuntimeError" and "test_an_error" in first["error"]["at"][-1]
    assert CANARY not in json.dumps([first, *rest]) and all("left out" in line["message"] for line in rest)


def _raised(error, cause=None):
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def test_words_of_many_lines_and_quotes_are_left_out_where_prefect_quotes_them_again(told):
    logger, lines = told
    error = _raised(ValueError(f"row 7:\n\tC:\\keys '{CANARY}' {chr(92) * 40}\"{CANARY[::-1]}\" é\x00 end"))
    logger.error("Encountered exception during execution: %r", error, exc_info=error)
    ended = f"Flow run encountered an exception: ValueError: {error}"
    logger.error(f"Finished in state Failed({ended!r})")
    logger.error("%r", f"child: Failed({ended!r})")
    logger.error("by name %(error)s", {"error": error})
    assert CANARY not in (all_of_it := json.dumps(lines())) and CANARY[::-1] not in all_of_it
    assert all("left out" in line["message"] for line in lines())


def test_an_error_is_left_out_of_a_line_that_has_it_as_an_argument_alone(told):
    """As Prefect's line of a step that it tries again."""
    logger, lines = told
    logger.info("Task run failed with exception: %r - Retry 1/4", ValueError(CANARY * 90))
    logger.info("Task run failed with exception: %r - Retry 1/4", ValueError(CANARY))
    assert CANARY not in json.dumps(lines()) and lines()[1]["message"].endswith(" - Retry 1/4")


def test_what_an_error_came_of_is_left_out_however_deep(told):
    logger, lines = told
    first = _raised(ValueError(f"read {CANARY}"))
    group = ExceptionGroup("several", [_raised(RuntimeError("in the middle"), first)])
    logger.error("it ended", exc_info=_raised(KeyError("the outermost"), group))
    logger.error("caused by: read %s", CANARY)
    assert CANARY not in json.dumps(lines()) and "left out" in lines()[1]["message"]


def test_later_lines_stay_as_they_are_after_an_error_of_few_letters(told):
    logger, lines = told
    for words in ("t", "100", " " * 20):
        logger.error("failed", exc_info=_raised(ValueError(words)))
    logger.info("trained 100 rounds of it" + " " * 20)
    assert lines()[-1]["message"] == "trained 100 rounds of it" + " " * 20


def test_a_refusal_has_its_line(told):
    logger, lines = told
    try:
        raise InputError("job.yaml", "is no config", "write one")
    except InputError:
        logger.exception("told\nin two lines")
    (line,) = lines()
    assert line["error"] == {"type": "InputError", "message": "job.yaml: is no config. Hint: write one"}
    assert line["message"] == "told\nin two lines" and line["level"] == "ERROR"


@pytest.mark.slow
def test_prefect_speaks_so_where_the_setting_says_it(tmp_path):
    done = run(PROGRAM, tmp_path / "home", HUSH_LOG_FORMAT="json")
    line = json.loads(done.stderr)
    assert (line["message"], line["run"], line["run_id"]) == ("reads 3", "train job", "7"), done.stderr
    assert line["time"].endswith("Z") and line["logger"] == "prefect.hush.job"


def test_text_unless_asked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("HUSH_LOG_FORMAT", raising=False)
    console = "PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS"
    assert console not in settings(Home(tmp_path))
    monkeypatch.setenv("HUSH_LOG_FORMAT", "json")
    assert settings(Home(tmp_path))[console].startswith("tasks.")
