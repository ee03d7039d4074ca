"""The result of a statistical audit: what was shown, how surely, and the most that could have been shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hush_core.errors import InputError

Verdict = Literal["refuted", "passed", "cannot tell"]


@dataclass(frozen=True)
class LowerBound:
    """The audited quantity is at least `value`, with probability `confidence` over the audit's own randomness.

    Attributes:
        value: the lower bound; 0 for an ε of which nothing was shown.
        confidence: 1 − α.
        ceiling: what `value` would have been had every guess been right. The size of the audit decides it: 100
            right guesses of 100 show ε ≥ 3.49 and no more.
        method: what proved it.
        unit: "epsilon", of (ε, δ) at the audit's own δ; "posterior", the probability of naming a secret; or
            "noise", the ratio μ = shift/standard deviation of a Gaussian mechanism.
    """

    value: float
    confidence: float
    ceiling: float
    method: str
    unit: Literal["epsilon", "posterior", "noise"]

    def verdict(self, certified: float) -> Verdict:
        """Against a certified upper bound in the same unit.

        "refuted": more was shown than is certified; the certificate is wrong, or one audit in 1/(1 − confidence)
        was unlucky. "passed": it could have been refuted and was not. "cannot tell": the ceiling does not lie
        above what is certified, so that this audit could not have refuted it whatever was leaked.
        """
        if self.value > certified:
            return "refuted"
        return "passed" if self.ceiling > certified else "cannot tell"

    def in_words(self, certified: float) -> str:
        """One line for a report: never "passed" without the ceiling."""
        return (
            f"{self.unit} at least {self.value:.4g} ({self.confidence:.0%} confidence, {self.method}); could have "
            f"shown up to {self.ceiling:.4g}; certified at most {certified:.4g}: {self.verdict(certified)}"
        )


def check_confidence(confidence: float) -> float:
    """α = 1 − confidence.

    Raises:
        InputError: not strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise InputError("confidence", f"must lie between 0 and 1, got {confidence:g}", "0.95 is usual")
    return 1 - confidence
