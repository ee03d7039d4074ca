"""Play the certified rounds through on text that no secret tags, and predict what a plan's model will be worth.

Reading order: stand_ins (who plays whom) → budget → space (which plans) → play (one of them) → search (the best).
Everything here is computed from untagged text and public numbers, so it is the same for every candidate of the
promise and costs nothing of it (docs/planning.md).
"""

from hush_core.rehearsal.budget import Budget, Cost
from hush_core.rehearsal.play import MeasuredTexts, Played, play
from hush_core.rehearsal.search import Search, Tried
from hush_core.rehearsal.space import Space, space_of
from hush_core.rehearsal.stand_ins import Cast, cast, played_plan, untagged_texts

__all__ = [
    "Budget", "Cast", "Cost", "MeasuredTexts", "Played", "Search", "Space", "Tried", "cast", "play", "played_plan",
    "space_of", "untagged_texts",
]  # fmt: skip
