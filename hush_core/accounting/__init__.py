"""Accounting: how well can each secret be guessed after T rounds, and how much noise does a target take?

>>> k = Participation.binomial(count=100, rate=2048 / 1.2e6)
>>> b = posterior_bound(k, noise_multiplier=3.0, rounds=2000, prior=1e-10, method="blow_up")
>>> f"{b.value:.3g}"
'0.000105'

The mathematics is in docs/mathematics.md; one file here a method.
"""

from hush_core.accounting.bernoulli import target_kl
from hush_core.accounting.bounds import Bound, PosteriorCurve, bound_of_runs, curve_of_runs, posterior_bound
from hush_core.accounting.dp.differential_privacy import PrivacyProfile, privacy_profile
from hush_core.accounting.inverse import largest_expected_count
from hush_core.accounting.many_secrets.calibration import (
    Calibration,
    TargetsSpent,
    calibrate,
    noise_for_all,
    noise_for_runs,
)
from hush_core.accounting.many_secrets.curves import Curves, posterior_curves
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.many_runs import certify_runs
from hush_core.accounting.many_secrets.one_run import bound_secrets
from hush_core.accounting.noise_search import smallest_noise
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi_filter import budget, spent
from hush_core.accounting.runs import Run, merged

__all__ = [
    "Bound", "Calibration", "Curves", "History", "Participation", "PosteriorCurve", "PrivacyProfile", "Run",
    "TargetsSpent", "bound_of_runs", "bound_secrets", "budget", "calibrate", "certify_runs",
    "curve_of_runs", "largest_expected_count", "merged", "noise_for_all", "noise_for_runs",
    "posterior_bound", "posterior_curves", "privacy_profile", "smallest_noise", "spent", "target_kl",
]  # fmt: skip
