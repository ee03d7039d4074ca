"""What all runs of a store released of each secret.

Reading order:

- ledger: every release of one run, counted before it is made
- run_text, record: what one run could draw, and what it notes of it
- passages, words, matching: which text of today a run used
- store: all runs
- earlier, retired: what they mean for the secrets of one more run, and the secrets that only they name
- bounds, budget: what all runs prove together, and a plan for a promise of several runs
"""

from hush_core.history.bounds import bounds_of_all_runs
from hush_core.history.budget import PromisedRuns, bounds_at_priors, bounds_without_rounds, plan_of_runs
from hush_core.history.earlier import PROFILES, RUNS, Earlier
from hush_core.history.record import RunRecord
from hush_core.history.run_text import RunText
from hush_core.history.store import RunHistory

__all__ = [
    "PROFILES", "RUNS", "Earlier", "PromisedRuns", "RunHistory", "RunRecord", "RunText", "bounds_at_priors",
    "bounds_of_all_runs", "bounds_without_rounds", "plan_of_runs",
]  # fmt: skip
