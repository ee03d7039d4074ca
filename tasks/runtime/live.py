"""Live view of the certified rounds: metrics of the tracker's run, progress in Prefect.

    with watched(experiment, model) as live:            # a flow
        live.begin(run, spool)                          # before the first round; takes no time
        live.row({"round": 0, "public_loss": 7.8}, rounds)  # after each round; takes microseconds

Each row is at once a line of a file, and a separate thread sends lines to the servers every few seconds. So a
server that is slow or down costs training nothing: its lines are sent later, by the thread or when the run is
recorded (`deliver`). A line has its step and time, and the tracker keeps one metric per name, step, time and value.
So a line that is sent twice after a lost answer counts once.
"""

from __future__ import annotations

import contextvars
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mlflow.entities import Metric, Run
from prefect.context import FlowRunContext

from hush_core.files import private_folder
from tasks.runtime.environment import home
from tasks.runtime.tracking import experiment_of, opened_run, tracker
from tasks.runtime.versions import DIGEST

TRAINING = "hush.training"
"""The tag of a tracker's run with the public name of the training that it shows."""
EVERY = 10.0
"""Seconds between two deliveries."""
APART = 2.0
"""Seconds between two rows that are kept, unless a loss was measured."""
PATIENCE = 5.0
"""Seconds that the end of training waits for a delivery under way."""
MOST = 250
"""Rows of a delivery: MLflow takes 1,000 metrics in one."""
METRICS = {
    "public_loss": "training/public_loss",
    "validation_loss": "training/validation_loss",
    "rounds_released": "training/rounds_released",
    "seconds_a_round": "training/seconds_a_round",
}
_log = logging.getLogger("prefect.hush.live")


def spool_of(run: str) -> Path:
    """Where the rows of a training wait, by its public name."""
    return home().store / "live" / f"{run}.jsonl"


class Live:
    """The live metrics of one flow's training; does nothing before `begin`."""

    def __init__(self, experiment: str, model: str) -> None:
        self._experiment, self._model = experiment, model
        self._sender: _Sender | None = None
        self._rounds = _Rounds()

    def begin(self, run: str, rounds: int) -> None:
        """Training `run`, a public name, of so many rounds in all begins, or continues."""
        spool = spool_of(run)
        private_folder(spool.parent)
        self._rounds = _Rounds()
        self._sender = _Sender(self._experiment, self._model, run, spool, rounds)
        self._sender.start()

    def row(self, row: Mapping[str, Any]) -> None:
        """A row of the training's log, after its round (`hush_core.progress.Watch`)."""
        if self._sender is not None:
            self._put(self._rounds.kept(row, time.monotonic()))

    def _put(self, kept: dict[str, float] | None) -> None:
        if self._sender is not None and kept:
            # to ten seconds: a finer time of each round would tell more of how many examples its batch held
            self._sender.put({**kept, "time": int(time.time() // EVERY * EVERY * 1000)})

    def end(self, *, failed: bool) -> None:
        """The rounds are over, or were cut off: then the tracker's run is closed. Waits PATIENCE at most."""
        if self._sender is not None:
            self._put(self._rounds.rest(time.monotonic()))
            self._sender.end(failed=failed)


@contextmanager
def watched(experiment: str, model: str) -> Iterator[Live]:
    """Live metrics of a flow; where it fails, no run of it stays open."""
    live = Live(experiment, model)
    try:
        yield live
    except BaseException:
        live.end(failed=True)  # after the rounds too
        raise


def open_run(experiment: str, run: str) -> str | None:
    """The tracker's run that shows this training and was not recorded yet; None without one."""
    client = tracker()
    place = experiment_of(client, experiment)
    found: list[Run] = client.search_runs(
        [place], f"tags.`{TRAINING}` = '{run}'", order_by=["start_time DESC"]
    )
    return next((one.info.run_id for one in found if DIGEST not in one.data.tags), None)


def deliver(run_id: str, run: str) -> None:
    """Take what is left of a training's rows to the tracker; raises where it does not answer."""
    spool, place = spool_of(run), 0
    while rows := _read(spool, place):
        _send(run_id, [row for row, _ in rows])
        place = rows[-1][1]
    spool.unlink(missing_ok=True)


@dataclass
class _Rounds:
    """Which rows are worth a metric, and how long rounds take between them."""

    last: float | None = None
    released: int | None = None
    left: Mapping[str, Any] | None = None
    """The last row, where it was not kept."""

    measured: ClassVar = ("public_loss", "validation_loss")

    def rest(self, now: float) -> dict[str, float] | None:
        """The last row, if it is not kept yet: what a run ended in is seen."""
        left, self.left = self.left, None
        return None if left is None else self._keep(left, {}, now)

    def kept(self, row: Mapping[str, Any], now: float) -> dict[str, float] | None:
        losses = {name: float(row[name]) for name in self.measured if row.get(name) is not None}
        if self.last is not None and not losses and now - self.last < APART:
            self.left = row
            return None
        self.left = None
        return self._keep(row, losses, now)

    def _keep(self, row: Mapping[str, Any], losses: Mapping[str, float], now: float) -> dict[str, float]:
        released = int(row["round"]) + 1
        kept = {"step": released, "rounds_released": float(released), **losses}
        if self.last is not None and self.released is not None and released > self.released:
            # two digits: finer ones would tell more of how many examples each batch held
            kept["seconds_a_round"] = float(f"{(now - self.last) / (released - self.released):.2g}")
        self.last, self.released = now, released
        return kept


class _Sender(threading.Thread):
    """Sends rows from the file to the servers. It reports its own errors once, and they end nothing."""

    def __init__(self, experiment: str, model: str, run: str, spool: Path, rounds: int) -> None:
        super().__init__(name="hush-live", daemon=True)
        self._experiment, self._model, self._run_name = experiment, model, run
        self._spool, self._rounds = spool, rounds
        self._file = os.open(spool, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._wake, self._over = threading.Event(), False
        self._place, self._run_id, self._warned = 0, "", False
        self._artifact, self._not_before = None, 0.0
        self._context = contextvars.copy_context()  # which flow's run it is

    def put(self, row: Mapping[str, Any]) -> None:
        if self._over:
            return
        try:
            os.write(self._file, json.dumps(row).encode() + b"\n")
        except OSError:  # a full disk: training has its own words for it
            return
        if row["step"] == 1 or not self._run_id:
            self._wake.set()  # the first round is seen at once

    def run(self) -> None:
        self._context.run(self._work)

    def end(self, *, failed: bool) -> None:
        if not self._over:
            os.close(self._file)
        self._over = True
        self._wake.set()
        self.join(PATIENCE)
        if failed and not self.is_alive() and self._run_id:
            with suppress(Exception):
                tracker().set_terminated(self._run_id, "KILLED")

    def _work(self) -> None:
        while not self._over:
            self._wake.wait(EVERY)
            self._wake.clear()
            self._deliver()
        self._deliver()

    def _deliver(self) -> None:
        rows = _read(self._spool, self._place)
        self._show(rows)
        try:
            if rows and not self._run_id:
                self._run_id = _begin(self._experiment, self._model, self._run_name)
            while rows:
                _send(self._run_id, [row for row, _ in rows])
                self._place = rows[-1][1]
                rows = _read(self._spool, self._place)
                self._show(rows)  # those that came meanwhile
            self._warned = False
        except Exception as error:  # whatever a server or its client says: training must not hear it
            if not self._warned:
                self._warned = True
                _log.warning("live metrics wait for the tracker (%s)", type(error).__name__)

    def _show(self, rows: list[tuple[dict[str, Any], int]]) -> None:
        """A progress artifact of the flow's run; an orchestrator that does not answer is not asked again soon."""
        from prefect.artifacts import create_progress_artifact, update_progress_artifact

        if not rows or FlowRunContext.get() is None or time.monotonic() < self._not_before:
            return
        done, rounds = rows[-1][0]["step"], self._rounds
        fields = {
            "progress": round(100.0 * done / rounds, 1),
            "description": f"{done:,} of {rounds:,} rounds released",
        }
        try:
            if self._artifact is None:
                self._artifact = create_progress_artifact(key="hush-rounds", **fields)
            else:
                update_progress_artifact(self._artifact, **fields)
        except Exception:
            self._not_before = time.monotonic() + 60.0


def _begin(experiment: str, model: str, run: str) -> str:
    client = tracker()
    name, tags = f"{model} training", {TRAINING: run}
    return opened_run(client, experiment_of(client, experiment), open_run(experiment, run), name, **tags)


def _send(run_id: str, rows: list[dict[str, Any]]) -> None:
    metrics = [
        Metric(METRICS[name], row[name], row["time"], row["step"])
        for row in rows
        for name in METRICS
        if name in row
    ]
    tracker().log_batch(run_id, metrics=metrics)


def _read(spool: Path, place: int) -> list[tuple[dict[str, Any], int]]:
    """At most MOST whole lines from `place` on, each with where it ends; what a kill cut off is left out."""
    found = []
    try:
        with open(spool, "rb") as file:
            file.seek(place)
            for line in file:
                if not line.endswith(b"\n") or len(found) == MOST:
                    break
                place += len(line)
                with suppress(ValueError, KeyError):
                    row = json.loads(line)
                    found.append(({**row, "step": int(row["step"]), "time": int(row["time"])}, place))
    except FileNotFoundError:
        pass
    return found
