"""What a comparison came to."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from rich.markup import escape

from flows.reports.lines import TAKE, WARNING, Block, Grid, Line, Small, Where
from hush_core.config import MECHANISMS, HushConfig
from hush_core.rivals import CONFIDENCE, Verdict
from tasks.publish_comparison import PublishedComparison, RivalRow
from tasks.wording import counted

WITHOUT_NOISE = tuple(kind for kind, one in MECHANISMS.items() if not one.makes_noise)


class ComparisonReport(BaseModel, frozen=True):
    """The rivals, the best first, and where everything lies."""

    rows: list[RivalRow]
    chosen: str | None
    alike: tuple[str, ...]
    why: str
    settings: str
    """Of the config, for the chosen rival; empty where none is."""
    promise: str
    unit: str
    notes: list[str]
    published: PublishedComparison


def build_report(
    config: HushConfig,
    rows: list[RivalRow],
    verdict: Verdict,
    chosen: HushConfig | None,
    unit: str,
    published: PublishedComparison,
) -> ComparisonReport:
    return ComparisonReport(
        rows=sorted(rows, key=lambda row: (bool(row.why), row.loss is None, row.loss or 0.0)),
        **{name: getattr(verdict, name) for name in ("chosen", "alike", "why")},
        settings=_settings(chosen) if chosen else "",
        promise=_promise(config),
        unit=unit,
        notes=_notes(rows, verdict),
        published=published,
    )


def _promise(config: HushConfig) -> str:
    if target := config.mechanism.unit_dp:
        return "({:g}, {:g})-DP of every secret".format(*target)
    levels = ", ".join(f"{name} ≤ {level:g}" for name, level in sorted(config.levels.items()))
    return f"the posterior of every secret, by {config.method}" + (f": {levels}" if levels else "")


def _settings(config: HushConfig) -> str:
    """The keys in which a rival's config differs from others, in YAML's flow style."""
    mechanism = config.mechanism.model_dump(exclude_unset=True)
    weights = config.weights.model_dump(exclude_unset=True)
    found = {"mechanism": {"kind": config.mechanism.kind, **mechanism}, "weights": weights}
    shown = (
        f"{key}: {{{', '.join(f'{name}: {value}' for name, value in values.items())}}}"
        for key, values in found.items()
        if values
    )
    return " · ".join(shown)


def _notes(rows: list[RivalRow], verdict: Verdict) -> list[str]:
    released = sum(bool(run.rounds) for row in rows for run in row.runs)
    notes = [
        f"{counted(released, 'run')} released something of this data now; later certificates count them",
        "the loss is on text that no secret names: what a rival learns of tagged text shows there only as far as "
        "it helps with the rest",
    ]
    if any(row.rival in WITHOUT_NOISE for row in rows):
        notes.append(
            "redaction and dropping promise nothing of what no entry of the config found, and neither does "
            "without_secret: plain; noise does"
        )
    if verdict.alike:
        notes.append(
            "of those that are not distinguished, take the one whose promise you like best, or more seeds"
        )
    return notes


HEADERS = (
    "rival", "loss", "perplexity", "seeds", "σ", "σC/B", "kept", "bound/target", "found", "s/round",
    "memory", "",
)  # fmt: skip


def cells(report: ComparisonReport, row: RivalRow) -> list[str]:
    """One row of the table, of a rival that did not fail."""
    run = row.runs[0]
    width = "" if row.half_width is None else f" ± {row.half_width:.4f}"
    timed = [r.seconds_a_round for r in row.runs if r.seconds_a_round is not None]
    taken = [r.peak_memory for r in row.runs if r.peak_memory is not None]
    mark = (
        "chosen" if row.rival == report.chosen else "not distinguished" if row.rival in report.alike else ""
    )
    return [
        row.rival,
        "-" if row.loss is None else f"{row.loss:.4f}{width}",
        "-" if row.perplexity is None else f"{row.perplexity:.3f}",
        str(len(row.runs)),
        "none" if run.noise_multiplier is None else f"{run.noise_multiplier:.3g}",
        "none" if run.effective_noise is None else f"{run.effective_noise:.3g}",
        f"{run.kept:,}",
        f"{run.worst_bound_to_target:.2g}",
        str(max(r.extracted for r in row.runs)),
        f"{min(timed):.3g}" if timed else "-",
        f"{max(taken) / 2**20:,.0f} MiB" if taken else "-",
        mark,
    ]


def blocks(report: ComparisonReport) -> Iterator[Block]:
    yield f"[bold]hush[/bold]  compare, at one promise: {escape(report.promise)}"
    yield Grid(HEADERS, [cells(report, row) for row in report.rows if row.runs], left="rival", fold=False)
    yield Small(f"loss: bits per {report.unit}, ± half of its {CONFIDENCE:.0%} interval over seeds")
    yield Small("kept: examples whose text training may see; found: secrets that an attack found")
    yield from (Line(WARNING, f"{row.rival}: {row.why}") for row in report.rows if row.why)
    yield Line(TAKE, report.why)
    if report.settings:
        yield Line("", report.settings)
        yield Line("", "`hush run` with these keys registers it: its first training is reused")
    yield from (Line(WARNING, note) for note in report.notes)
    yield Where(report.published.folder, report.published.run_url, "comparison.png")
