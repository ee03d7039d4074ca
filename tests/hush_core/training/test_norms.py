"""Norms and sums of outer products against the per-example gradients themselves, in float64."""

import pytest
import torch

from hush_core.training import norms, sums
from hush_core.training.layers import Outer
from hush_core.training.norms import instance, keeps_instance, size_of
from hush_core.training.sums import add_instances, add_products, rounding_charge, scales

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


GRID = 2.0**-20


def released(uses: list[Outer], scale: torch.Tensor) -> torch.Tensor:
    """(rows, columns) float64: Σ_b of what the examples add, at scale_b · GRID."""
    total = torch.zeros(tuple(SHAPE), dtype=torch.float64)
    for use in uses:
        add_products(total, use, scale, GRID)
    return total


def alone(i: int, scale: float) -> torch.Tensor:
    out = torch.zeros(EXAMPLES)
    out[i] = scale
    return out


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chunk", [norms._CHUNK, 100])
def test_norms_are_those_of_the_gradients_and_never_below(case, chunk, monkeypatch):
    monkeypatch.setattr(norms, "_CHUNK", chunk)
    got, want = size_of(CASES[case], SHAPE).norm, exact(CASES[case]).square().sum((1, 2)).sqrt()
    torch.testing.assert_close(got, want, rtol=2e-4, atol=0)
    assert bool((got >= want).all()) and got.dtype == torch.float64


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tile", [(1 << 18, 768), (30, 7), (12, 4), (1, 1)])
def test_instances_and_sums_are_those_of_the_gradients(case, tile, monkeypatch):
    monkeypatch.setitem(sums._TILE, "cpu", tile)
    uses, scale = CASES[case], torch.tensor([0.25, 0.0, 2.0]) / GRID
    want = exact(uses)
    kept = sum(instance(use, SHAPE) for use in uses)
    torch.testing.assert_close(kept.double(), want, rtol=1e-5, atol=1e-3)
    weighted = torch.einsum("b,brc->rc", scale.double() * GRID, want)
    torch.testing.assert_close(released(uses, scale), weighted, rtol=1e-5, atol=1e-3)
    total = torch.full(tuple(SHAPE), 100.0, dtype=torch.float64)
    add_instances(total, kept, scale, GRID)
    torch.testing.assert_close(total, weighted + 100, rtol=1e-5, atol=1e-3)
    assert torch.equal(total / GRID, (total / GRID).round())


@pytest.mark.parametrize("case", CASES)
def test_what_one_example_adds_is_the_same_to_the_bit_whatever_is_added_beside_it(case):
    """And adding in fp32, as before, is told apart: there the sum of the others moves."""
    uses, scale = CASES[case], torch.tensor([0.7, 0.3, 1.1]) / GRID
    parts = [released(uses, alone(i, float(scale[i]))) for i in range(EXAMPLES)]
    assert torch.equal(released(uses, scale), parts[2] + parts[0] + parts[1])
    exact_parts = [
        torch.einsum("b,brc->rc", alone(i, float(scale[i])), exact(uses).float()) for i in range(3)
    ]
    assert not torch.equal(
        (exact_parts[0] + exact_parts[1]) + exact_parts[2], exact_parts[0] + (exact_parts[2] + exact_parts[1])
    )


@pytest.mark.parametrize("kind", ["dense", "embedding", "tied"])
@pytest.mark.parametrize("size", [1.0, 1e-12, 1e12, 1e-30])
def test_no_release_is_above_the_bound_where_terms_cancel(kind, size):
    """The gradient is 0 but for rounding; released, that rounding must still fit into the bound. Left and right
    of opposite sizes: their products with themselves underflow, the gradient does not."""
    source, bound = torch.Generator().manual_seed(0), 1000.0
    for _ in range(10):
        right = 1e6 / size * torch.randn(EXAMPLES, 1, SHAPE[1], generator=source)
        shares = torch.rand(1, 64, 1, generator=source)
        right = right * (shares - shares.mean(1, keepdim=True))
        left = torch.randn(EXAMPLES, 1, SHAPE[0], generator=source).expand(-1, 64, -1) * size
        rows = torch.full((EXAMPLES, 64), 5)
        one = {"dense": Outer(left.contiguous(), right), "embedding": Outer(rows, right)}
        uses = list(one.values()) if kind == "tied" else [one[kind]]
        limit = bound - GRID * rounding_charge(uses, SHAPE, False)
        scale = scales([size_of(uses, SHAPE)], limit * (1 - 2.0**-20), GRID)
        for i in range(EXAMPLES):
            assert released(uses, alone(i, float(scale[i]))).norm() <= bound


def test_rows_that_differ_are_told_from_rows_that_repeat():
    """Positions 0, 1, 2, … are the quick case; the same gradients on one row add up before they are squared."""
    right = torch.ones(EXAMPLES, 4, SHAPE[1])
    apart, together = torch.arange(4).expand(EXAMPLES, 4), torch.zeros(EXAMPLES, 4, dtype=torch.int64)
    assert float(size_of([Outer(apart, right)], SHAPE).norm[0] ** 2) == pytest.approx(4 * SHAPE[1], rel=1e-4)
    assert float(size_of([Outer(together, right)], SHAPE).norm[0] ** 2) == pytest.approx(
        16 * SHAPE[1], rel=1e-4
    )


def test_an_instance_is_kept_only_where_it_is_smaller():
    assert keeps_instance(torch.Size((256, 1024)), 256)
    assert not keeps_instance(torch.Size((768, 768)), 256)
    assert not keeps_instance(torch.Size((30522, 128)), 20)
    assert not keeps_instance(
        torch.Size((128, 128)), 64
    )  # no larger, but slower than the products of 64 tokens
