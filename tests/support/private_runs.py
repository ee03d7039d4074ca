"""What tests of private training share: a tiny model, a module around it, a run that dies, and what is counted."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch
from scipy import stats

from hush_core.config import ByteGptModel
from hush_core.history.ledger import ReleaseLedger
from hush_core.plan import ProtectionPlan
from hush_core.training import PrivateModule, Update, byte_gpt
from hush_core.training.update import make_optimizer

TEXTS = [bytes([97 + i % 3]) * (5 + i % 20) for i in range(40)]
UNTAGGED = [bytes([110 + i % 3]) * (5 + i % 20) for i in range(30)]


def tiny(seed=0, context=32):
    return byte_gpt(ByteGptModel(layers=1, width=16, heads=2), context, seed=seed)


def uncertified(rates, noise, rounds, batch, clip=1.0, **more):
    """A plan of which nothing is certified."""
    return ProtectionPlan(rates, noise, rounds, batch, clip, "best", pl.DataFrame(), **more)


def shaken(model, size=0.05):
    """Away from zero biases and unit scales, where a wrong rule could hide."""
    with torch.no_grad():
        for number, parameter in enumerate(model.network.parameters()):
            source = torch.Generator().manual_seed(number)
            parameter.add_(size * torch.randn(parameter.shape, generator=source))
    return model


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.network.parameters()])


def lines(folder):
    """Releases that the ledger in the folder counts."""
    return len((folder / "releases.jsonl").read_bytes().splitlines()) - 1


def has_scale(x, sigma, error=1e-6):
    """Accepts N(0, σ²) draws but for `error`, by χ² on their variance."""
    low, high = stats.chi2.interval(1 - error, len(x))
    return bool(low < np.sum((x / sigma) ** 2) < high)


def private(plan, network, losses, ledger, kind=PrivateModule, **more):
    """SGD at rate 1, unless another optimizer is given."""
    update = {"optimizer": make_optimizer(network, "sgd", 1.0)}
    update |= {name: more.pop(name) for name in ("optimizer", "scale", "on_step") if name in more}
    return kind(plan, network, losses=losses, update=Update(**update), ledger=ledger, **more)


@contextmanager
def ledger_in(folder, rounds, released=None):
    """A ledger of a test; afterwards it holds so many releases."""
    with ReleaseLedger(folder / "ledger", run="test", rounds=rounds) as ledger:
        yield ledger
        assert released is None or ledger.released == released


def trainer(strategy=None):
    """What a module asks of Lightning's trainer."""
    plain = {"gradient_clip_val": None, "accumulate_grad_batches": 1, "world_size": 1, "precision": "32-true"}
    return SimpleNamespace(**plain, strategy=strategy or type("SingleDeviceStrategy", (), {})())


@contextmanager
def dying(release, *, counted=False):
    """A run within dies when it is about to count this release, or has just done so."""
    count = ReleaseLedger.count

    def dies(ledger):
        if ledger.released < release:
            return count(ledger)
        if counted:
            count(ledger)
        raise MemoryError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(ReleaseLedger, "count", dies)
        yield
