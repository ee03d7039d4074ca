"""What the registry shows of a run: its description for the reviewer, its numbers, and how they differ from the
champion's."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import polars as pl
from mlflow.exceptions import MlflowException

from hush_core.certificate import read_certificate, read_tables
from hush_core.errors import VerificationError
from hush_core.files import file_sha256
from tasks.outcome import Outcome
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import CHAMPION, DIGEST, download_certificate
from tasks.wording import NAMED, AgainstChampion, SecretChanges, batch_in_words, counted, difference

MOST_CHARACTERS = 4900
"""MLflow keeps 5,000 of a version's description."""
MOST_WAYS = 8
NOTHING_LEFT = (
    "**No secret that was found was trained on**: values are redacted, other text with a secret is left out"
)
NO_ROUNDS = (
    "no certified round: no text of a secret is new since the runs before, so that the bounds of all runs stay "
    "what they were, and no run of the promise is spent"
)


def describe(run: Outcome, warnings: list[str], ways: list[str], against: AgainstChampion | None) -> str:
    """The registry's description of the version, in markdown, for the reviewer; at most MOST_CHARACTERS.

    Args:
        ways: which way each entry went, in sentences.
    """
    facts, shown = _facts(run, warnings, ways), []
    sections = ["", "**Against the champion**", "", *apart(difference(against)), "", "**Warnings**", ""]
    room = MOST_CHARACTERS - len("\n".join([*facts, *sections])) - 100
    for warning in warnings:
        room -= len(warning) + 3
        if room < 0:
            shown.append(f"- … and {len(warnings) - len(shown)} more: report.html of the run")
            break
        shown.append(f"- {warning}")
    return "\n".join([*facts, *sections, *(shown or ["- none"])])


def apart(lines: list[str]) -> list[str]:
    """Markdown's tables with room before each column but the first: MLflow's page leaves none."""
    return [line.replace(" | ", " | &emsp;") if line.startswith("| ") else line for line in lines]


def _facts(run: Outcome, warnings: list[str], ways: list[str]) -> list[str]:
    config, weighed, words = run.config, run.weighed, run.config.mechanism.in_words
    secrets = run.read(run.calibrated.bounds).height
    weight = f"weight retained {weighed.retained:.1%}"
    lines = [
        f"**{counted(secrets, 'secret')}**: {_bounds_in_words(run)}." if secrets else f"{NOTHING_LEFT}.",
        "",
    ]
    if secrets:
        lines.append(f"- {_rounds_in_words(run)}")
    lines.append(f"- {f'{weight} by {words}' if words and secrets else words or weight}")
    lines += [f"- {way}" for way in ways[:MOST_WAYS]]
    if len(ways) > MOST_WAYS:
        lines.append(f"- … and {len(ways) - MOST_WAYS} more: report.html of the run")
    if config.weights.without_secret == "plain":
        lines.append(
            f"- **{weighed.trained_plain:,} examples without a secret were trained on WITHOUT noise**: a "
            "secret that no entry names is not protected in them"
        )
    rate = f"; learning rate {run.learning_rate:g}" if run.learning_rate else ""
    best = f", best of {len(run.tried)} in rehearsal on public text" if run.tried else ""
    lines.append(f"- model: {run.model_in_words}{rate}{best}")
    if losses := " · ".join(f"{name} {bits:.3f}" for name, bits in run.losses.items()):
        unit = run.trained.model.unit
        lines.append(f"- loss in bits per {unit} on held-out text without a secret: {losses}")
    for what, made in (("values", run.attacked), ("redacted values", run.redacted_attacked)):
        if made and made.secrets:
            lines.append(f"- attack: {made.extracted} of {made.secrets} {what} extracted")
    if secrets and (runs := runs_in_words(run)) not in warnings:
        lines.append(f"- {runs}")
    sources = ", ".join(f"{name}@{mark[:16]} (keyed)" for name, mark in run.extracted.commits.items())
    return [
        *lines,
        f"- sources: {sources}",
        "",
        "Decide by `report.html`, among the artifacts of the source run, and by "
        f"`hush review models:/{config.tracking.model}/VERSION`, which verifies first.",
    ]


def _bounds_in_words(run: Outcome) -> str:
    """How near the bounds of the model come to their targets; as on the page, what is over target is said first."""
    together = run.all_runs
    if over := together.above + together.nothing:
        return f"{counted(over, 'secret')} ABOVE the target or without a promise over all runs"
    if not run.champion:
        return f"every bound is at most its target (the nearest is at {run.worst_ratio:.1%} of it)"
    return (
        f"every bound of all runs so far is at most its target (the nearest is at {together.worst:.1%} of it); "
        f"the model continues from {run.champion.uri}, so no bound of this run alone is of the model"
    )


def _rounds_in_words(run: Outcome) -> str:
    """What the rounds of this run were; of a run without any, why; and what is left of a promise."""
    c, promise = run.calibrated, run.config.promise
    if not run.config.mechanism.makes_noise:
        return "no certified round: every bound is its prior, as nothing of a secret was trained on"
    words = NO_ROUNDS
    if c.noise_multiplier is not None:
        words = (
            f"noise multiplier {c.noise_multiplier:.4g}, {run.trained.rounds_released} of {c.rounds} rounds "
            f"released, {batch_in_words(c.expected_batch, c.cycle_batch)}, clip norm {c.clip_norm:g}"
        )
    if not promise:
        return words
    made = run.all_runs.earlier + (c.rounds > 0)
    return f"{words}; {made} of {promise.runs} promised runs made, {promise.runs - made} left"


def runs_in_words(run: Outcome) -> str:
    """What other runs mean for the promise. Of this store: nobody knows of others."""
    found, unknown = run.all_runs, run.trained.others.unknown
    if not found.most and not found.nothing:
        return "no earlier run in this store trained on any of these secrets"
    runs = f"{found.most} earlier {'run' if found.most == 1 else 'runs'}"
    which = "secret was" if found.secrets == 1 else "secrets were"
    words = f"{found.secrets} {which} trained on by up to {runs} in this store"
    if found.worst is not None:
        words += f"; of all runs together the worst bound is {found.worst:.3g} times its target"
    if found.above:
        words += f", and {found.above} {'secret is' if found.above == 1 else 'secrets are'} ABOVE it"
    if found.nothing:
        words += (
            f"; of {counted(found.nothing, 'secret')} nothing is promised over all runs: an earlier run was "
            "planned otherwise, does not say how it drew, trained on the text without noise, or was refuted. Or a "
            "run used text that another protected and no entry named then"
        )
    if unknown:
        words += f" ({unknown} runs do not say whose text they saw, and count for every secret)"
    return words


def numbers_of(run: Outcome) -> dict[str, float]:
    """Those that are known, by the tracker's names."""
    extracted, weighed, unit = run.extracted, run.weighed, run.trained.model.unit.replace(" ", "_")
    metrics: dict[str, float | None] = {
        "examples": extracted.n_examples,
        "secrets": extracted.n_secrets,
        "edges": extracted.n_edges,
        "weight_retained": weighed.retained,
        "weight_gap": weighed.gap,
        "rounds_released": run.trained.rounds_released,
        "worst_bound_to_target": run.worst_ratio,
        "extracted_protected": run.attacked.extracted,
        "noise_multiplier": run.calibrated.noise_multiplier,
        "noise_multiplier_paper": run.by_paper or None,
    }
    if run.redacted_attacked:
        metrics["redacted"] = extracted.n_redacted
        metrics["redacted_places"] = extracted.n_redacted_places
        metrics["extracted_redacted"] = run.redacted_attacked.extracted
    if run.unprotected_attacked:
        metrics["extracted_unprotected"] = run.unprotected_attacked.extracted
    metrics |= {f"noise_multiplier_{m}": plan.noise_multiplier for m, plan in run.by_method.items() if plan}
    metrics |= {f"bits_per_{unit}_{label}": bits for label, bits in run.losses.items()}
    for label, bits in run.tagged_bits.items():
        metrics[f"bits_per_{unit}_held_back_{label.replace(' ', '_')}"] = bits
    return {name: value for name, value in metrics.items() if value is not None}


COMPARED = {
    "noise_multiplier": "noise multiplier",
    "rounds_released": "rounds released",
    "weight_retained": "weight retained",
    "worst_bound_to_target": "worst bound/target of the run",
    "examples": "examples",
    "secrets": "secrets",
    "extracted_protected": "values extracted by the attack",
}
"""The numbers that are compared with the champion's, beside the loss, in words."""


def against_champion(run: Outcome) -> AgainstChampion | None:
    """The difference from the version that has the alias now; None where none has, or it is this very one."""
    client = tracker()
    try:
        entry = client.get_model_version_by_alias(run.config.tracking.model, CHAMPION)
        theirs = client.get_run(entry.run_id).data.metrics
    except MlflowException:  # no such model yet, no champion, or its run was deleted
        return None
    if entry.tags.get(DIGEST) == file_sha256(run.certificate_dir / "certificate.json"):
        return None
    ours, unit = numbers_of(run), run.trained.model.unit
    loss = f"loss, bits per {unit}, each on its own held-out text"
    compared = {f"bits_per_{unit.replace(' ', '_')}_protected": loss, **COMPARED}
    rows = [(name, theirs[key], ours[key]) for key, name in compared.items() if key in theirs and key in ours]
    uri, old = f"models:/{entry.name}/{entry.version}", None
    with (
        tempfile.TemporaryDirectory() as folder,
        suppress(VerificationError, OSError, pl.exceptions.PolarsError),  # of another schema, gone or damaged
    ):
        champions = download_certificate(uri, Path(folder))
        read_certificate(champions)
        old = certified_bounds(champions)
    changes = None if old is None else secret_changes(old, certified_bounds(run.certificate_dir))
    return AgainstChampion(uri=uri, rows=tuple(rows), secrets=changes)


MOVED = 0.01
"""A bound that changes by a smaller share has not moved: it is within what numerics leave open."""


def certified_bounds(certificate: Path) -> pl.DataFrame:
    """name · bound: of all runs where there is one, else of the run. Redacted values are among them, so that one
    that the other version learns under noise has moved, and is neither new nor gone."""
    tables = read_tables(certificate)
    bounds = tables["bounds.parquet"].select("secret_id", bound=pl.coalesce("all_runs", "bound"))
    learned = tables["secrets.parquet"].select("secret_id", "name").join(bounds, on="secret_id")
    return pl.concat([learned.drop("secret_id"), tables["redacted.parquet"].select("name", "bound")])


def secret_changes(old: pl.DataFrame, new: pl.DataFrame) -> SecretChanges:
    """What became of the secrets between two tables of name · bound."""
    added = new.join(old, on="name", how="anti")["name"].sort().to_list()
    removed = old.join(new, on="name", how="anti")["name"].sort().to_list()
    both = old.select("name", old="bound").join(new.select("name", new="bound"), on="name")
    times = (pl.col("new") / pl.col("old")).log().abs()
    moved = both.filter((pl.col("new") / pl.col("old") - 1).abs() > MOVED).sort(
        [times, "name"], descending=[True, False]
    )
    up = int((moved["new"] > moved["old"]).sum())
    return SecretChanges(
        n_added=len(added),
        added=tuple(added[:NAMED]),
        n_removed=len(removed),
        removed=tuple(removed[:NAMED]),
        n_up=up,
        n_down=moved.height - up,
        moved=tuple(moved.head(NAMED).iter_rows()),
    )
