"""Re-verify a registered model, ask a person, promote or reject it.

The registry has no gate of its own: anyone who may write to it can move an alias. So the gate is here:
nothing is promoted unless its certificate holds, and what does not verify loses the alias `champion`.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import typer
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.markdown import Markdown

from flows.registered import certificate_digest, verify_registered
from flows.reports.review import facts_page, form_page
from hush_core.certificate import Verification
from hush_core.errors import InputError, OlderSchema, VerificationError
from tasks.leftovers import claim_flow_run
from tasks.runtime import webhook
from tasks.runtime.approvals import APPROVED, REJECTED
from tasks.runtime.decisions import decide, standing, withdraw
from tasks.runtime.embedded_server import start_server
from tasks.runtime.flow_runs import named
from tasks.runtime.store import open_store
from tasks.runtime.trust import signing_key
from tasks.runtime.versions import CHAMPION, find_version

PATIENCE = 7 * 24 * 3600
"""Seconds for which a run waits for a person."""


class Decision(RunInput):
    """The form that the Prefect UI shows."""

    decision: Literal["approve", "reject"] = Field(json_schema_extra={"position": 0})
    reviewer: str = Field(min_length=1, max_length=200, json_schema_extra={"position": 1})
    reason: str = Field(min_length=1, max_length=2000, json_schema_extra={"position": 2})


class Reviewed(BaseModel):
    """What a review came to."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_uri: str
    decision: Literal["approve", "reject"]
    reviewer: str
    certificate_sha256: str
    no_champion: bool = False
    """It was the champion, and was rejected: no version is champion now."""


@flow(name="review", flow_run_name=named("review", "model_uri"), validate_parameters=True)
def review(
    model_uri: str,
    reviewer: str | None = None,
    decision: Literal["approve", "reject"] | None = None,
    reason: str | None = None,
    certificate: str | None = None,
) -> Reviewed:
    """Verify a registered version, decide on it, and move the alias `champion`.

    Args:
        model_uri: `models:/NAME/VERSION` or `models:/NAME@ALIAS`.
        reviewer: who decides; free text, so as good as the server's own login.
        decision: given, it is carried out; not given, the run pauses and the Prefect UI asks.
        reason: why.
        certificate: SHA-256 of the certificate.json that was read before; another one is not decided on.

    Raises:
        VerificationError: the certificate does not hold. The version becomes `failed`, champion no more.
        OlderSchema: an older hush certified it, and the decision is not given as `reject`.
    """
    claim_flow_run()
    signing_key()  # a mistake in it, or in the webhook, shows before a person is asked
    webhook.endpoint()
    entry = find_version(model_uri)
    fixed = f"models:/{entry.name}/{entry.version}"  # an alias may move while a person thinks
    with open_store().scratch() as folder:
        verification, contents = _checked(check_registered, fixed, Path(folder) / "before", decision)
        digest = certificate_digest(Path(folder) / "before")
        if certificate not in (None, digest):
            raise VerificationError([f"{fixed}: changed since it was read"])
        if verification is not None:
            page = facts_page(fixed, verification)
            create_markdown_artifact(page, key="hush-review", description=f"certificate of {fixed}")
        answer = (
            _given(decision, reviewer, reason) if decision else _ask(form_page(fixed, verification), reviewer)
        )
        if not decision:
            # the decision was about these bytes; it does not carry over to others
            seen = standing(find_version(fixed))
            verification, now = check_registered(fixed, Path(folder) / "after")  # an audit may have come
            if now != contents:
                withdraw(seen, failed=True)
                raise VerificationError([f"{fixed}: changed while it was under review"])
    if answer.decision == "approve" and verification is not None and verification.refuted:
        raise InputError(fixed, verification.audit, "train again; a refuted model cannot be approved")
    status = APPROVED if answer.decision == "approve" else REJECTED
    no_champion = decide(fixed, status, by=answer.reviewer, why=answer.reason, certificate=digest)
    if status == APPROVED:
        webhook.deliver()  # what is not taken now, `hush watch` tries again
    if no_champion:
        get_run_logger().warning("%s was the champion: no version is, until another is approved", fixed)
    return Reviewed(
        model_uri=fixed, decision=answer.decision, reviewer=answer.reviewer, certificate_sha256=digest,
        no_champion=no_champion,
    )  # fmt: skip


@task(name="verify", cache_policy=NO_CACHE)
def check_registered(model_uri: str, into: Path) -> tuple[Verification, str]:
    """Download and verify a version; (the verification, hash of all bytes). A failure marks the version."""
    seen = standing(find_version(model_uri))
    try:
        return verify_registered(model_uri, into)
    except OlderSchema:  # which says nothing against it
        raise
    except VerificationError:
        withdraw(seen, failed=True)
        raise


def _checked(
    check: Callable[[str, Path], tuple[Verification, str]], model_uri: str, into: Path, decision: str | None
) -> tuple[Verification | None, str]:
    """As `check_registered`; of what an older hush certified there is no verification, and so it can be rejected
    alone."""
    try:
        return check(model_uri, into)
    except OlderSchema:
        if decision != "reject":
            raise
        return None, ""


def review_in_terminal(
    model_uri: str,
    *,
    decision: Literal["approve", "reject"] | None,
    reason: str | None,
    reviewer: str | None,
    console: Console,
) -> Reviewed:
    """Verify, show the facts, ask for whatever is not given, then run the flow (which verifies by itself)."""
    certificate = None
    if decision is None or not reason:
        if not sys.stdin.isatty():
            raise InputError("review", "there is no terminal to ask on", "give --decision and --reason")
        fixed = find_version(model_uri)
        model_uri = f"models:/{fixed.name}/{fixed.version}"
        with open_store().scratch() as folder:
            verification, _ = _checked(check_registered.fn, model_uri, Path(folder), decision)
            certificate = certificate_digest(Path(folder))
        if verification is not None:
            console.print(Markdown(facts_page(model_uri, verification)))
        while decision not in ("approve", "reject"):
            decision = typer.prompt(f"approve or reject {model_uri}")
        reason = reason or typer.prompt("why")
    start_server()
    return review(
        model_uri,
        reviewer=reviewer or getpass.getuser(),
        decision=decision,
        reason=reason,
        certificate=certificate,
    )


def render_review(done: Reviewed, console: Console) -> None:
    """One line: what was decided, and what that means for the alias."""
    champion = f"; {CHAMPION} is this version now" if done.decision == "approve" else ""
    if done.no_champion:
        champion = f"; it was the {CHAMPION}, and no version is now, until another is approved"
    decided = "approved" if done.decision == "approve" else "rejected"
    console.print(f"{done.model_uri}: {decided} by {done.reviewer}{champion}", soft_wrap=True)


def _given(decision: str | None, reviewer: str | None, reason: str | None) -> Decision:
    """Validate an answer again: a form with initial data does not (Prefect makes such fields optional)."""
    try:
        return Decision(decision=decision, reviewer=reviewer or getpass.getuser(), reason=reason)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InputError(str(first["loc"][0]), first["msg"], "answer the review again") from None


def _ask(page: str, reviewer: str | None) -> Decision:
    known = {"reviewer": reviewer} if reviewer else {}
    form = Decision.with_initial_data(description=page, **known)
    answer = pause_flow_run(wait_for_input=form, timeout=PATIENCE)
    return _given(answer.decision, answer.reviewer, answer.reason)
