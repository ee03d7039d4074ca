"""The numbers of a run as the tracker keeps them, and how they differ from the champion's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from mlflow.exceptions import MlflowException

from hush_core.certificate import read_certificate, read_tables
from hush_core.config import HushConfig
from hush_core.errors import VerificationError
from hush_core.files import file_sha256
from tasks.against import NAMED, AgainstChampion, SecretChanges
from tasks.outcome import Outcome, losses, worst_ratio
from tasks.runtime.store import Store, open_store
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import CHAMPION, DIGEST, download_certificate


def numbers_of(store: Store, outcome: Outcome) -> dict[str, float]:
    extracted, weighed, trained = outcome.extracted, outcome.weighed, outcome.trained
    metrics: dict[str, float] = {
        "examples": extracted.n_examples,
        "secrets": extracted.n_secrets,
        "edges": extracted.n_edges,
        "weight_retained": weighed.retained,
        "weight_gap": weighed.gap,
        "rounds_released": trained.rounds_released,
        "worst_bound_to_target": worst_ratio(store, outcome),
        "extracted_protected": outcome.attacked.extracted,
    }
    if outcome.calibrated.noise_multiplier is not None:
        metrics["noise_multiplier"] = outcome.calibrated.noise_multiplier
    if outcome.redacted_attacked:
        metrics["redacted"] = extracted.n_redacted
        metrics["redacted_places"] = extracted.n_redacted_places
        metrics["extracted_redacted"] = outcome.redacted_attacked.extracted
    if outcome.unprotected_attacked:
        metrics["extracted_unprotected"] = outcome.unprotected_attacked.extracted
    for method, calibrated in outcome.by_method.items():
        if calibrated:
            metrics[f"noise_multiplier_{method}"] = calibrated.noise_multiplier
    if outcome.by_paper:
        metrics["noise_multiplier_paper"] = outcome.by_paper
    unit = trained.model.unit.replace(" ", "_")
    for label, bits in losses(outcome).items():
        metrics[f"bits_per_{unit}_{label}"] = bits
    for label, bits in outcome.tagged_bits.items():
        if bits is not None:
            metrics[f"bits_per_{unit}_held_back_{label.replace(' ', '_')}"] = bits
    return metrics


def against_champion(config: HushConfig, outcome: Outcome) -> AgainstChampion | None:
    """The difference from the version that has the alias now; None where none has, or it is this very one."""
    store, client = open_store(), tracker()
    try:
        entry = client.get_model_version_by_alias(config.tracking.model, CHAMPION)
        theirs = client.get_run(entry.run_id).data.metrics
    except MlflowException:  # no such model yet, no champion, or its run was deleted
        return None
    if entry.tags.get(DIGEST) == file_sha256(store.path(outcome.certificate) / "certificate.json"):
        return None
    ours, unit = numbers_of(store, outcome), outcome.trained.model.unit
    told = {
        f"bits_per_{unit.replace(' ', '_')}_protected": f"loss, bits per {unit}, each on its own held-out text",
        "noise_multiplier": "noise multiplier",
        "rounds_released": "rounds released",
        "weight_retained": "weight retained",
        "worst_bound_to_target": "worst bound/target of the run",
        "examples": "examples",
        "secrets": "secrets",
        "extracted_protected": "values extracted by the attack",
    }
    rows = [(name, theirs[key], ours[key]) for key, name in told.items() if key in theirs and key in ours]
    uri = f"models:/{entry.name}/{entry.version}"
    changes = _changes(uri, store.path(outcome.certificate))
    return AgainstChampion(uri=uri, rows=tuple(rows), secrets=changes)


MOVED = 0.01
"""A bound that changes by a smaller share has not moved: it is within what numerics leave open."""


def _changes(champion: str, certificate: Path) -> SecretChanges | None:
    """None where the champion's certificate is of another schema, gone or damaged."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            theirs = download_certificate(champion, Path(folder))
            read_certificate(theirs)
            old = certified_bounds(theirs)
        except (VerificationError, OSError, pl.exceptions.PolarsError):
            return None
    return secret_changes(old, certified_bounds(certificate))


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
