"""Correlated noise: the strategy's error beside jax_privacy's, and beside sampled rounds at the same promise.

The first table: mean error over the prefix sums times ‖c‖, of T rounds and b bands; less is better. With --peer
PYTHON (an interpreter that has jax_privacy 2.0.0) its optimiser's, from coefficients to the same formula.

The second: a secret of m items among n, B a round, T rounds; p = 1e-10, r = 1e-3. σ of sampled rounds (weighted
Poisson, blow_up) and of correlated ones (a public cycle of n/B groups, the items of a secret spread evenly), and
the root mean squared error of the prefix sums that each leaves, in clip norms.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time

import numpy as np

from hush_core.accounting import Participation, smallest_noise
from hush_core.accounting.correlated import (
    Strategy,
    banded_strategy,
    sensitivities,
    smallest_noise_multiplier,
)

PROMISE = {"prior": 1e-10, "posterior": 1e-3}
SHAPES = [(100, 4), (100, 16), (1000, 16), (1000, 64), (2000, 100)]
CASES = [  # items, batch, rounds, items of the secret
    (20_000, 200, 500, 1),
    (20_000, 200, 500, 20),
    (20_000, 200, 2000, 20),
    (20_000, 2000, 200, 20),
    (20_000, 2000, 20, 20),
    (20_000, 2000, 10, 1),
]
_PEER = """
import json, sys, time
import jax
jax.config.update("jax_enable_x64", True)
from jax_privacy.matrix_factorization import toeplitz
for rounds, bands in json.loads(sys.argv[1]):
    began = time.process_time()
    found = toeplitz.optimize_banded_toeplitz(rounds, bands)
    print(json.dumps([[float(c) for c in found / found[0]], time.process_time() - began]))
"""


def error(strategy: Strategy, rounds: int) -> float:
    return strategy.mean_error(rounds) * strategy.norm


def strategies(peer: str | None) -> None:
    theirs = [None] * len(SHAPES)
    if peer:
        done = subprocess.run(
            [peer, "-c", _PEER, json.dumps(SHAPES)], capture_output=True, text=True, check=True
        )
        theirs = [json.loads(line) for line in done.stdout.splitlines()]
    print(
        f"{'T':>5} {'b':>4}  {'independent':>11}  {'ours':>8} {'CPU s':>6}  {'jax_privacy':>11} {'CPU s':>6}"
    )
    for (rounds, bands), other in zip(SHAPES, theirs, strict=True):
        began = time.process_time()
        ours = banded_strategy(rounds, bands)
        seconds = time.process_time() - began
        alone = error(Strategy((1.0,)), rounds)
        peer = f"{'':>11} {'':>6}"
        if other:
            peer = f"{error(Strategy((1.0, *np.maximum(other[0][1:], 0))), rounds):>11.5f} {other[1]:>6.2f}"
        print(f"{rounds:>5} {bands:>4}  {alone:>11.3f}  {error(ours, rounds):>8.5f} {seconds:>6.2f}  {peer}")


def at_the_same_promise() -> None:
    print("\n  items  batch  rounds   m  epochs  σ sampled  its error  bands  σ correlated  its error  ratio")
    for items, batch, rounds, held in CASES:
        sampled = smallest_noise(Participation.binomial(held, batch / items), rounds=rounds, **PROMISE)
        sampled_error = sampled * math.sqrt((rounds + 1) / 2)
        period = items // batch
        spread = np.bincount((np.arange(held) * period // held) % period, minlength=period)
        best = None
        for bands in sorted({b for b in (1, 2, 4, 8, 16, 32, 64, period) if b <= min(period, rounds)}):
            strategy = banded_strategy(rounds, bands)
            moved = sensitivities(strategy, spread[None], rounds)
            sigma = smallest_noise_multiplier([PROMISE["prior"]], [PROMISE["posterior"]], moved)
            found = (sigma * strategy.mean_error(rounds), bands, sigma)
            best = found if best is None or found < best else best
        left, bands, sigma = best
        print(
            f"{items:>7} {batch:>6} {rounds:>7} {held:>3} {rounds * batch / items:>7.1f}  {sampled:>9.3f}  "
            f"{sampled_error:>9.2f}  {bands:>5}  {sigma:>12.3f}  {left:>9.2f}  {left / sampled_error:>5.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", help="a Python interpreter with jax_privacy")
    strategies(parser.parse_args().peer)
    at_the_same_promise()


if __name__ == "__main__":
    main()
