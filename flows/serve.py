"""Register the flows with a Prefect server, scheduled and startable from its UI, and run them here.

>>> hush serve examples/demo.yaml --cron "0 2 * * *" --with-servers      # in a shell

The servers and the runner are children of one supervisor: a child that dies ends all, and so does SIGTERM or
Ctrl-C. This module imports neither prefect nor mlflow at its top: the address of a server that it starts must
be in the environment before Prefect is imported, so the runner is a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from hush_core.config import load_config
from hush_core.config.calendar import schedule_of, zone_of
from hush_core.errors import HushError, InputError
from tasks.runtime.environment import OWN_SERVERS, Home, home, prepare_environment

HOST = "127.0.0.1"
STARTUP = 180.0
"""Seconds for a server to answer, on a busy machine."""


def serve(
    config_file: Path | None,
    *,
    cron: str | None = None,
    timezone: str | None = None,
    with_servers: bool = False,
    prefect_port: int = 4200,
    mlflow_port: int = 5000,
) -> None:
    """Serve the deployments train, plan, rehearse, secrets and review until interrupted.

    `train` runs on the schedule when `config_file` is given: by `cron` and `timezone`, or as its promise counts
    (`promise.cron`), or every night. With `with_servers`, a Prefect and an MLflow
    server are started on loopback in place of those that the environment does not name.

    Raises:
        InputError: no Prefect server is named or asked for, a port is taken, or the schedule is no schedule or
            another than the promise counts.
        HushError: a server or the runner ended by itself.
    """
    home = prepare_environment()
    cron, timezone = _schedule(config_file, cron, timezone)
    environment = dict(os.environ)
    if not with_servers and not environment.get("PREFECT_API_URL"):
        raise InputError("PREFECT_API_URL", "names no Prefect server", "set it, or give --with-servers")
    children = _Children()
    with children:
        if with_servers:
            _start_servers(children, home, environment, prefect_port, mlflow_port)
        job = {"config_file": config_file and str(config_file), "cron": cron, "timezone": timezone}
        children.start("runner", [sys.executable, "-m", "flows.serve", json.dumps(job)], environment)
        children.wait()


def register(config_file: str | None, cron: str, timezone: str) -> None:
    """Make the deployments and run what they are asked for; the runner process's own work. Never returns."""
    from prefect import serve as run_deployments
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.deployments.runner import EntrypointType
    from prefect.schedules import Cron

    from flows.plan import plan
    from flows.rehearse import rehearse
    from flows.review import review
    from flows.secrets import secrets
    from flows.train import train
    from tasks.leftovers import sweep
    from tasks.runtime.error_logging import one_line_errors

    one_line_errors()
    sweep(home())
    given: dict[str, Any] = {"parameters": {"config_file": config_file}} if config_file else {}
    # two runs at once on the same data would each release; the second waits
    one = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    common: dict[str, Any] = {"name": "hush", "entrypoint_type": EntrypointType.MODULE_PATH}
    schedules = [Cron(cron, timezone=timezone, slug="retrain")] if config_file else []
    run_deployments(
        train.to_deployment(**common, **given, schedules=schedules, concurrency_limit=one),
        plan.to_deployment(**common, **given),
        rehearse.to_deployment(**common, **given),
        secrets.to_deployment(**common, **given),
        review.to_deployment(**common),
    )


def _start_servers(
    children: _Children, home: Home, environment: dict[str, str], prefect_port: int, mlflow_port: int
) -> None:
    """Start what the environment does not name, and put its address there."""
    own: list[str] = []
    if not environment.get("PREFECT_API_URL"):
        _check_free(prefect_port, "Prefect")
        # the UI's own origin alone may call the API: any web page could otherwise start a run
        environment["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = f"http://{HOST}:{prefect_port}"
        # no Host check either, so a login keeps out a page that rebinds its name, and other local users
        environment["PREFECT_SERVER_API_AUTH_STRING"] = home.prefect_login()
        environment["PREFECT_API_AUTH_STRING"] = home.prefect_login()
        environment["PREFECT_UI_API_URL"] = f"http://{HOST}:{prefect_port}/api"
        arguments = ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(prefect_port)]
        own.append("PREFECT_API_URL")
        children.start("Prefect server", [sys.executable, *arguments], environment)
        environment["PREFECT_API_URL"] = f"http://{HOST}:{prefect_port}/api"
        children.await_answer(environment["PREFECT_API_URL"] + "/health")
        print(f"Prefect: http://{HOST}:{prefect_port}, login in {home.keys / 'prefect.login'}", flush=True)
    if environment.get("MLFLOW_TRACKING_URI", "").startswith("sqlite:"):
        _check_free(mlflow_port, "MLflow")
        if environment["MLFLOW_TRACKING_URI"] == f"sqlite:///{home.mlflow_database}":
            from tasks.runtime.tracking import make_database

            make_database(home.mlflow_database)
        arguments = ["--host", HOST, "--port", str(mlflow_port), "--workers", "1", "--serve-artifacts"]
        arguments += ["--backend-store-uri", environment["MLFLOW_TRACKING_URI"]]
        arguments += ["--artifacts-destination", str(home.artifacts)]
        server = {**environment, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        children.start("MLflow server", [sys.executable, "-m", "mlflow", "server", *arguments], server)
        own.append("MLFLOW_TRACKING_URI")
        environment["MLFLOW_TRACKING_URI"] = f"http://{HOST}:{mlflow_port}"
        children.await_answer(environment["MLFLOW_TRACKING_URI"] + "/health")
        print(f"MLflow: {environment['MLFLOW_TRACKING_URI']}", flush=True)
    environment[OWN_SERVERS] = " ".join(own)


@dataclass
class _Children:
    """Child processes that live and die together; each leads a process group, so grandchildren go too."""

    running: list[tuple[str, subprocess.Popen[bytes]]] = field(default_factory=list)
    previous: Any = None

    def __enter__(self) -> _Children:
        self.previous = signal.signal(signal.SIGTERM, _interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        for _name, child in reversed(self.running):  # the runner first: it reports to the servers
            _stop(child)
        signal.signal(signal.SIGTERM, self.previous)

    def start(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        child = subprocess.Popen(command, env=environment, start_new_session=True)
        self.running.append((name, child))

    def check(self) -> None:
        for name, child in self.running:
            if child.poll() is not None:
                raise HushError(
                    f"the {name} ended by itself (status {child.returncode}); see its last lines above"
                )

    def await_answer(self, url: str) -> None:
        deadline = time.monotonic() + STARTUP
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.3)
        raise HushError(f"{url} does not answer after {STARTUP:.0f} s")

    def wait(self) -> None:
        while True:
            self.check()
            time.sleep(0.5)


def _stop(child: subprocess.Popen[bytes], patience: float = 20.0) -> None:
    """Ask the child's whole group to end, then make it."""
    for sign, seconds in (
        (signal.SIGINT, patience),
        (signal.SIGTERM, patience / 2),
        (signal.SIGKILL, patience),
    ):
        if child.poll() is not None:
            break
        os.killpg(child.pid, sign)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _check_free(port: int, name: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise InputError(
                f"port {port}", f"is taken, so no {name} server can start", "stop what uses it"
            ) from None


def _schedule(config_file: Path | None, cron: str | None, timezone: str | None) -> tuple[str, str]:
    """When scheduled runs start: as asked for, as the config's promise counts them, or every night."""
    promise = load_config(config_file).promise if config_file else None
    promised = promise.schedule if promise else (None, None)
    cron, timezone = schedule_of(promised, (cron, timezone), ("--cron", "--timezone"))
    try:
        zone_of(timezone)
    except ValueError:
        raise InputError(
            "--timezone", "is not a known time zone", "write one such as Europe/Berlin"
        ) from None
    if len(cron.split()) != 5:
        raise InputError("--cron", "is not a schedule of five fields", 'write one such as "0 2 * * *"')
    return cron, timezone


if __name__ == "__main__":
    prepare_environment()
    register(**json.loads(sys.argv[1]))
