"""What all runs of a store released of each secret.

Reading order: record (what one run notes) → store (all runs of a store; imported by itself, as the ledger comes
with it) → earlier (what they mean for the secrets of one more run) → bounds (what all of them prove together).
"""

from hush_core.history.bounds import bounds_of_all_runs
from hush_core.history.earlier import PROFILES, RUNS, Earlier
from hush_core.history.record import RunRecord, RunText

__all__ = ["PROFILES", "RUNS", "Earlier", "RunRecord", "RunText", "bounds_of_all_runs"]
