"""The price list of a config, for the terminal and for the Prefect UI. Never a secret's value."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports import ways
from flows.reports.plan_report import PlanReport, choices, headline, remedies_in_words, retraining, verdict
from hush_core.figures import short_name
from tasks.publish_plan import PlanRow, Published
from tasks.wording import counted

MOST_RELAXATIONS = 5


def cells(report: PlanReport, row: PlanRow) -> list[str]:
    """One line of the price list."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    paper = report.paper(row)
    sigma = "-" if row.noise_multiplier is None else f"{row.noise_multiplier:.4g}"
    numbers = [
        "-" if row.c is None else f"{row.c:.3g}", sigma, share(row.weight_retained), share(row.protected_retained),
        "-" if row.distinct is None else f"{row.distinct:,.0f}",
    ]  # fmt: skip
    if paper is not None:
        numbers.append(_noise_and_weight(paper))
    return [*numbers, row.note or ("drowned in noise" if row.drowned else "")]


def _noise_and_weight(row: PlanRow) -> str:
    if row.noise_multiplier is None:
        return "-"
    return f"{row.noise_multiplier:.4g} at {row.weight_retained:.1%}"


def headers(report: PlanReport) -> list[str]:
    names = ["c", "noise σ", "weight", "with secrets", "distinct seen"]
    return [*names, *(["by the paper's kl"] if report.method != "kl" else []), ""]


def render(report: PlanReport, console: Console) -> None:
    """Print the price list, the recommendation, what binds, and what a change would buy."""
    console.print()
    console.print(
        f"[bold]{counted(report.secrets, 'secret')}[/bold], {report.examples:,} examples; "
        + (f"certified by {report.method}" if report.rows else "no noise")
    )
    ways.render(report.ways, console)
    for sentence in report.replaced:
        console.print(f"[yellow]![/yellow]     {escape(sentence)}", soft_wrap=True)
    if report.rows:
        _render_prices(report, console)
    console.print(f"[bold]take[/bold]  {escape(headline(report))}", soft_wrap=True)
    if report.rows:
        _render_noise(report, console)
    for note in report.notes:
        console.print(f"[yellow]![/yellow]     {escape(note)}", soft_wrap=True)
    console.print(f"[bold]look[/bold]  {escape(report.published.folder)}", soft_wrap=True)
    if report.published.run_url:
        console.print(f"      {escape(report.published.run_url)}", soft_wrap=True)


def _render_prices(report: PlanReport, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in headers(report):
        table.add_column(name, justify="left" if not name else "right", overflow="fold")
    for row in report.own:
        chosen = report.recommended is not None and row is report.rows[report.recommended]
        table.add_row(*map(escape, cells(report, row)), style="bold green" if chosen else None)
    console.print(table)


def _render_noise(report: PlanReport, console: Console) -> None:
    console.print(f"[dim]      rule: {report.rule}[/dim]", soft_wrap=True)
    for place, choice in enumerate(choices(report)):
        console.print(f"[bold]{'or' if place else '':<6}[/bold]{escape(choice)}", soft_wrap=True)
    if runs := retraining(report):
        console.print(f"[bold]runs[/bold]  {escape(runs)}", soft_wrap=True)
    if judged := verdict(report):
        mark = "[yellow]![/yellow]     " if judged.startswith(("HOPELESS", "POOR")) else "[bold]noise[/bold] "
        console.print(f"{mark}{escape(judged)}", soft_wrap=True)
    for number, remedy in enumerate(remedies_in_words(report)):
        console.print(f"[bold]{'' if number else 'or':<6}[/bold]{escape(remedy)}", soft_wrap=True)
    if report.recommended is not None:
        _render_costs(report, console)


def _render_costs(report: PlanReport, console: Console) -> None:
    published = report.published
    console.print(
        f"[bold]lost[/bold]  {_lost(published)} (lost.parquet says which and why), for the sake of",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for name in ("secret", "target", "examples", "may weigh", "weight lost", "never drawn"):
        table.add_column(name, justify="left" if name == "secret" else "right")
    for s in published.costly:
        table.add_row(
            escape(short_name(s.name)), f"{s.posterior:.1e}", f"{s.examples:,}", f"{s.load:,.1f}", f"{s.lost:,.1f}",
            f"{s.lost_examples:,}",
        )  # fmt: skip
    console.print(table)
    for number, relaxation in enumerate(report.relaxations[:MOST_RELAXATIONS]):
        console.print(
            f"[bold]{'' if number else 'relax':<5}[/bold] {escape(relaxation.words)}", soft_wrap=True
        )


def _lost(published: Published) -> str:
    return f"{counted(published.lost_outright, 'example')} never drawn, {published.lost_partly:,} less often"


def markdown(report: PlanReport) -> str:
    """The same for the Prefect UI."""
    names = headers(report)
    lines = [
        f"{counted(report.secrets, 'secret')}, {report.examples:,} examples; certified by `{report.method}`.",
        "",
        *ways.markdown(report.ways),
        *(f"- **!** {sentence}" for sentence in report.replaced),
        f"**{headline(report)}**",
        "",
        *([f"Rule: {report.rule}.", ""] if report.rows else []),
        *(f"- {choice}" for choice in choices(report)),
        "",
        *([retraining(report), ""] if report.noise_by_runs else []),
        *([f"**!** {verdict(report)}.", ""] if verdict(report) else []),
        *(f"- {remedy}" for remedy in remedies_in_words(report)),
        "",
        *(
            ["| " + " | ".join(name or "note" for name in names) + " |", "|" + "---|" * len(names)]
            if report.rows
            else []
        ),
        *("| " + " | ".join(cells(report, row)) + " |" for row in report.own),
        "",
    ]
    if report.recommended is not None:
        published = report.published
        lines += [
            f"{_lost(published)}, for the sake of:",
            "",
            *(
                f"- `{short_name(s.name)}` (target {s.posterior:.1e}): {s.lost:,.1f} of weight, "
                f"{s.lost_examples:,} examples outright"
                for s in published.costly
            ),
            "",
            *(f"- {relaxation.words}" for relaxation in report.relaxations[:MOST_RELAXATIONS]),
        ]
    lines += ["", *(f"- **!** {note}" for note in report.notes)]
    where = f"[MLflow]({report.published.run_url}), " if report.published.run_url else ""
    return "\n".join(
        [
            *lines,
            "",
            f"Tables and picture: {where}`{report.published.folder}`",
        ]
    )
