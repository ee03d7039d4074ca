"""Does an attack find more than the certificate allows? A test that needs no independence between secrets.

The certificate says: no adversary names secret j with probability above its bound β_j, over training and over the
candidates. So an attack that names it with probability s_j gives an e-value e_j = s_j/β_j: its mean is at most 1
if the certificate is right. The mean of e-values over all secrets is an e-value too, whatever their dependence
(linearity). By Markov's inequality it is x or more with probability at most 1/x. No trial is repeated, and one
trained model is enough.

Two attacks have that form. Extraction (`lazy_sampling`): s_j is the probability of writing the value, and β_j the
bound at the secret's own prior. Ranking (`exposure`): a value among N + 1 equally likely candidates is among the k
best with probability at most β_j(k/(N + 1)), the bound at that prior (docs/auditing.md has the two lines of proof).

What the model before the rounds also says is not leakage of these rounds, and is subtracted: that makes e_j
smaller, never larger. Whether the candidates' prior is what the certificate says is part of the test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

SIGNIFICANCE = 0.01
"""A right certificate is refuted with at most this probability, by all attacks of an audit together."""
RANKS = (1, 8)
"""Among the k best, for each of these k that are at most a quarter of the candidates."""
Outcome = Literal["refuted", "not refuted", "cannot refute", "not run"]


@dataclass(frozen=True)
class Evidence:
    """One attack against the certificate.

    Attributes:
        attack: its name. secrets: how many it was tried on.
        value: the mean e-value: 1 or less is expected of a right certificate.
        ceiling: the evidence that complete success would have given.
        needed: the evidence that refutes: number of tests over the significance, 1 over 0.01/tests.
    """

    attack: str
    secrets: int
    value: float
    ceiling: float
    needed: float

    @property
    def outcome(self) -> Outcome:
        """`cannot refute`: not even complete success would have; such an attack says nothing for the
        certificate."""
        if not self.secrets:
            return "not run"
        if self.value >= self.needed:
            return "refuted"
        return "not refuted" if self.ceiling >= self.needed else "cannot refute"

    @property
    def p_value(self) -> float:
        """Of the certificate, before correction for the other tests."""
        return min(1.0, 1 / self.value) if self.value > 0 else 1.0


def evidence_of(attack: str, evidence: np.ndarray, ceiling: np.ndarray, *, tests: int) -> Evidence:
    """The test from each secret's e-value and the most that it could have been, one of `tests` in the audit."""
    count = len(evidence)
    mean, most = (float(values.mean()) if count else 0.0 for values in (evidence, ceiling))
    return Evidence(attack, count, mean, most, tests / SIGNIFICANCE)


def written_out(trained: np.ndarray, start: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(e-values, their ceilings) of writing out: probabilities (m,) by both models, bounds (m,) at the own
    priors."""
    return np.maximum(trained - start, 0.0) / bounds, (1.0 - start) / bounds


def candidates_kept(drawn: Sequence[int]) -> list[tuple[int, ...]]:
    """Of each secret with so many alternatives: the k of `RANKS` that are asked for."""
    return [tuple(k for k in RANKS if 4 * k <= n + 1) for n in drawn]


def ranked(
    ranks: np.ndarray,
    start_ranks: np.ndarray,
    drawn: np.ndarray,
    bounds: dict[int, np.ndarray],
    random: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(e-values, their ceilings) of ranking, each the mean over the k that are asked for.

    A secret counts only if its value was drawn at `random`: only then are all candidates of its form equally
    likely. A model that learned only how people spell ranks what people made up before them. A secret also counts
    only if the model before the rounds ranks the value in the worse half, which has probability one half whatever
    training does. Secrets too short for any k have e-value and ceiling 0.

    Args:
        ranks: (m,) by the trained model, 1 the best, ties counted against the attack.
        start_ranks: (m,) its share of the way down in the model before: rank/(N + 1). drawn: (m,) alternatives, N.
        bounds: k → (m,) the certified bound at prior k/(N + 1). random: (m,) bool; None: all.
    """
    found, most = np.zeros(len(ranks)), np.zeros(len(ranks))
    for place, asked in enumerate(candidates_kept([int(n) for n in drawn])):
        if not asked or start_ranks[place] <= 0.5 or not (random is None or random[place]):
            continue
        most[place] = math.fsum(1 / bounds[k][place] for k in asked) / len(asked)
        hits = (1 / bounds[k][place] for k in asked if ranks[place] <= k)
        found[place] = math.fsum(hits) / len(asked)
    return found, most
