"""The runs whose releases this home counts, and how one of another store comes to be among them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from flows.results import CountedRun, CountedRuns
from flows.verify import verify_target
from hush_core.certificate.other_stores import known_runs
from hush_core.progress import Progress
from tasks.earlier_runs import run_history
from tasks.runtime.environment import home


def add_runs(target: str, progress: Progress | None = None) -> tuple[int, int]:
    """Count the run of a certificate, and those that it counts, from now on: (added, known already).

    Args:
        target: a certificate's directory, or models:/NAME/VERSION, as for `verify_target`.

    Raises:
        VerificationError: it does not verify. InputError: it is of another identity key, or a run is training.
    """
    verification, history = verify_target(target, progress), run_history()
    runs = known_runs(verification, identity=home().fingerprint("identity"))
    added = [history.add(run.key, run.record, run.released) for run in runs]
    return sum(added), len(added) - sum(added)


def counted_runs(new: int | None = None, known: int | None = None) -> CountedRuns:
    """Every run that released anything; `new`, `known`: of those just added."""
    runs = [CountedRun(**row) for row in run_history().listed().iter_rows(named=True)]
    return CountedRuns(runs=runs, new=new, known=known)


def render_runs(console: Console) -> None:
    """One row a run that released anything, in the order of their public names."""
    runs = run_history().listed()
    if not runs.height:
        console.print("No run of this home has released anything.")
        return
    table = Table("run", "σ", "rounds", "released", "secrets", "store", box=None)
    for run in runs.iter_rows(named=True):
        known = run["rounds"] is not None
        told = (
            (f"{run['noise_multiplier']:.4g}", f"{run['rounds']:,}", f"{run['secrets']:,}")
            if known
            else ("?",) * 3
        )
        sigma, rounds, secrets = told
        where = "another" if run["added"] else "this"
        table.add_row(run["key"][:12], sigma, rounds, f"{run['released']:,}", secrets, where)
    console.print(table)
    if runs["rounds"].null_count():
        console.print("? does not say how it drew, so that nothing is promised over all runs")
