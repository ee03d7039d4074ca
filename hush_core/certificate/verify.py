"""Recompute a certificate from its own tables, by a second route, and refuse on any mismatch.

What is checked, in order: the document's bytes; the tables' and the model's hashes; the graph; the rates from
the weights; the capacities' consequence (every stored bound again, by the code that made it); and a second
route that shares no numerics with the first: dp_accounting's connect-the-dots for the profiles nearest to
their target, the Rényi bound for consistency everywhere (docs/certificate.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hush_core.accounting import Curves, Participation, bound_secrets, posterior_curves, second_route
from hush_core.certificate.document import (
    Certificate,
    hash_directory,
    hash_file,
    read_certificate,
    read_tables,
)
from hush_core.errors import CertificationError, HushError, VerificationError
from hush_core.weights import sampling_rates

Progress = Callable[[str, int, int], None]

AGREEMENT = 0.02
"""Two routes to the same tight bound may differ by this much, relatively (their discretisations differ)."""
RECOMPUTED = 2e-4
"""The same route on another machine may differ by this much, relatively: round-off decides which tilt is taken."""
DOMINATING = ("dominating_examples", "dominating_rate", "dominating_prior")
"""The profile that an inherited bound is of; null where it is by the secret's own rates."""
SECOND_ROUTE_PROFILES = 8
"""How many distinct profiles, nearest to their target first, take the slow second route."""


@dataclass(frozen=True)
class Verification:
    """A certificate that holds: its document, one row a secret with the route that confirmed it, its tables.

    `rows`: secret_id · name · prior · posterior · bound · recomputed · second (null where not taken) · route.
    `tables`: the certificate's own, by file name.
    """

    certificate: Certificate
    rows: pl.DataFrame
    tables: dict[str, pl.DataFrame]


def verify_certificate(
    directory: Path, model_dir: Path | None = None, progress: Progress | None = None
) -> Verification:
    """Check the certificate in `directory`, and the model in `model_dir` against it.

    Without `model_dir` the model's hashes are not checked; everything else is.

    Raises:
        VerificationError: lists every failure found at the first stage that has one.
    """
    certificate = read_certificate(directory)
    _check_files(certificate, directory, model_dir)
    tables = read_tables(directory)
    try:
        return _check_numbers(certificate, tables, progress or (lambda *_: None))
    except VerificationError:
        raise
    except (HushError, pl.exceptions.PolarsError, KeyError, IndexError, ValueError) as error:
        raise VerificationError(
            [f"the tables do not give a certificate: {type(error).__name__}: {error}"]
        ) from None


def _check_files(certificate: Certificate, directory: Path, model_dir: Path | None) -> None:
    failures = [
        f"{directory / name}: missing or edited"
        for name, digest in certificate.tables.items()
        if not (directory / name).is_file() or hash_file(directory / name) != digest
    ]
    if model_dir is not None:
        present = hash_directory(model_dir)
        for name, digest in certificate.model_files.items():
            if present.get(name) != digest:
                failures.append(f"{model_dir / name}: missing or not the model that was certified")
        failures += [
            f"{model_dir / name}: not part of the model" for name in present.keys() - certificate.model_files
        ]
    if failures:
        raise VerificationError(sorted(failures))


def _check_numbers(
    certificate: Certificate, tables: dict[str, pl.DataFrame], progress: Progress
) -> Verification:
    facts, plan = certificate.facts, certificate.facts.plan
    bounds, secrets, edges = (tables[f"{n}.parquet"] for n in ("bounds", "secrets", "edges"))
    weights = tables["weights.parquet"].sort("example_id")["weight"].to_numpy()
    failures = _check_graph(facts.examples, len(weights), bounds, secrets, edges)
    if facts.training.rounds_released > plan.rounds:
        failures.append(f"{facts.training.rounds_released} rounds released, {plan.rounds} certified")
    if not abs(float(weights.sum()) - plan.weight_objective) <= 1e-9 * plan.weight_objective:
        failures.append("the weights do not sum to the stated objective")
    if failures:
        raise VerificationError(failures)

    rates = sampling_rates(weights, plan.expected_batch)
    progress("recomputing every bound", 0, bounds.height)
    again = bound_secrets(
        edges, rates, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds, method=plan.method
    )
    rows = _join(secrets, bounds, again)
    failures += _compare(rows)
    progress("recomputing every curve", 0, bounds["curve"].n_unique())
    curves = posterior_curves(
        edges, rates, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds, method=plan.method
    )
    failures += _compare_curves(tables["curves.parquet"], bounds["curve"].to_numpy(), curves)
    second = _second_routes(rows, edges, rates, plan, progress)
    rows = rows.join(second, on="secret_id", how="left").with_columns(
        route=pl.when(pl.col("second").is_null())
        .then(pl.lit("recomputed"))
        .otherwise(pl.lit("recomputed; dp_accounting, connect-the-dots"))
    )
    for row in rows.filter(pl.col("second").is_not_null()).iter_rows(named=True):
        low, high = row["bound"] * (1 - AGREEMENT), row["bound"] * (1 + AGREEMENT)
        tight = row["method"] == "blow_up" and row["dominating_examples"] is None
        if row["second"] > high or (tight and row["second"] < low):
            failures.append(
                f"{row['name']}: bound {row['bound']:.6g}, but {row['second']:.6g} by dp_accounting"
            )
    if failures:
        raise VerificationError(failures)
    columns = ["secret_id", "name", "prior", "posterior", "bound", "recomputed", "second", "method", "route"]
    return Verification(certificate, rows.select(columns), tables)


def _check_graph(
    examples: int, n_weights: int, bounds: pl.DataFrame, secrets: pl.DataFrame, edges: pl.DataFrame
) -> list[str]:
    ids = secrets["secret_id"].to_list()
    found = [
        (examples != n_weights, f"{n_weights} weights for {examples} examples"),
        (ids != list(range(len(ids))), "secrets are not numbered densely"),
        (bounds["secret_id"].to_list() != ids, "not every secret has exactly one bound"),
        (edges.select("example_id", "secret_id").is_duplicated().any(), "an edge is given twice"),
        (edges.height == 0, "no edge at all"),
    ]
    return [message for wrong, message in found if wrong]


def _join(secrets: pl.DataFrame, bounds: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    """One row a secret: the secrets' own targets, the stored bound and the recomputed one."""
    stored = bounds.select(
        "secret_id", "examples", "expected_participation", "bound", "method", *DOMINATING,
        stored_prior="prior", stored_posterior="posterior",
    )  # fmt: skip
    recomputed = again.select(
        "secret_id", recomputed="bound", counted="examples", participation="expected_participation",
        by="method", **{f"again_{name}": name for name in DOMINATING},
    )  # fmt: skip
    joined = secrets.join(stored, on="secret_id", how="left").join(recomputed, on="secret_id", how="left")
    return joined.sort("secret_id")


def _compare(rows: pl.DataFrame) -> list[str]:
    failures = []
    for row in rows.iter_rows(named=True):
        name = row["name"]
        if (row["stored_prior"], row["stored_posterior"]) != (row["prior"], row["posterior"]):
            failures.append(f"{name}: prior or target differ between the tables")
        if row["counted"] != row["examples"]:
            failures.append(f"{name}: {row['examples']} examples certified, {row['counted']} in the graph")
        if not np.isclose(row["participation"], row["expected_participation"], rtol=1e-9, atol=1e-15):
            failures.append(f"{name}: its examples' rates do not sum to what was certified")
        if row["method"] != row["by"] or not all(_same(row[c], row[f"again_{c}"]) for c in DOMINATING):
            failures.append(
                f"{name}: its bound was proved for another profile, or by another method, than stated"
            )
        if not row["bound"] <= row["posterior"]:
            failures.append(f"{name}: bound {row['bound']:.6g} misses its target {row['posterior']:.6g}")
        if not row["recomputed"] <= row["bound"] * (1 + RECOMPUTED):
            failures.append(f"{name}: bound {row['bound']:.6g}, but {row['recomputed']:.6g} when recomputed")
    return failures


def _same(stated: float | None, found: float | None) -> bool:
    if stated is None or found is None:
        return stated is found
    return bool(np.isclose(stated, found, rtol=1e-9, atol=0))


def _compare_curves(stored: pl.DataFrame, of_secret: np.ndarray, again: Curves) -> list[str]:
    if not np.array_equal(of_secret, again.of_secret):
        return ["the curves are not assigned to the secrets that they are of"]
    if stored.drop("bound", "lower", "method", "numerical_error").equals(
        again.table.drop("bound", "lower", "method", "numerical_error")
    ):
        rise = again.table["bound"] > stored["bound"] * (1 + RECOMPUTED)
        if not rise.any():
            return []
        row = stored.row(int(rise.arg_max()), named=True)
        return [
            f"curve {row['curve']} at prior {row['prior']:.3g}: {row['bound']:.6g} is stated, more comes out"
        ]
    return ["the curves are not those of this graph: their priors or profiles differ"]


def _second_routes(rows: pl.DataFrame, edges: pl.DataFrame, rates: np.ndarray, plan, progress: Progress):
    """secret_id · second, for the secrets whose profile is among those nearest to their target."""
    by_secret = (
        edges.sort("secret_id", "example_id").group_by("secret_id", maintain_order=True).agg("example_id")
    )
    members = dict(by_secret.iter_rows())
    nearest = rows.sort(pl.col("bound") / pl.col("posterior"), descending=True)
    done: dict[tuple, float | None] = {}
    found: list[tuple[int, float]] = []
    for row in nearest.iter_rows(named=True):
        own = rates[np.asarray(members.get(row["secret_id"], []), dtype=np.int64)]
        own = np.sort(own[own > 0])
        if not own.size:
            continue
        key = (own.tobytes(), row["prior"])
        if key not in done:
            if len(done) == SECOND_ROUTE_PROFILES:
                continue
            progress("second route", len(done), SECOND_ROUTE_PROFILES)
            done[key] = _second(own, plan, row["prior"])
        if done[key] is not None:
            found.append((row["secret_id"], done[key]))
    return pl.DataFrame(found, schema={"secret_id": pl.UInt32, "second": pl.Float64}, orient="row")


def _second(rates: np.ndarray, plan, prior: float) -> float | None:
    try:
        k = Participation.from_rates(rates)
        bound = second_route(k, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds, prior=prior)
    except CertificationError:
        return None
    return bound.value
