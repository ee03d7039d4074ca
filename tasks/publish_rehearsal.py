"""What a rehearsal leaves: the table of its points, their losses on the way, the picture, and the plan to run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pydantic import BaseModel

from hush_core import figures
from hush_core.config import Changes, HushConfig, write_plan
from hush_core.rehearsal import Space, Tried
from hush_core.rehearsal.play import STEPS
from tasks.publish_plan import NoiseOfRuns, frame
from tasks.runtime.steps import step
from tasks.runtime.tracking import log_run, staged

PLAN = "plan.yaml"
FILES = (
    "rehearsal.csv",
    "rehearsal_curves.csv",
    "rehearsal.png",
    PLAN,
    "rehearsal_runs.csv",
    "rehearsal_runs.png",
)


class LossOfRuns(NoiseOfRuns):
    """And the predicted loss of the first of them; None where it could not be played."""

    loss_anew: float | None
    loss_going_on: float | None


class PublishedRehearsal(BaseModel, frozen=True):
    """Where it lies. `plan` is the file for `hush run --plan`; None where no point could be played."""

    folder: str
    plan: str | None
    run_url: str | None


def table_of(tried: list[Tried], best: Tried | None, space: Space) -> pl.DataFrame:
    """One row a point, in the order in which they were tried."""
    rows = []
    for one in tried:
        sigma = one.facts.get("noise_multiplier")
        point = one.point.model_dump(exclude={"method"})
        rows.append(
            {"number": one.number, "state": one.state, "loss": one.mean, "times_played": 1 + len(one.again)}
            | {"losses": " ".join(f"{x:.5f}" for x in (one.loss, *one.again) if x is not None)}
            | point
            | {
                "noise_multiplier_needed": sigma,
                "noise_per_step": sigma * one.point.clip_norm / one.point.batch if sigma else None,
                "distinct": one.facts.get("distinct"),
                "weight_retained": one.facts.get("retained"),
                **{f"loss_{name.replace(' ', '_')}": x for name, x in one.facts.get("parts", {}).items()},
                "note": one.facts.get("note", ""),
                "own": one.point == space.own,
                "recommended": best is not None and one.number == best.number,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


@step(name="publish-rehearsal")
def publish_rehearsal(
    config: HushConfig,
    tried: list[Tried],
    best: Tried | None,
    space: Space,
    by_runs: list[LossOfRuns],
    unit: str,
    out: Path,
    config_file: str,
    taken: Changes | None,
) -> PublishedRehearsal:
    """Write the files to `out`, and log them to the tracker. None of them says anything of a tagged example."""
    table = table_of(tried, best, space)
    points = [(one.number, step / STEPS, loss) for one in tried for step, loss in one.curve]
    kinds = {"number": pl.Int64, "share": pl.Float64, "loss": pl.Float64}
    curves = pl.DataFrame(points, schema=kinds, orient="row")
    with staged(out) as work:
        table.write_csv(work / FILES[0])
        curves.write_csv(work / FILES[1])
        drawn = table.with_columns(pl.col("loss", "noise_per_step").cast(pl.Float64))
        figures.rehearsed(drawn, curves, work / FILES[2], unit=unit)
        if by_runs:
            runs = frame(by_runs)
            runs.write_csv(work / FILES[4])
            figures.loss_by_runs(runs, work / FILES[5], unit=unit)
        if best is not None:
            write_plan(
                work / PLAN,
                taken or best.point,
                f"rehearsed for {Path(config_file).name}: hush run {Path(config_file).name} --plan {PLAN}",
                f"predicted: {best.mean:.4f} bits per {unit}, σ = {best.facts['noise_multiplier']:.4g}",
            )
    if best is None:
        (out / PLAN).unlink(missing_ok=True)  # an earlier rehearsal's
    url = log_run(
        experiment=config.tracking.experiment,
        run_name="rehearsal",
        params={"method": config.method, "without_secret": config.weights.without_secret}
        | (best.point.model_dump(exclude_none=True) if best else {}),
        metrics={"predicted_loss": best.mean, "noise_multiplier": best.facts["noise_multiplier"]}
        if best
        else {},
        files=[out / name for name in FILES if (out / name).exists()],
    )
    return PublishedRehearsal(
        folder=str(out), plan=str(out / PLAN) if best is not None else None, run_url=url
    )
