"""What a job came to, in one sentence, made from its numbers.

>>> learned(1.14), learned(0.6)
('text without a secret is learned as well', 'text without a secret is learned worse (60% of what it could gain)')
"""

from __future__ import annotations

from flows.reports.job_report import Report

AS_WELL = 0.95
"""Of the unprotected gain on held-out text: from here on, the protected model learned it as well."""


def in_a_sentence(report: Report) -> str:
    """Empty where no value was attacked."""
    attacked = [row for row in report.rows if row.rank is not None]
    if not attacked:
        return ""
    parts = []
    if report.planted is not None:
        missed = f", {n} NOT" if (n := report.planted - (report.planted_found or 0)) else ""
        parts.append(f"{report.planted_found} of {report.planted} planted secrets found{missed}")
    own = sum(bool(row.extracted) for row in attacked)
    if any(row.unprotected_rank is not None for row in attacked):
        bare = sum(bool(row.unprotected_extracted) for row in attacked)
        parts.append(f"the unprotected model gave away {bare or 'none'}, the protected one {own or 'none'}")
    else:
        parts.append(f"the protected model gave away {own or 'none'} of {len(attacked)} secrets")
    if report.gain is not None:
        parts.append(learned(report.gain))
    if report.tagged_gain is not None:
        parts.append(f"certified rounds learn {report.tagged_gain:.0%} of what text with a secret teaches")
    if report.audit_refuted:
        parts.append("an attack REFUTED the certificate")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def learned(gain: float) -> str:
    """What became of text without a secret, by its share of the unprotected gain."""
    if gain >= AS_WELL:
        return "text without a secret is learned as well"
    return f"text without a secret is learned worse ({gain:.0%} of what it could gain)"
