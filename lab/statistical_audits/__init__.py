"""Statistical audits: lower bounds on what leaks, each with its confidence and the most it could have shown.

Reading order: lower_bound → intervals → gaussian → one_run → one_run_f_dp → choose → repeated_runs → one_shot →
tight_attack.
"""

from lab.statistical_audits.choose import best_of_counts, guess_counts
from lab.statistical_audits.lower_bound import LowerBound
from lab.statistical_audits.one_run import one_run
from lab.statistical_audits.one_run_f_dp import one_run_f_dp
from lab.statistical_audits.one_shot import RandomCanaries, one_shot_all, one_shot_final, sum_of_rounds
from lab.statistical_audits.repeated_runs import named_in_runs, repeated_runs
from lab.statistical_audits.tight_attack import tight_attack

__all__ = [
    "LowerBound",
    "RandomCanaries",
    "best_of_counts",
    "guess_counts",
    "named_in_runs",
    "one_run",
    "one_run_f_dp",
    "one_shot_all",
    "one_shot_final",
    "repeated_runs",
    "sum_of_rounds",
    "tight_attack",
]
