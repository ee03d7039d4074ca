"""Step 6b: pictures, then one MLflow run with a registered model version that carries its certificate."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from prefect import task
from pydantic import BaseModel, ConfigDict

from hush_core import figures
from hush_core.certificate import read_certificate, read_tables
from hush_core.config import ByteGptModel, HushConfig
from tasks.attack import Attacked
from tasks.calibration import Calibrated
from tasks.extraction import Extracted
from tasks.models import Model, base_name
from tasks.ordinary_training import PlainlyTrained
from tasks.rate_search import TriedRate
from tasks.runtime.environment import home
from tasks.runtime.registry import Registered, record_run, registered_version
from tasks.runtime.store import Ref, Store
from tasks.training import Trained
from tasks.weighing import Weighed


class Outcome(BaseModel):
    """Everything that a finished job has to show."""

    model_config = ConfigDict(frozen=True)

    extracted: Extracted
    weighed: Weighed
    calibrated: Calibrated
    by_method: dict[str, Calibrated | None]
    by_paper: float | None
    """σ by the paper's method on the paper's own program, at equal retained weight."""
    pretrained: Model
    untagged: PlainlyTrained | None
    """After ordinary training on text without a secret; None where there was none."""
    tried: tuple[TriedRate, ...]
    """Each learning rate played through on public text; none where the config names one rate."""
    learning_rate: float
    trained: Trained
    before_attacked: Attacked
    attacked: Attacked
    redacted_before: Attacked | None = None
    redacted_attacked: Attacked | None = None
    """The same where placeholders stand; None where nothing was redacted."""
    unprotected: Model | None
    tagged_bits: dict[str, float | None]
    """Loss on examples with a secret that were held back, by model; empty unless the config asks for it."""
    unprotected_attacked: Attacked | None
    certificate: Ref


@task(name="record")
def record(config: HushConfig, outcome: Outcome) -> Registered:
    """Log and register. Not cached: the tracker decides whether this certificate is registered already."""
    store = Store(home().store)
    certificate_dir = store.path(outcome.certificate, verify=True)
    if (known := registered_version(config.tracking.model, certificate_dir)) is not None:
        return known  # before any picture is drawn
    with store.scratch() as folder:
        return record_run(
            experiment=config.tracking.experiment,
            model_name=config.tracking.model,
            params=_params(config, outcome),
            metrics=_metrics(store, outcome),
            tables=_tables(store, outcome, Path(folder)),
            pictures=draw(store, outcome, Path(folder)),
            certificate_dir=certificate_dir,
            model_dir=store.path(outcome.trained.model.files, verify=True),
            tags=_tags(store, outcome),
            description=describe(store, config, outcome),
        )


def _params(config: HushConfig, outcome: Outcome) -> dict[str, object]:
    train = config.train
    return {
        "method": config.method,
        "capacities": config.weights.capacities,
        "c": outcome.weighed.c,
        "rounds": train.rounds,
        "expected_batch": train.batch,
        "clip_norm": train.clip_norm,
        "learning_rate": outcome.learning_rate,
        "precision": train.precision,
        "processes": train.processes,
        "model": model_in_words(config),
        "pretrain_steps": config.pretrain.steps,
        "without_secret": config.weights.without_secret,
        "trained_without_noise": outcome.weighed.trained_plain,
        **{f"source.{name}": mark[:16] for name, mark in outcome.extracted.commits.items()},
    }


def model_in_words(config: HushConfig) -> str:
    """The model of a config in a few words; of a folder, its name alone."""
    model = config.model
    if isinstance(model, ByteGptModel):
        return f"{model.kind} {model.layers}x{model.width}, {model.heads} heads, {config.chunk_bytes} bytes"
    name = base_name(model)
    return f"{name}, LoRA rank {model.lora.rank}" if model.lora else f"{name}, all parameters"


def _metrics(store: Store, outcome: Outcome) -> dict[str, float]:
    extracted, weighed, trained = outcome.extracted, outcome.weighed, outcome.trained
    metrics: dict[str, float] = {
        "examples": extracted.n_examples,
        "secrets": extracted.n_secrets,
        "edges": extracted.n_edges,
        "weight_retained": weighed.retained,
        "weight_gap": weighed.gap,
        "noise_multiplier": outcome.calibrated.noise_multiplier,
        "rounds_released": trained.rounds_released,
        "worst_bound_to_target": worst_ratio(store, outcome),
        "extracted_protected": outcome.attacked.extracted,
    }
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


def losses(outcome: Outcome) -> dict[str, float]:
    """Bits per `trained.model.unit` on held-out examples without a secret, by model."""
    models = {
        "pretrained": outcome.pretrained,
        "without secrets": outcome.untagged.model if outcome.untagged else None,
        "protected": outcome.trained.model,
        "unprotected": outcome.unprotected,
    }
    return {name: m.bits for name, m in models.items() if m and m.bits is not None}


def gain(outcome: Outcome) -> float | None:
    """(start − protected)/(start − unprotected) on held-out text; None where it was not measured, or nothing is
    to be gained."""
    bits = losses(outcome)
    if not {"pretrained", "protected", "unprotected"} <= bits.keys():
        return None
    possible = bits["pretrained"] - bits["unprotected"]
    return (bits["pretrained"] - bits["protected"]) / possible if possible > 0 else None


def learning_table(outcome: Outcome) -> pl.DataFrame:
    """run · rounds · bits: loss on public text of the protected run, and of each rehearsal of its rate."""
    runs = {f"rehearsal, rate {one.learning_rate:g}": one.curve for one in outcome.tried}
    runs[figures.RUN] = outcome.trained.curve
    rows = [(name, rounds, bits) for name, curve in runs.items() for rounds, bits in curve]
    return pl.DataFrame(
        rows, schema={"run": pl.String, "rounds": pl.UInt32, "bits": pl.Float64}, orient="row"
    )


def worst_ratio(store: Store, outcome: Outcome) -> float:
    """The largest bound/target over all secrets: at most 1."""
    return float(
        store.read_frame(outcome.calibrated.bounds)
        .select((pl.col("bound") / pl.col("posterior")).max())
        .item()
    )


def _tables(store: Store, outcome: Outcome, folder: Path) -> dict[str, Path]:
    tables = {
        "secrets": outcome.extracted.secrets,
        "edges": outcome.extracted.edges,
        "weights": outcome.weighed.weights,
        "binding": outcome.weighed.binding,
        "bounds": outcome.calibrated.bounds,
        "exposure": outcome.attacked.table,
        "exposure_before": outcome.before_attacked.table,
        "coverage": outcome.extracted.coverage,
        "earlier_runs": outcome.trained.earlier_runs,
    }
    if outcome.redacted_before and outcome.redacted_attacked:
        tables["redacted"] = outcome.extracted.redacted
        tables["exposure_redacted"] = outcome.redacted_attacked.table
        tables["exposure_redacted_before"] = outcome.redacted_before.table
    if outcome.unprotected_attacked:
        tables["exposure_unprotected"] = outcome.unprotected_attacked.table
    paths = {name: store.path(ref) for name, ref in tables.items()}
    if (curves := learning_table(outcome)).height:
        paths["learning_curves"] = folder / "learning_curves.parquet"
        curves.write_parquet(paths["learning_curves"])
    return paths


def draw(store: Store, outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Every picture of the job, drawn from its tables into `folder`."""
    read = store.read_frame
    secrets, bounds = read(outcome.extracted.secrets), read(outcome.calibrated.bounds)
    noise = {m: c.noise_multiplier for m, c in outcome.by_method.items() if c}
    unprotected = outcome.unprotected_attacked
    pictures = {
        "weights_retained": figures.weights_retained(
            read(outcome.weighed.weights),
            read(outcome.extracted.edges),
            secrets,
            folder / "weights_retained.png",
        ),
        "secret_graph": figures.secret_graph(
            read(outcome.extracted.edges), secrets, folder / "secret_graph.png"
        ),
        "noise_by_method": figures.noise_by_method(noise, folder / "noise_by_method.png"),
        "posterior_against_target": figures.posterior_against_target(
            bounds, secrets, folder / "posterior_against_target.png"
        ),
        "posterior_curves": _draw_curves(store, outcome, secrets, folder / "posterior_curves.png"),
        "loss": figures.losses(losses(outcome), folder / "loss.png", unit=outcome.trained.model.unit),
    }
    if (curves := learning_table(outcome)).height:
        pictures["learning_curves"] = figures.learning_curves(
            curves, folder / "learning_curves.png", unit=outcome.trained.model.unit
        )
    if outcome.attacked.secrets:
        pictures["exposure"] = figures.exposure(
            read(outcome.attacked.table),
            read(unprotected.table) if unprotected else None,
            folder / "exposure.png",
            before=read(outcome.before_attacked.table),
        )
    return pictures


def _draw_curves(store: Store, outcome: Outcome, secrets: pl.DataFrame, path: Path) -> Path:
    tables = read_tables(store.path(outcome.certificate))
    return figures.posterior_curves(tables["curves.parquet"], tables["bounds.parquet"], secrets, path)


def _tags(store: Store, outcome: Outcome) -> dict[str, str]:
    certificate = read_certificate(store.path(outcome.certificate))
    return {
        "method": outcome.calibrated.method,
        "noise_multiplier": f"{outcome.calibrated.noise_multiplier:.6g}",
        "rounds_released": str(outcome.trained.rounds_released),
        "worst_bound_to_target": f"{worst_ratio(store, outcome):.6g}",
        "certificate_digest": certificate.digest,
        "runs_on_this_data": str(outcome.trained.runs_on_this_data),
        "secrets_trained_before": str(outcome.trained.secrets_trained_before),
    }


def runs_in_words(trained: Trained) -> str:
    """What other runs mean for this one's bounds. Of this store: nobody knows of others."""
    most, secrets = trained.runs_on_this_data - 1, trained.secrets_trained_before
    if not most:
        return "no earlier run in this store trained on any of these secrets"
    unknown = (
        f"; {trained.unknown_runs} of them did not note whose text they saw and count for every secret"
        if trained.unknown_runs
        else ""
    )
    return (
        f"this bound is of this run alone: {secrets} {'secret was' if secrets == 1 else 'secrets were'} trained on "
        f"by up to {most} earlier {'run' if most == 1 else 'runs'} in this store, whose releases add up{unknown}"
    )


def without_noise(config: HushConfig, outcome: Outcome) -> list[str]:
    """What a reviewer must know of text that was trained on without noise."""
    if config.weights.without_secret != "plain":
        return []
    return [
        f"- **{outcome.weighed.trained_plain:,} examples without a secret were trained on WITHOUT noise**: a "
        "secret that no entry names is not protected in them"
    ]


def describe(store: Store, config: HushConfig, outcome: Outcome) -> str:
    """The registry's description of the version, in markdown, for the reviewer."""
    c, t, w = outcome.calibrated, outcome.trained, outcome.weighed
    bounds = store.read_frame(c.bounds)
    attacked = outcome.attacked
    return "\n".join(
        [
            f"**{bounds.height} secrets certified** by `{c.method}`: every bound is at most its target "
            f"(worst ratio {worst_ratio(store, outcome):.3f}).",
            "",
            f"- noise multiplier {c.noise_multiplier:.4g}, {t.rounds_released} of {c.rounds} rounds released, "
            f"expected batch {c.expected_batch}, clip norm {c.clip_norm:g}",
            f"- weight retained {w.retained:.1%} (the program solved within {w.gap:.1e}, certified)",
            *without_noise(config, outcome),
            f"- model: {model_in_words(config)}; learning rate {outcome.learning_rate:g}"
            + (f", best of {len(outcome.tried)} in rehearsal on public text" if outcome.tried else ""),
            f"- attack: {attacked.extracted} of {attacked.secrets} values extracted",
            f"- {runs_in_words(t)}",
            "- sources: "
            + ", ".join(f"{name}@{mark[:16]} (keyed)" for name, mark in outcome.extracted.commits.items()),
            "",
            f"Check it: `hush verify models:/{config.tracking.model}/VERSION`. Approve or reject it: "
            f"`hush review models:/{config.tracking.model}/VERSION`.",
        ]
    )
