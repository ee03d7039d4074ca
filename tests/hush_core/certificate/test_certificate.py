"""A certificate verifies as written, and no edited, incomplete or re-sealed one does."""

import json

import numpy as np
import polars as pl
import pytest

from hush_core.certificate import hash_directory, verify_certificate
from hush_core.certificate.document import (
    DOCUMENT,
    TABLES,
    read_certificate,
)
from hush_core.certificate.privacy import privacy_report
from hush_core.errors import CertificationError, VerificationError
from hush_core.files import file_sha256


def reseal(directory, change=lambda facts: None):
    """What a careful forger does: edit the document, then make every hash and the digest anew."""
    data = json.loads((directory / DOCUMENT).read_bytes())
    change(data["facts"])
    data["tables"] = {name: file_sha256(directory / name) for name in TABLES}
    from hush_core.certificate import Certificate

    (directory / DOCUMENT).write_bytes(Certificate.model_validate(data).sealed().canonical())
    read_certificate(directory)  # the forgery is well-formed


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
    found = verify_certificate(
        made / "certificate",
        made / "model",
        lambda stage, done, total: told.setdefault(stage, []).append((done, total)),
    )
    privacy_report(found, delta=1e-6, progress=lambda stage, *at: told.setdefault(stage, []).append(at))
    assert {"second route", "second route of the curves", "composing by dp_accounting"} <= told.keys()
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
    path = copied / "certificate" / "edges.parquet"
    edges = pl.read_parquet(path)
    edges.filter(~((pl.col("example_id") == 6) & (pl.col("secret_id") == 1))).write_parquet(path)
    refused(copied, "edges.parquet")
    reseal(copied / "certificate")
    refused(copied, "beta: 15 examples certified, 14 in the graph")


def test_less_noise_is_refused_even_when_every_hash_is_made_anew(copied):
    reseal(
        copied / "certificate",
        lambda f: f["plan"].update(noise_multiplier=f["plan"]["noise_multiplier"] * 2 / 3),
    )
    refused(copied, "when recomputed")


def test_more_rounds_a_smaller_bound_and_other_weights_are_refused(copied):
    certificate = copied / "certificate"
    original = {p.name: p.read_bytes() for p in certificate.iterdir()}

    def restore():
        for name, data in original.items():
            (certificate / name).write_bytes(data)

    reseal(certificate, lambda f: f["training"].update(rounds_released=41))
    refused(copied, "41 rounds released, 40 certified")
    restore()
    bounds = pl.read_parquet(certificate / "bounds.parquet")
    bounds.with_columns(bound=pl.col("bound") * 0.5).write_parquet(certificate / "bounds.parquet")
    reseal(certificate)
    refused(copied, "when recomputed")
    restore()
    # a method other than blow_up, or an inherited bound, would make the second route one-sided
    for lie in ({"method": pl.lit("renyi")}, {"dominating_examples": pl.lit(64, dtype=pl.UInt32)}):
        bounds.with_columns(**lie).write_parquet(certificate / "bounds.parquet")
        reseal(certificate)
        refused(copied, "another profile, or by another method")
        restore()
    weights = pl.read_parquet(certificate / "weights.parquet")
    order = [*range(8, 10), *range(2, 8), 0, 1, *range(10, 60)]
    swapped = weights.with_columns(weight=weights["weight"].gather(order))
    swapped.write_parquet(certificate / "weights.parquet")
    reseal(certificate)
    refused(copied, "rates do not sum")


def test_a_loosened_target_in_one_table_is_refused(copied):
    path = copied / "certificate" / "secrets.parquet"
    pl.read_parquet(path).with_columns(posterior=pl.lit(0.5)).write_parquet(path)
    reseal(copied / "certificate")
    refused(copied, "differ between the tables")


def test_no_certificate_for_more_rounds_than_planned(made, build_certificate, tmp_path):
    with pytest.raises(CertificationError, match="more rounds"):
        build_certificate(tmp_path / "certificate", made / "model", released=41)
    assert not list(tmp_path.iterdir())


def test_the_models_files_are_all_named(made):
    certificate = read_certificate(made / "certificate")
    assert certificate.model_files == hash_directory(made / "model")


def test_the_curves_are_each_secrets_own_and_a_lowered_one_is_refused(copied):
    certificate = copied / "certificate"
    curves, bounds = (pl.read_parquet(certificate / f"{name}.parquet") for name in ("curves", "bounds"))
    for row in bounds.iter_rows(named=True):
        curve = curves.filter(pl.col("curve") == row["curve"]).sort("prior")
        assert curve["prior"][0] <= row["prior"] and curve["prior"][-1] == 0.5
        assert curve["bound"].is_sorted()
        # the next larger prior's bound holds for the secret's own
        assert curve.filter(pl.col("prior") >= row["prior"] * (1 - 1e-12))["bound"][0] >= row["bound"] * (
            1 - 1e-4
        )
    lowered = curves.with_columns(
        bound=pl.when(pl.int_range(pl.len()) == 5).then(pl.col("bound") * 0.9).otherwise(pl.col("bound"))
    )
    lowered.write_parquet(certificate / "curves.parquet")
    reseal(certificate)
    refused(copied, "curve 0 at prior")
    curves.write_parquet(certificate / "curves.parquet")
    bounds.with_columns(curve=bounds["curve"].reverse()).write_parquet(certificate / "bounds.parquet")
    reseal(certificate)
    refused(copied, "not assigned to the secrets")
