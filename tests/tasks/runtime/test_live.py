"""Live metrics: from the first round, delivered once however often they are sent, and never in training's way."""

import contextlib
import json
import os
import signal
import threading

import mlflow
import pytest
from mlflow.exceptions import MlflowException
from mlflow_server import MlflowServer
from waiting import PATIENCE, until

from tasks.runtime import live as module
from tasks.runtime.live import Live, _read, _Rounds, deliver, open_run, spool_of, watched
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import DIGEST

RELEASED, LOSS, SECONDS = (module.METRICS[n] for n in ("rounds_released", "public_loss", "seconds_a_round"))


def history(run_id, key=RELEASED):
    return [(m.step, m.value) for m in tracker().get_metric_history(run_id, key)]


@pytest.fixture
def quick(monkeypatch):
    """Every row is kept, and they leave at once, to a tracker that is there."""
    tracker().search_experiments()
    monkeypatch.setattr(module, "APART", 0.0)
    monkeypatch.setattr(module, "EVERY", 0.05)


def name_of():
    return os.urandom(32).hex()


def test_the_first_round_is_seen_while_the_second_is_made(quick):
    run = name_of()
    with watched("live", "m") as live:
        live.begin(run, 100)
        live.row({"round": 0, "learning_rate": 0.1, "public_loss": 7.5, "validation_loss": 8.0})
        until(lambda: (shown := open_run("live", run)) and history(shown) == [(1, 1.0)], "the first round")
        shown = open_run("live", run)
        assert history(shown, LOSS) == [(1, 7.5)]
        assert history(shown, module.METRICS["validation_loss"]) == [(1, 8.0)]
        assert tracker().get_run(shown).info.status == "RUNNING"
        live.row({"round": 1, "learning_rate": 0.1})
        live.end(failed=False)
    assert history(shown) == [(1, 1.0), (2, 2.0)] and len(history(shown, SECONDS)) == 1
    deliver(shown, run)  # again from the beginning, as after a kill: each is there once
    assert history(shown) == [(1, 1.0), (2, 2.0)] and history(shown, LOSS) == [(1, 7.5)]
    assert not spool_of(run).exists()


def test_a_resumed_training_goes_on_in_the_same_run_and_a_recorded_one_is_let_alone(quick):
    run, seen = name_of(), []
    for first in (0, 5):
        with pytest.raises(KeyboardInterrupt), watched("live", "m") as live:
            live.begin(run, 10)
            live.row({"round": first, "public_loss": 5.0})
            live.row({"round": first + 1})
            until(lambda: open_run("live", run), "a run")
            raise KeyboardInterrupt
        seen.append(open_run("live", run))
        assert tracker().get_run(seen[-1]).info.status == "KILLED"
    assert seen[0] == seen[1] and history(seen[0]) == [(1, 1.0), (2, 2.0), (6, 6.0), (7, 7.0)]
    tracker().set_tag(seen[0], DIGEST, "0" * 64)
    assert open_run("live", run) is None


def test_rows_are_few_unless_a_loss_was_measured():
    rounds = _Rounds()
    assert rounds.kept({"round": 0}, 100.0) == {"step": 1, "rounds_released": 1.0}
    assert rounds.kept({"round": 1}, 100.5) is None
    assert rounds.kept({"round": 2, "public_loss": 4.0}, 100.6)["public_loss"] == 4.0
    kept = rounds.kept({"round": 9}, 100.6 + 7 * 0.3333)
    assert kept["seconds_a_round"] == 0.33, "two digits, over the rounds since the last that was kept"
    assert rounds.rest(103.0) is None
    assert rounds.kept({"round": 10}, 103.1) is None is rounds.kept({"round": 11}, 103.2)
    assert rounds.rest(103.3)["step"] == 12 and rounds.rest(103.4) is None, "what it ended in is seen"


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path):
    spool = tmp_path / "spool"
    whole = json.dumps({"step": 1, "time": 5}) + "\n"
    spool.write_text(whole + '{"step": 2, "ti')
    assert [row for row, _ in _read(spool, 0)] == [{"step": 1, "time": 5}]
    spool.write_text(whole + '{"step": 2, "ti' + whole + whole)  # and the next attempt wrote on
    assert len(_read(spool, 0)) == 2
    assert _read(spool, len(whole.encode()) * 4) == []


def test_a_tracker_that_hangs_holds_no_round_up(quick, monkeypatch):
    asked, go_on = threading.Event(), threading.Event()

    def hang(*_):
        asked.set()
        if threading.current_thread() is threading.main_thread():
            pytest.fail("the thread that trains waits for the tracker")
        go_on.wait(PATIENCE)
        raise ConnectionError

    monkeypatch.setattr(module, "_begin", hang)
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    run = name_of()
    with watched("live", "m") as live:
        live.begin(run, 5000)
        live.row({"round": 0})
        assert asked.wait(PATIENCE)
        for number in range(1, 5000):
            live.row({"round": number})
        live.end(failed=False)  # while the tracker hangs
        couriers = [one for one in threading.enumerate() if one.name == "hush-live" and one.is_alive()]
        assert not go_on.is_set() and couriers == [live._sender]
    go_on.set()
    assert len(spool_of(run).read_bytes().splitlines()) == 5000  # nothing is lost
    spool_of(run).unlink()


def test_nothing_is_shown_of_a_flow_that_trains_nothing():
    live = Live("live", "m")
    live.row({"round": 0})
    live.end(failed=True)


@pytest.mark.slow
@pytest.mark.servers
def test_a_tracker_that_was_gone_has_each_round_once(quick, tmp_path, monkeypatch):
    """A real server, stopped amid the rounds. Requests that were given up wait in its socket, and are answered when
    it goes on: what they brought is sent a second time by then."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "3")
    server = MlflowServer(tmp_path).start()
    mlflow.set_tracking_uri(server.url)
    run, refused, send = name_of(), threading.Semaphore(0), module._send

    def sent(*arguments):
        try:
            send(*arguments)
        except Exception:
            refused.release()
            raise

    def shown(rounds):
        with contextlib.suppress(MlflowException):  # a server that is just coming back
            return len(history(open_run("live", run))) == rounds

    monkeypatch.setattr(module, "_send", sent)
    try:
        with watched("live", "m") as live:
            live.begin(run, 400)
            for number in range(3):
                live.row({"round": number, "public_loss": 8.0 - number})
            until(lambda: open_run("live", run) and shown(3), "three rounds")
            server.signal(signal.SIGSTOP)
            for number in range(3, 300):
                live.row({"round": number})
            assert all(refused.acquire(timeout=PATIENCE) for _ in range(2)), "no attempt was given up"
            assert live._sender._place < len(spool_of(run).read_bytes())
            server.signal(signal.SIGCONT)
            until(lambda: shown(300), "all rounds")
            at_last = open_run("live", run)
            live._sender._place = 0  # all of them again, as where an answer did not arrive
            for number in range(300, 400):
                live.row({"round": number})
            live.end(failed=False)
        deliver(at_last, run)
        assert history(at_last) == [(n, float(n)) for n in range(1, 401)]
        assert history(at_last, LOSS) == [(1, 8.0), (2, 7.0), (3, 6.0)]
    finally:
        server.kill()
