"""What earlier runs did to three secrets, as a certificate counts it."""

import numpy as np
import polars as pl

from hush_core.history import PROFILES, RUNS, Earlier

SETTINGS = "5" * 64
"""Those of a certificate's own run."""


def earlier_of(runs, profiles, *, bare=(), unknown=0) -> Earlier:
    """Each run: (key, σ, T, released, settings); each profile: (run, secret, examples, rate, same promise)."""
    rows = [(number, *run) for number, run in enumerate(runs)]
    return Earlier(
        pl.DataFrame(rows, schema=RUNS, orient="row"), pl.DataFrame(profiles, schema=PROFILES, orient="row"),
        np.isin(np.arange(3), list(bare)), unknown,
    )  # fmt: skip
