"""The accounting of items, multi-owner data among them, against enumeration of every draw on tiny graphs.

A text is a number (its gradient) and a length; all that a mechanism does is done to it: choosing by length, drawing
items and records, averaging, clipping to 1, adding noise. The law of what a round releases is then a finite mixture
of Gaussians, written out in full.
"""

from itertools import combinations

import numpy as np
import pytest
from item_graphs import GROUP, NOISY, USER, frames, name_of
from scipy.special import ndtr

from hush_core.accounting import Participation, posterior_bound
from hush_core.mechanisms import filling, items_of
from hush_core.weights import assign_roles, sampling_rates

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
