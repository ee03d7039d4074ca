"""(ε, δ) of every secret and every unit: the noise from both sides, and the accounting of items, also of several
owners, against enumeration of every draw on tiny graphs.

A text is a number (its gradient) and a length; all that a mechanism does is done to it: choosing by length, drawing
items and records, averaging, clipping to 1, adding noise. The law of what a round releases is then a finite mixture
of Gaussians, written out in full.
"""

from itertools import combinations

import numpy as np
import pytest
from item_graphs import GROUP, NOISY, USER, frames, name_of, shared_units
from scipy.special import ndtr
from sizes import some

from hush_core.accounting import Participation, posterior_bound, privacy_profile
from hush_core.config import MECHANISMS
from hush_core.errors import InputError
from hush_core.mechanisms import (
    filling,
    implied_posterior,
    items_of,
    lay_out,
    noise_by_lemma,
    noise_for_unit_privacy,
    noise_of,
    one_item,
    plan_of,
    refuted,
    with_implied_targets,
)
from hush_core.mechanisms.unit_privacy import PRECISION, delta_of, dominating_participations
from hush_core.weights import WeightSettings, assign_roles, sampling_rates

RUN = {"rounds": 30, "epsilon": 2.0, "delta": 1e-5}

PLAN = {"rounds": 30, "expected_batch": 4, "clip_norm": 1.0}


def gaussian_delta(sigma, rounds, count, epsilon):
    """δ(ε) of the Gaussian mechanism (Balle and Wang 2018), `count` items in each of T rounds for sure."""
    s = count * np.sqrt(rounds) / sigma
    return ndtr(s / 2 - epsilon / s) - np.exp(epsilon) * ndtr(-s / 2 - epsilon / s)


@pytest.mark.parametrize("count", [1, 3])
def test_without_sampling_it_is_the_gaussian_mechanism_of_the_whole_group(count):
    sure = Participation.binomial(count, 1.0)
    sigma = noise_of(sure, **RUN)
    assert gaussian_delta(sigma, 30, count, 2.0) == pytest.approx(1e-5, rel=5e-4)
    assert gaussian_delta(sigma, 30, count, 2.0) <= 1e-5 * (1 + 1e-6)


@pytest.mark.parametrize("rates, rounds", some([([0.3, 0.05, 0.05], 8), ([0.05] * 3, 30)], 1))
def test_the_noise_is_bounded_from_both_sides_and_below_the_lemmas(rates, rounds):
    k, run = Participation.from_rates(rates), RUN | {"rounds": rounds}
    sigma, low, lemma = noise_of(k, **run), refuted(k, **run), noise_by_lemma(k, **run)
    assert low < sigma < low * 1.00002, "an attack refutes (ε, δ) just below"
    assert sigma < lemma
    assert delta_of(k, 2.0, 1e-5, sigma, rounds) <= 1e-5
    less = (1 - 3 * PRECISION) * sigma
    assert delta_of(k, 2.0, 1e-5, less, rounds) > 1e-5, "some millionths less: not proved"
    # the coarse grid is an upper bound of the same number
    coarse = privacy_profile(k, noise_multiplier=sigma, rounds=rounds, resolution=1e-5)
    assert 0.9e-5 < coarse.delta(2.0) < 1.1e-5


def test_the_lemma_read_backwards_gives_epsilon_and_delta_again():
    for items in (1, 2, 7):
        small, share = one_item(2.0, 1e-5, items)
        assert items * small == pytest.approx(2.0)
        assert share * np.expm1(items * small) / np.expm1(small) == pytest.approx(1e-5)
    with pytest.raises(InputError):
        one_item(2.0, 1e-5, 0)


def test_the_worst_unit_decides_and_dominates_the_others():
    edges, secrets = frames([(i, 0) for i in range(6)] + [(10, 1), (11, 1)], ["unit"] * 2)
    rates = np.full(20, 0.1)
    (worst,) = dominating_participations(edges, rates)
    assert worst == Participation.binomial(6, 0.1)
    rates[10:12] = 0.9  # two of 0.9 and six of 0.1: neither is above the other
    assert len(dominating_participations(edges, rates)) == 2
    together = noise_for_unit_privacy(edges, rates, **RUN | {"rounds": 8})
    assert all(
        delta_of(one, 2.0, 1e-5, together, 8) <= 1e-5 for one in dominating_participations(edges, rates)
    )
    assert secrets.height == 2


def test_very_many_profiles_are_dominated_by_one():
    chance = np.random.default_rng(0)
    edges, _ = frames([(i, i % 20) for i in range(40)], ["unit"] * 20)
    rates = np.concatenate([0.5 + 0.4 * (loud := chance.random(20)), 0.5 - 0.4 * loud])
    (one,) = dominating_participations(edges, rates)
    top = np.sort(np.repeat(one.rates, one.counts))[::-1]
    for secret in range(20):
        own = np.sort(rates[secret::20])[::-1]
        assert np.all(own <= top[: len(own)])


def test_nothing_drawn_is_refused():
    edges, _ = frames([(0, 0)], ["unit"])
    with pytest.raises(InputError, match="nothing needs protection"):
        noise_for_unit_privacy(edges, np.zeros(3), **RUN)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_implied_posterior_holds_for_every_pair_that_is_epsilon_delta(epsilon):
    """Randomised response and a Gaussian, at their own δ: no adversary's posterior is above it."""
    for prior in (1e-9, 1e-3, 0.2, 0.6, 0.99):
        sigma = 2.0
        delta = float(gaussian_delta(sigma, 1, 1, epsilon))
        bound = posterior_bound(
            Participation.binomial(1, 1.0), noise_multiplier=sigma, rounds=1, prior=prior, method="blow_up"
        )
        assert bound.lower is None or bound.lower <= implied_posterior(prior, epsilon, delta)
        assert bound.value <= implied_posterior(prior, epsilon, delta) * (1 + 1e-6)
        # randomised response reaches it: P says yes with e^ε times, or all but e^−ε of, what Q does
        reach = min(np.exp(epsilon) * prior, 1 - np.exp(-epsilon) * (1 - prior))
        assert implied_posterior(prior, epsilon, 0.0) == pytest.approx(reach)


def test_a_prior_of_which_nothing_is_promised_is_refused_by_name():
    _, secrets = frames([(0, 0)], ["unit"])
    with pytest.raises(InputError, match="nothing is promised"):
        with_implied_targets(secrets.with_columns(prior=0.7), 2.0, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, method", some([("hush", "best"), ("dp_sgd", "kl"), ("group_privacy", "best")], 1)
)
def test_a_plan_for_epsilon_keeps_it_and_the_targets_that_it_implies(kind, method):
    edges, secrets, _ = shared_units(1)
    chosen = MECHANISMS[kind](kind=kind, epsilon=2.0, delta=1e-5)
    secrets = with_implied_targets(secrets, 2.0, 1e-5)
    settings = WeightSettings(rule="normal_quantiles", c=0.5)
    layout = lay_out(edges, secrets, n_examples=40, settings=settings, mechanism=chosen)
    plan = plan_of(chosen, layout.weighing.weights, layout.edges, secrets, method=method, **PLAN)
    assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
    for one in dominating_participations(layout.edges, plan.rates):
        assert delta_of(one, 2.0, 1e-5, plan.noise_multiplier, 30) <= 1e-5
    if method == "kl":  # the paper's method needs more than (ε, δ) does
        best = plan_of(chosen, layout.weighing.weights, layout.edges, secrets, method="best", **PLAN)
        assert plan.noise_multiplier > best.noise_multiplier


@pytest.mark.slow
def test_group_privacy_by_the_mixture_needs_less_than_its_lemma_in_a_whole_graph():
    edges, secrets, roles = shared_units(2)
    items = items_of(GROUP[0].model_copy(update={"records": 4}), edges, secrets, roles)
    rates = sampling_rates(items.weights, 4)
    ours = noise_for_unit_privacy(items.edges, rates, **RUN)
    assert ours < noise_by_lemma(Participation.binomial(4, float(rates.max())), **RUN)


SIGMA, PRIORS = 1.0, (0.01, 0.1, 0.3)

Y = np.linspace(-14, 14, 8001)

GRAPHS = {
    "one owner": ([(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)], ["unit"] * 2),
    "two owners": ([(0, 0), (1, 0), (2, 0), (2, 1), (3, 1), (4, 1), (4, 2)], ["unit"] * 3),
    "a star": ([(i, 0) for i in range(5)] + [(i, 1 + i) for i in range(4)], ["unit"] * 5),
    "a token in mails": (
        [(0, 0), (1, 0), (2, 0), (1, 2), (3, 1), (4, 1), (4, 2)],
        ["unit"] * 2 + ["credentials"],
    ),
}


def mixed(laws):
    """The law of a sum of independent terms: value → probability."""
    total = {0.0: 1.0}
    for law in laws:
        new = {}
        for a, p in total.items():
            for b, q in law.items():
                key = round(a + b, 9)
                new[key] = new.get(key, 0.0) + p * q
        total = new
    return total


def contribution(gradients, rate, records):
    """The law of one item's term: not drawn, or the clipped average over each choice of its records."""
    law = {0.0: 1.0 - rate}
    choices = list(combinations(gradients, min(records, len(gradients))))
    for chosen in choices:
        value = float(np.clip(np.mean(chosen), -1, 1))
        law[value] = law.get(value, 0.0) + rate / len(choices)
    return law


def release(mechanism, items, rates, texts, without=frozenset()):
    """The law of a round's sum; the items in `without` contribute nothing."""
    held = {i: [i] for i in np.flatnonzero(items.weights).tolist()}
    if items.pools is not None:
        select = mechanism.select
        lengths = np.array([length for _, length in texts], dtype=float)
        score = None if select in ("random", "chunks") else lengths
        chosen = filling(mechanism, items.weights, items.pools, score).group_by("item", maintain_order=True)
        held |= dict(chosen.agg("example_id").iter_rows())
    k = mechanism.records_a_round
    return mixed(
        contribution([texts[j][0] for j in ids], rates[i], k) for i, ids in held.items() if i not in without
    )


def masses(law):
    """(cells,) the mixture's mass between neighbouring points of Y."""
    at = sum(p * ndtr((Y - value) / SIGMA) for value, p in law.items())
    return np.diff(at, prepend=0.0, append=1.0)


def blow_up(p, q, prior):
    """sup of P(test) over tests with Q(test) ≤ prior, by Neyman and Pearson; from below, as cells are merged."""
    order = np.argsort(-p / np.maximum(q, 1e-300))
    level = np.cumsum(q[order])
    whole = np.searchsorted(level, prior, side="right")
    power = p[order][:whole].sum()
    if whole < len(order):
        left = prior - (level[whole - 1] if whole else 0.0)
        power += p[order][whole] * left / max(q[order][whole], 1e-300)
    return power


def tagged_items(edges, items, secret):
    held = edges.filter(edges["secret_id"] == secret)["example_id"].to_list()
    return frozenset(i for i in held if items.weights[i])


def cases(graph, mechanism, seed):
    """(items, rates, texts, candidates): what is known, and what one secret's examples may hold, by secret."""
    pairs, kinds = GRAPHS[graph]
    edges, secrets = frames(pairs, kinds)
    n = 9
    roles = assign_roles(edges, n_examples=n, without_secret="noise", one_in=10**6)
    items = items_of(mechanism, edges, secrets, roles)
    rates = sampling_rates(items.weights, 2)
    chance = np.random.default_rng(seed)

    def text():
        return float(chance.choice([-3.0, -1.0, 0.4, 1.0, 3.0])), int(chance.integers(1, 9))

    base = [text() for _ in range(n)]
    for secret in range(secrets.height):
        own = edges.filter(edges["secret_id"] == secret)["example_id"].to_list()
        loud = [t if i not in own else (9.0, 5) for i, t in enumerate(base)]
        others = [[t if i not in own else text() for i, t in enumerate(base)] for _ in range(3)]
        yield edges, items, rates, secret, [loud, base, *others]


@pytest.mark.few(12)
@pytest.mark.parametrize("mechanism", NOISY, ids=name_of)
@pytest.mark.parametrize("graph", GRAPHS)
def test_no_candidate_exceeds_the_bound_of_the_lifted_graph(graph, mechanism):
    """And the reference, items of the secret at zero, is one law for all candidates."""
    for _, items, rates, secret, candidates in cases(graph, mechanism, seed=len(graph)):
        zero = tagged_items(items.edges, items, secret)
        k = Participation.from_rates([rates[i] for i in zero])
        reference = masses(release(mechanism, items, rates, candidates[0], zero))
        run = {"noise_multiplier": SIGMA, "rounds": 1, "method": "blow_up"}
        bounds = {prior: posterior_bound(k, prior=prior, **run).value for prior in PRIORS}
        for texts in candidates:
            same = masses(release(mechanism, items, rates, texts, zero))
            assert np.allclose(same, reference, atol=1e-13)
            real = masses(release(mechanism, items, rates, texts))
            for prior, bound in bounds.items():
                assert blow_up(real, reference, prior) <= bound * (1 + 1e-6)


def test_the_bound_is_reached():
    """All records loud, nothing beside them: what is enumerated is the bound, to the cells' width."""
    for graph, (pairs, kinds) in GRAPHS.items():
        edges, secrets = frames(pairs, kinds)
        roles = assign_roles(edges, n_examples=5, without_secret="noise", one_in=10**6)
        for mechanism in (GROUP[0], USER[0]):
            items = items_of(mechanism, edges, secrets, roles)
            rates = sampling_rates(items.weights, 1)
            for secret in range(secrets.height):
                zero = tagged_items(items.edges, items, secret)
                alone = [i for i in np.flatnonzero(items.weights).tolist() if i not in zero]
                quiet = np.where(np.isin(np.arange(5), alone), 0.0, rates)
                real = masses(release(mechanism, items, quiet, [(9.0, 1)] * 5))
                reference = masses({0.0: 1.0})
                k = Participation.from_rates([rates[i] for i in zero])
                bound = posterior_bound(k, noise_multiplier=SIGMA, rounds=1, prior=0.1, method="blow_up")
                assert blow_up(real, reference, 0.1) == pytest.approx(bound.value, rel=2e-3), graph
