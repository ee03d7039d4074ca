"""What a reviewer reads of a version: above the form, and the whole in the run's artifact."""

from __future__ import annotations

import polars as pl

from flows.reports.verification import cell, verdict
from hush_core.certificate import Verification
from hush_core.figures import short_name
from tasks.wording import counted

SHOWN = 20
"""Secrets in the review's table, nearest to their target first; the certificate has all."""


def form_page(model_uri: str, verification: Verification) -> str:
    """What is above the fields of the form: the verdict with every warning, and no more: they are in reach.
    `facts_page`, the run's artifact, is the whole."""
    return "\n".join(
        [
            f"## {model_uri}: the certificate holds",
            "",
            *(f"- {line}" for line in verdict(verification)[:-1]),
            "",
            "**Read first** the artifact `hush-review` of this run (tab *Artifacts*): the promise, what it leaves "
            "out, and the secrets nearest to their targets.",
        ]
    )


def facts_page(model_uri: str, verification: Verification) -> str:
    """What a reviewer must know, in markdown; names of secrets, never values."""
    facts, rows = verification.certificate.facts, verification.rows
    plan, training = facts.plan, facts.training
    nearest = rows.with_columns(ratio=pl.col("bound") / pl.col("posterior")).sort("ratio", descending=True)
    table = [
        f"| {cell(short_name(r['name']))} | {r['prior']:.3g} | {r['bound']:.4g} | {r['posterior']:.4g} "
        f"| {r['ratio']:.3f} | {r['route']} |"
        for r in nearest.head(SHOWN).iter_rows(named=True)
    ]
    if table:
        table = [
            "| secret | prior | certified bound | target | bound/target | second route by |",
            "|---|---|---|---|---|---|",
            *table,
            f"\n{rows.height - SHOWN} more in the certificate.\n" if rows.height > SHOWN else "",
        ]
    noise = (
        f"- noise multiplier {plan.noise_multiplier:.4g}, method {plan.method}, clip norm {plan.clip_norm:g}, "
        f"{training.rounds_released} of {plan.rounds} rounds released, expected batch {plan.expected_batch}, "
        f"run {facts.runs_on_this_data} on this data"
        if plan.noise_multiplier
        else "- no certified round"
    )
    return "\n".join(
        [
            f"# {model_uri}: the certificate holds",
            "",
            *(f"- {line}" for line in verdict(verification)[:-1]),
            f"- {counted(len(verification.unchecked), 'field')} of the certificate NOT checked, as nothing in it "
            f"can show them: `hush verify {model_uri}` lists them",
            "- losses, warnings and the difference from the champion: `report.html` of the run in MLflow",
            "",
            *table,
            noise,
            f"- {facts.examples:,} examples",
            *(
                f"- source {cell(name)}, commit fingerprint {mark[:16]}"
                for name, mark in facts.sources.items()
            ),
            *(
                f"- attack {a.name}: {a.succeeded} of {a.secrets} succeeded ({a.note})"
                for a in facts.audits
                if a.secrets
            ),
            f"- digest {verification.certificate.digest}",
            "",
            "**Promised, word for word**",
            "",
            *([verification.certificate.promise, ""] if rows.height or not facts.redaction.secrets else []),
            *([verification.certificate.redaction_promise, ""] if facts.redaction.secrets else []),
            "**Not promised**",
            "",
            *(f"- {line}" for line in verification.certificate.not_promised),
        ]
    )
