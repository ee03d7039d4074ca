"""Certificates that were written before one accountant served one run and many: they verify, to the last digit."""

import tarfile

import accounting_reference as reference
import frozen_certificates
import numpy as np
import polars as pl
import pytest

from hush_core.certificate import verify_certificate
from hush_core.certificate.comparison import compare_all_runs
from hush_core.certificate.document import read_certificate, read_tables
from hush_core.certificate.released import all_runs_again, bounds_again, curves_again, earlier_of

with tarfile.open(frozen_certificates.FILE) as archive:
    NAMES = sorted({name.split("/")[0] for name in archive.getnames()} - {"model", "many"})
"""Every kind that was there before, with and without a history; a newer one has no certificate from before."""
SAME_MACHINE = pl.read_parquet(reference.FILE)["word"][0] == reference.machine()


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    frozen_certificates.unpack(folder)
    return folder


@pytest.mark.parametrize("name", [*NAMES, pytest.param("many", marks=pytest.mark.slow)])
def test_a_certificate_from_before_verifies(frozen, name):
    found = verify_certificate(frozen / name, frozen / "model")
    unsure = found.rows.filter(pl.col("route") == "not accurate enough")
    assert (unsure["bound"] < 1.4 * unsure["prior"]).all(), "of these alone the second route is not sure"
    assert unsure.height < found.rows.height / 3 if name == "many" else not unsure.height


@pytest.mark.parametrize("name", [*NAMES, "many"])
def test_its_numbers_come_out_to_the_last_digit(frozen, name):
    facts, tables = read_certificate(frozen / name).facts, read_tables(frozen / name)
    stored, edges, secrets = (tables[f"{table}.parquet"] for table in ("bounds", "edges", "secrets"))
    plan, weights = facts.plan, tables["weights.parquet"]["weight"].to_numpy()
    together = all_runs_again(plan, weights, edges, stored, earlier_of(facts.unknown_runs, tables))
    assert not compare_all_runs(secrets["name"], stored, together)
    if SAME_MACHINE:
        again = bounds_again(plan, weights, edges, secrets).drop("noise_needed")
        assert again.equals(stored.select(again.columns))
        curves, was = curves_again(plan, weights, edges, secrets).table, tables["curves.parquet"]
        as_was = (curves["prior"] == was["prior"]).to_numpy()  # 10^-5 was an ulp off on this processor
        assert as_was.mean() > 0.9 and np.allclose(curves["prior"], was["prior"], rtol=1e-15)
        assert curves.filter(as_was).equals(was.filter(as_was))
        assert together.equals(stored.select(together.columns))
