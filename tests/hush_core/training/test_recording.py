"""What the hooks record: no use of a layer loses its gradient in silence."""

import functools
import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional

from hush_core.errors import InputError
from hush_core.training import clipped_gradient_sum


def scale_first(x):
    x[:, 0] *= 2
    return x


def scale_through_a_view(x):
    flat = x.view(-1, x.shape[-1])
    flat.mul_(2.0)
    return x


def change_a_slice(x):
    x[..., :2].tanh_()
    return x


def overwrite_a_part(x):
    x[:, 0] = 0
    return x


IN_PLACE = {
    "scale": lambda x: x.mul_(3.0),
    "add": lambda x: x.add_(1.0),
    "relu": functional.relu_,
    "fill": lambda x: x.masked_fill_(x > 1, 0),
    "first": scale_first,
    "view": scale_through_a_view,
    "slice": change_a_slice,
    "overwrite": overwrite_a_part,
}


class InPlace(nn.Module):
    """Changes the output of an embedding, a Linear with and one without bias, and a norm, in place."""

    def __init__(self, change) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(7, 4), nn.Linear(4, 4)
        self.norm, self.head = nn.LayerNorm(4), nn.Linear(4, 3, bias=False)
        self.change = change

    def forward(self, ids):
        x = self.change(self.embedding(ids))
        return self.change(self.head(self.change(self.norm(self.change(self.linear(x)))).clone()))


def off(found, wanted):
    """The distance of two gradients, relative to the longer one, or to 1 where both are short."""
    return float((found - wanted).norm() / max(1.0, float(wanted.norm())))


def squares(model, batch):
    return model(batch).square().sum((1, 2))


@pytest.mark.parametrize("shape", [(2, 5), (3, 1)])
def test_a_layers_output_may_be_changed_in_place_once_and_twice(shape):
    """CTRL scales its embeddings in place: asked for at the tensor, the gradient was that of the product, and
    the embedding had none. A changed view (a Linear's output in three dimensions) moved in the graph too."""
    torch.manual_seed(0)
    ids, taken = torch.randint(0, 7, shape), set()
    for one, two in itertools.permutations(["", *IN_PLACE], 2):
        changes = [IN_PLACE[name] for name in (one, two) if name]
        model = InPlace(lambda x, changes=changes: functools.reduce(lambda x, change: change(x), changes, x))
        try:
            squares(model, ids).sum().backward()
        except RuntimeError:  # torch needs what was overwritten
            assert one and two
            continue
        got = clipped_gradient_sum(model, ids, losses=squares, clip_norm=float("inf"))
        for name, parameter in model.named_parameters():
            assert off(got.gradients[name], parameter.grad) < 1e-5, (one, two, name)
        if model.embedding.weight.grad.any() and model.linear.weight.grad.any():
            taken.add((one, two))
    gone = {"overwrite"} if shape[1] == 1 else set()  # there is nothing else
    assert len(taken) > 40 - 20 * len(gone) and {("", name) for name in IN_PLACE.keys() - gone} <= taken


class Cut(nn.Module):
    """A residual branch whose input is a fresh leaf, as MRA's is where its kernel is not installed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.branch = nn.Embedding(7, 4), nn.Linear(4, 4)

    def forward(self, ids):
        x = self.embedding(ids)
        return x + self.branch(torch.ones(x.shape).requires_grad_())


def test_a_use_that_never_gets_its_gradient_is_refused_by_name():
    """Its weight would be trained on a gradient that no norm holds."""
    with pytest.raises(InputError, match=r"layer branch: the loss depends on its output"):
        clipped_gradient_sum(Cut(), torch.ones(2, 5, dtype=torch.long), losses=squares, clip_norm=1.0)


def test_a_use_that_the_loss_does_not_depend_on_is_none():
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.idle = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            y = self.first(x)
            self.idle(y)
            return y

    got = clipped_gradient_sum(Idle(), torch.ones(2, 3, 4), losses=squares, clip_norm=1.0)
    assert got.gradients["first.weight"].any() and not got.gradients["idle.weight"].any()


def test_a_call_without_effect_does_not_cover_a_use_past_the_layer():
    """Two edges of the graph end in the weight, the hook of one of the two calls is on no path to the loss."""

    class Past(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4, bias=False)

        def forward(self, x):
            self.first(x)
            return self.first(x) + functional.linear(x, self.first.weight)

    with pytest.raises(InputError, match=r"first\.weight"):
        clipped_gradient_sum(Past(), torch.ones(2, 3, 4), losses=squares, clip_norm=1.0)


@pytest.mark.parametrize("kind", ["tokens", "floats"])
def test_an_input_that_is_changed_after_the_layer_read_it_is_refused(kind):
    """For the bottom layer torch itself would not notice: it is never asked for that layer's weight."""

    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Embedding(7, 4) if kind == "tokens" else nn.Linear(4, 4)

        def forward(self, x):
            y = self.first(x)
            x.zero_()
            return y

    x = torch.ones(2, 5, dtype=torch.long) if kind == "tokens" else torch.ones(2, 5, 4)
    with pytest.raises(InputError, match="changed in place after the layer read it"):
        clipped_gradient_sum(Late(), x, losses=squares, clip_norm=1.0)
