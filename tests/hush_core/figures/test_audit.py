"""Pictures of an audit: the same bytes for the same tables, also where attacks were not made."""

import numpy as np
import polars as pl
import pytest

from hush_core import figures
from hush_core.auditing.against_certificate import TABLE
from hush_core.auditing.calibrated_loss import SCHEMA


def secrets(count, *, attacked=True):
    rows = {name: [None] * count for name in TABLE} | {
        "secret_id": range(count), "name": [f"canary$^{{{i}" for i in range(count)], "prior": [1e-10] * count,
        "certified": np.geomspace(1e-6, 1e-3, count), "certified_lower": [None] * count,
        "every_step": np.geomspace(9e-7, 9e-4, count),
    }  # fmt: skip
    if attacked:
        rows |= {
            "written": np.geomspace(1e-30, 1e-2, count), "written_lower": [1e-9] * count,
            "written_upper": [0.95] * count, "exposure_bits": [3.0] * count, "exposure_lower": [2.0] * count,
            "exposure_upper": [5.0] * count, "start_bits": [1.0] * count, "allowed_bits": [6.0] * count,
            "ceiling_bits": [10.0] * count, "ranked_evidence": [0.0] * count,
        }  # fmt: skip
    return pl.DataFrame(rows, schema=TABLE, strict=False)


def losses(count, shift):
    rng = np.random.default_rng(0)
    columns = (range(count), [20] * count, rng.normal(-60, 5, count), rng.normal(shift, 5, count))
    return pl.DataFrame(dict(zip(SCHEMA, columns, strict=True)), schema=SCHEMA)


CURVES = pl.DataFrame(
    {"samples": [1, 1, 4, 4], "false_positive_rate": [0.0, 1, 0, 1], "true_positive_rate": [0.1, 1, 0.5, 1]}
)
DRAWN = {
    "attacked": lambda path: figures.audit_against_certificate(secrets(5), path),
    "many": lambda path: figures.audit_against_certificate(secrets(60), path),
    "not attacked": lambda path: figures.audit_against_certificate(secrets(3, attacked=False), path),
    "at risk": lambda path: figures.samples_at_risk(losses(30, -40), losses(20, 0), path),
    "curves": lambda path: figures.inference_curves(CURVES, path),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_drawn_the_same_twice(name, tmp_path):
    one, two = (DRAWN[name](tmp_path / f"{n}.png").read_bytes() for n in "ab")
    assert one == two and len(one) > 5000


def test_what_leaks_is_shown_first(tmp_path, monkeypatch):
    named = []
    monkeypatch.setattr(
        "hush_core.figures.audit.name_rows", lambda axes, rows: named.append(rows["name"].to_list())
    )
    figures.audit_against_certificate(secrets(60), tmp_path / "a.png")
    assert named[0][0] == "canary$^{59" and len(named[0]) == figures.MOST_ROWS
