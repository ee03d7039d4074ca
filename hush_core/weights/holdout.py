"""Which examples are kept out of training to measure the model on: some of those that hold no secret.

An example without a secret is not protected by Definition 3.1, so a loss measured on it may be published.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def hold_out(edges: pl.DataFrame, *, n_examples: int, one_in: int = 20) -> np.ndarray:
    """Ids of every `one_in`-th example without a secret, ascending; depends on the public graph alone."""
    tagged = np.zeros(n_examples, dtype=bool)
    tagged[edges["example_id"].to_numpy()] = True
    return np.flatnonzero(~tagged)[::one_in]
