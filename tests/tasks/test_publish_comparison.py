"""A comparison's progress in the tracker: steps, the same run after a stop, and a tracker that is away."""

from __future__ import annotations

import pytest
from template import copy_tracker

from tasks import publish_comparison
from tasks.publish_comparison import shown
from tasks.runtime.tracking import log_run, tracker


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    copy_tracker(tmp_path / "mlflow.db")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")


def history(run_id, name):
    return [(one.step, one.value) for one in tracker().get_metric_history(run_id, name)]


def test_each_training_is_a_step_and_a_stopped_one_goes_on_with_its_run():
    with pytest.raises(KeyboardInterrupt), shown("compared", "k", 3) as first:
        first.done()
        raise KeyboardInterrupt
    assert tracker().get_run(first.run_id).info.status == "KILLED"
    with shown("compared", "k", 3) as second:
        assert second.run_id == first.run_id
        assert tracker().get_run(second.run_id).info.status == "RUNNING"
        second.done(failed=True)
        second.done()
        log_run(experiment="compared", run_name="comparison", params={"chosen": "a"}, metrics={}, files=[],
                run_id=second.run_id)  # fmt: skip
    run = tracker().get_run(second.run_id)
    assert run.info.status == "FINISHED" and run.data.params["chosen"] == "a"
    assert history(run.info.run_id, "trainings_ended") == [(1, 1), (1, 1), (2, 2)]
    assert history(run.info.run_id, "trainings_failed")[-2:] == [(1, 1), (2, 1)]
    assert run.data.metrics["trainings"] == 3
    with shown("compared", "k", 3) as third, shown("compared", "other", 3) as other:
        assert (
            len({second.run_id, third.run_id, other.run_id}) == 3
        )  # one with a result is never opened again
    with pytest.raises(ValueError), shown("compared", "x", 3) as failed:
        raise ValueError
    assert tracker().get_run(failed.run_id).info.status == "FAILED"


def test_a_tracker_that_is_away_ends_nothing(monkeypatch):
    with shown("compared", "k", 2) as progress:
        monkeypatch.setattr(publish_comparison, "tracker", lambda: 1 / 0)
        progress.done()
        assert progress.run_id is None
        progress.done()
    assert progress.ended == 2
    with shown("compared", "k", 2) as never:
        never.done()
    assert never.run_id is None
