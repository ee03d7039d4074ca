"""ProtectionPlan: the one frozen value that couples sampling rates, noise, rounds, batch, clip norm and bounds.

Training takes a plan and nothing looser, so a run cannot drift from what was certified.

>>> plan = make_plan(weights, edges, secrets, rounds=300, expected_batch=128, clip_norm=1.0)  # doctest: +SKIP
>>> plan.noise_multiplier, plan.certificates                                                 # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting import calibrate
from hush_core.accounting.correlated import Cycle
from hush_core.config import Method
from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.values import Array, Frame
from hush_core.weights import sampling_rates


@dataclass(frozen=True, eq=False)
class ProtectionPlan:
    """T rounds of weighted Poisson DP-SGD and what they prove (paper, Algorithm 2).

    Attributes:
        rates: (n,) float64, ρ_i, the probability of example i in each round; read-only; Σρ = expected_batch.
        noise_multiplier: σ; the noise on the SUM of clipped gradients is N(0, σ²C²I).
        rounds: T, the most releases ever made under this plan, lost ones included.
        expected_batch: B, the divisor of the noisy sum.
        clip_norm: C.
        method: the requested certificate method.
        certificates: one row a secret (`hush_core.accounting.calibrate` documents the columns).
        records: k, the most records of an item whose gradients a round averages before it clips (docs/training.md,
            "Items of several records"); 1 if an item is one example.
        cycle: None for weighted Poisson sampling. Otherwise who takes part in which round, and how the noise of
            rounds is correlated (docs/mathematics.md); `rates` then say how often an item takes part.
    """

    rates: Array
    noise_multiplier: float
    rounds: int
    expected_batch: int
    clip_norm: float
    method: str
    certificates: Frame
    records: int = 1
    cycle: Cycle | None = None

    def __post_init__(self) -> None:
        rates = np.array(self.rates, dtype=np.float64)
        if rates.ndim != 1 or not np.all((rates >= 0) & (rates <= 1)):
            raise InputError("plan: rates", "a rate lies outside [0, 1]", "make the plan with make_plan")
        for name in ("noise_multiplier", "rounds", "expected_batch", "clip_norm"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"plan: {name}", "is not a positive number", "make the plan with make_plan")
        if isinstance(self.records, bool) or not isinstance(self.records, int) or self.records < 1:
            raise InputError("plan: records", "is not a positive whole number", "give the records of an item")
        if self.cycle is not None and not np.array_equal(rates > 0, self.cycle.groups >= 0):
            raise InputError("plan: cycle", "draws other items than the rates say", "make both of one cycle")
        rates.setflags(write=False)
        object.__setattr__(self, "rates", rates)

    def for_public(self, examples: int) -> ProtectionPlan:
        """A plan of equal rounds, clip norm and noise-to-batch ratio for `examples` PUBLIC texts, which need no
        promise: uniform rates, and no certificates."""
        batch = min(self.expected_batch, examples)
        return ProtectionPlan(
            np.full(examples, batch / examples),
            self.noise_multiplier * batch / self.expected_batch,
            self.rounds, batch, self.clip_norm, self.method, self.certificates.clear(),
        )  # fmt: skip

    @property
    def as_sampled(self) -> tuple[np.ndarray, float]:
        """(n,) rates and σ of T sampled rounds that tell at least as much: its own, where it samples."""
        if self.cycle is None:
            return self.rates, self.noise_multiplier
        return self.cycle.as_sampled(self.noise_multiplier, self.rounds)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that training depends on: rates, σ, T, B, C, k if it is not 1, and the cycle if
        there is one."""
        hasher = hashlib.sha256(self.rates.astype("<f8").tobytes())
        for value in (self.noise_multiplier, self.rounds, self.expected_batch, self.clip_norm):
            hasher.update(float(value).hex().encode() + b"\n")
        if self.records != 1:
            hasher.update(f"records {self.records}\n".encode())
        if self.cycle is not None:
            hasher.update(f"cycle {self.cycle.digest}\n".encode())
        return hasher.hexdigest()


def make_plan(
    weights: np.ndarray,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    method: Method = "best",
    progress: Progress | None = None,
) -> ProtectionPlan:
    """The plan with the smallest noise for which every secret's bound is certified (paper, Algorithm 2, lines 3-5).

    Args:
        weights: (n,) from `solve_weights`.
        edges: example_id, secret_id.
        secrets: secret_id, name, prior, posterior.
        rounds: T. expected_batch: B. clip_norm: C.

    Guarantee: for every row of `certificates`, bound ≤ posterior, evaluated at the returned σ itself.

    Raises:
        InputError: names the key or secret. CertificationError: no method can certify a secret.
    """
    rates = sampling_rates(weights, expected_batch)
    calibration = calibrate(edges, rates, secrets, rounds=rounds, method=method, progress=progress)
    return ProtectionPlan(
        rates, calibration.noise_multiplier, rounds, expected_batch, clip_norm, method, calibration.table
    )
