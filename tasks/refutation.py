"""What audits of this home refuted, and what rests on it: asked by all that hands a model on or builds upon one.

An audit that refutes is kept for good (HUSH_HOME/store/audits), by its certificate, by the model's files and by the
run that trained them. It holds for every certificate of that model, and for every model that starts from the run's
releases. No bound of all runs that counts the run is proved any more (docs/mathematics.md, Proposition 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hush_core.certificate import Certificate, read_certificate, read_tables
from hush_core.errors import VerificationError
from hush_core.files import files_digest, hash_directory, private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.store import Ref, open_store

if TYPE_CHECKING:
    from hush_core.auditing.document import AuditDocument

FOLDER = "audits"
"""Of the home's store, a document a certificate; and of the tracker's run, its artifacts."""
MODEL, RUN = "model-", "run-"
"""Begin the names of a document that refuted a model, whatever its certificate; and a run, whatever its model."""


class AuditVerdict(NamedTuple):
    """What audits say of a certificate, in words (empty: nothing), and whether it is worth nothing for them."""

    words: str
    refuted: bool


def keep(document: AuditDocument, *runs: str) -> None:
    """Keep a signed document; one that refutes is never replaced by one that does not. `runs`: the public names
    of the run that trained the model and, where it made no certified round, of the one whose releases the model
    holds."""
    from hush_core.auditing.document import REFUTED

    folder, known = private_folder(_folder()), kept(document.certificate_digest, document.model_files)
    if document.outcome == REFUTED:  # first what most looks at, as a kill may come between
        for name in (*(f"{RUN}{run}" for run in runs), f"{MODEL}{document.model_files}"):
            write_whole(folder / f"{name}.json", document.to_bytes())
    if known is None or known.outcome != REFUTED:
        write_whole(folder / f"{document.certificate_digest}.json", document.to_bytes())


def kept(digest: str, model_files: str) -> AuditDocument | None:
    """What this home keeps of a certificate: an audit that refuted any of its model comes first."""
    for name in (f"{MODEL}{model_files}", digest):
        path = _folder() / f"{name}.json"
        if path.is_file():
            return _read(path)
    return None


def refuted_model(model: Path) -> bool:
    """Whether an audit of this home refuted the model whose files are in this folder."""
    return (_folder() / f"{MODEL}{files_digest(hash_directory(model))}.json").is_file()


def refuted_runs() -> dict[str, AuditDocument]:
    """By the public names of runs, the audits of this home that refuted their models."""
    paths = sorted(_folder().glob(f"{RUN}*.json"))
    return {path.stem.removeprefix(RUN): _read(path) for path in paths}


def standing(certificate: Certificate, counted: Iterable[str]) -> AuditVerdict:
    """What this home's audits say of a certificate that counts these earlier runs."""
    found = kept(certificate.digest, files_digest(certificate.model_files))
    return standing_from(certificate, counted, refuted_runs(), found)


def runs_in_model(certificate: Certificate) -> tuple[str, ...]:
    """The public names of the run that made a model and, where that made no certified round, of the one whose
    releases are in it."""
    facts = certificate.facts
    started = facts.training.started_from
    return (facts.run, started) if started and not facts.plan.rounds else (facts.run,)


def refuse_refuted(certificate: Ref) -> None:
    """A job that is answered by steps done before must not hand out what an audit has refuted since. Raises
    VerificationError: an audit of this home refuted the model of this certificate, or what it rests on."""
    if words := refuted_answer(open_store().path(certificate)):
        raise VerificationError(
            [
                f"this job was done before, and its answer is no success any more: {words}. Find what broke it "
                "(`hush audit --code`; the priors of the secrets that the audit names); a job with another config, "
                "commit or hush is trained again"
            ]
        )


def refuted_answer(folder: Path) -> str:
    """Why the model of the certificate in this folder is no answer any more; empty where it is one."""
    if not any(_folder().glob(f"{RUN}*.json")):
        return ""
    certificate, runs = read_certificate(folder), read_tables(folder)["runs.parquet"]["key"].to_list()
    stands = standing(certificate, runs)
    return stands.words if stands.refuted else ""


def standing_from(
    certificate: Certificate,
    counted: Iterable[str],
    refuted: dict[str, AuditDocument],
    found: AuditDocument | None,
) -> AuditVerdict:
    """A certificate with its own audit, if there is one, and with those that refuted runs.

    A model that starts from another has the bounds of all runs for its promise. All runs whose releases it may hold
    are counted there: if one of them is refuted, nothing about this model is proved any more. `counted`: public
    names of the earlier runs of its bounds of all runs. refuted: by such names."""
    refuting = found is not None and found.outcome == "refuted"
    words = [found.in_words()] if found else []
    if refuting:
        return AuditVerdict(words[0], refuted=True)
    broken = [(run, refuted[run]) for run in sorted(set(counted)) if run in refuted]
    if not broken:
        return AuditVerdict("".join(words), refuted=False)
    run, why = broken[0]
    which = f"run {run[:12]}" + (f" and {len(broken) - 1} more" if len(broken) > 1 else "")
    continued = certificate.facts.training.started_from is not None
    sentence = (
        f"REFUTED with {which}: this model continues earlier runs, its promise is the bound of all of them, and "
        f"that counts on a run whose model was refuted ({why.model}: {why.in_words()})"
        if continued
        else f"of all runs together NOTHING is promised any more: {which}, which those bounds count, was refuted "
        f"({why.model}: {why.in_words()}); the bounds of this run alone hold"
    )
    return AuditVerdict("; ".join([*words, sentence]), refuted=continued)


def _read(path: Path) -> AuditDocument:
    # torch comes with its package: only where there is one
    from hush_core.auditing.document import read_audit

    return read_audit(path.read_bytes(), str(path))


def _folder() -> Path:
    return home().store / FOLDER
