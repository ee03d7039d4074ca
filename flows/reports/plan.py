"""The price list of a config. Never a secret's value."""

from __future__ import annotations

from collections.abc import Iterator

from flows.reports import ways
from flows.reports.lines import TAKE, WARNING, Block, Grid, Line, Small, Where
from flows.reports.plan_report import (
    PlanReport,
    choices,
    headline,
    remedies_in_words,
    retraining,
    verdict,
)
from hush_core.figures import short_name
from tasks.publish_plan import PlanRow
from tasks.wording import counted

MOST_RELAXATIONS, LEAST_GAIN = 5, 0.5


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
    return [*names, *(["by the paper's kl"] if report.compared else []), ""]


def blocks(report: PlanReport) -> Iterator[Block]:
    certified = f"; certified by {report.method}" if report.rows else "; no noise"
    after = ways.redaction(report.ways)
    left = f"[bold]{counted(report.secrets, 'secret')}{' left' if after else ''}[/bold]"
    yield f"{left}, {report.examples:,} examples{after}{certified}"
    yield from ways.blocks(report.ways)
    yield from (Line("", line) for line in report.as_asked)
    yield from (Line(WARNING, sentence) for sentence in report.replaced)
    if report.rows:
        chosen = None if report.recommended is None else report.rows[report.recommended]
        place = next((n for n, row in enumerate(report.own) if row is chosen), None)
        yield Grid(headers(report), [cells(report, row) for row in report.own], chosen=place)
    yield Line(TAKE, headline(report))
    if report.rows:
        yield from _noise(report)
    yield from (Line(WARNING, note) for note in report.notes)
    yield Where(report.published.folder, report.published.run_url)


def _noise(report: PlanReport) -> Iterator[Block]:
    if report.mechanism == "hush":
        yield Small(f"rule: {report.rule}")
    for place, choice in enumerate(choices(report)):
        yield Line("or" if place else "", choice)
    if runs := retraining(report):
        yield Line("runs", runs)
    if judged := verdict(report):
        yield Line(WARNING if judged.startswith(("HOPELESS", "POOR")) else "noise", judged)
    for number, remedy in enumerate(remedies_in_words(report)):
        yield Line("" if number else "or", remedy)
    if report.best_point is None:
        return
    yield from _lost(report)
    # solved again, a smaller gain is the solver's precision
    told = [one for one in report.relaxations if one.gain is None or one.gain >= LEAST_GAIN]
    for number, relaxation in enumerate(told[:MOST_RELAXATIONS]):
        yield Line("" if number else "relax", relaxation.words)


def _lost(report: PlanReport) -> Iterator[Block]:
    published = report.published
    if not (published.costly and published.lost_outright + published.lost_partly):
        return
    outright, partly = counted(published.lost_outright, "example"), f"{published.lost_partly:,}"
    lost = f"{outright} never drawn, {partly} less often (lost.parquet says which and why), for the sake of"
    yield Line("lost", lost)
    heads = ("secret", "target", "examples", "may weigh", "weight lost", "never drawn")
    rows = [
        [
            short_name(s.name), f"{s.posterior:.1e}", f"{s.examples:,}", f"{s.load:,.1f}", f"{s.lost:,.1f}",
            f"{s.lost_examples:,}",
        ]
        for s in published.costly
    ]  # fmt: skip
    yield Grid(heads, rows, left="secret")
