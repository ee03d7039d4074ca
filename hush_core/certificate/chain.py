"""A certificate against an earlier one: does its history contain all that the other knew?

A run that is missing in `runs.parquet` would make every bound of all runs too small, and one certificate alone
cannot show that. Two can: the later one must count the earlier one's run, and every run that it counted.
"""

from dataclasses import replace

import polars as pl

from hush_core.certificate.document import Certificate
from hush_core.certificate.verify import Verification
from hush_core.errors import VerificationError
from hush_core.files import files_digest

_MOST = 5


def verified_against(
    before: Certificate, tables: dict[str, pl.DataFrame], verification: Verification, name: str
) -> Verification:
    """The verification with the result of comparing it with an earlier certificate, called `name`.

    Raises:
        VerificationError: both are of one store, and a run that the earlier one knew is missing or differs.
    """
    after = verification.certificate
    if before.facts.store != after.facts.store:
        return replace(
            verification, chain=f"WARNING: {name} is of ANOTHER STORE: its runs are not counted here"
        )
    if failures := check_chain(before, tables, after, verification.tables):
        raise VerificationError(failures)
    return replace(verification, chain=f"every run that {name} knew is counted")


def check_chain(
    before: Certificate,
    before_tables: dict[str, pl.DataFrame],
    after: Certificate,
    after_tables: dict[str, pl.DataFrame],
) -> list[str]:
    """What `after` lacks of `before`; both verify, and both are of one store. Empty if it lacks nothing.

    A run ends once: one that ended in two models was copied during its rounds. Of other runs only secrets that both
    certificates name are compared. A run must be there with its σ, T and settings, and with at least as many of the
    secret's examples: later entries may name more.
    """
    which = f"certificate {before.digest[:8]}"
    models = {files_digest(certificate.model_files) for certificate in (before, after)}
    if before.facts.run == after.facts.run and len(models) == 2:
        what = f"run {after.facts.run[:8]} ended in another model in {which}"
        return [f"{what}: two copies of a store continued it, and each released rounds"]
    needed = _drawn(before, before_tables).filter(pl.col("key") != after.facts.run)
    names = after_tables["secrets.parquet"]["name"].to_list()
    needed = needed.filter(pl.col("name").is_in(names))
    counted = _drawn(after, after_tables)
    joined = needed.join(counted, on=["key", "name"], how="left", suffix="_after")
    gone = joined.filter(pl.col("examples_after").is_null())
    changed = joined.filter(
        (pl.col("examples_after") < pl.col("examples"))
        | (pl.col("noise_multiplier") != pl.col("noise_multiplier_after"))
        | (pl.col("rounds") != pl.col("rounds_after"))
        | (pl.col("settings") != pl.col("settings_after"))
    )
    failures = [
        f"{name}: run {key[:8]}, which {which} knew, is not counted (`hush runs --add` counts it from now on)"
        for key, name in gone.select("key", "name").iter_rows()
    ] + [
        f"{name}: run {key[:8]} differs from that in {which}"
        for key, name in changed.select("key", "name").iter_rows()
    ]
    more = len(failures) - _MOST
    return failures[:_MOST] + ([f"and {more} more"] if more > 0 else [])


def _drawn(certificate: Certificate, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """key · name · noise_multiplier · rounds · settings · examples: what all runs, its own too, drew of secrets."""
    names = tables["secrets.parquet"].select("secret_id", "name")
    columns = ["key", "name", "noise_multiplier", "rounds", "settings", "examples"]
    earlier = (
        tables["history.parquet"]
        .join(tables["runs.parquet"], on="run")
        .join(names, on="secret_id")
        .select(columns)
    )
    plan = certificate.facts.plan
    own = tables["bounds.parquet"].filter(pl.col("examples") > 0).join(names, on="secret_id")
    own = own.select(
        pl.lit(certificate.facts.run).alias("key"), "name",
        pl.lit(plan.noise_multiplier, pl.Float64).alias("noise_multiplier"),
        pl.lit(plan.rounds, pl.UInt32).alias("rounds"),
        pl.lit(plan.settings).alias("settings"), "examples",
    )  # fmt: skip
    return pl.concat([earlier, own])
