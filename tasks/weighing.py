"""Step 2: the linear program → one weight an example."""

from __future__ import annotations

import polars as pl
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.weights import CapacityRule, hold_out, largest_useful_c, solve_weights, unit_capacities
from tasks.caching import cached_task
from tasks.environment import home
from tasks.store import Ref, Store


class Weighed(BaseModel):
    """The weights, and how good they are: Σw of the examples in training, and its certified upper bound."""

    model_config = ConfigDict(frozen=True)

    weights: Ref
    held_out: Ref
    objective: float
    upper_bound: float
    gap: float
    c_max: float
    retained: float
    """Σw over the number of examples that may be trained on."""
    kept: float
    """The fraction of those with a weight above 0."""


@cached_task(name="weigh", version=2)
def weigh_examples(edges: Ref, secrets: Ref, n_examples: int, rule: CapacityRule, c: float) -> Weighed:
    """Solve the program at c (relative to c_max); set the held-out examples' weights to 0."""
    store = Store(home().store)
    edge_table, secret_table = store.read_frame(edges), store.read_frame(secrets)
    kappa = unit_capacities(secret_table, rule)
    c_max = largest_useful_c(edge_table, kappa)
    solved = solve_weights(edge_table, n_examples=n_examples, capacities=c * c_max * kappa)
    held_out = hold_out(edge_table, n_examples=n_examples)
    weights = solved.weights.copy()
    weights[held_out] = 0.0
    table = pl.DataFrame({"weight": weights}).with_row_index("example_id")
    candidates = n_examples - len(held_out)
    result = Weighed(
        weights=store.put_frame(table, kind="weights"),
        held_out=store.put_json(held_out.tolist(), kind="held_out"),
        objective=float(weights.sum()),
        upper_bound=solved.upper_bound - len(held_out),
        gap=solved.gap,
        c_max=c_max,
        retained=float(weights.sum()) / candidates,
        kept=float((weights > 0).sum()) / candidates,
    )
    get_run_logger().info("c = %g: %.1f %% of the weight retained", c, 100 * result.retained)
    return result
