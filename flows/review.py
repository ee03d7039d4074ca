"""Re-verify a registered model, ask a person, promote or reject it.

The registry has no gate of its own: anyone who may write to it can move an alias. So the gate is here:
nothing is promoted unless its certificate holds, and what does not verify loses the alias `champion`.
"""

from __future__ import annotations

import getpass
import sys
import tempfile
from dataclasses import replace
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
from prefect.logging import get_run_logger
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
from hush_core.signing import TrustRoot, check_signature
from tasks.audit_record import with_audit
from tasks.leftovers import claim_flow_run
from tasks.redaction import check_redaction
from tasks.runtime import webhook
from tasks.runtime.decisions import (
    APPROVED,
    REJECTED,
    check_approval,
    check_last,
    decide,
    dethrone,
    note_last,
)
from tasks.runtime.embedded_server import start_server
from tasks.runtime.environment import home
from tasks.runtime.names import named
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
from tasks.runtime.trust import signing_key, trust_root

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
    """
    claim_flow_run()
    signing_key(), webhook.endpoint()  # mistakes in these are told before a person is asked
    entry = find_version(model_uri)
    fixed = f"models:/{entry.name}/{entry.version}"  # an alias may move while a person thinks
    with tempfile.TemporaryDirectory() as folder:
        verification, contents = check_registered(fixed, Path(folder) / "before")
        digest = certificate_digest(Path(folder) / "before")
        if certificate not in (None, digest):
            raise VerificationError([f"{fixed}: changed since it was read"])
        page = facts_page(fixed, verification)
        create_markdown_artifact(page, key="hush-review", description=f"certificate of {fixed}")
        answer = (
            _given(decision, reviewer, reason) if decision else _ask(form_page(fixed, verification), reviewer)
        )
        if not decision:
            # the decision was about these bytes; it does not carry over to others
            verification, now = check_registered(fixed, Path(folder) / "after")  # an audit may have come
            if now != contents:
                mark_failed(fixed)
                raise VerificationError([f"{fixed}: changed while it was under review"])
    if answer.decision == "approve" and verification.refuted:
        raise InputError(fixed, verification.audit, "train again; a refuted model cannot be approved")
    status = APPROVED if answer.decision == "approve" else REJECTED
    dethroned = decide(fixed, status, by=answer.reviewer, why=answer.reason, certificate=digest)
    if status == APPROVED:
        webhook.deliver()  # what is not taken now, `hush watch` tries again
    if dethroned:
        get_run_logger().warning("%s was the champion: no version is, until another is approved", fixed)
    return Reviewed(
        model_uri=fixed, decision=answer.decision, reviewer=answer.reviewer, certificate_sha256=digest,
        no_champion=dethroned,
    )  # fmt: skip


@task(name="verify", cache_policy=NO_CACHE)
def check_registered(model_uri: str, into: Path) -> tuple[Verification, str]:
    """Download and verify a version; (the verification, hash of all bytes). A failure marks the version."""
    try:
        return verify_registered(model_uri, into)
    except VerificationError:
        mark_failed(model_uri)
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
    certificate = None
    if decision is None or not reason:
        if not sys.stdin.isatty():
            raise InputError("review", "there is no terminal to ask on", "give --decision and --reason")
        fixed = find_version(model_uri)
        model_uri = f"models:/{fixed.name}/{fixed.version}"
        with tempfile.TemporaryDirectory() as folder:
            verification, _ = check_registered.fn(model_uri, Path(folder))
            certificate = certificate_digest(Path(folder))
        console.print(Markdown(facts_page(model_uri, verification)))
        while decision not in ("approve", "reject"):
            decision = typer.prompt("approve or reject")
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
    console.print(f"{done.model_uri}: {done.decision}, by {done.reviewer}{champion}", soft_wrap=True)


def form_page(model_uri: str, verification: Verification) -> str:
    """What stands above the fields of the form: the verdict with every warning, and no more: they are in reach.
    `facts_page`, the run's artifact, is the whole."""
    return "\n".join(
        [
            f"## {model_uri}: the certificate holds",
            "",
            *(f"- {line}" for line in verdict(verification)[:-1]),
            "",
            "**Read first** the artifact `hush-review` of this run (tab *Artifacts*): the promise, what it leaves "
            "out, what nothing could check, the secrets nearest to their targets.",
        ]
    )


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
    model_uri: str,
    into: Path,
    progress: Progress | None = None,
    *,
    chained: bool = True,
    trust: TrustRoot | None = None,
) -> tuple[Verification, str]:
    """Download a version to `into` and verify it, who signed it, and that it counts what earlier versions knew of
    runs; asked for by the champion's alias, that a review put it there.

    Returns the verification and a hash of all bytes. `chained`: whether the earlier versions are looked at.
    `trust`: whose signatures count, instead of the environment's.
    """
    trust = trust or trust_root()
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
    verification = with_audit(verification, entry)
    root = model_dir.parent
    signed = check_signature(verification.certificate, root / certificate_dir.name, trust, whole=root)
    verification = replace(verification, signature=signed)
    if model_uri.endswith(f"@{CHAMPION}"):
        verification = replace(verification, approval=_approval(entry, verification, trust))
    return verification, f"{directory_sha256(certificate_dir)} {directory_sha256(model_dir.parent)}"


def certificate_digest(folder: Path) -> str:
    """Of the certificate that `verify_registered` downloaded to a folder and verified."""
    return file_sha256(folder / "certificate" / "certificate.json")


def _approval(entry: ModelVersion, verification: Verification, trust: TrustRoot | None) -> str:
    if trust is None and verification.certificate.facts.store != home().fingerprint("identity"):
        return "NOT CHECKED whether a review put the alias there: that can the home which made the model"
    said = check_approval(entry, trust)
    check_last(entry, trust)
    return said


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


def mark_failed(model_uri: str) -> None:
    """A version that does not verify: champion no more, and to be reviewed anew."""
    dethrone(model_uri)
    entry = find_version(model_uri)
    note_last(entry.name, entry.version, "failed")
    tracker().set_model_version_tag(entry.name, entry.version, STATUS, "failed")
