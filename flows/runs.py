"""The runs whose releases this home counts, and how one of another store comes to be among them."""

from __future__ import annotations

from mlflow.exceptions import MlflowException
from rich.console import Console
from rich.table import Table

from flows.results import CountedRun, CountedRuns
from flows.verify import verify_target
from hush_core.certificate.other_stores import known_runs
from hush_core.errors import InputError, Unavailable
from hush_core.progress import Progress
from tasks.earlier_runs import note_refuted_elsewhere, run_history
from tasks.reachable import check_tracker
from tasks.refutation import refuted_runs
from tasks.runtime.environment import home


def add_runs(target: str, progress: Progress | None = None) -> tuple[int, int]:
    """Count the run of a certificate, and those that it counts, from now on: (added, known already). `target`: a
    certificate's directory, or models:/NAME/VERSION, as for `verify_target`. It may leave out runs of earlier
    versions: what a copy of this home made does, and it counts all the more. So does one that an audit refuted: its
    releases happened. Raises VerificationError: it does not verify. InputError: it is of another identity key, or a
    run is training."""
    verification, history = verify_target(target, progress, chained=False, audited=False), run_history()
    runs = known_runs(verification, identity=home().fingerprint("identity"))
    added = [history.add(run.key, run.record, run.released) for run in runs]
    return sum(added), len(added) - sum(added)


def counted_runs(new: int | None = None, known: int | None = None, *, unasked: str = "") -> CountedRuns:
    """Every run that released anything, and what audits refuted of them; `new`, `known`: of those just added."""
    refuted = {run: f"{found.model}: {found.in_words()}" for run, found in refuted_runs().items()}
    rows = run_history().listed().iter_rows(named=True)
    runs = [CountedRun(**row, refuted=refuted.get(row["key"])) for row in rows]
    return CountedRuns(runs=runs, new=new, known=known, unasked=unasked)


def ask_registry() -> str:
    """Learn from the registry that the environment names what other homes refuted of these runs. Returns why it was
    not asked, where one is named and does not answer; else empty."""
    try:
        check_tracker()
        note_refuted_elsewhere()
    except (InputError, Unavailable, MlflowException) as error:
        return " ".join(str(error).split())
    return ""


def render_runs(counted: CountedRuns, console: Console) -> None:
    """One row a run that released anything, the last one last; below, what refuted which."""
    if not counted.runs:
        console.print("No run of this home has released anything.")
        return
    table = Table("run", "noted (UTC)", "σ", "rounds", "released", "secrets", "store", "audit", box=None)
    for run in counted.runs:
        sigma = rounds = secrets = "?"
        if run.rounds is not None:
            sigma, rounds, secrets = f"{run.noise_multiplier:.4g}", f"{run.rounds:,}", f"{run.secrets:,}"
        where, audit = "another" if run.added else "this", "REFUTED" if run.refuted else ""
        when = f"{run.noted:%Y-%m-%d %H:%M}" if run.noted else "?"
        table.add_row(run.key[:12], when, sigma, rounds, f"{run.released:,}", secrets, where, audit)
    console.print(table)
    if any(run.rounds is None for run in counted.runs):
        console.print("? does not say how it drew, so that nothing is promised over all runs")
    for run in counted.runs:
        if run.refuted:
            line = f"run {run.key[:12]} was refuted, and with it all bounds that count it: {run.refuted}"
            console.print(line, markup=False, soft_wrap=True)
    if counted.unasked:
        line = f"whether another home refuted one of them was not asked: {counted.unasked}"
        console.print(line, markup=False, soft_wrap=True)
