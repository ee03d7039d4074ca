"""Example weights: a linear program keeps as much data as the secrets' capacities allow (paper §4, eq. 1).

>>> s = solve_weights(edges, n_examples=n, capacities=cap)      # doctest: +SKIP
>>> s.weights, s.objective, s.upper_bound, s.gap                # doctest: +SKIP
"""

from hush_core.weights.choice import (
    EntryFacts,
    Predicted,
    Way,
    batch_for,
    can_redact,
    decide,
    left_out_for_sure,
    rounds_for,
    step_for,
    taking,
    values_redacted,
)
from hush_core.weights.coverage import Coverage
from hush_core.weights.law import Law, shifts, signal_of, unlike_examples
from hush_core.weights.loss import binding_secrets, lost_examples, relaxations, relaxed_weights
from hush_core.weights.rates import (
    RULE,
    drowns,
    expected_distinct,
    largest_batch,
    paper_weights,
    recommended,
    sampling_rates,
    smaller_c_to_try,
)
from hush_core.weights.roles import assign_roles, check_untagged, tagged_examples, text_order, with_role
from hush_core.weights.settings import (
    CapacityRule,
    RoundSettings,
    Scale,
    WeightObjective,
    WeightSettings,
    capacity_rule,
    largest_useful_c,
    unit_capacities,
    weight_settings,
)
from hush_core.weights.solve import Weights, solve_weights
from hush_core.weights.weighing import Weighing, weigh

__all__ = [
    "RULE", "CapacityRule", "Coverage", "EntryFacts", "Law", "Predicted", "RoundSettings", "Scale", "Way",
    "Weighing", "WeightObjective", "WeightSettings", "Weights", "assign_roles", "batch_for",
    "binding_secrets", "can_redact", "capacity_rule", "check_untagged", "decide", "drowns",
    "expected_distinct", "largest_batch", "largest_useful_c", "left_out_for_sure", "lost_examples",
    "paper_weights", "recommended", "relaxations", "relaxed_weights", "rounds_for", "sampling_rates",
    "shifts", "signal_of", "smaller_c_to_try", "solve_weights", "step_for", "tagged_examples", "taking",
    "text_order", "unit_capacities", "unlike_examples", "values_redacted", "weigh", "weight_settings",
    "with_role",
]  # fmt: skip
