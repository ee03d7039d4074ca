"""A graph on which the Gaussian limit is off, and random graphs."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def graph():
    """12 secrets with priors and targets far apart, on 2,000 examples; so little noise that the limit is off."""
    rng = np.random.default_rng(2)
    pairs = sorted({(int(e), s) for s in range(12) for e in rng.integers(0, 700, 40 + 6 * s)})
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    secrets = pl.DataFrame(
        {
            "secret_id": np.arange(12, dtype=np.uint32),
            "name": [f"entry{s % 8}/value{s}" for s in range(12)],
            "prior": 10.0 ** -rng.uniform(6, 14, 12),
            "posterior": 10.0 ** -rng.uniform(1, 4, 12),
        }
    )
    return edges, secrets
