"""Attacks below certificates: drawn from tables, the same bytes for the same table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from PIL import Image

from lab import figures


def attack(rows=5, real=True):
    sigma = np.geomspace(0.3, 4, rows)
    success = 0.05 + 0.9 / (1 + sigma**2)
    played = pl.Series(success / 2 if real else [None] * rows, dtype=pl.Float64)
    return pl.DataFrame({"noise_multiplier": sigma, "prior": np.full(rows, 1 / 16), "certified": success,
                         "worst_case": success * 0.9, "real": played, "real_low": played * 0.8,
                         "real_high": played * 1.1})  # fmt: skip


def memorised(rows=4):
    names = ("memorised", "counting", "difference", "real", "by_start", "counting_by_start")
    table = {n: np.linspace(0.9 - i / 10, 0.05, rows) for i, n in enumerate(names)}
    ends = {f"{n}{end}": table[n] + by for n in names[:4] for end, by in (("_low", -0.04), ("_high", 0.05))}
    more = {"certified": np.linspace(1, 0.2, rows), "worst_case": np.linspace(0.95, 0.2, rows)}
    sigma = {"noise_multiplier": [1e-6, 0.1, 1, 4][:rows], "prior": [1 / 16] * rows}
    return pl.DataFrame({**sigma, **table, **ends, **more})


@pytest.mark.slow
@pytest.mark.parametrize("draw", [lambda p: figures.memorised_over_noise(memorised(), p),
                                  lambda p: figures.attack_against_bound(attack(), p),
                                  lambda p: figures.attack_against_bound(attack(real=False), p)])  # fmt: skip
def test_pictures_are_readable_and_alike(draw, tmp_path):
    one, other = draw(tmp_path / "a.png"), draw(tmp_path / "b.png")
    assert one.read_bytes() == other.read_bytes()
    assert Image.open(one).size[0] == 960


@pytest.mark.slow
def test_what_is_shown_follows_the_table(tmp_path):
    one = figures.attack_against_bound(attack(), tmp_path / "a.png").read_bytes()
    other = figures.attack_against_bound(attack(real=False), tmp_path / "b.png").read_bytes()
    assert one != other
