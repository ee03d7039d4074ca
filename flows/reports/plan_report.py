"""What a plan came to, and its sentences. Never a secret's value."""

from __future__ import annotations

from pydantic import BaseModel, computed_field

from flows.remedies import WORTH_ASKING, Remedy
from flows.reports.lines import by_runs
from flows.reports.ways import in_short
from hush_core.weights import Way
from tasks.publish_plan import NoiseOfRuns, PlanRow, Published
from tasks.weighing import Relaxation
from tasks.wording import counted


class PlanReport(BaseModel, frozen=True):
    """What a plan came to."""

    secrets: int
    examples: int
    method: str
    rows: list[PlanRow]
    best_point: int | None
    """The place in `rows`, by `rule`; null where no point has a certified noise multiplier."""
    rule: str
    other: PlanRow | None
    """The recommended point with the other `weights.without_secret`."""
    relaxations: list[Relaxation]
    """At the best point."""
    runs: int
    """For so many runs the config promises its targets."""
    noise_by_runs: list[NoiseOfRuns]
    """At the best point: the noise multiplier, were they promised for so many runs."""
    published: Published
    expected_batch: int
    rounds: int
    noise_share: float | None
    """How long the noise of all rounds is at the best point, against the longest that their gradients can add up to
    (`flows.remedies.share`). None: no such point, or a model of unknown size."""
    widest_share: float | None
    """The share of what a noisy round draws there that holds one secret, the one with the largest."""
    without_secret: str
    """What the config does with text that no secret names."""
    remedies: list[Remedy]
    """What would make it shorter, the best one first; empty where it is short."""
    next_run: str
    """What a run would be now, under a promise of several; else empty."""
    ways: tuple[Way, ...] = ()
    """Of each entry: by noise, left out or redacted."""
    replaced: tuple[str, ...] = ()
    """On numbers of the config that are not used as they are."""
    trained_as_usual: int | None = None
    """Examples that are trained on where nothing is learned under noise; None where something is."""
    set_c: float | None = None
    """`weights.c`, where the config gives it: that is what a run takes."""
    mechanism: str = "hush"
    swept: bool = False
    """Whether `--c` or `--noise` names the points, which a run does not take by itself."""
    as_asked: list[str]
    """What becomes of each entry's text, in sentences."""
    notes: list[str]
    """What the extraction left open: entries that protect nothing, weak credentials, files not read."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def recommended(self) -> int | None:
        """`best_point`, unless its noise drowns the training."""
        return None if hopeless(self) else self.best_point

    @property
    def own(self) -> list[PlanRow]:
        """The rows of the config's own method."""
        return [row for row in self.rows if row.method == self.method]

    def paper(self, row: PlanRow) -> PlanRow | None:
        """The row of the paper's method at the same place of the sweep."""
        places = [r for r in self.rows if r.method == "kl"]
        return places[self.own.index(row)] if self.compared else None

    @property
    def compared(self) -> bool:
        """Whether the paper's method is another, and there are rows of it."""
        return self.method != "kl" and any(row.method == "kl" for row in self.rows)


def headline(report: PlanReport) -> str:
    if report.trained_as_usual is not None:
        done = in_short(report.ways)
        return (
            (f"{done}, and " if done else "")
            + f"train without noise on {counted(report.trained_as_usual, 'example')}, without "
            "certified rounds: `hush run` does that"
        )
    if report.best_point is None:
        return (
            "leave these entries out (`protect: drop`) and train without noise: no point of the sweep has a "
            "certified noise multiplier"
        )
    row = report.rows[report.best_point]
    key, option = f"weights.c = {row.c:.3g}", f"--c {row.c:.3g}"
    if row.noise_asked is not None:
        asked = f"{row.noise_asked:.3g}"
        key, option = f"weights.noise_multiplier = {asked}, capacities: equalised", f"--noise {asked}"
    if report.mechanism != "hush":
        key = f"mechanism {report.mechanism}"
    advice = (
        "none of these, as the noise drowns the training at each: narrow the entries, or leave their text out "
        "(`protect: drop`). The best of them is "
    ) * hopeless(report)
    command = f"hush run {option}" if report.swept else "hush run"
    taken = f"; `{command}` takes it, with T = {report.rounds:,} rounds of B = {report.expected_batch:,}"
    if (
        report.set_c is not None
        and not report.swept
        and row.c is not None
        and abs(row.c - report.set_c) >= 1e-9
    ):
        own = f"weights.c = {report.set_c:.3g} of the config"
        taken = f"; `hush run` takes {own}: leave that out to have this one taken"
    return (
        f"{advice}{key}: noise multiplier {row.noise_multiplier:.3g}, "
        f"{row.weight_retained:.1%} of the weight retained ({row.protected_retained:.1%} of the examples with a "
        f"secret), about {row.distinct:,.0f} distinct examples seen{taken}"
    )


def hopeless(report: PlanReport) -> bool:
    """Whether the noise drowns the training at the best point too, so that no point is recommended."""
    return report.noise_share is not None and report.noise_share >= 1


def verdict(report: PlanReport) -> str:
    """What the noise at the best point leaves to be learned; empty without one."""
    if report.best_point is None:
        return ""
    sigma, part = report.rows[report.best_point].noise_multiplier or 0.0, report.noise_share
    ratio = f"σ/B = {sigma / report.expected_batch:.3g}"
    if part is None:
        return f"{ratio}; the config does not say how many parameters are trained, so there is no verdict"
    if hopeless(report):
        return (
            f"HOPELESS: {ratio}, so the noise of all rounds is {part:.3g} times as long as their gradients can "
            "add up to, even if all point the same way: these rounds would learn next to nothing"
            + (
                ""
                if one_secret(report)
                else ". Take a larger batch, more rounds, a smaller model or adapters, or higher targets"
            )
        )
    word = "POOR: " if part >= WORTH_ASKING else ""
    return (
        f"{word}{ratio}, so the noise of all rounds is {part:.2g} of the longest that their gradients can add up "
        "to; they add up to less"
    )


def remedies_in_words(report: PlanReport) -> list[str]:
    """Each with its price, on the same weights."""
    lines = []
    for r in report.remedies:
        left = "" if r.noise_share is None else f", noise {r.noise_share:.2g} of the longest sum"
        lines.append(
            f"{r.change}: σ = {r.noise_multiplier:.3g}, σ/B = {r.noise_multiplier / r.expected_batch:.3g}{left}"
        )
    lengths = [r.noise_share for r in report.remedies if r.noise_share is not None]
    if hopeless(report) and min(lengths, default=1.0) >= 1:
        lines.append(
            _one_secret_in_words(report)
            if one_secret(report)
            else "no larger batch, more rounds or fewer importers alone is enough here. Fewer examples in one "
            "secret are: `hush secrets` says in files.csv which files each holds and why; narrow its globs, set "
            "its `spread` lower, or give the files entries of their own. A higher level helps less"
        )
    return lines


MOST_OF_A_ROUND = 0.5


def one_secret(report: PlanReport) -> bool:
    """Whether one secret is in most of what a noisy round draws."""
    return report.widest_share is not None and report.widest_share > MOST_OF_A_ROUND


def _one_secret_in_words(report: PlanReport) -> str:
    words = (
        f"one secret is in {report.widest_share:.0%} of what a noisy round draws, and noise that hides it "
        "hides the round, for any batch and number of rounds"
    )
    if report.without_secret == "noise":
        return (
            words + ". Give its files entries of their own, or leave them out (`protect: drop` in the entry)"
        )
    plain = "is trained on without noise before them" if report.without_secret == "plain" else "is left out"
    return (
        f"{words}. Text without a secret {plain}. The promise holds. `protect: drop` in the entry gives as "
        "good a model: it leaves the text out and costs no noise. To learn from it, give its files entries of "
        "their own, or set `without_secret: noise`, where the other text hides it"
    )


WITHOUT_SECRET = {
    "noise": "every example without a secret takes part in the noisy rounds, also one in which a secret was missed",
    "plain": "examples without a secret are trained on WITHOUT noise: none for what no entry names",
    "drop": "examples without a secret are not trained on",
}


def choices(report: PlanReport) -> list[str]:
    """What the config's `weights.without_secret` gives at the best point, and what the other would."""
    if report.best_point is None:
        return []
    lines = []
    for row in (report.rows[report.best_point], report.other):
        if row is not None:
            found = row.note or "no noise multiplier"
            if row.noise_multiplier is not None:
                more = f", {row.trained_plain:,} more before them" if row.trained_plain else ""
                sigma = f"σ = {row.noise_multiplier:.3g}"
                found = f"{sigma} on about {row.distinct:,.0f} distinct examples{more}"
            lines.append(
                f"without_secret: {row.without_secret}: {found} ({WITHOUT_SECRET[row.without_secret]})"
            )
    return lines


def retraining(report: PlanReport) -> str:
    """What the promise costs by the number of runs that it is for; empty without one."""
    if not report.noise_by_runs:
        return ""
    start, previous = (by_runs(report.noise_by_runs, f"from_{w}", ".3g") for w in ("start", "previous"))
    own = "this one run" if report.runs == 1 else f"{report.runs} runs"
    later = report.noise_by_runs[0].later_rounds
    rounds = "1 round" if later == 1 else f"{later} rounds"
    return (
        f"σ by the number of runs that the targets hold for: {start}; continuing from the promoted "
        f"model with {rounds} each (train.start: champion): {previous}. The config says {own} "
        "(promise.runs)" + (f"; {report.next_run}" if report.next_run else "")
    )
