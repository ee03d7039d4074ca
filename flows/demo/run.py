"""`hush demo`: the main job on real code with planted credentials, whether each was found, and an audit."""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path

import polars as pl
from rich.console import Console

from flows.audit import audit
from flows.demo.repository import Demo, build_demo_repository
from flows.reports.job import Report
from flows.train import train
from hush_core.auditing.document import AUDIT, REFUTED, read_audit
from hush_core.errors import VerificationError
from hush_core.progress import WholeJob
from tasks.runtime.environment import home
from tasks.runtime.progress import WHOLE

ALTERNATIVES = 300
"""That the audit ranks each value among: with fewer than 199, ranks can refute nothing."""
STAGES = (
    ("detect, %", 7), ("calibrating", 12), ("pretrain", 10), ("untagged", 60), ("train", 20), ("exposure", 3),
    ("exposure", 3), ("unprotected", 49), ("exposure", 3), ("secrets attacked", 8), ("secrets attacked", 1),
    ("secrets attacked", 4), ("secrets attacked", 4), ("k-extraction, start model", 4),
)  # fmt: skip
"""Seconds from the end of the stage before to the end of each, in one run on one core."""


def run_demo(directory: Path, console: Console, *, full: bool = False) -> Report:
    """Build the repository, run the job on it, attack what comes out; the report, with what was found of both."""
    demo = build_demo_repository(directory, full=full)
    console.print(f"built {demo.repository}: {len(demo.planted)} planted values, commit {demo.commit[:12]}")
    WHOLE.append(WholeJob(STAGES, time.monotonic()))
    try:
        report = train(str(demo.config))
        found = planted_found(demo, {row.name for row in report.rows}, home().identity_key())
        report = report.model_copy(update={"planted": len(demo.planted), "planted_found": found})
        return audited(report, directory / "audit")
    finally:
        WHOLE.clear()


def audited(report: Report, out: Path) -> Report:
    """The report with what `hush audit` finds of its version beside what is certified; pictures in `out`.

    The report names a refutation: the flow has recorded it, and the caller fails.
    """
    try:
        audit(report.model_uri, ALTERNATIVES, str(out))
    except VerificationError as error:
        if not (out / AUDIT).is_file():
            raise error from None
    document = read_audit((out / AUDIT).read_bytes(), str(out))
    table = pl.read_parquet(out / "secrets.parquet")
    found = {row["name"]: row for row in table.iter_rows(named=True)}
    rows = [
        row.model_copy(update={"attacked": one["written"], "every_step": one["every_step"]})
        for row, one in ((row, found[row.name]) for row in report.rows)
    ]
    audited = {"rows": rows, "audit": document.in_words(), "audit_refuted": document.outcome == REFUTED}
    return report.model_copy(update=audited | {"audit_picture": str(out / "audit.png")})


def planted_found(demo: Demo, names: set[str], identity_key: bytes) -> int:
    """How many planted values are secrets of the run: a secret's name ends in an HMAC of its value."""
    marks = {name.rpartition(":")[2] for name in names}
    return sum(not marks.isdisjoint(_marks(value, identity_key)) for value in demo.planted.values())


def _marks(value: bytes, identity_key: bytes) -> set[str]:
    """The marks under which a value may be named: its own, or that of a PEM block's body."""
    forms = [value]
    if value.startswith(b"-----BEGIN"):
        forms.append(value.split(b"-----")[2].strip())
    return {hmac.new(identity_key, form, hashlib.sha256).hexdigest()[:12] for form in forms}
