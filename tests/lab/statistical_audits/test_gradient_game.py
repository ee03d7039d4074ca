"""The best guess on a model's own gradients: below its certificate, and above that of five times the noise."""

import numpy as np
import pytest
import torch

from hush_core.accounting import Participation, posterior_bound
from hush_core.training import clipped_gradient_sum
from hush_core.training.placement import longest_input
from hush_core.training.rounds import fixed_batches
from lab.code_audit.parts import small_model
from lab.statistical_audits import named_in_runs
from lab.statistical_audits.gradient_game import clipped_gradients, guess_secret

MODEL, RATE, ROUNDS = small_model(), 0.5, 3
VALUES = [
    b"password = " + np.random.default_rng(i).integers(97, 123, 8, dtype=np.uint8).tobytes() for i in range(8)
]


def named(sigma, games):
    return sum(
        guess_secret(
            MODEL, VALUES, rate=RATE, noise_multiplier=sigma, rounds=ROUNDS, clip_norm=1.0,
            learning_rate=0.05, seed=seed,
        )
        for seed in range(games)
    )  # fmt: skip


def certified(sigma):
    k = Participation.binomial(1, RATE)
    return posterior_bound(k, noise_multiplier=sigma, rounds=ROUNDS, prior=1 / 8, method="blow_up").value


def test_gradients_are_those_that_training_clips():
    found = clipped_gradients(MODEL, VALUES, 0.7)
    for row, value in zip(found[:3], VALUES, strict=False):
        shown = [MODEL.objective.show(MODEL.encode([value])[0][0], np.random.default_rng(0))]
        (batch,) = fixed_batches([shown], MODEL.objective, 1, longest_input(MODEL))
        real = clipped_gradient_sum(MODEL.network, batch, losses=MODEL.losses, clip_norm=0.7).gradients
        other = torch.cat([real[name].flatten() for name, _ in MODEL.network.named_parameters()])
        assert float((row - other).norm()) < 1e-3
    assert float(found.norm(dim=1).max()) <= 0.7 + 1e-9


@pytest.mark.slow
def test_success_lies_below_the_certificate_and_refutes_that_of_more_noise():
    """25 games at σ = 0.2. Where the secret was never drawn, one time in eight, the guess is blind."""
    before = [p.clone() for p in MODEL.network.parameters()]
    found = named_in_runs(named=named(0.2, 25), runs=25, confidence=0.999)
    assert all(torch.equal(p, q) for p, q in zip(MODEL.network.parameters(), before, strict=True))
    assert found.verdict(certified(0.2)) != "refuted"
    assert found.verdict(certified(1.0)) == "refuted"


@pytest.mark.slow
def test_drowned_gradients_tell_nothing():
    """20 blind guesses among 8: more than 10 right has a probability below 1e-5."""
    assert named(20.0, 20) <= 10
