"""Re-verify a registered model, ask a person, promote or reject it.

The registry has no gate of its own: anyone who may write to it can move an alias. So the gate is here:
nothing is promoted unless its certificate holds, and what does not verify loses the alias `champion`.
"""

from __future__ import annotations

import getpass
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import polars as pl
import typer
from mlflow.entities.model_registry import ModelVersion
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.markdown import Markdown

from flows.reports.verification import cell, verdict
from hush_core.certificate import (
    Verification,
    carried_on,
    check_files,
    read_certificate,
    read_tables,
    verify_certificate,
)
from hush_core.errors import InputError, VerificationError
from hush_core.figures import short_name
from hush_core.files import file_sha256
from hush_core.progress import Progress
from tasks.leftovers import claim_flow_run
from tasks.redaction import check_redaction
from tasks.runtime.decisions import APPROVED, AT, BY, SIGNATURE, WHY, check_approval, signature
from tasks.runtime.embedded_server import start_server
from tasks.runtime.environment import home
from tasks.runtime.registry import (
    CHAMPION,
    DIGEST,
    STATUS,
    download_certificate,
    earlier_versions,
    find_version,
    model_files,
)
from tasks.runtime.store import directory_sha256
from tasks.runtime.tracking import tracker

PATIENCE = 7 * 24 * 3600
"""Seconds for which a run waits for a person."""
SHOWN = 20
"""Secrets in the review's table, nearest to their target first; the certificate has all."""


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


@flow(name="review", validate_parameters=True)
def review(
    model_uri: str,
    reviewer: str | None = None,
    decision: Literal["approve", "reject"] | None = None,
    reason: str | None = None,
) -> Reviewed:
    """Verify a registered version, decide on it, and move the alias `champion`.

    Args:
        model_uri: `models:/NAME/VERSION` or `models:/NAME@ALIAS`.
        reviewer: who decides; free text, so as good as the server's own login.
        decision: given, it is carried out; not given, the run pauses and the Prefect UI asks.
        reason: why.

    Raises:
        VerificationError: the certificate does not hold. The version becomes `failed`, champion no more.
    """
    claim_flow_run()
    entry = find_version(model_uri)
    fixed = f"models:/{entry.name}/{entry.version}"  # an alias may move while a person thinks
    with tempfile.TemporaryDirectory() as folder:
        verification, contents = check_registered(fixed, Path(folder) / "before")
        page = facts_page(fixed, verification)
        create_markdown_artifact(page, key="hush-review", description=f"certificate of {fixed}")
        answer = _given(decision, reviewer, reason) if decision else _ask(page, reviewer)
        if not decision:
            # the decision was about these bytes; it does not carry over to others
            _, now = check_registered(fixed, Path(folder) / "after")
            if now != contents:
                _mark_failed(fixed)
                raise VerificationError([f"{fixed}: changed while it was under review"])
    _carry_out(fixed, answer)
    digest = entry.tags[DIGEST]
    return Reviewed(
        model_uri=fixed, decision=answer.decision, reviewer=answer.reviewer, certificate_sha256=digest
    )


@task(name="verify", cache_policy=NO_CACHE)
def check_registered(model_uri: str, into: Path) -> tuple[Verification, str]:
    """Download and verify a version; (the verification, hash of all bytes). A failure marks the version."""
    try:
        return verify_registered(model_uri, into)
    except VerificationError:
        _mark_failed(model_uri)
        raise


def review_in_terminal(
    model_uri: str,
    *,
    decision: Literal["approve", "reject"] | None,
    reason: str | None,
    reviewer: str | None,
    console: Console,
) -> Reviewed:
    """Verify, show the facts, ask for whatever is not given, then run the flow (which verifies by itself)."""
    if decision is None or not reason:
        if not sys.stdin.isatty():
            raise InputError("review", "there is no terminal to ask on", "give --decision and --reason")
        fixed = find_version(model_uri)
        model_uri = f"models:/{fixed.name}/{fixed.version}"
        with tempfile.TemporaryDirectory() as folder:
            verification, _ = check_registered.fn(model_uri, Path(folder))
        console.print(Markdown(facts_page(model_uri, verification)))
        while decision not in ("approve", "reject"):
            decision = typer.prompt("approve or reject")
        reason = reason or typer.prompt("why")
    start_server()
    done = review(model_uri, reviewer=reviewer or getpass.getuser(), decision=decision, reason=reason)
    champion = f"; {CHAMPION} is this version now" if done.decision == "approve" else ""
    console.print(f"{done.model_uri}: {done.decision}, by {done.reviewer}{champion}", soft_wrap=True)
    return done


def facts_page(model_uri: str, verification: Verification) -> str:
    """What a reviewer must know, in markdown; names of secrets, never values."""
    facts, rows = verification.certificate.facts, verification.rows
    plan, training = facts.plan, facts.training
    nearest = rows.with_columns(ratio=pl.col("bound") / pl.col("posterior")).sort("ratio", descending=True)
    table = [
        f"| {cell(short_name(r['name']))} | {r['prior']:.3g} | {r['bound']:.4g} | {r['posterior']:.4g} "
        f"| {r['ratio']:.3f} | {r['route']} |"
        for r in nearest.head(SHOWN).iter_rows(named=True)
    ]
    return "\n".join(
        [
            f"# {model_uri}: the certificate holds",
            "",
            *(f"- {line}" for line in verdict(verification)),
            "",
            verification.certificate.promise,
            "",
            *([verification.certificate.redaction_promise, ""] if facts.redaction.secrets else []),
            f"- noise multiplier {plan.noise_multiplier or 0:.4g}, method {plan.method}, "
            f"clip norm {plan.clip_norm:g}",
            f"- {training.rounds_released} of {plan.rounds} rounds released, "
            f"expected batch {plan.expected_batch}, run {facts.runs_on_this_data} on this data",
            f"- {facts.examples} examples",
            *(
                f"- source {cell(name)}, commit fingerprint {mark[:16]}"
                for name, mark in facts.sources.items()
            ),
            *(f"- attack {a.name}: {a.succeeded} of {a.secrets} succeeded ({a.note})" for a in facts.audits),
            f"- digest {verification.certificate.digest}",
            "",
            "| secret | prior | certified bound | target | bound/target | second route by |",
            "|---|---|---|---|---|---|",
            *table,
            f"\n{rows.height - SHOWN} more in the certificate." if rows.height > SHOWN else "",
            "**Not promised**",
            "",
            *(f"- {line}" for line in verification.certificate.not_promised),
        ]
    )


def verify_registered(
    model_uri: str, into: Path, progress: Progress | None = None, *, chained: bool = True
) -> tuple[Verification, str]:
    """Download a version to `into` and verify it, and that it counts what earlier versions knew of runs; asked for
    by the champion's alias, that a review of this home put it there.

    Returns the verification and a hash of all bytes. `chained`: whether the earlier versions are looked at.
    """
    entry = find_version(model_uri)
    tag = entry.tags.get(DIGEST)
    certificate_dir = download_certificate(model_uri, into)
    model_dir = model_files(model_uri, into)
    document = certificate_dir / "certificate.json"
    if not document.is_file() or file_sha256(document) != tag:
        raise VerificationError([f"{model_uri}: certificate.json is not the one whose digest was registered"])
    verification = check_redaction(verify_certificate(certificate_dir, model_dir, progress))
    if chained:
        verification = after_earlier_versions(verification, model_uri, into / "earlier")
    if model_uri.endswith(f"@{CHAMPION}"):
        verification = replace(verification, approval=_approval(entry, verification))
    return verification, f"{directory_sha256(certificate_dir)} {directory_sha256(model_dir.parent)}"


def _approval(entry: ModelVersion, verification: Verification) -> str:
    if verification.certificate.facts.store != home().fingerprint("identity"):
        return "NOT CHECKED whether a review put the alias there: that can the home which made the model"
    return check_approval(entry)


def after_earlier_versions(verification: Verification, model_uri: str, into: Path) -> Verification:
    """Against the nearest earlier version that can be read; where that is of another store, the next one too."""
    found, told = verification, []
    for earlier in earlier_versions(model_uri):
        try:
            folder = download_certificate(earlier, into / earlier.rpartition("/")[2])
            before = read_certificate(folder)
            check_files(before, folder, None)
        except VerificationError:
            continue  # of an older hush, deleted, or damaged: nothing can be told from it
        found = carried_on(before, read_tables(folder), verification, earlier)
        told.append(found.chain)
        if before.facts.store == verification.certificate.facts.store:
            break
    return replace(found, chain="; ".join(told))


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


def _carry_out(model_uri: str, answer: Decision) -> None:
    """Write the decision to the registry; the alias moves last."""
    entry, client = find_version(model_uri), tracker()
    facts = {
        STATUS: APPROVED if answer.decision == "approve" else "rejected",
        BY: answer.reviewer,
        WHY: answer.reason,
        AT: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    number = 1 + sum(key.startswith("decision_") for key in entry.tags)  # the others stay
    facts[f"decision_{number}"] = f"{facts[STATUS]} by {answer.reviewer} at {facts[AT]}: {answer.reason}"
    facts[SIGNATURE] = signature(entry.name, entry.version, entry.tags | facts)
    for key, value in facts.items():
        client.set_model_version_tag(entry.name, entry.version, key, value)
    if answer.decision == "approve":
        client.set_registered_model_alias(entry.name, CHAMPION, entry.version)
    else:
        _dethrone(model_uri)


def _mark_failed(model_uri: str) -> None:
    _dethrone(model_uri)
    entry = find_version(model_uri)
    tracker().set_model_version_tag(entry.name, entry.version, STATUS, "failed")


def _dethrone(model_uri: str) -> None:
    """Take the champion's alias from this version, if it has it."""
    entry, client = find_version(model_uri), tracker()
    aliases = client.get_registered_model(entry.name).aliases
    if str(aliases.get(CHAMPION)) == str(entry.version):
        client.delete_registered_model_alias(entry.name, CHAMPION)
