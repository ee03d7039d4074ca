"""Recompute a certificate from its own tables, by a second route, and refuse on any mismatch.

The checks, in order: the document's bytes and words; the hashes of tables and model; the tables' form; facts
against tables; weights against capacities. Then every stored bound and curve is computed again by the code that
made it, and by the second route (`recheck`). That route shares only the dominating pair with the first, neither
code nor other mathematics. `Verification.unchecked` names what no certificate can show (docs/certificates.md).
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hush_core.certificate.comparison import compare_all_runs, compare_bounds, compare_curves, join_again
from hush_core.certificate.consistency import check_capacities, check_facts, check_roles
from hush_core.certificate.document import (
    TABLES,
    Certificate,
    Facts,
    read_certificate,
    read_tables,
)
from hush_core.certificate.fields import unchecked_fields
from hush_core.certificate.mechanism import check_mechanism, check_unit_privacy
from hush_core.certificate.recheck import (
    CycleRun,
    Movements,
    Recheck,
    SampledRun,
    Secrets,
    recheck_all_runs,
    recheck_bounds,
    recheck_curves,
    recheck_cycle,
)
from hush_core.certificate.released import all_runs_again, bounds_again, curves_again, earlier_of
from hush_core.certificate.tables import check_tables
from hush_core.errors import HushError, VerificationError
from hush_core.files import file_sha256, hash_directory
from hush_core.progress import Progress


@dataclass(frozen=True)
class Verification:
    """A certificate that holds: its document, one row a secret with the route that confirmed it, its tables.

    Attributes:
        rows: secret_id · name · prior · posterior · bound · recomputed · second (null where the second route is
            not accurate) · method · route (own rates, a binomial that dominates, not accurate enough).
        tables: the certificate's own, by file name.
        curve_points: (confirmed by the second route, looked at, in all).
        all_runs: the same of the bounds of all runs together, where there were earlier ones.
        model_seen: whether the model's files were compared with the certificate.
        redaction: the result of a search for redacted values in the examples; only the home that made the examples
            can search them (`hush verify`). This and the next four are empty if nobody looked.
        chain: the result of comparing its history with an earlier certificate's.
        approval: who approved the model for use.
        signature: which organisation signed the certificate and the model, or that nobody did.
        audit: the result of the last audit of the registered version.
        refuted: whether any attack found more than the certificate allows.
        unchecked: the fields that may say anything (docs/reference/certificate_fields.rst has the table).
    """

    certificate: Certificate
    rows: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    curve_points: tuple[int, int, int]
    all_runs: tuple[int, int, int]
    model_seen: bool
    redaction: str = ""
    chain: str = ""
    signature: str = ""
    approval: str = ""
    audit: str = ""
    refuted: bool = False

    @property
    def unchecked(self) -> tuple[str, ...]:
        return unchecked_fields(model_seen=self.model_seen)

    def confirmed(self, route: str) -> int:
        """How many secrets by that route."""
        return int((self.rows["route"] == route).sum())


def verify_certificate(
    directory: Path, model_dir: Path | None = None, progress: Progress | None = None
) -> Verification:
    """Check the certificate in `directory`, and the model in `model_dir` against it.

    Without `model_dir` the model is not checked, and `model_seen` says so; everything else is checked.

    Guarantee: every bound is recomputed from the tables, and by the second route where that is accurate (`rows`).
    `Verification.unchecked` names the fields that no table proves (docs/certificates.md).

    Raises:
        VerificationError: lists every failure found at the first stage that has one.
    """
    certificate = read_certificate(directory)
    check_files(certificate, directory, model_dir)
    try:
        tables = read_tables(directory)
        return _check_numbers(certificate, tables, model_dir is not None, progress or (lambda *_: None))
    except VerificationError:
        raise
    except (
        HushError,
        pl.exceptions.PolarsError,
        LookupError,
        ValueError,
        TypeError,
        ArithmeticError,
    ) as error:
        raise VerificationError(
            [f"the tables do not give a certificate: {type(error).__name__}: {error}"]
        ) from None


def check_files(certificate: Certificate, directory: Path, model_dir: Path | None) -> None:
    """The tables in `directory`, and the model's files, have the certificate's hashes; VerificationError if not."""
    failures = [
        f"{directory.name}/{name}: missing or edited"
        for name, digest in certificate.tables.items()
        if not (directory / name).is_file() or file_sha256(directory / name) != digest
    ]
    if model_dir is not None:
        present = hash_directory(model_dir)
        for name, digest in certificate.model_files.items():
            if present.get(name) != digest:
                failures.append(f"{model_dir.name}/{name}: missing or not the model that was certified")
        failures += [
            f"{model_dir.name}/{name}: not part of the model"
            for name in present.keys() - certificate.model_files
        ]
    if failures:
        raise VerificationError(sorted(failures))


def _check_numbers(
    certificate: Certificate, tables: dict[str, pl.DataFrame], model_seen: bool, progress: Progress
) -> Verification:
    facts, plan = certificate.facts, certificate.facts.plan
    bounds, curves, edges, _, _, _, secrets, weights = (tables[name] for name in TABLES)
    if failures := (check_tables(tables) or check_facts(facts, tables) or check_roles(facts, edges, weights)):
        raise VerificationError(failures)
    weight = weights["weight"].to_numpy()
    rates, sigma, rounds = plan.as_run(weight, edges)
    if failures := check_capacities(facts, weight, edges, secrets) + check_mechanism(
        plan.mechanism, edges, secrets, weights
    ):
        raise VerificationError(failures)
    if plan.mechanism.epsilon is not None:
        progress("recomputing (ε, δ)", 0, 1)
        if failures := check_unit_privacy(plan.mechanism, edges, rates, secrets, sigma, rounds):
            raise VerificationError(failures)
        progress("recomputing (ε, δ)", 1, 1)

    progress("recomputing every bound", 0, bounds.height)
    again = bounds_again(plan, weight, edges, secrets)
    progress("recomputing every bound", bounds.height, bounds.height)
    rows = join_again(secrets, bounds, again)
    failures = compare_bounds(rows, plan.noise_multiplier or sigma)
    progress("recomputing every curve", 0, bounds["curve"].n_unique())
    again_curves = curves_again(plan, weight, edges, secrets)
    progress("recomputing every curve", bounds["curve"].n_unique(), bounds["curve"].n_unique())
    failures += compare_curves(curves, bounds["curve"].to_numpy(), again_curves)
    progress("recomputing the bounds of all runs", 0, bounds.height)
    earlier = earlier_of(facts.unknown_runs, tables)
    together = all_runs_again(plan, weight, edges, bounds, earlier, progress)
    progress("recomputing the bounds of all runs", bounds.height, bounds.height)
    failures += compare_all_runs(secrets["name"], bounds, together)
    if failures:
        raise VerificationError(failures)
    second, points = _second_route(facts, tables, progress)
    if second.failures:
        raise VerificationError(second.failures)
    rows = rows.with_columns(
        second=pl.Series(second.second, nan_to_null=True), route=pl.Series(second.route.astype(str))
    )
    columns = ["secret_id", "name", "prior", "posterior", "bound", "recomputed", "second", "method", "route"]
    return Verification(certificate, rows.select(columns), tables, points, second.all_runs, model_seen)


def _second_route(
    facts: Facts, tables: dict[str, pl.DataFrame], progress: Progress
) -> tuple[Recheck, tuple[int, int, int]]:
    bounds, curves, edges, history, _, runs, secrets, weights = (tables[name] for name in TABLES)
    weight = weights["weight"].to_numpy()
    plan = facts.plan
    _, sigma, rounds = plan.as_run(weight, edges)
    mechanism = SampledRun(sigma, rounds)
    drawn = edges if plan.rounds else edges.clear()
    if plan.strategy is not None:
        run = CycleRun(plan.strategy, plan.expected_batch, plan.noise_multiplier, plan.rounds)
        moved = Movements(weight, edges, secrets.height, run)
        found = recheck_cycle(moved, secrets, bounds, curves, run, progress)
        points = found.points
        own = Secrets(weight, float(weight.sum()), drawn, secrets.height)  # every item, as `as_run` says
    else:
        own = Secrets(weight, plan.expected_batch, drawn, secrets.height)
        found = recheck_bounds(own, secrets, bounds, mechanism, progress)
        failures, points = recheck_curves(own, bounds["curve"].to_numpy(), curves, mechanism, progress)
        found.failures += failures
    failures, found.all_runs = recheck_all_runs(own, secrets, bounds, history, runs, mechanism, progress)
    found.failures += failures
    return found, points
