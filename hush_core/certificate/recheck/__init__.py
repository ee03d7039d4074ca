"""The second route: every bound again from weights, edges and priors, by its own mathematics and code.

It imports nothing of hush_core.accounting or hush_core.weights (tests/test_architecture.py), so a mistake there
does not pass here.

- `counts`: weights → rates → the law of K; `loss`: one round's loss and its moments at complex arguments
- `inversion`: the tight bound by Laplace inversion; `extremes`: where the bound is the prior, or 1
- `check`: stated bounds against it; `cycle`: all of it for rounds that are not sampled
"""

from hush_core.certificate.recheck.check import (
    BY_BINOMIAL,
    BY_OWN,
    NOT_SURE,
    Recheck,
    SampledRun,
    Secrets,
    recheck_all_runs,
    recheck_bounds,
    recheck_curves,
)
from hush_core.certificate.recheck.counts import NotConfirmed
from hush_core.certificate.recheck.cycle import CycleRun, Movements, recheck_cycle
from hush_core.certificate.recheck.inversion import Drawn, Rechecked, posterior, posterior_of_runs

__all__ = [
    "BY_BINOMIAL", "BY_OWN", "NOT_SURE", "CycleRun", "Drawn", "Movements", "NotConfirmed", "Recheck",
    "Rechecked", "SampledRun", "Secrets", "posterior", "posterior_of_runs", "recheck_all_runs",
    "recheck_bounds", "recheck_curves", "recheck_cycle",
]  # fmt: skip
