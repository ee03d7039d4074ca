"""Norms and sums of outer products against the per-example gradients themselves; large ones to the bit."""

import pytest
import torch
from torch import nn

from hush_core.training import clipped_gradient_sum, norms, sums
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
    one, two, three = (
        torch.einsum("b,brc->rc", alone(i, float(scale[i])), exact(uses).float()) for i in range(3)
    )
    assert not torch.equal((one + two) + three, one + (three + two))


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
    for rows, times in ((apart, 4), (together, 16)):
        found = float(size_of([Outer(rows, right)], SHAPE).norm[0] ** 2)
        assert found == pytest.approx(times * SHAPE[1], rel=1e-4)


def test_an_instance_is_kept_only_where_it_is_smaller():
    assert keeps_instance(torch.Size((256, 1024)), 256)
    assert not keeps_instance(torch.Size((768, 768)), 256)
    assert not keeps_instance(torch.Size((30522, 128)), 20)
    assert not keeps_instance(torch.Size((128, 128)), 64), "slower than the products of 64 tokens"


LARGE = (264, 256)

HALVES = 2.0**-30


def factors(tokens=12, examples=9, half=False):
    """Examples of all sizes: whole numbers from 1 to far beyond what fp32 adds exactly."""
    source = torch.Generator().manual_seed(0)
    left, right = (torch.randn(examples, tokens, width, generator=source) for width in LARGE)
    left *= 10.0 ** torch.linspace(0, 9, examples)[:, None, None]
    return Outer(left.bfloat16(), right.bfloat16()) if half else Outer(left, right)


def added(use, scale):
    total = torch.zeros(LARGE, dtype=torch.float64)
    sums.add_products(total, use, scale, HALVES)
    return total


def one_by_one(use, scale):
    return sum(
        added(Outer(use.left[b : b + 1], use.right[b : b + 1]), scale[b : b + 1]) for b in range(len(scale))
    )


@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
def test_what_an_example_adds_does_not_depend_on_the_others(half, monkeypatch):
    use, scale = factors(half=half), torch.linspace(900.0, 1500.0, 9)
    assert torch.equal(added(use, scale), one_by_one(use, scale))
    assert len(set(map(len, runs(use, scale)))) > 1  # some together and some alone
    monkeypatch.setattr(sums, "_exact_runs", lambda peaks: [range(len(peaks))])
    assert not torch.equal(added(use, scale), one_by_one(use, scale))


def runs(use, scale):
    return sums._exact_runs(
        (scale / sums.COARSE * sums._highest(use.left) * sums._highest(use.right)).tolist()
    )


def test_the_greatest_number_is_never_underestimated(monkeypatch):
    """Also where squares underflow: 2e-24 squared is 0 in fp32, 2e-24 times 1e18 is not."""
    small = Outer(torch.full((4, 3, LARGE[0]), 2e-24), torch.full((4, 3, LARGE[1]), 1e18))
    odd = torch.tensor([1.0, 1.1, 1.2, 1.3]) * (2**24 * sums.COARSE / 6e-6)
    assert torch.equal(added(small, odd), one_by_one(small, odd))
    for use in (small, factors(), factors(half=True)):
        true = torch.bmm(use.left.double().transpose(1, 2), use.right.double()).abs().amax((1, 2))
        claimed = 1.25 * sums._highest(use.left).double() * sums._highest(use.right).double()
        assert bool((true <= claimed).all())
    monkeypatch.setattr(sums, "TINY", 0.0)
    assert not torch.equal(added(small, odd), one_by_one(small, odd))


def test_numbers_are_rounded_to_the_coarser_grid_and_no_further():
    use, scale = factors(examples=1), torch.full((1,), 1e4)
    exact = (use.left[0].double().T @ use.right[0].double()) * 1e4 * HALVES
    total = added(use, scale)
    assert float((total / (HALVES * sums.COARSE)).frac().abs().max()) == 0
    charge = sums.rounding_charge([use], torch.Size(LARGE), False) * HALVES
    assert 0.5 * charge < float((total - exact).norm()) <= charge


def in_bf16(value: float, weight: float) -> float:
    """‖released‖/C of one example whose gradient is value·weight everywhere, before bf16 rounds it."""
    layer, x = nn.Linear(256, 264, bias=False), torch.full((1, 1, 256), value)

    def losses(layer, x):
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            return (layer(x) * weight).flatten(1).sum(1)

    done = clipped_gradient_sum(layer, x, losses=losses, clip_norm=1.0)
    return float(done.gradients["weight"].norm())


def rounded_up_most() -> tuple[float, float]:
    """Two bf16 numbers whose product bf16 rounds up by almost its unit."""
    numbers = 1 + torch.arange(16) * 2.0**-7
    product = numbers[:, None] * numbers
    i, j = divmod(int((product.bfloat16().float() / product).argmax()), 16)
    return float(numbers[i]), float(numbers[j])


@pytest.mark.skipif(
    not norms._adds_in_fp32(), reason="no bf16 products that are added up in fp32 on this CPU"
)
def test_what_bf16_rounds_is_charged(monkeypatch):
    value, weight = rounded_up_most()
    assert 0.99 < in_bf16(value, weight) <= 1
    monkeypatch.setattr(norms, "HALF_UNIT", 0.0)
    assert in_bf16(value, weight) > 1.001


def test_products_that_add_up_in_bf16_are_not_used(monkeypatch):
    """As some kernels do: then the factors are multiplied in fp32."""
    use = factors(half=True)
    usual = torch.bmm

    def rough(a, b):
        total = torch.zeros(a.shape[0], a.shape[1], b.shape[2], dtype=a.dtype)
        for t in range(a.shape[2]):
            total += usual(a[:, :, t : t + 1], b[:, t : t + 1])
        return total

    norms._adds_in_fp32.cache_clear()
    try:
        monkeypatch.setattr(torch, "bmm", rough)
        assert not norms.multiplies_in_half(use, torch.Size(LARGE))
    finally:
        norms._adds_in_fp32.cache_clear()


@pytest.mark.parametrize("width", [37, 85, 259, 300])
@pytest.mark.parametrize("tokens", [3, 5, 6, 20])
def test_a_norm_does_not_depend_on_the_row(tokens, width, monkeypatch):
    """It did, by 1e-8, where rows begin at other places in a line of memory: products of widths like these."""
    seen, usual = [], torch.bmm

    def watched(a, b):
        seen.extend(part.stride(0) * part.element_size() % 64 for part in (a, b))
        return usual(a, b)

    source = torch.Generator().manual_seed(1)
    left, right = (torch.randn(1, tokens, wide, generator=source).repeat(5, 1, 1) for wide in (width, 48))
    monkeypatch.setattr(torch, "bmm", watched)
    norm = norms.size_of([Outer(left, right)], torch.Size((width, 48))).norm
    assert bool((norm == norm[0]).all())
    assert set(seen) == {0}
