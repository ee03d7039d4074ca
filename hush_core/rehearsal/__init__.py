"""Rehearse the certified rounds on text that no secret tags, and predict what a plan's model will be worth.

Reading order: stand_ins (which texts) → budget → space (which plans) → rehearse (one of them) → search (the best).
Everything here is computed from untagged text and public numbers, so it is the same for every candidate of the
promise and costs nothing of it (docs/planning.md).
"""

from hush_core.rehearsal.budget import Budget, Cost
from hush_core.rehearsal.rehearse import MeasuredTexts, Rehearsed, rehearse
from hush_core.rehearsal.search import Search, Tried
from hush_core.rehearsal.space import Space, space_of
from hush_core.rehearsal.stand_ins import Roles, rehearsal_plan, rehearsal_roles, untagged_texts

__all__ = [
    "Budget", "Cost", "MeasuredTexts", "Rehearsed", "Roles", "Search", "Space", "Tried", "rehearsal_plan",
    "rehearsal_roles", "rehearse", "space_of", "untagged_texts",
]  # fmt: skip
