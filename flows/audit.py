"""Attack a registered model with what its home knows, and compare the result with its certificate.

An attack that finds more than the certificate allows refutes the version, and the flow fails. A decision, signed
with the home's key, tags the version with the evidence; it loses the alias `champion`.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from flows.reports.page.publish import publish_audit
from flows.reports.verification import audit_page
from flows.review import check_registered
from hush_core import figures
from hush_core.auditing.document import AUDIT, REFUTED, AuditDocument
from hush_core.certificate import Certificate
from hush_core.config import load_config
from hush_core.errors import InputError, VerificationError
from hush_core.files import file_sha256, files_digest
from tasks.audit import (
    AuditInputs,
    Losses,
    calibrate_losses,
    extract_texts,
    find_inputs,
    member_texts,
    rank_values,
    write_values,
)
from tasks.audit_record import record_audit, signed
from tasks.audit_tables import (
    Measured,
    Tested,
    extraction_facts,
    infer_units,
    measure_membership,
    test_against_certificate,
)
from tasks.certificate import code_versions
from tasks.leftovers import claim_flow_run
from tasks.models import Model
from tasks.refutation import runs_in_model
from tasks.runtime.environment import home
from tasks.runtime.flow_runs import named
from tasks.runtime.progress import suspendable
from tasks.runtime.store import Ref, Store, open_store
from tasks.runtime.versions import CHAMPION, find_version

ALTERNATIVES = 1000


class AuditReport(BaseModel):
    """What an audit came to; `folder` holds its tables and pictures where they were asked for."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_uri: str
    document: AuditDocument
    rows: list[dict[str, Any]]
    """Of `hush_core.auditing.against_certificate.TABLE`."""
    folder: str | None = None


@flow(name="audit", flow_run_name=named("audit", "model_uri"), validate_parameters=True)
@suspendable
def audit(
    model_uri: str | None = None,
    alternatives: int = ALTERNATIVES,
    out: str | None = None,
    config_file: str | None = None,
) -> AuditReport | None:
    """Verify a registered version, attack it, and record what was found beside it.

    Args:
        model_uri: `models:/NAME/VERSION` or `models:/NAME@ALIAS`.
        alternatives: strings of its form among which each value is ranked.
        out: a folder for tables and pictures.
        config_file: without a model's URI, the champion of this job's model is audited; without a champion, nothing
            is done. For schedules.

    Raises:
        VerificationError: the certificate does not hold, or an attack found more than it allows.
        InputError: this home lacks the texts and values that an attack needs.
    """
    claim_flow_run()
    if alternatives < 1:
        raise InputError("alternatives", "is below 1", "give a whole number, as 1000")
    model_uri = model_uri or _champion(config_file)
    if model_uri is None:
        return None
    entry, store = find_version(model_uri), open_store()
    fixed = f"models:/{entry.name}/{entry.version}"
    with open_store().scratch() as folder:
        verification, _ = check_registered(fixed, Path(folder))
        certificate = store.put_directory(Path(folder) / "certificate", kind="certificate")
        files = store.put_directory(Path(folder) / "artifact" / "model", kind="model")
    inputs = find_inputs(store, verification.certificate.digest, fixed)
    trained = Model(files=files, bits=None, unit=inputs.start.unit)
    tested = _test(trained, inputs, certificate, alternatives)
    texts = member_texts(inputs, certificate)
    losses = calibrate_losses(trained, inputs.start, texts)
    measured = {
        "extracted_texts": extraction_facts(extract_texts(trained, inputs.start, texts)),
        "texts_at_risk": measure_membership(losses, texts),
        "user_inference": infer_units(losses, certificate),
    }
    return publish(fixed, verification.certificate, tested, measured, losses, out)


def _champion(config_file: str | None) -> str | None:
    """The promoted version of a job's model; None where none is."""
    if config_file is None:
        raise InputError("model_uri", "names no model", "write models:/NAME/VERSION, or give a config")
    name = load_config(Path(config_file), command="audit").tracking.model
    try:
        entry = find_version(f"models:/{name}@{CHAMPION}")
    except InputError:
        get_run_logger().info("no version of %s is %s: nothing to audit", name, CHAMPION)
        return None
    return f"models:/{entry.name}/{entry.version}"


def _test(trained: Model, inputs: AuditInputs, certificate: Ref, alternatives: int) -> Tested:
    """The attacks on values, by the model after its rounds and before them, against the certificate."""
    models = (trained, inputs.start)

    def attacked(redacted: bool) -> tuple[tuple[Ref, Ref], tuple[Ref, Ref]]:
        written = [write_values(model, inputs, redacted=redacted) for model in models]
        ranked = [rank_values(model, inputs, alternatives, redacted=redacted) for model in models]
        return tuple(written), tuple(ranked)

    written, ranked = attacked(redacted=False)
    redacted = None
    if open_store().read_frame(inputs.redactions).height:
        redacted = sum(attacked(redacted=True), ())
    return test_against_certificate(certificate, written, ranked, redacted)


@task(name="publish audit", cache_policy=NO_CACHE)
def publish(
    model_uri: str,
    of: Certificate,
    tested: Tested,
    measured: dict[str, Measured],
    losses: Losses,
    out: str | None,
) -> AuditReport:
    """Tables, pictures and the signed document: beside the version's run, in Prefect and in `out`. Raises
    VerificationError: the audit refutes the certificate; all is recorded before."""
    store = open_store()
    with store.scratch() as scratch:
        folder = Path(scratch)
        files = _tables(store, tested, measured, folder)
        hashes = {path.name: file_sha256(path) for path in files}
        files += _pictures(store, tested, measured, losses, folder)
        document = signed(
            AuditDocument(
                model=model_uri,
                certificate_digest=of.digest,
                model_files=files_digest(of.model_files),
                made_at=datetime.now(UTC).isoformat(timespec="seconds"),
                store=home().fingerprint("identity"),
                outcome=tested.outcome,
                attacks=(*tested.facts, *(one.facts for one in measured.values())),
                tables=hashes,
                code=code_versions(),
            )
        )
        record_audit(model_uri, document, files, *runs_in_model(of))
        if out is not None:
            shutil.copytree(folder, out, dirs_exist_ok=True)
            (Path(out) / AUDIT).write_bytes(document.to_bytes())
    rows = store.read_frame(tested.table).to_dicts()
    publish_audit(model_uri, document, rows)
    page = audit_page(document, rows)
    create_markdown_artifact(page, key="hush-audit", description=f"audit of {model_uri}")
    if document.outcome == REFUTED:
        raise VerificationError([f"{model_uri}: {document.in_words()}"])
    return AuditReport(model_uri=model_uri, document=document, rows=rows, folder=out)


def _tables(store: Store, tested: Tested, measured: dict[str, Measured], folder: Path) -> list[Path]:
    refs = {"secrets": tested.table, "redacted": tested.redacted}
    refs |= {name: one.table for name, one in measured.items()}
    found = []
    for name, ref in refs.items():
        if ref is not None:
            found.append(folder / f"{name}.parquet")
            shutil.copyfile(store.path(ref, verify=True), found[-1])
    return found


def _pictures(
    store: Store, tested: Tested, measured: dict[str, Measured], losses: Losses, folder: Path
) -> list[Path]:
    found = [figures.audit_against_certificate(store.read_frame(tested.table), folder / "audit.png")]
    members, others = (store.read_frame(ref) for ref in (losses.members, losses.others))
    if members.height and others.height:
        found.append(figures.samples_at_risk(members, others, folder / "texts_at_risk.png"))
    if (curves := measured["user_inference"].curves) is not None:
        found.append(figures.inference_curves(store.read_frame(curves), folder / "user_inference.png"))
    return found
