"""The price list of a config, for the terminal and for the Prefect UI. Never a secret's value."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from flows.reports import ways
from flows.reports.lines import grid, say, table_lines, where
from flows.reports.plan_report import (
    PlanReport,
    choices,
    headline,
    remedies_in_words,
    retraining,
    verdict,
)
from hush_core.figures import short_name
from tasks.publish_plan import PlanRow, Published
from tasks.wording import counted

MOST_RELAXATIONS = 5


def cells(report: PlanReport, row: PlanRow) -> list[str]:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    paper = report.paper(row)
    sigma = "-" if row.noise_multiplier is None else f"{row.noise_multiplier:.4g}"
    numbers = [
        "-" if row.c is None else f"{row.c:.3g}", sigma, share(row.weight_retained), share(row.protected_retained),
        "-" if row.distinct is None else f"{row.distinct:,.0f}",
    ]  # fmt: skip
    if paper is not None:
        known = paper.noise_multiplier is not None
        numbers.append(f"{paper.noise_multiplier:.4g} at {paper.weight_retained:.1%}" if known else "-")
    return [*numbers, row.note or ("drowned in noise" if row.drowned else "")]


def headers(report: PlanReport) -> list[str]:
    names = ["c", "noise σ", "weight", "with secrets", "distinct seen"]
    return [*names, *(["by the paper's kl"] if report.method != "kl" else []), ""]


def render(report: PlanReport, console: Console) -> None:
    console.print()
    console.print(
        f"[bold]{counted(report.secrets, 'secret')}[/bold], {report.examples:,} examples"
        + ways.redaction(report.ways)
        + (f"; certified by {report.method}" if report.rows else "; no noise")
    )
    ways.render(report.ways, console)
    for line in report.as_asked:
        say(console, "", line)
    for sentence in report.replaced:
        say(console, "!", sentence)
    if report.rows:
        _render_prices(report, console)
    say(console, "take", headline(report))
    if report.rows:
        _render_noise(report, console)
    for note in report.notes:
        say(console, "!", note)
    say(console, "look", report.published.folder)
    if report.published.run_url:
        say(console, "", report.published.run_url)


def _render_prices(report: PlanReport, console: Console) -> None:
    table = grid(headers(report), overflow="fold")
    for row in report.own:
        chosen = report.recommended is not None and row is report.rows[report.recommended]
        table.add_row(*map(escape, cells(report, row)), style="bold green" if chosen else None)
    console.print(table)


def _render_noise(report: PlanReport, console: Console) -> None:
    console.print(f"[dim]      rule: {report.rule}[/dim]", soft_wrap=True)
    for place, choice in enumerate(choices(report)):
        say(console, "or" if place else "", choice)
    if runs := retraining(report):
        say(console, "runs", runs)
    if judged := verdict(report):
        say(console, "!" if judged.startswith(("HOPELESS", "POOR")) else "noise", judged)
    for number, remedy in enumerate(remedies_in_words(report)):
        say(console, "" if number else "or", remedy)
    if report.best_point is not None:
        _render_costs(report, console)


def _render_costs(report: PlanReport, console: Console) -> None:
    published = report.published
    say(console, "lost", f"{_lost(published)} (lost.parquet says which and why), for the sake of")
    heads = ("secret", "target", "examples", "may weigh", "weight lost", "never drawn")
    table = grid(heads, left="secret", style="dim")
    for s in published.costly:
        table.add_row(
            escape(short_name(s.name)), f"{s.posterior:.1e}", f"{s.examples:,}", f"{s.load:,.1f}", f"{s.lost:,.1f}",
            f"{s.lost_examples:,}",
        )  # fmt: skip
    console.print(table)
    for number, relaxation in enumerate(report.relaxations[:MOST_RELAXATIONS]):
        say(console, "" if number else "relax", relaxation.words)


def _lost(published: Published) -> str:
    return f"{counted(published.lost_outright, 'example')} never drawn, {published.lost_partly:,} less often"


def markdown(report: PlanReport) -> str:
    prices = table_lines(headers(report), [cells(report, row) for row in report.own])
    lines = [
        f"{counted(report.secrets, 'secret')}, {report.examples:,} examples{ways.redaction(report.ways)}; "
        f"certified by `{report.method}`.",
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
        *(prices if report.rows else []),
        "",
    ]
    published = report.published
    if report.best_point is not None:
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
    lines += ["", *(f"- {line}" for line in report.as_asked), *(f"- **!** {note}" for note in report.notes)]
    return "\n".join([*lines, "", f"Tables and picture: {where(published.folder, published.run_url)}"])
