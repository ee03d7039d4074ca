"""Correlated noise, for those who cannot sample: DP-FTRL by banded factorisation (docs/mathematics.md)."""

from hush_core.accounting.correlated.cycle import Cycle, assign_groups, cycle_length, groups_table, plan_cycle
from hush_core.accounting.correlated.sensitivity import (
    gaussian_posteriors,
    participations,
    sensitivities,
    smallest_noise_multiplier,
)
from hush_core.accounting.correlated.strategy import Strategy, banded_strategy
from hush_core.accounting.correlated.tables import METHOD, cycle_bounds, cycle_curves

__all__ = [
    "METHOD", "Cycle", "Strategy", "assign_groups", "banded_strategy", "cycle_bounds", "cycle_curves",
    "cycle_length", "gaussian_posteriors", "groups_table", "participations", "plan_cycle", "sensitivities",
    "smallest_noise_multiplier",
]  # fmt: skip
