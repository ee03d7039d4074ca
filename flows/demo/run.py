"""`hush demo`: the main job on real code with planted credentials, and whether each of them was found."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from rich.console import Console

from flows.demo.repository import Demo, build_demo_repository
from flows.reports.job import Report
from flows.reports.job_screen import render
from flows.train import train
from tasks.runtime.environment import home


def run_demo(directory: Path, console: Console) -> Report:
    """Build the repository, run the job on it, print the one-screen report."""
    demo = build_demo_repository(directory)
    console.print(f"built {demo.repository}: {len(demo.planted)} planted values, commit {demo.commit[:12]}")
    report = train(str(demo.config))
    found = planted_found(demo, {row.name for row in report.rows}, home().identity_key())
    report = report.model_copy(update={"planted": len(demo.planted), "planted_found": found})
    render(report, console)
    return report


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
