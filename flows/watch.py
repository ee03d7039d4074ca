"""Check champions: take the alias from a version that does not verify or was not approved, and report promotions.

MLflow's registry has no gate: anyone who may write to it can move an alias or change a file after the review. This
flow checks again, on a schedule. It also finishes the rest of a killed decision, and retries messages of the
webhook that were not delivered. An error with one model does not stop the others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger
from pydantic import BaseModel
from rich.console import Console

from flows.registered import verify_registered
from hush_core.config import load_config
from hush_core.errors import InputError, OlderSchema, VerificationError
from tasks.leftovers import claim_flow_run
from tasks.runtime import webhook
from tasks.runtime.approvals import SIGNATURE, check_approval, check_last, last_promotion, promotions
from tasks.runtime.decisions import Standing, finish_decisions, standing, withdraw
from tasks.runtime.environment import home
from tasks.runtime.flow_runs import named
from tasks.runtime.store import open_store
from tasks.runtime.trust import TRUST, trust_root
from tasks.runtime.versions import CHAMPION, find_version

PAUSE = 10.0
"""Seconds before a champion that did not verify is looked at again: an alias that is just being moved, or a disk
that hiccups, takes no model out of service."""
HOLDS, NOBODY, NOT_CHECKED = "holds", "no champion", "review not checked"
OF_NOBODY = (
    "an older hush certified it, in another HUSH_HOME by its own words, and no trust root is named here "
    "(HUSH_TRUST): it may be forged"
)


class WatchedModel(BaseModel, frozen=True):
    """One model, and what was found of its champion."""

    model: str
    champion: str | None
    """models:/NAME/VERSION; null where no version has the alias."""
    found: str


class Watched(BaseModel, frozen=True):
    """What a look at all champions came to."""

    models: list[WatchedModel]
    sent: list[str]
    """Ids of the promotions that the webhook's receiver took now."""
    waiting: list[str]
    """Ids of those that it has not taken yet."""


@flow(name="watch", flow_run_name=named("watch"), validate_parameters=True)
def watch(config_file: str | None = None, models: list[str] | None = None) -> Watched:
    """Verify every champion again, and take the alias from those that fail; send messages of promotions that wait.

    Args:
        config_file: whose model is watched (`tracking.model`).
        models: names of further ones. Those whose champion this home decided on are watched anyway.

    Raises:
        VerificationError: an alias was taken away, by this look or by another way than a decision; the failures say
            which, and why.
        InputError: the config, the keys or the webhook cannot be used.
    """
    claim_flow_run()
    names = {*(models or ()), *(one.model for one in promotions())}
    if config_file:
        names.add(load_config(Path(config_file), command="watch").tracking.model)
    found, failures, errors = [], [], []
    for name in sorted(names):
        try:
            found.append(check_champion(name))
        except VerificationError as error:
            failures += error.failures
        except Exception as error:  # the worker's own, or the registry's: it says nothing of the model
            errors.append(error)
    for one in found:
        get_run_logger().info("%s: %s", one.champion or one.model, one.found)
    delivery = webhook.deliver()
    if failures:
        raise VerificationError(failures)
    if errors:
        raise errors[0]  # the task of each has logged it
    return Watched(models=found, sent=list(delivery.taken), waiting=list(delivery.waiting))


@task(name="check champion", cache_policy=NO_CACHE)
def check_champion(name: str) -> WatchedModel:
    """Of one model. Raises VerificationError: its champion failed twice, and is champion no more; or the alias was
    taken from it by another way than a decision; or (`OlderSchema`) an older hush certified it: nothing is taken
    away. InputError: it cannot be checked with the keys that are set up here; nothing is taken away."""
    finish_decisions(name)
    checked = _check(name)
    if checked.failures:
        time.sleep(PAUSE)
        first, checked = checked, _check(name)
        if checked.failures and checked.champion == first.champion:
            done = ""  # nobody has the alias
            if checked.seen is not None:
                done = f"{checked.champion} was decided on during this check, and is left until the next: "
                if withdraw(checked.seen, failed=checked.itself):
                    done = f"{checked.champion} is no longer {CHAMPION}: "
            raise VerificationError([f"{done}{line}" for line in checked.failures])
    return WatchedModel(model=name, champion=checked.champion, found=checked.found)


@dataclass(frozen=True)
class _Checked:
    """At a champion. itself: what failed are its files, its certificate or its signature, not the way it was
    promoted (then the version is let alone)."""

    champion: str | None = None
    found: str = NOBODY
    failures: tuple[str, ...] = ()
    itself: bool = False
    seen: Standing | None = None


def _check(name: str) -> _Checked:
    try:
        entry = find_version(f"models:/{name}@{CHAMPION}")
    except InputError:
        return _check_missing(name)
    uri, trust, seen = f"models:/{entry.name}/{entry.version}", trust_root(), standing(entry)
    older = None
    try:
        with open_store().scratch() as folder:
            verification, _ = verify_registered(uri, Path(folder))
        if verification.refuted:
            return _Checked(uri, "refuted", (verification.audit,), seen=seen)
        store = verification.certificate.facts.store
    except OlderSchema as error:  # its promotion can still be reported
        if error.refuted:
            return _Checked(uri, "refuted", (f"{uri}: {error.refuted}",), seen=seen)
        older, store = error, error.store
    except VerificationError as error:
        return _Checked(uri, "does not verify", tuple(error.failures), itself=True, seen=seen)
    # whose signature is an envelope
    organisation = trust is None and entry.tags.get(SIGNATURE, "").startswith("{")
    if trust is None and store != home().fingerprint("identity"):
        if older is None:
            return _Checked(uri, NOT_CHECKED)
        if not organisation:
            return _Checked(uri, "does not verify", (f"{uri}: {OF_NOBODY}",), itself=True, seen=seen)
    if organisation:
        what = f"names no trust root here, and the decision on {uri} carries an organisation's signature"
        hint = "name it as on the machines that review; nothing was taken away"
        raise InputError(TRUST, what, hint)
    try:
        check_approval(entry, trust)
        check_last(entry, trust)
    except VerificationError as error:
        return _Checked(uri, "was not promoted by a review", tuple(error.failures), seen=seen)
    if older is not None:
        raise older
    return _Checked(uri, HOLDS)


def _check_missing(name: str) -> _Checked:
    """Where no version has the alias: did this home take it away, or who did?"""
    note = last_promotion(name)
    if note is None or note.version is None:
        return _Checked()
    uri = f"models:/{name}/{note.version}"
    try:
        find_version(uri)
    except InputError:
        return _Checked(found=f"{NOBODY}: {uri} was deleted")
    gone = f"{uri} was promoted at {note.at}, and no decision took the alias {CHAMPION} from it since"
    return _Checked(failures=(f"{gone}: approve it again or reject it, with hush review",))


def render_watched(done: Watched, console: Console) -> None:
    for one in done.models:
        console.print(f"{one.champion or one.model}: {one.found}", soft_wrap=True)
    if not done.models:
        console.print("no model is watched: this home has promoted none (name a config, or --model)")
    if done.sent or done.waiting:
        console.print(f"webhook: {len(done.sent)} promotions sent, {len(done.waiting)} wait")
