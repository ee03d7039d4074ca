"""What all runs of a store released of each secret.

Reading order: record (what one run notes) → store (all runs, and what they mean for the secrets of one more) →
bounds (what all of them prove together).
"""

from hush_core.history.record import RunRecord, RunText
from hush_core.history.store import Earlier, RunHistory

__all__ = ["Earlier", "RunHistory", "RunRecord", "RunText"]
