"""A sample of lab/benchmarks/independent_bound.py: the bound against a computation that shares no code with it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[3] / "lab" / "benchmarks" / "independent_bound.py"


@pytest.mark.slow
def test_forty_random_mechanisms_by_an_independent_computation():
    spec = importlib.util.spec_from_file_location("independent_bound", PATH)
    independent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(independent)
    rng = np.random.default_rng(20)
    rows = [independent.compare(independent.draw(rng)) for _ in range(40)]
    assert [row for row in rows if independent.violates(row)] == []
    assert all(row["excess"] >= -1e-4 or np.isnan(row["exact"]) for row in rows)
    confirmed = [row for row in rows if np.isfinite(row["exact"])]
    assert len(confirmed) >= 15
    assert np.median([row["excess"] for row in confirmed]) < 1e-4
    # what is checked is a comparison that can fail: a bound 1 % lower, a lower bound 1 % higher
    for row in confirmed:
        if row["exact"] < 0.5:
            assert independent.violates(row | {"bound": row["bound"] * 0.99})
            assert independent.violates(row | {"lower": row["exact"] * 1.01})
