"""Step 2 as a whole: capacities by a rule, the program solved, some examples held out.

`equalised` closes the loop that the paper leaves open ("ideally we would include σ as a variable", §4). The noise
is a maximum over secrets, so a secret that needs less of it has capacity to spare. At a given c, the weights turn
out to need some noise; inverse accounting says how much each secret may take part at that noise. These are the next
capacities. The program is solved until that settles, and then all secrets that bind need the same noise. For a
given noise multiplier in place of c see target_noise.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting import largest_expected_count, noise_for_all
from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.weights.coverage import LEAST_SHARE, Coverage
from hush_core.weights.rates import sampling_rates
from hush_core.weights.roles import CERTIFIED, HELD_OUT, assign_roles, certified_edges, with_role
from hush_core.weights.settings import RoundSettings, WeightSettings, largest_useful_c, unit_capacities
from hush_core.weights.solve import solve_weights
from hush_core.weights.target_noise import fit_noise

_PASSES = 6
_SETTLED = 3e-3
"""Relative: capacities that move less than this are settled; a few steps of the inverse accounting's grid."""
_LARGEST_RATE = 0.9


@dataclass(frozen=True, eq=False)
class Weighing:
    """The result of step 2.

    Attributes:
        weights: (n,), 0 for examples that take no part in the certified rounds.
        roles: (n,) `ROLE`, what each example is there for.
        upper_bound: no feasible weights of the certified examples sum to more.
        capacities: (m,) the right-hand sides, c·c_max·κ.
        prices: (m,) their dual values: how much more of the objective one more unit of capacity buys.
        coverage: the objective, if it is the number of distinct examples; None if it is Σw.
        value: of the objective, reached by these weights.
        value_bound: no feasible weights exceed it.
        gap: the relative distance between the two.
        c_max: the smallest c at which every weight is 1.
        c: relative to c_max.
    """

    weights: np.ndarray
    roles: pl.Series
    upper_bound: float
    gap: float
    capacities: np.ndarray
    prices: np.ndarray
    c_max: float
    c: float
    value: float
    value_bound: float
    coverage: Coverage | None = None

    def worth(self, weights: np.ndarray) -> float:
        """The objective of these weights."""
        return self.coverage.value(weights) if self.coverage else float(weights.sum())

    @property
    def trainable(self) -> np.ndarray:
        """(n,) bool: the examples that may be drawn in the certified rounds."""
        return (self.roles == CERTIFIED).to_numpy()

    @property
    def held_out(self) -> np.ndarray:
        """Ids of the untagged examples that are kept to measure on."""
        return with_role(self.roles, HELD_OUT)

    @property
    def objective(self) -> float:
        """Σw of what the certified rounds may draw."""
        return float(self.weights.sum())

    @property
    def candidates(self) -> int:
        """How many those are."""
        return int(self.trainable.sum())


def weigh(
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    n_examples: int,
    settings: WeightSettings,
    order: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Weighing:
    """Weights under a capacity rule, at c (relative to c_max) or for a noise multiplier.

    Args:
        edges: example_id, secret_id.
        secrets: secret_id, prior, posterior.
        order: (n,) `text_order` of the texts, by which the examples to measure on are chosen.

    Raises:
        InputError: bad edges, `equalised` without a mechanism, or a batch larger than the retained weight (it names
            the largest that works).
        CertificationError: the solver failed, or no noise is certified for `equalised`.
    """
    roles = assign_roles(
        edges, n_examples=n_examples, without_secret=settings.without_secret, held_back=settings.held_back,
        order=order,
    )  # fmt: skip
    program = _Program(edges, roles, settings)
    if settings.rule != "equalised":
        return program.at(unit_capacities(secrets, settings.rule), settings.c)
    if settings.mechanism is None:
        raise InputError("weights.capacities", "equalised needs rounds, batch and method", "give a mechanism")
    if settings.noise_multiplier is not None:
        capacities = fit_noise(
            lambda capacities: program.solve(capacities).weights, edges, secrets, settings.mechanism,
            noise_multiplier=settings.noise_multiplier, most=int(program.trainable.sum()), progress=progress,
        )  # fmt: skip
        return program.solve(capacities)
    return _equalise(program, secrets, settings, progress)


def _equalise(
    program: _Program, secrets: pl.DataFrame, settings: WeightSettings, progress: Progress | None
) -> Weighing:
    mechanism = settings.mechanism
    kappa = unit_capacities(secrets, "sqrt_kl" if mechanism.method == "kl" else "normal_quantiles")
    found = program.at(kappa, settings.c)
    for done in range(_PASSES):
        if progress:
            progress("equalising", done, _PASSES)
        before, kappa = kappa, _max_expected_count(found.weights, program.edges, secrets, mechanism)
        moved = np.log(kappa / before)
        found = program.at(kappa, settings.c)
        # only the capacities' ratios matter, as c is relative
        if np.ptp(moved) <= _SETTLED:
            break
    if progress:  # settled before the last pass, as a rule
        progress("equalising", _PASSES, _PASSES)
    return found


class _Program:
    """The linear program of one graph, for any capacities."""

    def __init__(self, edges: pl.DataFrame, roles: pl.Series, settings: WeightSettings) -> None:
        # what is held back is never drawn, so it uses no capacity up
        self.edges = certified_edges(edges, roles)
        self.n_examples, self.roles = len(roles), roles
        self.trainable = (roles == CERTIFIED).to_numpy()
        self.draws = None
        if settings.objective == "distinct":
            if settings.draws is None:
                raise InputError("weights.objective", "distinct needs rounds and batch", "give draws, T·B")
            self.draws = settings.draws

    def at(self, kappa: np.ndarray, c: float) -> Weighing:
        """Weights for capacities c·c_max·κ."""
        return self.solve(kappa, c * largest_useful_c(self.edges, kappa))

    def solve(self, kappa: np.ndarray, scale: float = 1.0) -> Weighing:
        """Weights for capacities scale·κ."""
        capacities, c_max = scale * kappa, largest_useful_c(self.edges, kappa)
        given = {"n_examples": self.n_examples, "capacities": capacities}
        solved = most = solve_weights(self.edges, **given)
        # examples that are never drawn have no edge in the program, so each counted 1 there
        idle = int((~self.trainable).sum())
        heaviest, coverage, beside = most.objective - idle, None, float(idle)
        if self.draws is not None and heaviest > 0 and most.weights.min() < 1:
            coverage = Coverage(self.draws / heaviest, LEAST_SHARE * heaviest + idle)
            solved = solve_weights(self.edges, **given, coverage=coverage)
            beside = coverage.value(np.ones(idle))
        weights = np.where(self.trainable, solved.weights, 0.0)
        value, bound = solved.objective - beside, solved.upper_bound - beside
        return Weighing(
            weights, self.roles, max(most.upper_bound - idle, float(weights.sum())),
            bound / value - 1 if value > 0 else solved.gap, capacities, solved.dual, c_max,
            min(scale / c_max, 1.0) if c_max else 1.0, value, bound, coverage,
        )  # fmt: skip


def _max_expected_count(
    weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame, mechanism: RoundSettings
) -> np.ndarray:
    """The largest Σρ that each secret may have at the noise that these weights need, shape (m,)."""
    rates = sampling_rates(weights, mechanism.expected_batch)
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    sigma = noise_for_all(edges, rates, secrets, **run)
    return largest_expected_count(
        secrets["prior"].to_numpy(), secrets["posterior"].to_numpy(), noise_multiplier=sigma,
        largest_rate=min(float(rates.max()), _LARGEST_RATE), **run,
    )  # fmt: skip
