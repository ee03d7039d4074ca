"""Steps without an orchestrator: the same kept results as in a flow of Prefect, threads, errors, the log."""

import json
import threading

import pytest
from prefect import flow
from pydantic import BaseModel

from hush_core.errors import HushError, InputError
from tasks.calibration import NoiseEstimate
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.steps import (
    STOPPING,
    alone,
    is_alone,
    read_result,
    run_logger,
    show_page,
    step,
    write_result,
)


def make(name, calls):
    @cached_task(name=name, version=1, ignore=["note"])
    def priced(x: float, note: str = "") -> NoiseEstimate:
        calls.append(x)
        return NoiseEstimate(noise_multiplier=x, distinct=1.0)

    return priced


@pytest.mark.parametrize("alone_first", [True, False])
def test_a_flow_takes_what_a_look_kept_and_the_other_way_round(prefect_harness, alone_first):
    calls = []
    priced = make(f"steps-{alone_first}", calls)

    @flow(name="test-steps")
    def in_prefect():
        assert not is_alone()
        return priced(0.1, note="of the flow")

    def in_a_look():
        with alone():
            return priced(0.1)

    order = (in_a_look, in_prefect) if alone_first else (in_prefect, in_a_look)
    first, second = (one() for one in order)
    assert first == second == NoiseEstimate(noise_multiplier=0.1, distinct=1.0)
    assert calls == [0.1], "computed twice"


def test_the_log_has_no_line_of_a_step_that_took_no_time_or_was_kept(monkeypatch, caplog):
    priced = make("steps-quick", [])
    with caplog.at_level("INFO"), alone():
        assert priced(3.0) == priced(3.0)
        assert not caplog.messages
        monkeypatch.setattr("tasks.runtime.steps.WORTH_A_LINE", 0.0)
        priced(4.0)
    assert caplog.messages == ["done"]


def test_a_record_cut_short_is_computed_again():
    calls, before = [], set(home().results.iterdir())
    priced = make("steps-cut", calls)
    with alone():
        priced(2.0)
        (record,) = set(home().results.iterdir()) - before
        whole = record.read_bytes()
        record.write_bytes(whole[: len(whole) // 2])
        assert priced(2.0).noise_multiplier == 2.0 and calls == [2.0, 2.0]
        assert record.read_bytes() == whole and record.stat().st_mode & 0o777 == 0o600


class Foreign(BaseModel):
    x: int


def test_a_record_of_a_type_that_no_step_gives_is_refused(tmp_path):
    write_result(tmp_path / "record", Foreign(x=1))
    with pytest.raises(HushError, match="which no step of hush gives"):
        read_result(tmp_path / "record")


def test_submitted_steps_run_side_by_side_and_give_their_errors():
    both = threading.Barrier(2, timeout=600)

    @step(name="meet-{x}")
    def meet(x):
        both.wait()
        if x:
            raise InputError("here", "is wrong", "correct it")
        return is_alone()

    with alone():
        good, bad = meet.submit(0), meet.submit(1)
        assert good.result() is True
        assert isinstance(bad.result(raise_on_failure=False), InputError)
        with pytest.raises(InputError, match="is wrong"):
            bad.result()
    assert not is_alone()


def test_an_error_stops_the_steps_that_still_run():
    begun, ended = threading.Event(), []

    @step(name="long")
    def long():
        progress = progress_log()
        begun.set()
        try:
            while True:
                progress("going on", 0, 1)
        except KeyboardInterrupt:
            ended.append(True)
            raise

    with pytest.raises(InputError), alone():
        long.submit()
        assert begun.wait(600)
        raise InputError("here", "is wrong", "correct it")
    assert ended == [True] and not STOPPING.is_set()


def test_lines_name_the_step_and_are_json_where_machines_read(monkeypatch, capsys):
    import logging

    monkeypatch.setattr(logging.getLogger("hush"), "handlers", [])
    monkeypatch.setenv("HUSH_LOG_FORMAT", "json")

    @step(name="tell", task_run_name="tell-{x}")
    def tell(x):
        run_logger().info("%d found", 3)
        show_page("text", "key", "about")  # nobody shows it

    with alone():
        tell(7)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"step": "tell-7", "message": "3 found"}.items() <= lines[0].items()
