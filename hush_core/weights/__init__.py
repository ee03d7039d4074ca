"""Example weights: a linear program keeps as much data as the secrets' capacities allow (paper §4, eq. 1).

>>> s = solve_weights(edges, n_examples=n, capacities=cap)      # doctest: +SKIP
>>> s.weights, s.objective, s.upper_bound, s.gap                # doctest: +SKIP
"""

from hush_core.weights.capacities import CapacityRule, capacity_rule, largest_useful_c, unit_capacities
from hush_core.weights.holdout import hold_out
from hush_core.weights.solve import Weights, solve_weights
from hush_core.weights.weighing import Mechanism, Weighing, weigh

__all__ = [
    "CapacityRule", "Mechanism", "Weighing", "Weights", "capacity_rule", "hold_out", "largest_useful_c",
    "solve_weights", "unit_capacities", "weigh",
]  # fmt: skip
