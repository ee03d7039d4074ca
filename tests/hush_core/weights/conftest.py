"""A graph on which the Gaussian limit is off, and random graphs."""

import numpy as np
import pytest
from frames import edges_of, frame_of


@pytest.fixture(scope="session")
def graph():
    """5 secrets with priors and targets far apart, on 2,000 examples; so little noise that the limit is off."""
    rng = np.random.default_rng(2)
    pairs = sorted({(int(e), s) for s in range(5) for e in rng.integers(0, 700, 100 + 35 * s)})
    edges = edges_of(pairs)
    secrets = frame_of(
        secret_id=np.arange(5),
        name=[f"entry{s % 4}/value{s}" for s in range(5)],
        prior=10.0 ** -rng.uniform(6, 14, 5),
        posterior=10.0 ** -rng.uniform(1, 4, 5),
    )
    return edges, secrets
