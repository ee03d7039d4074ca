"""The report of a job in markdown, for the Prefect UI, which shows no page. Names of secrets, never values."""

from __future__ import annotations

from flows.reports.job_report import Report
from flows.reports.job_screen import noise_in_words, rounds_in_words, runs_so_far_in_words, telling_rows
from flows.reports.verification import cell
from hush_core.figures import short_name
from tasks.against import difference
from tasks.wording import counted


def page(report: Report) -> str:
    """What it came to, what to be warned of, how it differs from the champion, and the secrets that tell most."""
    rate = f", learning rate {report.learning_rate:g}" if report.learning_rate else ""
    lines = [
        f"# {report.model_uri}" + (" (reused: nothing was trained)" if report.reused else ""),
        "",
        f"- {counted(report.secrets, 'secret')} in {report.examples:,} examples ({report.edges:,} edges)"
        if report.edges
        else f"- no secret is left in any of {report.examples:,} examples: all were redacted or left out",
        *(f"- {way}" for way in report.ways),
        *(
            [
                f"- weight retained {report.weight_retained:.1%}, {report.examples_kept:.1%} of the examples kept"
            ]
            if report.edges
            else []
        ),
        *([f"- noise {plain(noise_in_words(report))}"] if report.noise_multiplier is not None else []),
        f"- {rounds_in_words(report)}",
        *([f"- continues from {report.goes_on_from}"] if report.goes_on_from else []),
        *([f"- runs: {plain(runs)}"] if (runs := runs_so_far_in_words(report)) else []),
        f"- model: {report.model}{rate}",
        "",
        "## Warnings",
        "",
        *([f"- {warning}" for warning in report.warnings] or ["- none"]),
        "",
        "## Loss",
        "",
        *_losses(report),
        "",
        "## Against the champion",
        "",
        *difference(report.against),
        "",
        "## Secrets",
        "",
        *_secrets(report),
        "",
        f"The certificate travels with the version. Check it: `hush verify {report.model_uri}`. Decide: "
        f"`hush review {report.model_uri}`, or the deployment `review/hush-review`.",
    ]
    if report.run_url:
        lines.append(f"Run in MLflow, with the reviewer's page (`report.html`): {report.run_url}/artifacts")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Without the terminal's markup."""
    for mark in ("[bold]", "[/bold]", "[dim]", "[/dim]"):
        text = text.replace(mark, "")
    return text


def _losses(report: Report) -> list[str]:
    if not report.losses:
        return ["Not measured: no text was held out."]
    lines = [f"| model | bits per {report.loss_unit}, held-out text without a secret |", "|---|---|"]
    lines += [f"| {name} | {bits:.3f} |" for name, bits in report.losses.items()]
    if report.gain is not None:
        lines += ["", f"{report.gain:.0%} of what unprotected training gains."]
    told = [f"{name} {bits:.3f}" for name, bits in report.tagged_losses.items() if bits is not None]
    share = "" if (gain := report.tagged_gain) is None else f", {gain:.0%} of what unprotected training gains"
    return [*lines, "", f"On held-back text WITH a secret: {' · '.join(told)}{share}."] if told else lines


def _secrets(report: Report) -> list[str]:
    redacted = [f"Redacted: {report.redacted.in_words()}.", ""] if report.redacted else []
    if not report.rows:
        return redacted or ["None is left."]
    rows = telling_rows(report.rows)
    lines = ["| secret | examples | prior | target | bound | rank |", "|---|---|---|---|---|---|"]
    for row in rows:
        rank = "–" if row.rank is None else f"{row.rank} of {(row.alternatives or 0) + 1}"
        lines.append(
            f"| {cell(short_name(row.name))} | {row.examples:,} | {row.prior:.1e} | {row.target:.1e} "
            f"| {row.bound:.1e} | {'OUT, ' if row.extracted else ''}{rank} |"
        )
    hidden = len(report.rows) - len(rows)
    return [*redacted, *lines, *(["", f"{hidden:,} more in the certificate."] if hidden else [])]
