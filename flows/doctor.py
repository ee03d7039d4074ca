"""What is wrong with this installation, all of it at once, each with its fix. Changes nothing, starts nothing.

Every check is one that a command would stumble over later, or that no command would see.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from flows.check import check_config
from hush_core.config import load_config
from hush_core.config.calendar import check_schedule, zone_of
from hush_core.errors import HushError, InputError
from tasks.reachable import HOSTS, INTERFACE, check_disk, check_orchestrator, check_tracker, training_hosts
from tasks.runtime import webhook
from tasks.runtime.environment import (
    LOG_FORMAT,
    OWN_SERVERS,
    RETRIES,
    RUNNER,
    STORE,
    Home,
    retry_pauses,
    runner,
)
from tasks.runtime.shared_store import check_storage
from tasks.runtime.trust import SIGNING_KEY, signing_key, trust_root
from tasks.wording import counted

KNOWN = frozenset(
    {
        "HUSH_HOME", SIGNING_KEY, "HUSH_TRUST", "HUSH_CRON", "HUSH_TIMEZONE", "HUSH_CONFIG", "HUSH_CODE",
        "HUSH_MLFLOW_ACCOUNT", "HUSH_MLFLOW_USERS", "HUSH_POSTGRES", "HUSH_SECRETS", "HUSH_PREFECT_PORT",
        "HUSH_MLFLOW_PORT", "HUSH_SOURCES", "HUSH_CONFIGS", "HUSH_SERVER_MEMORY", "HUSH_WORKER_MEMORY",
        "HUSH_MLFLOW_HOSTS", "HUSH_MLFLOW_ORIGINS", "HUSH_MLFLOW_PAGES", OWN_SERVERS, webhook.URL, webhook.SECRET,
        RETRIES, LOG_FORMAT, "HUSH_CA_BUNDLE", RUNNER, HOSTS, INTERFACE, STORE,
    }
)  # fmt: skip
"""Every variable that hush, its servers or its deployment read."""
GIT = (2, 39)
LATE = timedelta(hours=2)
"""Since a promotion was decided on: four tries of `hush watch`, or none where that does not run."""


def examine(place: Home, config_file: Path | None = None) -> Iterator[HushError]:
    """Every mistake that is found, in words; `config_file`: checked too, with its schedule."""
    for check in (_files, _variables, _schedule, _packages, _git):
        yield from check(place)
    there = (check_disk, check_tracker) if place.root.is_dir() else ()  # a first command makes it
    for ask in (
        *there, check_orchestrator, trust_root, signing_key, webhook.endpoint, retry_pauses, runner,
        training_hosts, check_storage, _undelivered,
    ):  # fmt: skip
        yield from _refusal(ask)
    yield from _first_key()
    if config_file is not None:
        yield from _refusal(lambda: check_config(config_file))
        yield from _promised(config_file)


def _undelivered() -> None:
    """A promotion that nobody has taken for hours."""
    since = (datetime.now(UTC) - LATE).isoformat(timespec="seconds")
    late = [one for one in webhook.messages() if one.moved and one.at < since]
    if late:
        most = max(one.tries for one in late)
        raise InputError(
            webhook.URL, f"has not taken {counted(len(late), 'promotion')} after {most} tries",
            "fix the receiver; hush watch tries again, each time that it runs",
        )  # fmt: skip


def _first_key() -> Iterator[HushError]:
    """With an organisation's key, approvals by the home's own count no more: such champions go at the next look."""
    try:
        if trust_root() is None:
            return
    except HushError:  # reported already
        return
    from tasks.runtime.approvals import champions_by_own_key  # with MLflow

    if unsigned := champions_by_own_key():
        yield InputError(
            ", ".join(unsigned),
            "is champion by this home's own key alone, and the organisation's counts now: hush watch would take "
            "the alias away",
            "run the job again (it registers the model again, signed, without training) and review that version, "
            "before hush serve starts with the key",
        )


def _refusal(ask: Callable[[], object]) -> Iterator[HushError]:
    try:
        ask()
    except HushError as error:
        yield error


def _files(place: Home) -> Iterator[HushError]:
    for folder in filter(Path.is_dir, (place.root, place.keys, place.store)):
        if folder.stat().st_uid != os.getuid():
            yield InputError(str(folder), "belongs to another user", f"sudo chown -R {os.getuid()} {folder}")
        if mode := _open_to_others(folder):
            yield InputError(str(folder), f"is open to others ({mode:03o})", f"chmod 700 {folder}")
    for file in filter(Path.is_file, place.keys.glob("*")):
        if file.name != "trust.pem" and (mode := _open_to_others(file)):  # which is public
            yield InputError(str(file), f"is a key, and open to others ({mode:03o})", f"chmod 600 {file}")


def _open_to_others(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o077


def _variables(place: Home) -> Iterator[HushError]:
    for name in sorted(name for name in os.environ if name.startswith("HUSH_") and name not in KNOWN):
        yield InputError(name, "is set, and nothing reads it", "correct its name, or unset it")
    if os.environ.get("MLFLOW_TRACKING_USERNAME") and not os.environ.get("MLFLOW_TRACKING_PASSWORD"):
        yield InputError("MLFLOW_TRACKING_PASSWORD", "is not set, and a user is", "set it as well")


def _schedule(place: Home) -> Iterator[HushError]:
    for name, check in (("HUSH_CRON", check_schedule), ("HUSH_TIMEZONE", zone_of)):
        if value := os.environ.get(name):
            yield from _fires(name, lambda check=check, value=value: check(value))


def _promised(config_file: Path) -> Iterator[HushError]:
    try:
        promise = load_config(config_file).promise
    except HushError:  # reported already
        return
    if promise and promise.cron:
        yield from _fires(f"{config_file}: promise.cron", lambda: check_schedule(promise.cron))


def _fires(where: str, check: Callable[[], object]) -> Iterator[HushError]:
    try:
        check()
    except ValueError as error:
        what, _, hint = str(error).partition("; ")
        yield InputError(where, f"{what}: nothing would ever start", hint)


def _packages(place: Home) -> Iterator[HushError]:
    for line in distribution("hush-secrets").requires or ():
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        fix = f'pip install -c constraints.txt "{wanted.name}{wanted.specifier}"'
        try:
            found = distribution(wanted.name).version
        except PackageNotFoundError:
            yield InputError(wanted.name, "is not installed", fix)
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            yield InputError(
                wanted.name, f"is {found}, and hush is made for {wanted.specifier or 'any'}", fix
            )


def _git(place: Home) -> Iterator[HushError]:
    try:
        output = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=10).stdout
        version = tuple(int(part) for part in output.split()[2].split(".")[:2])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        version = (0, 0)
    if version < GIT:
        wanted = ".".join(map(str, GIT))
        yield InputError("git", f"is not there, or older than {wanted}", "apt-get install git")
