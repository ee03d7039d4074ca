"""ε from one training run by f-DP (Mahloujifar, Melis, Chaudhuri 2024): tighter, for Gaussian mechanisms.

What is tested is a whole trade-off curve, here that of N(0, 1) against N(μ, 1), and what is shown is a lower bound
on μ. As ε at a δ it is meaningful only for mechanisms whose curve is Gaussian (or is said to be dominated by one).
"""

from __future__ import annotations

from scipy.special import ndtr, ndtri

from lab.statistical_audits.gaussian import epsilon_of_shift
from lab.statistical_audits.lower_bound import LowerBound, check_confidence
from lab.statistical_audits.one_run import check_counts, greatest


def one_run_f_dp(
    *, right: int, guesses: int, canaries: int, delta: float, confidence: float = 0.95
) -> LowerBound:
    """The least μ-GDP that so many right guesses leave possible, told as its ε at δ; arguments as for `one_run`.

    Ceiling: that of all guesses right.
    Source: their Theorem 3.2 and Algorithm 2, with two possible values a canary (docs/auditing.md).
    """
    alpha = check_confidence(confidence)
    check_counts(right, guesses, canaries)

    def least(v: int) -> float:
        mu = greatest(lambda m: gaussian_curve_refuted(v, guesses, canaries, m, alpha), 1e-8)
        return epsilon_of_shift(mu, delta) if mu else 0.0

    return LowerBound(least(right), confidence, least(guesses), "one run, f-DP of a Gaussian", "epsilon")


def gaussian_curve_refuted(right: int, guesses: int, canaries: int, mu: float, alpha: float) -> bool:
    """Whether μ-GDP leaves fewer than a chance of α for so many right guesses.

    With v right of r: suppose Pr[at least v right] were α. Write h for the chance of a wrong guess and g for that
    of a right one, each on a random canary, when i or more are right. The trade-off curve bounds the change of h by
    that of g from i to i − 1, and r guesses in all must have been made: h + g = r/m. If the least that the
    recursion allows is more, α was not possible.
    """
    right_share, wrong_share = alpha * right / canaries, alpha * (guesses - right) / canaries
    for i in range(right - 1, -1, -1):
        least = max(wrong_share, float(ndtr(ndtri(right_share) - mu)))
        if least == wrong_share:  # nothing changes any more
            break
        right_share = min(right_share + i / (guesses - i) * (least - wrong_share), 1.0)
        wrong_share = least
    return right_share + wrong_share > guesses / canaries
