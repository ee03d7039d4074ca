"""The sampler is judged by exact tests that also have to reject the samplers that pass for Poisson."""

import numpy as np
import pytest
from scipy import stats

from hush_core.errors import InputError
from hush_core.training import WeightedPoissonSampler
from hush_core.training.data import Objective
from hush_core.training.rounds import Rounds

ROUNDS, ERROR = 2500, 1e-6
RATES = np.concatenate(
    [np.zeros(6), np.ones(2), np.full(60, 0.05), np.full(40, 0.02), np.linspace(0.001, 0.9, 32)]
)


def independent_bernoulli(draw, rates=RATES, rounds=ROUNDS, error=ERROR) -> bool:
    """Accepts n independent Bernoulli(ρ_i), and rejects them for about `error` of all keys.

    Marginals and neighbouring pairs by exact binomial tests (Bonferroni); all pairs by the mean and the mean
    square of their covariances (8 standard deviations); the batch size by χ² on its variance.
    """
    seen = np.zeros((rounds, len(rates)))
    for k in range(rounds):
        seen[k, draw(k)] = 1
    counts = seen.sum(0)
    if np.any(counts[rates == 0]) or np.any(counts[rates == 1] != rounds):
        return False
    open_ = (rates > 0) & (rates < 1)
    x, p = seen[:, open_], rates[open_]
    level = error / 4
    marginals = min(
        stats.binomtest(int(c), rounds, q).pvalue for c, q in zip(x.sum(0), p, strict=True)
    ) > level / len(p)
    near = min(
        stats.binomtest(int(c), rounds, q).pvalue
        for c, q in zip((x[:, 1:] * x[:, :-1]).sum(0), p[1:] * p[:-1], strict=True)
    ) > level / len(p)
    z = (x - p) / np.sqrt(p * (1 - p))
    covariance = (z.T @ z)[np.triu_indices(len(p), 1)] / np.sqrt(rounds)
    # Under independence each is centred with variance 1, and their mean square concentrates at 1.
    pairs = abs(float(np.mean(covariance))) < 8 / np.sqrt(len(covariance)) and np.mean(covariance**2) < 1.2
    sizes = x.sum(1)
    ratio = sizes.var(ddof=1) / np.sum(p * (1 - p))
    spread = stats.chi2.interval(1 - level, rounds - 1)
    size = spread[0] * 0.97 < ratio * (rounds - 1) < spread[1] * 1.03
    return bool(marginals and near and pairs and size)


def shuffled(rates):
    rng, batch = np.random.default_rng(0), round(rates.sum())
    pool: list[int] = []

    def draw(_):
        nonlocal pool
        if len(pool) < batch:
            pool = list(rng.permutation(len(rates)))
        out, pool = pool[:batch], pool[batch:]
        return np.array(out)

    return draw


def fixed_size(rates):
    rng = np.random.default_rng(1)
    return lambda _: rng.choice(len(rates), round(rates.sum()), replace=False, p=rates / rates.sum())


def in_pairs(rates):
    rng = np.random.default_rng(2)
    return lambda _: np.flatnonzero(np.repeat(rng.random(len(rates) // 2), 2) < rates)


def all_equal(rates):
    return WeightedPoissonSampler(np.full(len(rates), rates.mean()), key=b"k" * 32).draw


@pytest.mark.parametrize("key", [b"a" * 32, b"b" * 32])
def test_accepts_ours(key):
    assert independent_bernoulli(WeightedPoissonSampler(RATES, key=key).draw)


@pytest.mark.parametrize("wrong", [shuffled, fixed_size, in_pairs, all_equal])
def test_rejects_what_is_not_weighted_poisson(wrong):
    assert not independent_bernoulli(wrong(RATES))


@pytest.mark.parametrize("wrong", [shuffled, fixed_size, in_pairs])
def test_rejects_wrong_samplers_at_equal_rates_too(wrong):
    rates = np.full(100, 0.1)
    assert independent_bernoulli(WeightedPoissonSampler(rates, key=b"c" * 32).draw, rates)
    assert not independent_bernoulli(wrong(rates), rates)


def test_a_round_is_a_function_of_key_and_round():
    one, two = (WeightedPoissonSampler(RATES, key=b"a" * 32) for _ in range(2))
    assert np.array_equal(one.draw(7), two.draw(7))
    assert not np.array_equal(one.draw(7), one.draw(8))
    fresh = [WeightedPoissonSampler(RATES).draw(7).tolist() for _ in range(4)]
    assert len({tuple(batch) for batch in fresh}) == 4


def test_ids_are_distinct_and_int64():
    batch = WeightedPoissonSampler(RATES, key=b"a" * 32).draw(0)
    assert batch.dtype == np.int64 and len(set(batch.tolist())) == len(batch)
    assert WeightedPoissonSampler(np.zeros(5)).draw(0).shape == (0,)
    assert WeightedPoissonSampler(np.empty(0)).draw(0).shape == (0,)


@pytest.mark.parametrize("rates", [[0.5, 1.0000001], [-1e-9], [float("nan")], [[0.1]]])
def test_refuses_what_is_no_probability(rates):
    with pytest.raises(InputError, match="rates"):
        WeightedPoissonSampler(np.array(rates))


def test_the_key_is_not_shown():
    assert "6161" not in repr(WeightedPoissonSampler(RATES, key=b"a" * 32)).replace("a", "61")


def test_a_round_is_seeded_with_more_bits_than_anyone_can_try():
    """Two ways, as birthdays alone cannot tell 40 bits from 256: the generator's own entropy is read too. Of b
    random bits, about rounds²/2^(b+1) of them begin as an earlier one: below 20 bits many."""
    sampler = WeightedPoissonSampler(RATES, key=b"a" * 32)
    first = [sampler.generator(round, "sampler").bit_generator.random_raw() for round in range(4000)]
    assert len(set(first)) == 4000
    entropies = [
        WeightedPoissonSampler(RATES).generator(0, "sampler").bit_generator.seed_seq for _ in range(20)
    ]
    assert all(seed.pool_size == 8 for seed in entropies)  # words of 32 bits
    assert max(seed.entropy.bit_length() for seed in entropies) > 250  # but for 2^-120


class Watched(WeightedPoissonSampler):
    """Notes where each generator starts."""

    def generator(self, round, use):
        made = super().generator(round, use)
        self.starts = [*getattr(self, "starts", []), made.bit_generator.state["state"]["state"]]
        return made


def test_masks_and_batches_never_use_the_same_random_numbers():
    """Draws must be independent of each other (docs/mathematics.md §2): a mask made of the numbers that chose the
    batch would tell the model, and by it the reader, who was drawn."""
    sampler = Watched(np.full(30, 0.3), key=b"m" * 32)
    objective = Objective("masked", mask=1, vocabulary=50)
    rounds = Rounds([np.arange(2, 42)] * 30, objective, sampler, rounds=8, micro_batch=4)
    shown = [rounds[k] for k in range(8)]
    assert any(batch.parts for batch in shown)
    assert (
        len(set(sampler.starts)) == len(sampler.starts) == 16
    )  # one for batch and one for masks, each round
