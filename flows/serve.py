"""Register the flows with a Prefect server, scheduled and startable from its UI, and run them here.

>>> hush serve job.yaml --cron "0 2 * * *" --with-servers      # in a shell

The servers and the runner are children of one supervisor. A server that dies is started again. A runner that dies
ends all, and so does SIGTERM, Ctrl-C, `hush stop` or `kill -9` of the supervisor. This module imports neither
prefect nor mlflow at its top: the address of a server that it starts must be in the environment before Prefect is
imported. So the runner is a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flows.local_servers import check_free, start_servers
from flows.supervision import STARTUP, Children
from hush_core.config import load_config
from hush_core.config.calendar import check_schedule, schedule_of, zone_of
from hush_core.errors import HushError, InputError
from hush_core.files import write_whole
from tasks.ownership import process_start
from tasks.runtime.environment import Home, home, prepare_environment

ABOUT = {
    "train": "Train a protected model and register it with its certificate. The report is an artifact of the run.",
    "plan": "What will it cost? Weights and noise for a range of c; trains nothing.",
    "rehearse": "Which plan gives the best model? Certified rounds rehearsed on text without a secret.",
    "compare": "What does each way of protecting cost here? The rival mechanisms on this data, at one promise.",
    "secrets": "Which files hold which secret, and what changed since the last report.",
    "review": "Verify a registered model, ask a person, promote or reject it.",
    "audit": "Attack a model (on a schedule: the champion), and compare the result with its certificate.",
    "watch": "Verify every champion again; take the alias from what fails; send messages of promotions that wait.",
}
"""What the UI says of each deployment, by flow; deploy/prefect.yaml says the same."""
WATCH, AUDIT = "*/15 * * * *", "0 5 * * 0"
"""When champions are verified again, and when they are attacked again; deploy/prefect.yaml says the same."""
SIDE_BY_SIDE = 2
"""So many runs of `plan` and of `secrets` at a time; deploy/prefect.yaml says the same. Each is a process that
holds the text and the graph: fifty that are asked for at once would take a machine's memory from a training."""
AT_MOST = 32
"""So many processes of runs, paused reviews among them. Each poll asks the server for a place for so many waiting
runs and no more: without this a queue of hundreds, each of which asks again after 30 s, takes all of its time."""
SERVERS = ("PostgreSQL: ", "Prefect: ", "MLflow: ", "metrics: ")
RECORD = "servers.json"
"""In HUSH_HOME/run, while a supervisor with servers is there: its process, and whether all of it answers."""


def serve(
    config_file: Path | None,
    *,
    cron: str | None = None,
    timezone: str | None = None,
    with_servers: bool = False,
    postgres: bool = False,
    prefect_port: int = 4200,
    mlflow_port: int = 5000,
    postgres_port: int = 5433,
    metrics_port: int | None = None,
) -> None:
    """Serve the deployments train, plan, rehearse, compare, secrets, review, audit and watch until interrupted.

    `train` runs on the schedule when `config_file` is given: by `cron` and `timezone`, or as its promise counts
    (`promise.cron`), or every night; so do `audit` (of its champion) and `watch` on theirs. With `with_servers`, a
    Prefect and an MLflow server are started on loopback in place of those that the environment does not name; with
    `postgres`, on a PostgreSQL server that is started for them. `metrics_port`: where Prometheus asks for the
    worker's metrics; nowhere unless given. Raises InputError: no Prefect server is named or asked for, a port is
    taken, or the schedule is no schedule or another than the promise counts. HushError: a server or the runner
    ended by itself."""
    home = prepare_environment()
    cron, timezone = _schedule(config_file, cron, timezone)
    environment = dict(os.environ)
    if not with_servers and not environment.get("PREFECT_API_URL"):
        raise InputError("PREFECT_API_URL", "names no Prefect server", "set it, or give --with-servers")
    if metrics_port is not None:
        check_free(metrics_port, "metrics")
    children = Children()
    port = postgres_port if postgres else None
    with _recorded(home, with_servers, port), children:
        if with_servers:
            start_servers(
                children, home, environment, prefect_port=prefect_port, mlflow_port=mlflow_port,
                postgres_port=port,
            )  # fmt: skip
        job = {"config_file": config_file and str(config_file), "cron": cron, "timezone": timezone}
        runner = [sys.executable, "-m", "flows.serve", json.dumps(job)]
        children.start("runner", runner, environment, again=False, first=True)
        if metrics_port is not None:
            metrics = [sys.executable, "-m", "flows.metrics", str(metrics_port)]
            children.start("metrics server", metrics, environment, essential=False)
            login = home.keys / "metrics.login"
            print(f"metrics: http://127.0.0.1:{metrics_port}/metrics, login in {login}", flush=True)
        children.wait()


@contextmanager
def _recorded(home: Home, with_servers: bool, postgres_port: int | None) -> Iterator[None]:
    """While it is held, the record says who supervises; the runner adds that all has begun (`_say_ready`). Raises
    InputError: another supervisor of this home has its servers up."""
    path = home.root / "run" / RECORD
    if not with_servers:
        yield
        return
    if (other := supervisor(home)) is not None:
        hint = "hush stop ends them"
        raise InputError(str(path), f"process {other['pid']} runs the servers of this home", hint)
    own = {"pid": os.getpid(), "began": process_start(os.getpid()), "ready": False, "postgres": postgres_port}
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(path, json.dumps(own).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _say_ready(home: Home) -> None:
    """In the record of this runner's supervisor, if there is one: the deployments can be run."""
    if (found := supervisor(home)) is not None and found["pid"] == os.getppid():
        write_whole(home.root / "run" / RECORD, json.dumps(found | {"ready": True}).encode())


def supervisor(home: Home) -> dict[str, Any] | None:
    """Who runs the servers of a home: `pid`, `ready` (all of it has begun), `postgres` (its port); None: nobody."""
    try:
        record = json.loads((home.root / "run" / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return record if record["began"] and process_start(record["pid"]) == record["began"] else None


def serve_in_background(arguments: list[str]) -> str:
    """Start `hush serve ARGUMENTS` apart from this terminal, and wait until it has begun; what it said. Raises
    HushError: it ended; its last lines."""
    home = prepare_environment()
    log = home.root / "servers.log"
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "serve", *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + 3 * STARTUP
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise HushError(f"hush serve ended:\n{log.read_text('utf-8', 'replace')[-2000:]}")
        found = supervisor(home)
        if found and found["pid"] == child.pid and found["ready"]:
            lines = [
                line for line in log.read_text("utf-8", "replace").splitlines() if line.startswith(SERVERS)
            ]
            return "\n".join([*lines, f"their log: {log}; `hush stop` ends them"])
        time.sleep(0.3)
    child.terminate()
    raise HushError(f"the servers do not answer; see {log}")


def stop(patience: float = 120.0) -> bool:
    """End the servers of this home, and the runs that their runner has begun, each with a checkpoint; whether any
    were there. Raises HushError: they have not ended after `patience` seconds."""
    home = prepare_environment()
    found = supervisor(home)
    if found is None:
        return False
    os.kill(found["pid"], signal.SIGTERM)
    deadline = time.monotonic() + patience
    while supervisor(home) is not None:
        if time.monotonic() > deadline:
            raise HushError(f"process {found['pid']} has not ended after {patience:.0f} s")
        time.sleep(0.2)
    return True


def register(config_file: str | None, cron: str, timezone: str) -> None:
    """Make the deployments and run what they are asked for, until interrupted; the runner process's own work."""
    from prefect.exceptions import TerminationSignal
    from prefect.runner import Runner

    from tasks.leftovers import sweep_if_it_can
    from tasks.reachable import await_orchestrator
    from tasks.runtime.flow_runs import keep_listening
    from tasks.runtime.json_logs import one_line_errors

    one_line_errors()
    keep_listening()
    await_orchestrator(STARTUP)  # killed together with this process, it is still being started: all would end
    sweep_if_it_can(home())  # its tracker may still be started again: all would end
    runner = Runner(limit=AT_MOST)
    for deployment in _deployments(config_file, cron, timezone):
        runner.add_deployment(deployment)
    print("Prefect: its deployments can be run", flush=True)
    _say_ready(home())
    with suppress(KeyboardInterrupt, TerminationSignal):
        asyncio.run(runner.start())


def _deployments(config_file: str | None, cron: str, timezone: str) -> list[Any]:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.deployments.runner import EntrypointType
    from prefect.schedules import Cron

    from flows.audit import audit
    from flows.compare import compare
    from flows.plan import plan
    from flows.rehearse import rehearse
    from flows.review import review
    from flows.secrets import secrets
    from flows.train import train
    from flows.watch import watch

    given: dict[str, Any] = {"parameters": {"config_file": config_file}} if config_file else {}
    # two runs at once on the same data would each release; the second waits
    # a paused review holds its process for days: half of the places are not theirs
    one, few, paused = (
        ConcurrencyLimitConfig(limit=most, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
        for most in (1, SIDE_BY_SIDE, AT_MOST // 2)
    )
    # a look that is late is not made up for
    last = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)

    def deployed(flow: Any, limit: Any, given: Any = given, **options: Any) -> Any:
        about = {"name": f"hush-{flow.name}", "description": ABOUT[flow.name], "concurrency_limit": limit}
        return flow.to_deployment(**about, **given, entrypoint_type=EntrypointType.MODULE_PATH, **options)

    def at(when: str, slug: str, asked: object = True) -> dict[str, Any]:
        """An empty list takes away what an earlier `hush serve` scheduled."""
        return {"schedules": [Cron(when, timezone=timezone, slug=slug)] if asked else []}

    return [
        deployed(train, one, **at(cron, "retrain", config_file)),
        deployed(plan, few),
        deployed(rehearse, one),
        deployed(compare, one),
        deployed(secrets, few),
        deployed(review, paused, {}),
        deployed(audit, one, **at(AUDIT, "audit", config_file)),
        # without a config it watches what this home has promoted
        deployed(watch, last, **at(WATCH, "watch")),
    ]


def _schedule(config_file: Path | None, cron: str | None, timezone: str | None) -> tuple[str, str]:
    """When scheduled runs start: as asked for, as the config's promise counts them, or every night."""
    promise = load_config(config_file).promise if config_file else None
    promised = promise.schedule if promise else (None, None)
    cron, timezone = schedule_of(promised, (cron, timezone), ("--cron", "--timezone"))
    try:
        zone_of(timezone)
    except ValueError:
        hint = "write one such as Europe/Berlin"
        raise InputError("--timezone", "is not a known time zone", hint) from None
    try:
        check_schedule(cron)
    except ValueError as error:
        what, _, hint = str(error).partition("; ")
        raise InputError("--cron", what, hint) from None
    return cron, timezone


if __name__ == "__main__":
    prepare_environment()
    register(**json.loads(sys.argv[1]))
