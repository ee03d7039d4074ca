"""The report of a job on one screen of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from flows.reports.job_report import Report
from flows.reports.job_table import MOST_ROWS, WIDTH, table
from hush_core.figures import METHOD_LABELS
from tasks.wording import batch_in_words

MOST_WARNINGS = 5
MOST_WAYS = 6


def render(report: Report, console: Console) -> None:
    """Print the report: at most 45 lines, of 100 columns but for paths and warnings, which are left whole."""

    def show(lines: Iterable[tuple[str, str]]) -> None:
        for label, text in lines:
            console.print(f"[bold]{label:<10}[/bold]{text}", soft_wrap=True)

    console.print()
    reused = "  [dim](reused: nothing was trained)[/dim]" if report.reused else ""
    console.print(f"[bold green]hush[/bold green]  {escape(report.model_uri)}{reused}", soft_wrap=True)
    if sentence := in_a_sentence(report):
        console.print(f"[bold]{sentence}[/bold]", width=WIDTH)
    show(data(report))
    show(training(report))
    show(_measured(report))
    if report.rows:
        console.print(table(report), width=WIDTH)
    hidden = len(report.rows) - MOST_ROWS
    if hidden > 0:
        console.print(f"[dim]… and {hidden:,} more secrets: table `bounds` of the run[/dim]")
    for warning in report.warnings[:MOST_WARNINGS]:
        console.print(f"[yellow]![/yellow] {escape(warning)}", soft_wrap=True)
    if len(report.warnings) > MOST_WARNINGS:
        console.print(f"[dim]… and {len(report.warnings) - MOST_WARNINGS} more warnings[/dim]")
    show(_next(report))


Lines = Iterator[tuple[str, str]]
"""Label and text of each."""


def data(report: Report) -> Lines:
    """What was found, and which way it went."""
    held = f"{report.secrets:,} in {report.examples:,} examples ({report.edges:,} edges)"
    if not report.edges:
        held = f"[bold]none is left[/bold] in any of {report.examples:,} examples: redacted or left out"
    yield "secrets", held
    for number, way in enumerate(report.ways[:MOST_WAYS]):
        yield "" if number else "ways", escape(way)
    if report.mechanism:
        yield "mechanism", escape(report.mechanism)
    if report.edges:
        of = "the examples" if report.without_secret == "noise" else "those with a secret"
        kept = f"{report.weight_retained:.1%} retained, {report.examples_kept:.1%} of {of} kept"
        solved = "" if report.mechanism else f"(the program solved within {max(report.gap, 0.0):.1e})"
        yield "weight", f"{kept} {solved}"


def training(report: Report) -> Lines:
    """Noise, rounds and model."""
    if report.goes_on_from:
        yield "continues from", f"{escape(report.goes_on_from)}, whose releases are counted in"
    if report.untagged_steps is not None:
        yield (
            "no secret",
            f"{report.trained_without_noise:,} examples trained on [bold]without noise[/bold], "
            f"{report.untagged_steps} steps; what no entry names may be memorised",
        )
    if report.noise_multiplier is not None:
        yield "noise", noise_in_words(report)
    if report.paper_noise and report.noise_multiplier and report.method != "kl":
        times = report.paper_noise / report.noise_multiplier
        paper = f"kl on the paper's own weights of equal sum: {report.paper_noise:.3g}"
        yield "", f"{paper}, [bold]{times:.3g} times[/bold] as much"
    chosen = (
        f" [dim](best of {report.rates_rehearsed} on public text)[/dim]" if report.rates_rehearsed else ""
    )
    rate = "" if report.learning_rate is None else f", learning rate {report.learning_rate:g}{chosen}"
    yield "model", f"{escape(report.model)}{rate}"
    yield "training", rounds_in_words(report)
    if runs := runs_so_far_in_words(report):
        yield "runs", runs


def _measured(report: Report) -> Lines:
    """Losses and attacks."""
    if report.losses:
        yield "loss", " · ".join(f"{name} {value:.3f}" for name, value in report.losses.items())
        unit = f"[dim]bits per {report.loss_unit} on held-out text without a secret[/dim]"
        yield "", f"{unit}{_share(report.gain)}"
    if any(value is not None for value in report.tagged_losses.values()):
        bits = " · ".join(f"{name} {value:.3f}" for name, value in report.tagged_losses.items() if value)
        yield "", f"{bits} [dim]on held-back text WITH one[/dim]{_share(report.tagged_gain)}"
    if any(row.rank is not None for row in report.rows):
        yield "attack", _came_out(report)
    if report.audit:
        yield "audit", _audit(report)
    if report.redacted is not None:
        yield "redacted", report.redacted.in_words()


def _next(report: Report) -> Lines:
    """Where to look, and what to do with the model."""
    yield "look", escape(report.run_url or f"mlflow ui --app-name hush --backend-store-uri {report.tracker}")
    if report.page:
        yield "page", _short(report.page)
    yield "check", escape(f"hush verify {report.model_uri}")
    yield "decide", escape(f"hush review {report.model_uri}")
    yield "proof", _short(report.certificate_dir)


def _short(path: str) -> str:
    return escape(path.replace(str(Path.home()), "~", 1))


def noise_in_words(report: Report) -> str:
    text = f"σ = [bold]{report.noise_multiplier:.3g}[/bold] by {report.method}"
    others = {m: s for m, s in report.noise_by_method.items() if m != report.method}
    if not others:
        return text
    shown = " · ".join(f"{METHOD_LABELS.get(m, m)} {s:.3g}" if s else f"{m} -" for m, s in others.items())
    return f"{text} [dim](on these weights {shown})[/dim]"


def rounds_in_words(report: Report) -> str:
    if not report.rounds:
        quiet = "no text of a secret is new since the runs before"
        return f"no certified round: {'the mechanism makes none' if report.mechanism else quiet}"
    batch = batch_in_words(report.expected_batch, report.cycle_batch)
    return f"{report.rounds_released} of {report.rounds} rounds released, {batch}, clip norm {report.clip_norm:g}"


def runs_so_far_in_words(report: Report) -> str:
    """Empty where this run is the only one and alone is promised."""
    before = report.earlier_runs
    if not (report.promised_runs or before):
        return ""
    text = f"after {before} earlier {'one' if before == 1 else 'ones'} in this store"
    if report.promised_runs:
        text = f"{before + 1} of {report.promised_runs} that keep every target together"
        if not report.rounds:
            text = f"{before} of {report.promised_runs} made, and this one is not one of them"
    if report.worst_of_all_runs is None:
        return f"{text}; nothing is promised of all together"
    return f"{text}; worst bound of all together [bold]{report.worst_of_all_runs:.3g}[/bold] of its target"


def _share(gain: float | None) -> str:
    return "" if gain is None else f": [bold]{gain:.0%}[/bold] of the unprotected gain"


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


def _audit(report: Report) -> str:
    """Certified above, attacked below: how near the attacks came, and where the picture is."""
    near = max(
        (row.every_step / row.bound for row in report.rows if row.every_step is not None), default=None
    )
    worst = max((row.attacked / row.bound for row in report.rows if row.attacked is not None), default=None)
    said = "[red]REFUTED[/red]" if report.audit_refuted else "not refuted"
    if near is not None:
        said += f"; [bold]best guess[/bold] at every noisy step: {near:.0%} of its bound at most"
    if worst is not None:
        said += f"; [bold]written[/bold] out by the model: {worst:.2g} of it"
    if report.audit_picture:
        said += f" [dim]({_short(report.audit_picture)})[/dim]"
    return said


AS_WELL = 0.95
"""Of the unprotected gain on held-out text: from here on, the protected model learned it as well."""


def in_a_sentence(report: Report) -> str:
    """Empty where no value was attacked."""
    attacked = [row for row in report.rows if row.rank is not None]
    if not attacked:
        return ""
    parts = []
    if report.planted is not None:
        missed = f", {n} NOT" if (n := report.planted - (report.planted_found or 0)) else ""
        parts.append(f"{report.planted_found} of {report.planted} planted secrets found{missed}")
    own = sum(bool(row.extracted) for row in attacked)
    if any(row.unprotected_rank is not None for row in attacked):
        bare = sum(bool(row.unprotected_extracted) for row in attacked)
        parts.append(f"the unprotected model gave away {bare or 'none'}, the protected one {own or 'none'}")
    else:
        parts.append(f"the protected model gave away {own or 'none'} of {len(attacked)} secrets")
    if report.gain is not None:
        parts.append(learned(report.gain))
    if report.tagged_gain is not None:
        parts.append(f"certified rounds learn {report.tagged_gain:.0%} of what text with a secret teaches")
    if report.audit_refuted:
        parts.append("an attack REFUTED the certificate")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def learned(gain: float) -> str:
    """What became of text without a secret, by its share of the unprotected gain."""
    if gain >= AS_WELL:
        return "text without a secret is learned as well"
    return f"text without a secret is learned worse ({gain:.0%} of what it could gain)"
