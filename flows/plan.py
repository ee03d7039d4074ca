"""What will it cost? Everything up to the noise multiplier, for a range of c; trains nothing."""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact
from pydantic import BaseModel, ConfigDict

from hush_core.config import Changes, load_config
from hush_core.errors import CertificationError, InputError
from hush_core.weights import capacity_rule
from tasks.calibration import calibrate_noise
from tasks.extraction import extract_secrets, sources
from tasks.weighing import mechanism_of, weigh_examples

DEFAULT_SWEEP = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


class PlanRow(BaseModel):
    """One value of c: what is kept, and the noise it takes; `note` says why where there is none."""

    model_config = ConfigDict(frozen=True)

    c: float
    weight_retained: float
    examples_kept: float
    noise_multiplier: float | None
    note: str


class PlanReport(BaseModel):
    """The price list of one config."""

    model_config = ConfigDict(frozen=True)

    secrets: int
    examples: int
    method: str
    rows: list[PlanRow]


@flow(name="plan", validate_parameters=True)
def plan(config_file: str, changes: Changes | None = None, sweep: list[float] | None = None) -> PlanReport:
    """Extract, weigh and calibrate for each c of `sweep`; nothing is trained or registered.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values.
        sweep: values of c relative to c_max, each in (0, 1].
    """
    config = load_config(Path(config_file), changes)
    values = sweep or sorted({*DEFAULT_SWEEP, config.weights.c})
    if not all(0 < c <= 1 for c in values):
        raise InputError("sweep", "a value of c lies outside (0, 1]", "give fractions of c_max")
    extracted = extract_secrets(sources(config), config)
    graph = {"edges": extracted.edges, "secrets": extracted.secrets}
    rule = capacity_rule(config.weights.capacities, config.method)
    rows = []
    for c in values:
        weighed = weigh_examples(
            **graph, n_examples=extracted.n_examples, rule=rule, c=c, mechanism=mechanism_of(config)
        )
        noise, note = None, ""
        try:
            noise = calibrate_noise(
                weighed.weights, **graph, rounds=config.train.rounds, expected_batch=config.train.batch,
                clip_norm=config.train.clip_norm, method=config.method,
            ).noise_multiplier  # fmt: skip
        except (InputError, CertificationError) as error:
            note = str(error)
        rows.append(
            PlanRow(
                c=c,
                weight_retained=weighed.retained,
                examples_kept=weighed.kept,
                noise_multiplier=noise,
                note=note,
            )
        )
    report = PlanReport(
        secrets=extracted.n_secrets, examples=extracted.n_examples, method=config.method, rows=rows
    )
    create_table_artifact(
        [row.model_dump() for row in rows], key="hush-plan", description=f"noise by c, {config.method}"
    )
    return report
