"""How the report of a job (`job_report.Report`) is gathered from its tables, and its markdown for the Prefect UI,
which shows no HTML. Names of secrets, never values."""

from __future__ import annotations

import mlflow
from prefect.context import FlowRunContext

from flows.remedies import hopeless
from flows.reports.coverage_notes import coverage_notes
from flows.reports.job_report import Report, SecretRow, redacted_row
from flows.reports.job_screen import data, training
from flows.reports.job_table import telling_rows
from flows.reports.lines import Line, markdown, plain, table_lines
from flows.reports.verification import cell
from hush_core.figures import short_name
from tasks.description import runs_in_words
from tasks.outcome import Outcome
from tasks.runtime.registry import Registered
from tasks.wording import AgainstChampion, counted, difference


def build_report(
    outcome: Outcome,
    registered: Registered,
    warnings: list[str],
    ways: list[str],
    against: AgainstChampion | None,
) -> Report:
    """Gather the report of a finished job from its tables."""
    config, extracted, weighed = outcome.config, outcome.extracted, outcome.weighed
    certificate, run = outcome.certificate_dir, FlowRunContext.get()
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
        goes_on_from=outcome.champion.uri if outcome.champion else None,
        untagged_steps=outcome.untagged.steps if outcome.untagged else None,
        mechanism=config.mechanism.in_words,
        gap=weighed.gap,
        **outcome.calibrated.model_dump(
            include={"noise_multiplier", "method", "rounds", "expected_batch", "cycle_batch", "clip_norm"}
        ),
        noise_by_method={m: c.noise_multiplier if c else None for m, c in outcome.by_method.items()},
        paper_noise=outcome.by_paper,
        rounds_released=outcome.trained.rounds_released,
        promised_runs=config.promise.runs if config.promise else None,
        earlier_runs=outcome.all_runs.earlier,
        worst_of_all_runs=outcome.all_runs.worst,
        model=outcome.model_in_words,
        learning_rate=outcome.learning_rate,
        rates_rehearsed=len(outcome.tried),
        rows=_rows(outcome),
        losses=outcome.losses,
        gain=outcome.gain,
        tagged_losses=outcome.tagged_bits,
        loss_unit=outcome.trained.model.unit,
        reused=run is not None and certificate.stat().st_mtime < run.start_time.timestamp(),
        redacted=redacted_row(outcome),
        against=against,
        warnings=warnings,
        ways=ways,
    )


def _rows(outcome: Outcome) -> list[SecretRow]:
    """Of every secret, by its id: the promise, and what each attack came to."""
    read, ranked = outcome.read, ["secret_id", "rank", "exposure_bits", "extracted"]
    table = read(outcome.calibrated.bounds).select(
        "secret_id", "examples", "prior", "bound", target="posterior"
    )
    parts = [
        read(outcome.extracted.secrets).select("secret_id", "kind", "name"),
        outcome.certified["bounds.parquet"].select("secret_id", "earlier_runs", "all_runs"),
        read(outcome.attacked.table).select(*ranked, "alternatives"),
        read(outcome.before_attacked.table).select("secret_id", before_rank="rank"),
    ]
    if outcome.unprotected_attacked:
        theirs = read(outcome.unprotected_attacked.table).select(ranked)
        parts.append(theirs.rename({name: f"unprotected_{name}" for name in ranked[1:]}))
    for part in parts:
        table = table.join(part, on="secret_id", how="left")
    return [SecretRow(**row) for row in table.sort("secret_id").drop("secret_id").iter_rows(named=True)]


BITS_OF_A_BYTE = 8.0


def warnings_of(outcome: Outcome) -> list[str]:
    """What a reader should know before using the model, the most serious first; no value and no path."""
    config, trained, rows, together = outcome.config, outcome.trained, _rows(outcome), outcome.all_runs
    notes = []
    if leaked := sum(bool(row.extracted) for row in rows):
        notes.append(
            f"{counted(leaked, 'value')} came out of the PROTECTED model word for word: look at "
            "the edges and priors"
        )
    if together.above or together.nothing:
        notes.append(runs_in_words(outcome))
    notes.append(promise_ends(outcome))
    if trained.rounds_released < outcome.calibrated.rounds:
        notes.append(
            f"stopped early: {trained.rounds_released} of {outcome.calibrated.rounds} rounds were released"
        )
    notes.append(hopeless(config, outcome.calibrated))
    notes.append(no_better(outcome))
    notes += coverage_notes(outcome.coverage)
    if unranked := not_attacked(rows):
        verb = "was not attacked: it is" if unranked == 1 else "were not attacked: they are"
        notes.append(
            f"{counted(unranked, 'value')} {verb} whole in no example (cut where chunks meet: "
            "larger chunk_bytes cut fewer; or encoded), or fewer than four letters and digits are free"
        )
    if config.pretrain.steps and not outcome.extracted.n_public:
        notes.append("nothing was pre-trained on: no example is public")
    return [note for note in notes if note]


def promise_ends(outcome: Outcome) -> str:
    """Said while a promise can still be changed: where a tenth of its runs is left, or one."""
    if outcome.config.promise is None:
        return ""
    runs = outcome.config.promise.runs
    left = runs - outcome.all_runs.earlier - (outcome.calibrated.rounds > 0)
    if left > max(1, runs // 10):
        return ""
    return (
        f"{left} of {runs} promised runs left; then a run with new text of a secret is refused. A higher "
        "promise.runs helps before the last ones: they leave little of the targets"
    )


def no_better(outcome: Outcome) -> str:
    """Said where the protected model predicts no better than what it began with, or than none at all."""
    bits, unit = outcome.losses, outcome.trained.model.unit
    protected, before = bits.get("protected"), bits.get("without secrets", bits.get(outcome.start_name))
    if protected is None:
        return ""
    if unit == "byte" and protected >= BITS_OF_A_BYTE:
        return f"the protected model is no better than none: {protected:.3f} bits per byte, of 8 by guessing"
    if before is not None and protected >= before and outcome.calibrated.rounds:
        return (
            f"the protected model is no better than before its certified rounds: {protected:.3f}, was {before:.3f} "
            f"bits per {unit}; `hush plan` says what a larger batch would do"
        )
    return ""


def not_attacked(rows: list[SecretRow]) -> int:
    """Credentials and literals in some example that no attack could rank."""
    return sum(
        row.rank is None and row.examples > 0 and row.kind in ("credentials", "literals") for row in rows
    )


def page(report: Report) -> str:
    """What it came to, what to be warned of, how it differs from the champion, and the secrets that tell most."""
    facts = markdown(Line(label, plain(text)) for label, text in (*data(report), *training(report)))
    lines = [
        f"# {report.model_uri}" + (" (reused: nothing was trained)" if report.reused else ""),
        "",
        facts,
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
        path, mark, query = report.run_url.partition("?")
        shown = f"{path}/artifacts{mark}{query}"
        lines.append(f"Run in MLflow, with the reviewer's page (`report.html`): {shown}")
    return "\n".join(lines)


def _losses(report: Report) -> list[str]:
    if not report.losses:
        return ["Not measured: no text was held out."]
    heads = ["model", f"bits per {report.loss_unit}, held-out text without a secret"]
    lines = table_lines(heads, ([name, f"{bits:.3f}"] for name, bits in report.losses.items()))
    if report.gain is not None:
        lines += ["", f"{report.gain:.0%} of what unprotected training gains."]
    losses = [f"{name} {bits:.3f}" for name, bits in report.tagged_losses.items() if bits is not None]
    share = "" if (gain := report.tagged_gain) is None else f", {gain:.0%} of what unprotected training gains"
    return [*lines, "", f"On held-back text WITH a secret: {' · '.join(losses)}{share}."] if losses else lines


def _secrets(report: Report) -> list[str]:
    redacted = [f"Redacted: {report.redacted.in_words()}.", ""] if report.redacted else []
    if not report.rows:
        return redacted or ["None is left."]
    rows = telling_rows(report.rows)
    cells = []
    for row in rows:
        rank = "–" if row.rank is None else f"{row.rank} of {(row.alternatives or 0) + 1}"
        numbers = (f"{value:.1e}" for value in (row.prior, row.target, row.bound))
        out = "OUT, " if row.extracted else ""
        cells.append([cell(short_name(row.name)), f"{row.examples:,}", *numbers, out + rank])
    lines = table_lines(["secret", "examples", "prior", "target", "bound", "rank"], cells)
    hidden = len(report.rows) - len(rows)
    return [*redacted, *lines, *(["", f"{hidden:,} more in the certificate."] if hidden else [])]
