"""Step 2 of any mechanism: roles, what a round draws, and with which weights."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hush_core.config import HushMechanism, MechanismConfig
from hush_core.mechanisms.items import Items, items_of
from hush_core.progress import Progress
from hush_core.weights import Weighing, WeightSettings, assign_roles, weigh


@dataclass(frozen=True, eq=False)
class Layout:
    """weighing: the weights of the items, by the examples that name them. items: what they are; of `hush`, whose
    items are the examples, None. edges: the graph of items, which all bounds are of."""

    weighing: Weighing
    items: Items | None
    edges: pl.DataFrame

    @property
    def shown(self) -> Weighing:
        """The weighing with, for each example, how much of its pool the items hold: what is kept of the text."""
        return replace(self.weighing, weights=self.items.used) if self.items else self.weighing


def lay_out(
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    n_examples: int,
    settings: WeightSettings,
    mechanism: MechanismConfig,
    order: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Layout:
    """What the rounds of a mechanism draw, and with which weights.

    Args: as of `weigh`; `secrets` with their kinds. `settings`: of `hush` all; else what becomes of examples
        without a secret, and what is held back.

    Errors: as of `weigh`.
    """
    if isinstance(mechanism, HushMechanism):
        found = weigh(
            edges, secrets, n_examples=n_examples, settings=settings, order=order, progress=progress
        )
        return Layout(found, None, edges)
    roles = assign_roles(
        edges, n_examples=n_examples, without_secret=settings.without_secret, held_back=settings.held_back,
        order=order,
    )  # fmt: skip
    items = items_of(mechanism, edges, secrets, roles)
    total = float(items.weights.sum())
    weighing = Weighing(
        items.weights, roles, upper_bound=total, gap=0.0, capacities=items.most,
        prices=np.zeros(secrets.height), c_max=1.0, c=1.0, value=total, value_bound=total,
    )  # fmt: skip
    return Layout(weighing, items, items.edges)
