"""The one-screen report of a job: what the flow returns and the terminal shows. Never a secret's value."""

from __future__ import annotations

from pathlib import Path

import mlflow
import polars as pl
from prefect.context import FlowRunContext
from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports.job_rows import RedactedRow, SecretRow, redacted_row
from flows.reports.job_warnings import warnings_of
from hush_core.certificate import read_tables
from hush_core.config import HushConfig
from hush_core.figures import METHOD_LABELS, short_name
from tasks.description import model_in_words
from tasks.outcome import Outcome, all_runs, gain, losses
from tasks.runtime.registry import Registered
from tasks.runtime.store import Store

MOST_ROWS = 15
MOST_WARNINGS = 5
WIDTH = 100


class Report(BaseModel):
    """What a job came to. JSON-able; `rows` has every secret, by secret_id."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_uri: str
    run_url: str | None
    """Where a tracking server shows the run; None where the tracker is a local file."""
    tracker: str
    certificate_dir: str
    examples: int
    public_examples: int
    secrets: int
    edges: int
    planted: int | None = None
    planted_found: int | None = None
    weight_retained: float
    """Of the examples that the certified rounds may draw, as is `examples_kept`."""
    examples_kept: float
    without_secret: str
    trained_without_noise: int
    """Examples without a secret that ordinary training saw before the first round."""
    untagged_steps: int | None
    """Of ordinary training on them, up to the best on validation text; None where there was none."""
    gap: float
    noise_multiplier: float
    method: str
    noise_by_method: dict[str, float | None]
    """On these weights."""
    paper_noise: float | None
    """The paper's method on the paper's own program, at equal retained weight."""
    rounds: int
    rounds_released: int
    promised_runs: int | None = None
    """So many runs keep every target together; None: this one alone is promised."""
    earlier_runs: int = 0
    """The most that any secret had."""
    worst_of_all_runs: float | None = None
    """The largest bound/target over all runs; None where nothing is promised of them."""
    expected_batch: int
    clip_norm: float
    model: str
    learning_rate: float
    rates_rehearsed: int
    """Learning rates that were played through on public text to choose this one; 0 where one was given."""
    rows: list[SecretRow]
    losses: dict[str, float]
    """Bits per `loss_unit` on held-out examples without a secret, by model."""
    loss_unit: str
    gain: float | None
    """The share of what unprotected training gains on held-out text that the protected model gains too."""
    tagged_losses: dict[str, float | None]
    """The same on examples with a secret that were held back; released WITHOUT noise, as the config asks."""
    reused: bool
    """Nothing was trained: the model and its certificate are those of an earlier run."""
    redacted: RedactedRow | None = None
    warnings: list[str]


def build_report(config: HushConfig, outcome: Outcome, registered: Registered, store: Store) -> Report:
    """Gather the report of a finished job from its tables."""
    extracted, weighed, calibrated = outcome.extracted, outcome.weighed, outcome.calibrated
    certificate = store.path(outcome.certificate)
    rows, together = _rows(store, outcome), all_runs(store, outcome)
    return Report(
        model_uri=registered.model_uri,
        run_url=registered.link,
        tracker=mlflow.get_tracking_uri(),
        certificate_dir=str(certificate),
        examples=extracted.n_examples,
        public_examples=extracted.n_public,
        secrets=extracted.n_secrets,
        edges=extracted.n_edges,
        weight_retained=weighed.retained,
        examples_kept=weighed.kept,
        without_secret=config.weights.without_secret,
        trained_without_noise=weighed.trained_plain,
        untagged_steps=outcome.untagged.steps if outcome.untagged else None,
        gap=weighed.gap,
        noise_multiplier=calibrated.noise_multiplier,
        method=calibrated.method,
        noise_by_method={m: c.noise_multiplier if c else None for m, c in outcome.by_method.items()},
        paper_noise=outcome.by_paper,
        rounds=calibrated.rounds,
        rounds_released=outcome.trained.rounds_released,
        promised_runs=config.promise.runs if config.promise else None,
        earlier_runs=together.most,
        worst_of_all_runs=together.worst,
        expected_batch=calibrated.expected_batch,
        clip_norm=calibrated.clip_norm,
        model=model_in_words(config),
        learning_rate=outcome.learning_rate,
        rates_rehearsed=len(outcome.tried),
        rows=rows,
        losses=losses(outcome),
        gain=gain(outcome),
        tagged_losses=outcome.tagged_bits,
        loss_unit=outcome.trained.model.unit,
        reused=_older_than_this_run(certificate),
        redacted=redacted_row(outcome),
        warnings=warnings_of(config, outcome, store, rows),
    )


def _rows(store: Store, outcome: Outcome) -> list[SecretRow]:
    attack = ["secret_id", "rank", "alternatives", "exposure_bits", "extracted"]
    read = store.read_frame
    certified = read_tables(store.path(outcome.certificate))["bounds.parquet"]
    together = certified.select("secret_id", "earlier_runs", "all_runs")
    table = (
        read(outcome.calibrated.bounds)
        .select("secret_id", "examples", "prior", pl.col("posterior").alias("target"), "bound")
        .join(read(outcome.extracted.secrets).select("secret_id", "kind", "name"), on="secret_id", how="left")
        .join(together, on="secret_id", how="left")
        .join(read(outcome.attacked.table).select(attack), on="secret_id", how="left")
    )
    before = read(outcome.before_attacked.table).select("secret_id", before_rank="rank")
    table = table.join(before, on="secret_id", how="left")
    if outcome.unprotected_attacked:
        bare = read(outcome.unprotected_attacked.table).select(attack).drop("alternatives")
        bare = bare.rename({c: f"unprotected_{c}" for c in bare.columns if c != "secret_id"})
        table = table.join(bare, on="secret_id", how="left")
    return [SecretRow(**row) for row in table.sort("secret_id").drop("secret_id").iter_rows(named=True)]


def _older_than_this_run(certificate: Path) -> bool:
    run = FlowRunContext.get()
    return run is not None and certificate.stat().st_mtime < run.start_time.timestamp()


def render(report: Report, console: Console) -> None:
    """Print the report: at most 45 lines, of 100 columns but for paths and warnings, which are left whole."""

    def line(label: str, text: str) -> None:
        console.print(f"[bold]{label:<10}[/bold]{text}", soft_wrap=True)

    console.print()
    reused = "  [dim](reused: nothing was trained)[/dim]" if report.reused else ""
    console.print(f"[bold green]hush[/bold green]  {escape(report.model_uri)}{reused}", soft_wrap=True)
    planted = ""
    if report.planted is not None:
        planted = f"; [bold]{report.planted_found} of {report.planted}[/bold] planted values found"
    line("secrets", f"{report.secrets:,} in {report.examples:,} examples ({report.edges:,} edges){planted}")
    of = "the examples" if report.without_secret == "noise" else "those with a secret"
    line(
        "weight",
        f"{report.weight_retained:.1%} retained, {report.examples_kept:.1%} of {of} kept "
        f"(the program solved within {max(report.gap, 0.0):.1e})",
    )
    if report.untagged_steps is not None:
        line(
            "no secret",
            f"{report.trained_without_noise:,} examples trained on [bold]without noise[/bold], "
            f"{report.untagged_steps} steps; no entry names anything in them",
        )
    line("noise", _noise(report))
    if report.paper_noise and report.method != "kl":
        line("", _paper(report, report.paper_noise))
    chosen = (
        f" [dim](best of {report.rates_rehearsed} on public text)[/dim]" if report.rates_rehearsed else ""
    )
    line("model", f"{escape(report.model)}, learning rate {report.learning_rate:g}{chosen}")
    line(
        "training",
        f"{report.rounds_released} of {report.rounds} rounds released, "
        f"expected batch {report.expected_batch}, clip norm {report.clip_norm:g}",
    )
    if report.promised_runs or report.earlier_runs:
        line("runs", _runs(report))
    if report.losses:
        bits = " · ".join(f"{name} {value:.3f}" for name, value in report.losses.items())
        line("loss", bits)
        share = "" if report.gain is None else f": [bold]{report.gain:.0%}[/bold] of the unprotected gain"
        line("", f"[dim]bits per {report.loss_unit} on held-out text without a secret[/dim]{share}")
    if any(value is not None for value in report.tagged_losses.values()):
        bits = " · ".join(f"{name} {value:.3f}" for name, value in report.tagged_losses.items() if value)
        line("", f"{bits} [dim]on held-back text WITH one[/dim]")
    if any(row.rank is not None for row in report.rows):
        line("attack", _came_out(report))
    if report.redacted is not None:
        line("redacted", report.redacted.in_words())
    console.print(_table(report), width=WIDTH)
    hidden = len(report.rows) - MOST_ROWS
    if hidden > 0:
        console.print(
            f"[dim]… and {hidden:,} more secrets: table `bounds` of the run, or the certificate[/dim]"
        )
    for warning in report.warnings[:MOST_WARNINGS]:
        console.print(f"[yellow]![/yellow] {escape(warning)}", soft_wrap=True)
    if len(report.warnings) > MOST_WARNINGS:
        console.print(f"[dim]… and {len(report.warnings) - MOST_WARNINGS} more warnings[/dim]")
    line("look", escape(report.run_url or f"mlflow ui --backend-store-uri {report.tracker}"))
    line("check", escape(f"hush verify {report.model_uri}"))
    line("decide", escape(f"hush review {report.model_uri}"))
    line("proof", escape(report.certificate_dir.replace(str(Path.home()), "~", 1)))


def _noise(report: Report) -> str:
    text = f"σ = [bold]{report.noise_multiplier:.3g}[/bold] by {report.method}"
    others = {m: s for m, s in report.noise_by_method.items() if m != report.method}
    if not others:
        return text
    shown = " · ".join(f"{METHOD_LABELS.get(m, m)} {s:.3g}" if s else f"{m} -" for m, s in others.items())
    return f"{text} [dim](on these weights {shown})[/dim]"


def _runs(report: Report) -> str:
    before = report.earlier_runs
    text = f"after {before} earlier {'one' if before == 1 else 'ones'} in this store"
    if report.promised_runs:
        text = f"{before + 1} of {report.promised_runs} that keep every target together"
    if report.worst_of_all_runs is None:
        return f"{text}; nothing is promised of all together"
    return f"{text}; worst bound of all together [bold]{report.worst_of_all_runs:.3g}[/bold] of its target"


def _paper(report: Report, paper: float) -> str:
    times = paper / report.noise_multiplier
    return f"kl on the paper's own weights of equal sum: {paper:.3g}, [bold]{times:.3g} times[/bold] as much"


def _came_out(report: Report) -> str:
    """The attack's summary: how many values each model ranks first, and completes word for word."""
    attacked = [row for row in report.rows if row.rank is not None]

    ranks = {"protected": [row.rank for row in attacked]}
    out = {"protected": [row.extracted for row in attacked]}
    if any(row.unprotected_rank is not None for row in attacked):
        ranks["unprotected"] = [row.unprotected_rank for row in attacked]
        out["unprotected"] = [row.unprotected_extracted for row in attacked]
    ranks["before"] = [row.before_rank for row in attacked]
    first = ", ".join(f"{name} [bold]{sum(r == 1 for r in found)}[/bold]" for name, found in ranks.items())
    whole = ", ".join(f"{name} [bold]{sum(map(bool, found))}[/bold]" for name, found in out.items())
    return f"first of {len(attacked)}: {first}; extracted {whole}"


def telling_rows(rows: list[SecretRow], most: int = MOST_ROWS) -> list[SecretRow]:
    """The rows to show: values that came out or rank high first, then bounds nearest to their targets."""

    def attack(row: SecretRow) -> tuple[bool, bool, float, float]:
        exposed = row.unprotected_exposure_bits or 0.0
        return bool(row.extracted), bool(row.unprotected_extracted), exposed, row.exposure_bits or 0.0

    ranked = sorted((r for r in rows if r.rank is not None), key=attack, reverse=True)
    others = sorted((r for r in rows if r.rank is None), key=lambda r: r.bound / r.target, reverse=True)
    kept = max(most - len(others), most * 2 // 3)
    shown = ranked[:kept]
    return shown + others[: most - len(shown)]


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", caption_style="dim")
    table.add_column("secret", no_wrap=True, overflow="ellipsis", max_width=32)
    for column in ("ex.", "prior", "target", "bound"):
        table.add_column(column, justify="right", no_wrap=True)
    several = any(row.earlier_runs for row in report.rows)
    if several:
        table.add_column("all runs", justify="right", no_wrap=True)
    bare = any(row.unprotected_rank is not None for row in report.rows)
    ranks = max((row.alternatives or 0 for row in report.rows), default=0) + 1
    if ranks > 1:
        table.add_column("before", justify="right", no_wrap=True)
        table.add_column("protected", justify="right", no_wrap=True)
        table.caption_justify = "left"
        table.caption = (
            f"rank of the true value among {ranks} (exposure in bits), before the rounds and after; "
            "OUT: completed word for word. Released WITHOUT noise, as the losses: no bound covers ranks and losses"
        )
        if bare:
            table.add_column("unprotected", justify="right", no_wrap=True)
    for row in telling_rows(report.rows):
        cells = [escape(short_name(row.name)), f"{row.examples:,}"]
        cells += [f"{value:.1e}" for value in (row.prior, row.target, row.bound)]
        if several:
            cells.append(_all_runs(row))
        if ranks > 1:
            cells.append("[dim]-[/dim]" if row.before_rank is None else str(row.before_rank))
            cells.append(_cell(row.rank, row.exposure_bits, row.extracted))
            if bare:
                cells.append(
                    _cell(row.unprotected_rank, row.unprotected_exposure_bits, row.unprotected_extracted)
                )
        table.add_row(*cells)
    return table


def _all_runs(row: SecretRow) -> str:
    if row.all_runs is None:
        return "[red]-[/red]"
    return f"[red]{row.all_runs:.1e}[/red]" if row.all_runs > row.target else f"{row.all_runs:.1e}"


def _cell(rank: int | None, bits: float | None, extracted: bool | None) -> str:
    if rank is None or bits is None:
        return "[dim]-[/dim]"
    text = f"{rank} ({bits:.1f})"
    return f"[red]OUT[/red] {text}" if extracted else text
