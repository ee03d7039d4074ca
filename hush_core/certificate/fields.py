"""Every field of the certificate and what protects it; docs/reference/certificate_fields.rst has them in words.

Anyone can forge an unsigned certificate, hashes and digest included. So a field is either CHECKED (recomputed from
others or bound to them), or hush names it as UNCHECKED wherever it says "verified".
"""

UNCHECKED: dict[str, str] = {
    "facts.name": "any text",
    "facts.sources": "fingerprints are keyed",
    "facts.examples_fingerprint": "is keyed",
    "facts.run": "is keyed",
    "facts.store": "is keyed",
    "facts.coverage": "what was read is not in the certificate",
    "facts.code": "any versions",
    "facts.runs_on_this_data": "agrees with earlier_runs only",
    "facts.unknown_runs": "agrees with earlier_runs only",
    "facts.plan.settings": "any digest",
    "facts.plan.promised_runs": "above the runs of runs.parquet, and every target is kept with them",
    "facts.plan.clip_norm": "above 0; no bound depends on it",
    "facts.plan.mechanism.records": "of group_privacy the items again; of user_wise any number",
    "facts.plan.mechanism.select": "one of its kind's",
    "facts.plan.mechanism.bands": "of correlated any number; what was found for it is checked",
    "facts.plan.capacities": "loads are held against it where it is matched or paper",
    "facts.plan.c": "loads are held against it where capacities are matched or paper",
    "facts.plan.weight_upper_bound": "at least the objective, at most the examples",
    "facts.training.rounds_released": "at most the plan's; the ledger is not in the certificate",
    "facts.training.rounds_applied": "at most those released",
    "facts.training.started_from": "a run of runs.parquet where it is given; where not, that there was none",
    "facts.training.noise_source": "any text",
    "facts.training.sampler": "any text",
    "facts.training.gradient_scale": "any text, where examples were trained on without noise; in no bound",
    "facts.training.released_unprotected": "any text; something where there are audits",
    "facts.audits.name": "any text",
    "facts.audits.secrets": "at most the certificate's secrets",
    "facts.audits.succeeded": "at most those tried",
    "facts.audits.note": "any text",
    "secrets.parquet.kind": "any text",
    "secrets.parquet.name": "any text",
    "secrets.parquet.provenance": "any text",
    "weights.parquet.role": "which untagged examples have which; their numbers are checked",
    "edges.parquet.reason": "any text",
    "bounds.parquet.noise_needed": "at most the noise multiplier",
    "bounds.parquet.earlier_runs": "agrees with history.parquet and unknown_runs only",
    "bounds.parquet.bare": "where it is false",
    "runs.parquet.run": "that these are all runs",
    "history.parquet.run": "that these are all runs, and that they drew so",
    "history.parquet.secret_id": "that these are all runs, and that they drew so",
    "history.parquet.examples": "that these are all runs, and that they drew so",
    "history.parquet.rate": "that these are all runs, and that they drew so",
    "history.parquet.same_promise": "where it is true",
    "runs.parquet.key": "any text",
    "runs.parquet.noise_multiplier": "that these are all runs, and that they drew so",
    "runs.parquet.rounds": "that these are all runs, and that they drew so",
    "runs.parquet.released": "at most the planned ones",
    "runs.parquet.settings": "any text",
    "facts.redaction.places": "those of redacted.parquet",
    "redacted.parquet.kind": "any text",
    "redacted.parquet.name": "any text",
    "redacted.parquet.prior": "equal to the bound",
    "redacted.parquet.places": "sum to those of the facts",
    "redacted.parquet.provenance": "any text",
}
"""Field → what little is known of it."""
MODEL_FILES = "model_files"
"""Unchecked where the model was not looked at."""


def unchecked_fields(*, model_seen: bool) -> tuple[str, ...]:
    """The fields that may be false in a certificate that verifies."""
    return (*(() if model_seen else (MODEL_FILES,)), *UNCHECKED)
