"""The search: the config's own point first, the same trials after a kill, worse ones stopped, the best taken."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hush_core.config import Changes, parse_config
from hush_core.rehearsal import Budget, Cost, Rehearsed, Search, space_of
from hush_core.rehearsal.rehearse import STEPS

CONFIG = {
    "version": 1,
    "repos": [{"path": "."}],
    "secrets": [{"id": "a", "kind": "path", "globs": ["x/**"], "level": 0.001}],
    "weights": {"c": 0.5},
    "train": {"rounds": 100, "batch": 64, "clip_norm": 1.0, "learning_rate": 1e-3},
}
TRIALS = 14


def config_of(**changes):
    data = {**CONFIG, **{k: v for k, v in changes.items() if k != "train"}}
    data["train"] = {**CONFIG["train"], **changes.get("train", {})}
    return parse_config(data, where="job.yaml", folder=Path("."))


def make_space(budget=6400.0, **changes):
    return space_of(config_of(**changes), Budget(examples=budget))


def loss_of(point):
    """A smooth bowl: best at c = 0.05, B = 256, C = 0.3 and rate 5e-3."""
    aims = {"c": 0.05, "batch": 256, "clip_norm": 0.3, "learning_rate": 5e-3}
    return 2.0 + sum(0.05 * math.log(getattr(point, key) / aim) ** 2 for key, aim in aims.items())


def rehearse_points(search, most=TRIALS, until=None):
    """Play trials with the bowl in place of a training; `until` (trial, step) kills."""
    while (begun := search.next(most)) is not None:
        trial, point = begun
        curve = []
        for step in range(1, STEPS + 1):
            loss = loss_of(point) + 1.0 / step
            if step < STEPS:
                curve.append((step, loss))
                stop = search.step(trial, step, loss)
                if until == (len(search.tried()), step):
                    os.kill(os.getpid(), signal.SIGKILL)
                if stop:
                    search.end(trial, Rehearsed(None, {}, tuple(curve), stopped=True), {"sigma": 1.0})
                    break
        else:
            search.end(
                trial, Rehearsed(loss, {"all": loss}, (*curve, (STEPS, loss)), stopped=False), {"sigma": 1.0}
            )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    search = Search(tmp_path_factory.mktemp("whole") / "study.db", make_space(), seed=4)
    rehearse_points(search)
    return search


def test_the_config_as_it_stands_comes_first_and_the_best_is_better(whole):
    tried = whole.tried()
    assert len(tried) == TRIALS
    assert tried[0].point == whole.space.own and tried[0].state == "done"
    assert whole.space.own.rounds == 100 and whole.space.own.c == 0.5
    best = whole.recommended()
    assert best.loss == min(t.loss for t in tried if t.loss is not None) < tried[0].loss - 0.1
    assert best.facts == {"sigma": 1.0, "parts": {"all": best.loss}} and len(best.curve) == STEPS


def test_every_point_costs_the_same(whole):
    for one in whole.tried():
        assert one.point.rounds * one.point.batch == pytest.approx(6400, rel=0.07), one.point
        assert one.point.warmup_rounds < one.point.rounds


def test_worse_ones_are_stopped_on_the_way_and_only_those(whole):
    stopped = [t for t in whole.tried() if t.state == "stopped"]
    assert stopped and all(t.loss is None and 2 < t.curve[-1][0] < STEPS for t in stopped)
    done = sorted(t.loss for t in whole.tried() if t.loss is not None)
    assert min(loss_of(t.point) for t in stopped) > done[len(done) // 4]


@pytest.mark.slow
def test_killed_and_resumed_it_is_the_same_study(whole, tmp_path):
    file = tmp_path / "study.db"
    first = opened(file)
    begun, point = first.next(TRIALS)
    first.step(begun, 1, loss_of(point) + 1.0)  # and let go of it
    script = f"import test_search as t; t.rehearse_points(t.opened({str(file)!r}), until=(9, 3))"
    child = subprocess.run([sys.executable, "-c", script], env=_environment(), timeout=600)
    assert child.returncode == -signal.SIGKILL
    torn = opened(file)
    assert len(torn.tried()) == 9
    torn._study.ask()  # killed before the trial had its values
    resumed = opened(file)
    rehearse_points(resumed)
    kept = [(t.point, t.state, t.loss, t.curve) for t in resumed.tried()]
    assert kept == [(t.point, t.state, t.loss, t.curve) for t in whole.tried()]
    assert resumed.recommended().point == whole.recommended().point
    assert resumed.next(TRIALS) is None


def opened(file):
    return Search(Path(file), make_space(), seed=4)


def _environment():
    here = Path(__file__).resolve()
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), str(here.parents[3])])}


def test_a_refused_point_is_kept_with_its_reason(tmp_path):
    search = Search(tmp_path / "study.db", make_space(), seed=1)
    trial, _ = search.next(5)
    search.refuse(trial, "train.batch: too large")
    assert search.next(5) is not None and len(search.tried()) == 1
    (one,) = search.tried()
    assert (one.state, one.loss, one.facts) == ("refused", None, {"note": "train.batch: too large"})
    assert search.recommended() is None


def test_refused_points_do_not_count_but_do_not_go_on_for_ever(tmp_path):
    search = Search(tmp_path / "study.db", make_space(), seed=1)
    for _ in range(3):
        trial, _ = search.next(1)
        search.refuse(trial, "no")
    assert search.next(1) is None and search.next(2) is not None


def test_finalists_are_compared_by_the_mean_of_their_losses(tmp_path):
    search = Search(tmp_path / "study.db", make_space(), seed=2)
    rehearse_points(search, most=6)
    first, second, third = search.best(3)
    assert first.loss <= second.loss <= third.loss
    assert len({f.point.model_dump_json() for f in (first, second, third)}) == 3
    search.note_repeats(first, [first.loss + 5.0])
    search.note_repeats(second, [second.loss - 0.01])
    assert search.recommended().number == second.number  # a third, played once, does not count
    again = Search(tmp_path / "study.db", make_space(), seed=2)
    assert again.recommended().mean == pytest.approx(second.loss - 0.005)


def test_minutes_buy_rounds_by_what_a_round_costs():
    cost = Cost.of([(16, [0.26, 0.26, 9.0]), (64, [0.74, 0.74, 0.74])])
    assert (cost.per_round, cost.per_example) == (pytest.approx(0.1), pytest.approx(0.01))
    budget = Budget(seconds=60.0, cost=cost)
    assert budget.rounds(90) == 60 and budget.rounds(10) == 300
    assert Cost.of([(8, [1.0]), (16, [0.5])]).per_example > 0


def test_the_space_keeps_to_what_can_run():
    space = make_space(train={"evaluate_every": 40, "learning_rate": (1e-3, 3e-3)}, public=["p/**"])
    assert all(6400 / b >= 40 for b in space.ordered["batch"])
    assert {1e-3, 3e-3} <= set(space.ordered["learning_rate"])
    assert max(space_of(config_of(), Budget(examples=6400), largest_batch=100).ordered["batch"]) == 64
    sigma = make_space(weights={"capacities": "equalised", "noise_multiplier": 2.0})
    assert sigma.scale == "noise_multiplier" and sigma.own.noise_multiplier == 2.0 and sigma.own.c is None
    swept = space_of(config_of(), Budget(examples=6400), sweep=(0.25, 0.75))
    assert swept.ordered["c"] == (0.25, 0.5, 0.75)


def test_the_ends_of_the_space_are_told():
    space = make_space()
    values = {"c": 0.05, "batch": 64, "clip_norm": 1.0, "learning_rate": 1e-3, "schedule": "linear"}
    inside = space.point(values, 0.1)
    assert space.edges_of(inside) == []
    outside = inside.model_copy(update={"c": 0.001, "learning_rate": 0.01})
    assert space.edges_of(outside) == ["c", "learning_rate"]
    assert space.edges_of(inside.model_copy(update={"c": 1.0})) == []


def test_a_point_changes_the_config_and_nothing_else():
    config = config_of(weights={"capacities": "equalised", "noise_multiplier": 2.0})
    point = Changes(c=0.1, rounds=20, batch=8, clip_norm=0.3, schedule="cosine", warmup_rounds=2)
    here = point.applied_to(config)
    assert (here.weights.c, here.weights.noise_multiplier) == (0.1, None)
    assert (here.train.rounds, here.train.batch, here.train.clip_norm) == (20, 8, 0.3)
    assert (here.train.schedule, here.train.warmup_rounds, here.train.learning_rate) == ("cosine", 2, 1e-3)
    assert here.secrets == config.secrets and Changes().applied_to(config) == config
