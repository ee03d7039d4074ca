"""What a rehearsal came to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from flows.reports.lines import TAKE, WARNING, Block, Grid, Line, Where, by_runs
from hush_core.config import Changes, HushConfig
from hush_core.rehearsal import Search, Space, Tried
from tasks.extraction import Extracted
from tasks.rehearse import LossOfRuns, PublishedRehearsal, Setup
from tasks.wording import counted

MOST_ROWS = 12


class RehearsedRow(BaseModel, frozen=True):
    """One point and what was predicted for it."""

    point: Changes
    state: str
    loss: float | None
    spread: float | None
    """Largest less smallest of its losses, where it was rehearsed more than once."""
    noise_multiplier: float | None
    distinct: float | None
    note: str
    own: bool
    """The config as it stands."""
    recommended: bool


class RehearsalReport(BaseModel, frozen=True):
    """The points, the best first, and where everything lies."""

    secrets: int
    method: str
    without_secret: str
    stand_ins: int
    tagged: int
    unit: str
    start: float | None
    """Loss on held-out text of the model that the rehearsed rounds begin with."""
    rows: list[RehearsedRow]
    notes: list[str]
    by_runs: list[LossOfRuns]
    """The recommended point at the noise of so many runs."""
    published: PublishedRehearsal
    gained: float | None = None
    """Bits by which the recommended point is below what its rounds begin with, on the same texts."""
    left_out: tuple[str, ...] = ()
    """Entries that are left out, as nothing was gained."""
    nothing: str = ""
    """Why nothing was rehearsed."""

    @property
    def best(self) -> RehearsedRow | None:
        return next((row for row in self.rows if row.recommended), None)

    @property
    def own(self) -> RehearsedRow | None:
        return next((row for row in self.rows if row.own), None)


def build_report(
    config: HushConfig,
    extracted: Extracted,
    setup: Setup,
    search: Search,
    by_runs: list[LossOfRuns],
    published: PublishedRehearsal,
    *,
    gained: float | None,
    taken: Changes | None,
) -> RehearsalReport:
    best, space = search.recommended(), search.space
    ranked = sorted(
        search.tried(), key=lambda one: (one.mean is None, -len(one.again), one.mean or 0.0, one.number)
    )
    tagged = round(setup.roles.tagged_share * extracted.n_examples)
    return RehearsalReport(
        secrets=extracted.n_secrets,
        method=config.method,
        without_secret=config.weights.without_secret,
        stand_ins=setup.roles.n_stand_ins,
        tagged=tagged,
        unit=setup.start.unit,
        start=setup.start.bits,
        rows=[row_of(one, best, space) for one in ranked],
        notes=_notes(config, setup, tagged, best, space),
        by_runs=by_runs,
        published=published,
        gained=gained,
        left_out=tuple(name for name, way in ((taken and taken.protect) or {}).items() if way == "drop"),
    )


def nothing_to_rehearse(config: HushConfig, extracted: Extracted, folder: Path) -> RehearsalReport:
    """The report where no entry may be learned under noise."""
    return RehearsalReport(
        secrets=extracted.n_secrets, method=config.method, without_secret="plain", stand_ins=0, tagged=0,
        unit="byte", start=None, rows=[], notes=[], by_runs=[],
        published=PublishedRehearsal(folder=str(folder), plan=None, run_url=None),
        nothing=f"no entry may be learned under noise, so there are no rounds to rehearse: train without noise on "
        f"{extracted.n_examples:,} examples, as `hush run` does",
    )  # fmt: skip


def row_of(one: Tried, best: Tried | None, space: Space) -> RehearsedRow:
    losses = [one.loss, *one.again]
    return RehearsedRow(
        point=one.point,
        state=one.state,
        loss=one.mean,
        spread=max(losses) - min(losses) if one.again else None,
        noise_multiplier=one.facts.get("noise_multiplier"),
        distinct=one.facts.get("distinct"),
        note=one.facts.get("note", ""),
        own=one.point == space.own,
        recommended=best is not None and one.number == best.number,
    )


def _notes(config: HushConfig, setup: Setup, tagged: int, best: Tried | None, space: Space) -> list[str]:
    notes = []
    drawn = tagged if config.weights.without_secret != "noise" else None
    if drawn is not None and setup.roles.n_stand_ins < drawn:
        notes.append(
            f"{setup.roles.n_stand_ins:,} untagged examples take the place of {drawn:,} tagged ones: each is drawn "
            "more often than the run will draw its own"
        )
    if best is not None and (ends := space.edges_of(best.point)):
        notes.append(
            f"the best point is at an end of the range tried, in {', '.join(ends)}: a better one may be beyond. "
            "Set the config near it and rehearse again"
        )
    return notes


COLUMNS = (
    "predicted", "c", "σ", "T", "B", "C", "rate", "schedule", "warm-up", "optimizer", "average", "mixed in",
    "seen", "",
)  # fmt: skip


def cells(row: RehearsedRow) -> list[str]:
    p = row.point
    loss = row.state if row.loss is None else f"{row.loss:.4f}"
    note = ", ".join(
        text
        for text in ("recommended" if row.recommended else "", "as it stands" if row.own else "", row.note)
        if text
    )
    return [
        loss, "-" if p.c is None else f"{p.c:g}",
        "-" if row.noise_multiplier is None else f"{row.noise_multiplier:.3g}", f"{p.rounds:,}", f"{p.batch:,}",
        f"{p.clip_norm:g}", f"{p.learning_rate:g}", str(p.schedule), f"{p.warmup_rounds}", str(p.optimizer),
        str(p.average), f"{p.untagged_batch or 0}", "-" if row.distinct is None else f"{row.distinct:,.0f}", note,
    ]  # fmt: skip


def headline(report: RehearsalReport) -> str:
    best, own = report.best, report.own
    if report.nothing:
        return report.nothing
    if best is None:
        return "nothing can be recommended: no plan could be rehearsed to its end"
    text = f"predicted {best.loss:.4f} bits per {report.unit}"
    if best.spread is not None:
        text += f" (mean of several draws, which differ by {best.spread:.4f})"
    if own is not None and own.loss is not None and not best.own:
        text += f"; the config as it stands: {own.loss:.4f}"
    elif best.own:
        text += "; the config as it stands is the best of those tried"
    if report.gained is not None:
        text += f"; its rounds gain {report.gained:.4f} bits over what they begin with"
    if report.left_out:
        text = (
            f"leave out {', '.join(report.left_out)} and train without noise: the rounds gained no more than other "
            f"draws of them differ by ({text})"
        )
    return text


def retraining(report: RehearsalReport) -> str:
    """What several runs would cost in loss; empty where nothing is recommended."""
    if not report.by_runs:
        return ""
    start, previous = (by_runs(report.by_runs, f"loss_from_{w}", ".4f") for w in ("start", "previous"))
    rounds = report.by_runs[0].later_rounds
    return (
        f"predicted by one draw each, by the number of runs that the targets hold for: {start}; where later ones "
        f"continue from the model before with {counted(rounds, 'round')} (train.start: champion): {previous}"
    )


def blocks(report: RehearsalReport) -> Iterator[Block]:
    if report.nothing:
        yield Line(TAKE, report.nothing)
        return
    yield (
        f"[bold]{counted(report.secrets, 'secret')}[/bold]; every plan certified by {report.method}, at equal "
        f"compute; rehearsed on {report.stand_ins:,} examples that no secret tags"
    )
    chosen = next((n for n, row in enumerate(report.rows) if row.recommended), None)
    yield Grid(
        COLUMNS, [cells(row) for row in report.rows], chosen=chosen, most=MOST_ROWS, file="rehearsal.csv"
    )
    yield Line(TAKE, headline(report))
    if runs := retraining(report):
        yield Line("runs", runs)
    yield from (Line(WARNING, note) for note in report.notes)
    if report.published.plan:
        yield Line("run", f"hush run {report.published.config} --plan {report.published.plan}")
    yield Where(report.published.folder, report.published.run_url, "rehearsal.png")
