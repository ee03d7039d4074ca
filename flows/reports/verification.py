"""What a verification found, in lines: for the terminal, the review and the registry; the same in the words of
differential privacy; and what an audit found, as tables of attacks and secrets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from hush_core import figures
from hush_core.certificate import PrivacyReport, Verification, privacy_report
from hush_core.certificate.document import PlanFacts
from hush_core.certificate.recheck import BY_BINOMIAL, BY_OWN, NOT_SURE
from hush_core.figures import short_name
from hush_core.progress import Progress
from tasks.wording import counted

if TYPE_CHECKING:
    from hush_core.auditing.document import AuditDocument  # torch comes with its package


def verdict(verification: Verification) -> list[str]:
    """What was verified, how, and what was not: the lines that are wherever hush says "verified"."""
    facts, rows = verification.certificate.facts, verification.rows
    model = (
        f"certificate and model verified ({len(verification.certificate.model_files)} files of the model)"
        if verification.model_seen
        else "certificate verified; model NOT checked: give the folder that holds `model/` and `certificate/`, "
        "or a models:/ URI"
    )
    confirmed, looked, points = verification.curve_points
    kept = f"{counted(rows.height, 'secret')} {_mechanism(facts.plan)}, worst bound/target "
    kept += f"{(rows['bound'] / rows['posterior']).max() or 0:.4f}; this bound is of this run alone"
    if not rows.height:
        kept = "no secret is left in any example and no certified round was made"
    lines = [f"{model}: {kept}"]
    if rows.height:
        lines.append(
            f"every bound was recomputed; a second route confirmed {verification.confirmed(BY_OWN)} by their own "
            f"rates, {verification.confirmed(BY_BINOMIAL)} by a binomial that dominates them, and {confirmed} of "
            f"{looked} curve points tried ({points} in all)"
        )
    if unsure := verification.confirmed(NOT_SURE):
        lines.append(f"WARNING: {unsure} bounds are recomputed only: the second route is not accurate there")
    lines += [*_over_all_runs(verification), verification.chain]
    signature, approval, audit = verification.signature, verification.approval, verification.audit
    lines.append(_line(signature, signature.startswith("NOT")))
    lines.append(
        _line(approval if approval.startswith("NOT") else _cell_of(approval), approval.startswith("NOT"))
    )
    lines.append(_line(_cell_of(audit), verification.refuted or "NOT" in audit))
    if facts.training.started_from:
        lines.append(
            f"continues from the model of run {facts.training.started_from[:12]}: the promise for the model "
            "itself is the bounds of all runs; `bound`, the curves and --delta are of this run's rounds alone"
        )
    if plain := facts.training.trained_without_noise:
        lines.append(
            f"{plain:,} of {facts.examples:,} examples were trained on WITHOUT noise; by the graph none of them "
            "holds a secret that an entry names, and nothing is promised of any other"
        )
    if scale := facts.training.gradient_scale:
        lines.append(
            f"gradients were scaled before they were clipped, which no bound depends on: {cell(scale)}"
        )
    if redacted := facts.redaction.secrets:
        lines.append(
            f"{counted(redacted, 'value')} redacted, in {counted(facts.redaction.places, 'place')}: each bound is "
            "its prior; what the search did not find is not covered"
        )
        shown = verification.redaction or "NOT CHECKED whether an example holds a redacted value"
        lines.append(_line(shown, shown.startswith("NOT")))
    if unprotected := facts.training.released_unprotected:
        lines.append(f"released WITHOUT noise, and not in the bound: {'; '.join(map(cell, unprotected))}")
    lines.append(f"not checked, as nothing in a certificate can show it: {', '.join(verification.unchecked)}")
    return [line for line in lines if line]


def _line(text: str, warn: bool) -> str:
    return f"WARNING: {text}" if text and warn else text


def _cell_of(text: str) -> str:
    return cell(text) if text else ""


def render_verdict(verification: Verification, console: Console) -> None:
    """The lines on a terminal, what is verified in green and warnings in red; then the digest."""
    first, *rest = verdict(verification)
    console.print(f"[green]{escape(first)}[/green]")
    for line in rest:
        console.print(f"[bold red]{escape(line)}[/bold red]" if line.startswith("WARNING") else escape(line))
    console.print(f"Digest {verification.certificate.digest}")


def _mechanism(plan: PlanFacts) -> str:
    if not plan.mechanism.config.makes_noise:
        return f"and no certified round, as mechanism {plan.mechanism.kind} makes none"
    if plan.noise_multiplier is None:
        return "and no certified round, as no text of a secret was new since the runs before"
    words = f"at noise multiplier {plan.noise_multiplier:.4g}"
    if plan.mechanism.kind == "hush" and plan.mechanism.epsilon is None:
        return words
    given = plan.mechanism.model_dump(exclude_none=True, exclude={"kind"})
    settings = "".join(f", {key} {value}" for key, value in given.items())
    return f"{words} by mechanism {plan.mechanism.kind}{settings}"


def _over_all_runs(verification: Verification) -> list[str]:
    bounds, promised = (
        verification.tables["bounds.parquet"],
        verification.certificate.facts.plan.promised_runs,
    )
    earlier, ratio = bounds["earlier_runs"], bounds["all_runs"] / bounds["posterior"]
    confirmed, looked, secrets = verification.all_runs
    lines = []
    if secrets:
        lines.append(
            f"of all runs of its store together, up to {counted(earlier.max(), 'earlier one')}: worst bound/target "
            f"{ratio.max():.4f}; {confirmed} of {looked} confirmed by the second route ({secrets} in all)"
        )
    if promised:
        made = verification.tables["runs.parquet"].height
        which = f"none of the {promised} that were planned for, of which {made} were made"
        if verification.certificate.facts.plan.rounds:
            which = f"one of {promised} that were planned for, {promised - made - 1} are left"
        lines.append(f"every target is kept over all runs; this is {which}")
    if above := int((ratio > 1).sum()):
        lines.append(
            f"WARNING: of {counted(above, 'secret')} the bound of ALL RUNS together is ABOVE the target: each run "
            "by itself keeps it, but this model and earlier ones have been released"
        )
    if nothing := ratio.null_count():
        lines.append(
            f"WARNING: of {counted(nothing, 'secret')} nothing is promised over all runs: up to "
            f"{counted(earlier.max(), 'earlier run')}, "
            "of which one was planned otherwise, does not say how it drew, trained on the text without noise, or "
            "was refuted. Or a run used text that another one protected and no entry named"
        )
    return lines


def cell(text: str) -> str:
    """Text that cannot leave its table cell or start markup."""
    return "`" + text.replace("`", "'").replace("|", "/").replace("\n", " ") + "`"


MOST_ROWS = 20
"""Secrets in the terminal's table, largest ε first; `--out` writes all."""


def report_target(
    verification: Verification, delta: float, secrets: Sequence[str], out: Path | None, progress: Progress
) -> PrivacyReport:
    """The report; with `out`, also privacy.csv, trade_off.csv and trade_off.png in that folder."""
    report = privacy_report(verification, delta=delta, secrets=secrets, progress=progress)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        report.rows.write_csv(out / "privacy.csv")
        report.trade_off.write_csv(out / "trade_off.csv")
        figures.trade_off(report.trade_off, out / "trade_off.png")
    return report


def render_privacy(report: PrivacyReport, console: Console) -> None:
    """The largest ε, and a table of the secrets that have them."""
    rows = report.rows.sort("epsilon", descending=True, nulls_last=False)
    unknown = rows["epsilon"].null_count()
    table = Table(
        title=f"(ε, δ) at δ = {rows['delta'][0]:g}: all of a secret's examples contribute, or none does"
    )
    table.add_column("secret", overflow="ellipsis", max_width=48)
    for column in ("examples", "expected a round", "ε"):
        table.add_column(column, justify="right")
    for row in rows.head(MOST_ROWS).iter_rows(named=True):
        epsilon = "beyond dp_accounting" if row["epsilon"] is None else f"{row['epsilon']:.4g}"
        table.add_row(
            escape(figures.short_name(row["name"])),
            f"{row['examples']:,}",
            f"{row['expected_participation']:.3g}",
            f"≤ {epsilon}" if row["inherited"] and row["epsilon"] is not None else epsilon,
        )
    console.print(table)
    if rows.height > MOST_ROWS:
        console.print(f"[dim]… and {rows.height - MOST_ROWS:,} more secrets: --out FOLDER writes all[/dim]")
    if unknown:
        console.print(
            f"[yellow]![/yellow] {unknown} secrets are beyond dp_accounting's reach; their bounds hold"
        )


MOST_SECRETS = 20
"""Secrets, those with most evidence first."""


def render_audit(document: AuditDocument, rows: Sequence[dict[str, Any]], console: Console) -> None:
    console.print(Markdown(audit_page(document, rows)))


def audit_page(document: AuditDocument, rows: Sequence[dict[str, Any]]) -> str:
    """What was attacked, by whom, what was found between which limits, and the most that could have been found."""
    attacks = [
        f"| {a.name} | {a.adversary} | {a.tried} | {a.found} | {a.most} | {a.outcome} | {a.note} |"
        for a in document.made
    ]
    secrets = [
        "| secret | prior | certified, at most | best guess at every noisy step | extracted (95 %) | before "
        "| samples needed | exposure, bits (95 %) | before | unlikely by certificate | ceiling |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    by_evidence = sorted(
        rows, reverse=True,
        key=lambda row: max((row["written"] or 0.0) / row["certified"], row["ranked_evidence"] or 0.0),
    )  # fmt: skip
    return "\n".join(
        [
            f"# Audit of {document.model}: {document.outcome}",
            "",
            document.in_words(),
            "",
            "| attack | adversary | tried | found (95 % intervals) | ceiling | outcome | |",
            "|---|---|---|---|---|---|---|",
            *attacks,
            "",
            document.not_run(),
            "",
            *(secrets if rows else []),
            *(_audited(row) for row in by_evidence[:MOST_SECRETS]),
            f"\n{len(rows) - MOST_SECRETS} more in secrets.parquet." if len(rows) > MOST_SECRETS else "",
            "An attack that finds nothing proves nothing: the certificate is the promise, and holds for attacks "
            "that nobody has tried. Which attack can show what: docs/auditing.md.",
        ]
    )


def _audited(row: dict[str, Any]) -> str:
    written = _shown(row["written"])
    if row["written"] is not None:
        written += f" ({row['written_lower']:.2g} to {row['written_upper']:.2g})"
    exposed = "no value to rank"
    if row["exposure_bits"] is not None:
        exposed = f"{row['exposure_bits']:.1f} ({row['exposure_lower']:.1f} to {row['exposure_upper']:.1f})"
    allowed = row["allowed_bits"]
    cells = [
        cell(short_name(row["name"])), f"{row['prior']:.3g}", f"{row['certified']:.4g}",
        _shown(row["every_step"]), written,
        _shown(row["written_start"]), _shown(row["samples"]), exposed, _shown(row["start_bits"], ".1f"),
        "" if allowed is None else f"from {allowed:.1f}", _shown(row["ceiling_bits"], ".1f"),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _shown(value: float | None, form: str = ".3g") -> str:
    return "" if value is None else f"{value:{form}}"
