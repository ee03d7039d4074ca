"""Norms and sums of outer products against the per-example gradients themselves, in float64."""

from __future__ import annotations

import pytest
import torch

from hush_core.training import norms
from hush_core.training.layers import Outer
from hush_core.training.norms import instance, keeps_instance, squared_norms, weighted_sum

SHAPE, EXAMPLES = torch.Size((23, 7)), 3


def dense(tokens: int, seed: int) -> Outer:
    source = torch.Generator().manual_seed(seed)
    left = torch.randn(EXAMPLES, tokens, SHAPE[0], generator=source)
    # A common part, so that the products off the diagonal are a good half of the norm.
    right = torch.randn(EXAMPLES, tokens, SHAPE[1], generator=source) + 0.5
    return Outer(left + 0.5, right)


def embedded(tokens: int, seed: int) -> Outer:
    source = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, SHAPE[0], (EXAMPLES, tokens), generator=source)
    return Outer(rows, torch.randn(EXAMPLES, tokens, SHAPE[1], generator=source) + 0.5)


def exact(uses: list[Outer]) -> torch.Tensor:
    """(B, rows, columns) float64, the long way."""
    total = torch.zeros(EXAMPLES, *SHAPE, dtype=torch.float64)
    for use in uses:
        left = torch.nn.functional.one_hot(use.left, SHAPE[0]) if use.one_hot else use.left
        total += torch.einsum("btr,btc->brc", left.double(), use.right.double())
    return total


CASES = {
    "one token": [dense(1, 0)],
    "less than a strip": [dense(20, 1)],
    "strips that do not divide": [dense(101, 2)],
    "long strips": [dense(300, 3)],
    "embedding": [embedded(50, 4)],
    "tied": [dense(40, 5), embedded(70, 6)],
    "tied, embedding first": [embedded(70, 6), dense(40, 5)],
    "two embeddings and two heads": [embedded(9, 7), dense(33, 8), embedded(40, 9), dense(5, 10)],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chunk", [norms._CHUNK, 100])
def test_norms_are_those_of_the_gradients(case, chunk, monkeypatch):
    monkeypatch.setattr(norms, "_CHUNK", chunk)
    got, want = squared_norms(CASES[case], SHAPE), exact(CASES[case]).square().sum((1, 2))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=0)
    assert got.dtype == torch.float64


@pytest.mark.parametrize("case", CASES)
def test_instances_and_weighted_sums_are_those_of_the_gradients(case):
    uses, factors = CASES[case], torch.tensor([0.25, 0.0, 2.0])
    want = exact(uses)
    torch.testing.assert_close(sum(instance(use, SHAPE) for use in uses).double(), want, rtol=1e-5, atol=1e-3)
    weighted = torch.einsum("b,brc->rc", factors.double(), want)
    torch.testing.assert_close(weighted_sum(uses, factors, SHAPE).double(), weighted, rtol=1e-5, atol=1e-3)
    before = torch.full(tuple(SHAPE), 100.0)
    weighted_sum(uses, factors, SHAPE, before)
    torch.testing.assert_close(before.double(), weighted + 100, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("kind", ["dense", "embedding"])
def test_a_norm_is_never_below_that_of_the_sum_where_terms_cancel(kind):
    """The gradient is 0 but for rounding; released, that rounding must still fit into the norm."""
    source = torch.Generator().manual_seed(0)
    for _ in range(20):
        right = 1e6 * torch.randn(EXAMPLES, 1, SHAPE[1], generator=source)
        shares = torch.rand(1, 64, 1, generator=source)
        right = right * (shares - shares.mean(1, keepdim=True))
        left = torch.randn(EXAMPLES, 1, SHAPE[0], generator=source).expand(-1, 64, -1)
        rows = torch.full((EXAMPLES, 64), 5)
        use = Outer(rows if kind == "embedding" else left.contiguous(), right)
        found = squared_norms([use], SHAPE).sqrt()
        for i in range(EXAMPLES):
            factors = torch.zeros(EXAMPLES)
            factors[i] = 1.0
            assert weighted_sum([use], factors, SHAPE).double().norm() <= found[i]


def test_rows_that_differ_are_told_from_rows_that_repeat():
    """Positions 0, 1, 2, … are the quick case; the same gradients on one row add up before they are squared."""
    right = torch.ones(EXAMPLES, 4, SHAPE[1])
    apart, together = torch.arange(4).expand(EXAMPLES, 4), torch.zeros(EXAMPLES, 4, dtype=torch.int64)
    assert float(squared_norms([Outer(apart, right)], SHAPE)[0]) == pytest.approx(4 * SHAPE[1], rel=1e-4)
    assert float(squared_norms([Outer(together, right)], SHAPE)[0]) == pytest.approx(16 * SHAPE[1], rel=1e-4)


def test_an_instance_is_kept_only_where_it_is_smaller():
    assert keeps_instance(torch.Size((256, 1024)), 256)
    assert not keeps_instance(torch.Size((768, 768)), 256)
    assert not keeps_instance(torch.Size((30522, 128)), 20)
    assert not keeps_instance(
        torch.Size((128, 128)), 64
    )  # no larger, but slower than the products of 64 tokens
