"""The batch: independent Bernoulli draws, anew in each round, and all of them reach the step."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from scipy import stats

from hush_core.accounting.participation import Participation
from hush_core.training.data import IGNORED
from hush_core.training.placement import longest_input
from hush_core.training.rounds import RoundBatch
from lab.code_audit.check import Check
from lab.code_audit.recording import Setup

KEY = bytes(reversed(range(32)))
_ROUNDS = 1000
_ERROR = 1e-9
"""The probability, over keys, that one count of a right sampler misses its interval; with this key none does."""
_RATES = np.array([0.0, 1.0, 0.05, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.4, 0.5, 0.65])


def sampling_checks(setup: Setup) -> list[Check]:
    return [_law(setup), _delivered(setup)]


def _law(setup: Setup) -> Check:
    """Counts of a thousand rounds against their binomials: each example, each pair, an example in two rounds
    running, each size of a batch."""
    sampler = setup.parts.sampler(_RATES, key=KEY)
    drawn = np.zeros((_ROUNDS, len(_RATES)), dtype=bool)
    for round in range(_ROUNDS):
        drawn[round, sampler.draw(round)] = True
    bad = []
    for i, rate in enumerate(_RATES):
        bad += [f"example at rate {rate:g}"] * _misses(drawn[:, i].sum(), _ROUNDS, rate)
        again = (drawn[0:-1:2, i] & drawn[1::2, i]).sum()
        bad += [f"two rounds running at rate {rate:g}"] * _misses(again, _ROUNDS // 2, rate**2)
    for i, j in combinations(range(len(_RATES)), 2):
        both = (drawn[:, i] & drawn[:, j]).sum()
        bad += [f"pair at rates {_RATES[i]:g}, {_RATES[j]:g}"] * _misses(both, _ROUNDS, _RATES[i] * _RATES[j])
    law = Participation.from_rates(_RATES).distribution
    sizes = np.bincount(drawn.sum(1), minlength=len(_RATES) + 1)
    for size, count in enumerate(sizes):
        place = size - law.first
        share = float(law.pmf[place]) if 0 <= place < len(law.pmf) else 0.0
        bad += [f"batches of {size}"] * _misses(count, _ROUNDS, share)
    return Check(
        "Poisson sampling",
        not bad,
        f"{_ROUNDS} rounds of {len(_RATES)} examples, sizes {drawn.sum(1).min()} to {drawn.sum(1).max()}: "
        + (
            "every count lies in its interval"
            if not bad
            else f"{len(bad)} counts are off: {', '.join(bad[:3])}"
        ),
    )


def _misses(count: int, trials: int, probability: float) -> bool:
    if probability in (0.0, 1.0):
        return bool(count != trials * probability)
    low, high = stats.binom.interval(1 - _ERROR, trials, probability)
    return bool(count < low or count > high)


def _delivered(setup: Setup) -> Check:
    """The rows of a round's micro-batches are the examples that were drawn: none dropped, kept back or twice."""
    rates = np.full(len(setup.sequences), 0.3)
    rounds = setup.parts.rounds(
        setup.sequences,
        setup.model.objective,
        setup.parts.sampler(rates, key=KEY),
        rounds=40,
        micro_batch=setup.rows,
        longest=longest_input(setup.model),
    )
    sampler, wrong, empty = setup.parts.sampler(rates, key=KEY), 0, 0
    for round, batch in zip(range(40), rounds.loader(), strict=False):
        drawn = sampler.draw(round)
        empty += not len(drawn)
        expected = _expected(setup, drawn, sampler.generator(round, "masks"))
        wrong += not (batch.round == round and batch.fixed and _labels(batch) == expected)
    missing = 40 - len(rounds)
    return Check(
        "batches reach the step",
        not wrong and not missing,
        f"{40 - wrong - missing} of 40 rounds, {empty} of them empty, hold what was drawn and nothing else",
    )


def _labels(batch: RoundBatch) -> Counter[tuple[int, ...]]:
    """What is predicted, by row. Fillers predict nothing."""
    rows = (
        tuple(label for label in row.tolist() if label != IGNORED) for p in batch.parts for row in p.labels
    )
    return Counter(row for row in rows if row)


def _expected(setup: Setup, drawn: np.ndarray, generator: np.random.Generator) -> Counter[tuple[int, ...]]:
    shown = [setup.model.objective.show(setup.sequences[i], generator) for i in drawn]
    return Counter(row for one in shown if (row := tuple(x for x in one.labels.tolist() if x != IGNORED)))
