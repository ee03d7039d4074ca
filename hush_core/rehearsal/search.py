"""The search for the best plan: Optuna's TPE over the space, pruned on the way, on disk after every step.

A study in SQLite survives a kill. The sampler's proposal depends only on the seed, the number of the trial and the
trials before it, and a rehearsal has fixed draws. So a killed search that continues ends with the same trials as
one that ran through.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import event

from hush_core.config import Changes
from hush_core.rehearsal.rehearse import Rehearsed
from hush_core.rehearsal.space import Space

State = Literal["done", "stopped", "diverged", "refused"]
RANDOM = 8
"""Trials drawn at random before the sampler begins to learn from them."""
NEVER_STOPPED = 4
"""The first so many rehearsals run to their end."""
FIRST_STOP = 3
"""The first of a rehearsal's steps (`rehearse.STEPS`) at which it may be stopped: a warm-up is over then."""
REFUSED = 3
"""The search ends with so many refused points for each that it was to rehearse."""
_POINT, _STATE = "point", "state"


@dataclass(frozen=True)
class Tried:
    """One point of the search, and what became of it."""

    number: int
    point: Changes
    state: State
    loss: float | None
    """Predicted, in bits; None unless it ran to its end."""
    curve: tuple[tuple[int, float], ...]
    facts: dict[str, Any]
    """What was noted of it: noise multiplier, distinct examples, parts of the loss, why it was refused."""
    again: tuple[float, ...] = ()
    """Its loss with other draws, where it was rehearsed again."""

    @property
    def mean(self) -> float | None:
        """The mean over all its rehearsals; what points are compared by, where there are several."""
        return None if self.loss is None else (self.loss + sum(self.again)) / (1 + len(self.again))


class Search:
    """A study on disk.

    Args:
        file: the SQLite database; made where it is missing.
        space: what is tried. A study belongs to one space and seed: the caller's file name says which.
    """

    def __init__(self, file: Path, space: Space, *, seed: int = 0) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space, self._seed = space, seed
        with _quiet():
            self._study = optuna.create_study(
                storage=_storage(file), study_name="rehearsal",
                direction="minimize", load_if_exists=True,
                pruner=optuna.pruners.MedianPruner(n_startup_trials=NEVER_STOPPED, n_warmup_steps=FIRST_STOP),
            )  # fmt: skip
            if not self._study.trials:
                self._study.enqueue_trial(space.first())

    def next(self, most: int) -> tuple[Trial, Changes] | None:
        """The point to rehearse now; one that was begun and not ended comes first.

        None after `most` of them. Refused ones cost nothing and do not count, but the search ends where most are.
        """
        with _quiet():
            begun = [t for t in self._study.get_trials(deepcopy=False) if t.state == TrialState.RUNNING]
            for trial in begun:
                if _POINT in trial.user_attrs:
                    return Trial(self._study, trial._trial_id), _point(trial)
                self._study.tell(
                    trial.number, state=TrialState.FAIL
                )  # killed before it had all of its values
            tried = self.tried()
            done, refused = len(tried), sum(t.state == "refused" for t in tried)
            if done - refused >= most or refused >= REFUSED * most:
                return None
            self._study.sampler = optuna.samplers.TPESampler(
                seed=self._seed + done, n_startup_trials=RANDOM, multivariate=True
            )
            waiting = any(t.state == TrialState.WAITING for t in self._study.get_trials(deepcopy=False))
            if not done and not waiting:
                self._study.enqueue_trial(self.space.first())  # the first was begun and lost
            trial = self._study.ask()
            point = self.space.suggest(trial)
            trial.set_user_attr(_POINT, point.model_dump(exclude_none=True))
        return trial, point

    def step(self, trial: Trial, step: int, loss: float) -> bool:
        """Note a loss on the way; whether the rehearsal is worse than half of the others here and may stop."""
        with _quiet():
            trial.report(loss, step)
            return trial.should_prune()

    def end(self, trial: Trial, done: Rehearsed, facts: dict[str, Any]) -> None:
        """Keep what a rehearsal came to."""
        state: State = "done" if done.loss is not None else "stopped" if done.stopped else "diverged"
        with _quiet():
            for step, loss in done.curve:
                trial.report(loss, step)
            self._close(trial, state, facts | {"parts": done.parts}, done.loss)

    def refuse(self, trial: Trial, why: str) -> None:
        """A point that cannot be certified or drawn; the sampler takes it for the worst."""
        with _quiet():
            self._close(trial, "refused", {"note": why}, None)

    def tried(self) -> list[Tried]:
        """Every point that has ended, in order."""
        again = self._study.user_attrs
        return [
            _tried(t, tuple(again.get(f"again {t.number}", ())))
            for t in self._study.get_trials(deepcopy=False)
            if t.state in (TrialState.COMPLETE, TrialState.PRUNED)
        ]

    def best(self, most: int) -> list[Tried]:
        """The points with the lowest losses; different ones only."""
        best: dict[str, Tried] = {}
        for one in sorted((t for t in self.tried() if t.loss is not None), key=lambda t: (t.loss, t.number)):
            best.setdefault(one.point.model_dump_json(), one)
        return list(best.values())[:most]

    def note_repeats(self, one: Tried, losses: list[float]) -> None:
        """Keep the losses of one of the best plans with other draws."""
        self._study.set_user_attr(f"again {one.number}", losses)

    def recommended(self) -> Tried | None:
        """The lowest mean loss among those that were rehearsed most often; None where none came to an end."""
        done = [t for t in self.tried() if t.loss is not None]
        most = max((len(t.again) for t in done), default=0)
        return min((t for t in done if len(t.again) == most), key=lambda t: (t.mean, t.number), default=None)

    def note(self, key: str, value: Any) -> Any:
        """Keep a JSON value with the study, or give back the one that is kept."""
        kept = self._study.user_attrs
        if key not in kept:
            self._study.set_user_attr(key, value)
            return value
        return kept[key]

    def _close(self, trial: Trial, state: State, facts: dict[str, Any], loss: float | None) -> None:
        for key, value in (facts | {_STATE: state}).items():
            trial.set_user_attr(key, value)
        if loss is None:
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, loss)


def _storage(file: Path) -> optuna.storages.RDBStorage:
    """SQLite that syncs at its checkpoints only: a killed process loses nothing, a power cut the last trials."""
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")

    def ask(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(storage.engine, "connect", ask)
    storage.engine.dispose()  # the connections that it made before
    return storage


def _point(trial: FrozenTrial) -> Changes:
    return Changes.model_validate(trial.user_attrs[_POINT])


def _tried(trial: FrozenTrial, again: tuple[float, ...]) -> Tried:
    facts = {k: v for k, v in trial.user_attrs.items() if k not in (_POINT, _STATE)}
    state: State = trial.user_attrs[_STATE]
    curve = tuple(sorted(trial.intermediate_values.items()))
    return Tried(
        trial.number, _point(trial), state, trial.value if state == "done" else None, curve, facts, again
    )


class _quiet:
    """Without Optuna's hints: that something is experimental, or that a step was reported before."""

    def __enter__(self) -> None:
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.filterwarnings("ignore", module=r"optuna")
        warnings.filterwarnings("ignore", message=r".*already reported.*")

    def __exit__(self, *ended: Any) -> None:
        self._caught.__exit__(*ended)
