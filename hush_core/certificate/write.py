"""Write a certificate directory: tables first, the document last, so that a half-written one never verifies."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.certificate.document import DOCUMENT, TABLES, Certificate, Facts
from hush_core.certificate.redaction import REDACTED, redacted_table
from hush_core.certificate.released import all_runs_again, curves_again
from hush_core.errors import CertificationError
from hush_core.files import file_sha256, hash_directory, put_in_place, sync
from hush_core.history import Earlier
from hush_core.mechanisms.unit_pools import without_reasons
from hush_core.weights.roles import CERTIFIED, PLAIN, assign_roles


def write_certificate(
    directory: Path,
    facts: Facts,
    *,
    bounds: pl.DataFrame,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    weights: np.ndarray,
    model_dir: Path,
    earlier: Earlier | None = None,
    order: np.ndarray | None = None,
    redacted: pl.DataFrame | None = None,
) -> Certificate:
    """Write the certificate of the model in `model_dir` to `directory`, replacing what was there.

    It computes and stores each secret's whole curve (the bound by prior) and its bound over all runs.

    Args:
        bounds: the plan's table of certificates.
        weights: (n,) from the linear program; the reader recomputes every rate from them. Each example's role is
            written beside its weight.
        earlier: what the other runs of the store released of each secret, by default nothing. The facts on runs
            come from it.
        order: as for `assign_roles`.
        redacted: that of the graph; the facts on redaction come from it.

    Raises:
        CertificationError: a bound misses its target (that of all runs, if several are promised), more rounds were
            released than planned, or the rounds draw an example whose role forbids it.
    """
    earlier = earlier or Earlier.none(secrets.height)
    plan = facts.plan
    roles = assign_roles(
        edges,
        n_examples=len(weights),
        without_secret=plan.without_secret,
        held_back=plan.held_back,
        order=order,
    )
    _refuse_what_was_not_planned(facts, bounds, np.asarray(weights), roles)
    curves = curves_again(plan, weights, edges, secrets)
    together = all_runs_again(plan, weights, edges, bounds, earlier)
    _refuse_beyond_promised_runs(facts, bounds, together, earlier)
    redacted_rows, redaction = redacted_table(redacted)
    stated = bounds.with_columns(
        earlier_runs=pl.Series(earlier.counts), bare=pl.Series(earlier.noise_free),
        **together.drop("secret_id").to_dict(), curve=pl.Series(curves.of_secret, dtype=pl.UInt32),
    )  # fmt: skip
    drawn = {
        "example_id": np.arange(len(weights), dtype=np.uint32),
        "weight": np.asarray(weights, np.float64),
    }
    tables = {
        "bounds.parquet": stated, "curves.parquet": curves.table, "edges.parquet": without_reasons(edges),
        "history.parquet": earlier.profiles, REDACTED: redacted_rows, "runs.parquet": earlier.runs,
        "secrets.parquet": secrets, "weights.parquet": pl.DataFrame(drawn | {"role": roles.cast(pl.String)}),
    }  # fmt: skip
    runs = {"runs_on_this_data": earlier.most + (plan.rounds > 0), "unknown_runs": earlier.unknown}
    return _put(directory, facts.model_copy(update={"redaction": redaction, **runs}), tables, model_dir)


def _refuse_what_was_not_planned(
    facts: Facts, bounds: pl.DataFrame, weights: np.ndarray, roles: pl.Series
) -> None:
    missed = bounds.filter(pl.col("bound") > pl.col("posterior"))
    if missed.height:
        raise CertificationError(f"{missed.height} secrets miss their target; no certificate is written")
    if facts.training.rounds_released > facts.plan.rounds:
        raise CertificationError("more rounds were released than the plan covers; no certificate is written")
    if np.any(weights[(roles != CERTIFIED).to_numpy()] > 0):
        raise CertificationError(
            "an example that is not drawn by its role has a weight; no certificate is written"
        )
    if facts.training.trained_without_noise != (roles == PLAIN).sum():
        raise CertificationError("trained_without_noise is not the number of examples whose role is plain")


def _refuse_beyond_promised_runs(
    facts: Facts, bounds: pl.DataFrame, together: pl.DataFrame, earlier: Earlier
) -> None:
    promised = facts.plan.promised_runs
    if promised is None:
        return
    kept = (together["all_runs"] <= bounds["posterior"]).fill_null(False)
    if not kept.all() or earlier.runs.height + (facts.plan.rounds > 0) > promised:
        raise CertificationError(
            f"{(~kept).sum()} secrets miss their target over all runs, {earlier.runs.height} earlier ones of "
            f"{promised} promised; no certificate is written"
        )


def _put(directory: Path, facts: Facts, tables: dict[str, pl.DataFrame], model_dir: Path) -> Certificate:
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name in TABLES:
        tables[name].write_parquet(partial / name)
    certificate = Certificate(
        facts=facts,
        tables={name: file_sha256(partial / name) for name in TABLES},
        model_files=hash_directory(model_dir),
    ).sealed()
    (partial / DOCUMENT).write_bytes(certificate.canonical())
    for path in [*partial.iterdir(), partial]:
        sync(path)
    shutil.rmtree(directory, ignore_errors=True)
    put_in_place(partial, directory)
    return certificate
