"""Log lines for machines: each is JSON, and what an error quotes is in none of them. (Of a whole stack:
tests/servers/test_faults.py.)"""

import io
import json
import logging
import os
import subprocess
import sys

import pytest

from hush_core.errors import InputError
from tasks.runtime.environment import Home, prepare_environment, settings
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
    assert CANARY not in json.dumps([first, *rest]) and all("not told" in line["message"] for line in rest)


def test_a_refusal_has_its_line(told):
    logger, lines = told
    try:
        raise InputError("job.yaml", "is no config", "write one")
    except InputError:
        logger.exception("told\nin two lines")
    (line,) = lines()
    assert line["error"] == {"type": "InputError", "message": "job.yaml: is no config. Hint: write one"}
    assert line["message"] == "told\nin two lines" and line["level"] == "ERROR"


def test_prefect_speaks_so_where_the_setting_says_it(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300,
        env={**kept, "HUSH_HOME": str(tmp_path / "home"), "HUSH_LOG_FORMAT": "json"},
    )  # fmt: skip
    line = json.loads(done.stderr)
    assert (line["message"], line["run"], line["run_id"]) == ("reads 3", "train job", "7"), done.stderr
    assert line["time"].endswith("Z") and line["logger"] == "prefect.hush.job"


def test_text_unless_asked_for_and_another_word_is_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("HUSH_LOG_FORMAT", raising=False)
    console = "PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS"
    assert console not in settings(Home(tmp_path))
    monkeypatch.setenv("HUSH_LOG_FORMAT", "json")
    assert settings(Home(tmp_path))[console].startswith("tasks.")
    monkeypatch.setenv("HUSH_LOG_FORMAT", "xml")
    with pytest.raises(InputError, match="neither text nor json"):
        prepare_environment()
