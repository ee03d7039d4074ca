"""Large matrices, added up in fp32 and multiplied in bf16: to the bit what one example after the other gives."""

import pytest
import torch
from torch import nn

from hush_core.training import clipped_gradient_sum, norms, sums
from hush_core.training.layers import Outer

SHAPE = (264, 256)
GRID = 2.0**-30


def factors(tokens=12, examples=9, half=False):
    """Examples of all sizes: whole numbers from 1 to far beyond what fp32 adds exactly."""
    source = torch.Generator().manual_seed(0)
    left, right = (torch.randn(examples, tokens, width, generator=source) for width in SHAPE)
    left *= 10.0 ** torch.linspace(0, 9, examples)[:, None, None]
    return Outer(left.bfloat16(), right.bfloat16()) if half else Outer(left, right)


def added(use, scale):
    total = torch.zeros(SHAPE, dtype=torch.float64)
    sums.add_products(total, use, scale, GRID)
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
    small = Outer(torch.full((4, 3, SHAPE[0]), 2e-24), torch.full((4, 3, SHAPE[1]), 1e18))
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
    exact = (use.left[0].double().T @ use.right[0].double()) * 1e4 * GRID
    total = added(use, scale)
    assert float((total / (GRID * sums.COARSE)).frac().abs().max()) == 0
    charge = sums.rounding_charge([use], torch.Size(SHAPE), False) * GRID
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
        assert not norms.multiplies_in_half(use, torch.Size(SHAPE))
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
