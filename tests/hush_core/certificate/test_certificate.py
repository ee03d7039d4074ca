"""A certificate verifies as written, and no edited, incomplete or re-sealed one does."""

import numpy as np
import polars as pl
import pytest
from forging import forge

from hush_core.certificate import verify_certificate
from hush_core.certificate.document import DOCUMENT, TABLES
from hush_core.errors import CertificationError, VerificationError


def refused(directory, match):
    with pytest.raises(VerificationError, match=match):
        verify_certificate(directory / "certificate", directory / "model")


def test_what_was_written_verifies_by_two_routes(made):
    verification = verify_certificate(made / "certificate", made / "model")
    rows = verification.rows
    assert rows.height == 3
    assert (rows["bound"] <= rows["posterior"]).all()
    assert rows["second"].null_count() == 0
    assert np.allclose(rows["second"], rows["bound"], rtol=0.02)


def test_whatever_is_told_of_its_progress_ends_at_its_total(made):
    told = {}
    verify_certificate(
        made / "certificate",
        made / "model",
        lambda stage, *at: told.setdefault(stage, []).append(at),
    )
    assert {"second route", "second route of the curves"} <= told.keys()
    for stage, steps in told.items():
        assert steps == sorted(steps) and steps[-1][0] == steps[-1][1] > 0, stage


def test_any_edited_byte_of_any_file_is_refused(copied):
    random = np.random.default_rng(5)
    for path in sorted(p for p in copied.rglob("*") if p.is_file()):
        data = path.read_bytes()
        for place in {0, len(data) - 1, *random.integers(0, len(data), 12).tolist()}:
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            refused(copied, "certif|missing|edited")
        path.write_bytes(data + b" ")
        refused(copied, "certif|missing|edited")
        path.write_bytes(data)
    verify_certificate(copied / "certificate", copied / "model")


@pytest.mark.parametrize("name", [DOCUMENT, *TABLES])
def test_a_missing_file_is_refused(copied, name):
    (copied / "certificate" / name).unlink()
    refused(copied, name)


def test_another_model_is_refused(copied):
    (copied / "model" / "model.safetensors").write_bytes(b"other weights")
    refused(copied, "not the model")
    (copied / "model" / "model.safetensors").write_bytes(b"weights")
    (copied / "model" / "more.bin").write_bytes(b"")
    refused(copied, "not part of the model")


def test_one_removed_edge_is_refused_even_when_every_hash_is_made_anew(copied):
    removed = (pl.col("example_id") == 6) & (pl.col("secret_id") == 1)
    path = copied / "certificate" / "edges.parquet"
    pl.read_parquet(path).filter(~removed).write_parquet(path)
    refused(copied, "edges.parquet")
    forge(copied / "certificate")
    refused(copied, "beta: 15 examples certified, 14 in the graph")


def test_weights_that_change_places_are_refused(copied):
    """Their sum and their objective stay: only the rates of each secret can tell."""
    order = [*range(8, 10), *range(2, 8), 0, 1, *range(10, 60)]
    forge(
        copied / "certificate",
        weights=lambda frame: frame.with_columns(weight=frame["weight"].gather(order)),
    )
    refused(copied, "rates do not sum")


def test_no_certificate_for_more_rounds_than_planned(made, build_certificate, tmp_path):
    with pytest.raises(CertificationError, match="more rounds"):
        build_certificate(tmp_path / "certificate", made / "model", released=41)
    assert not list(tmp_path.iterdir())


def test_a_secrets_curve_is_its_own(made):
    curves, bounds = (
        pl.read_parquet(made / "certificate" / f"{name}.parquet") for name in ("curves", "bounds")
    )
    for row in bounds.iter_rows(named=True):
        curve = curves.filter(pl.col("curve") == row["curve"]).sort("prior")
        assert curve["prior"][0] <= row["prior"] and curve["prior"][-1] == 0.5
        assert curve["bound"].is_sorted()
        # the next larger prior's bound holds for the secret's own
        above = curve.filter(pl.col("prior") >= row["prior"] * (1 - 1e-12))["bound"][0]
        assert above >= row["bound"] * (1 - 1e-4)
