"""What retraining costs in noise at the paper's parameters: 1, 7, 52 and 365 runs, from the start each or on top.

The secret of the paper's section 5: 100 examples at 2048/1.2e6, T = 2,000 rounds, p = 1e-10, r = 1e-3.

    restarts    each run has T rounds of its own; every target is kept after the last
    on top      the first run has T rounds, each later one 20 more from the model before
    bound       after so many restarts at the σ of one run
"""

from __future__ import annotations

import argparse

from hush_core.accounting import Participation, Run, bound_of_runs, smallest_noise

EXAMPLES, RATE, ROUNDS, ON_TOP = 100, 2048 / 1.2e6, 2000, 20
PROMISE = {"prior": 1e-10, "posterior": 1e-3}
RUNS = (1, 7, 52, 365)


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    secret = Participation.binomial(EXAMPLES, RATE)
    first = smallest_noise(secret, rounds=ROUNDS, **PROMISE)
    print(f"{'runs':>5}  {'restarts':>8}  {'on top':>8}  bound after restarts at σ = {first:.3g}")
    for runs in RUNS:
        restarts = smallest_noise(secret, rounds=ROUNDS * runs, **PROMISE)
        on_top = smallest_noise(secret, rounds=ROUNDS + ON_TOP * (runs - 1), **PROMISE)
        bound = bound_of_runs([Run(secret, first, ROUNDS)] * runs, prior=PROMISE["prior"], lower=True)
        print(f"{runs:>5}  {restarts:>8.4g}  {on_top:>8.4g}  {bound.value:.3g} (at least {bound.lower:.3g})")


if __name__ == "__main__":
    main()
