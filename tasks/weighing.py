"""Step 2: the linear program → one weight an example."""

from __future__ import annotations

import polars as pl
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.config import HushConfig
from hush_core.weights import CapacityRule, Mechanism, weigh
from tasks.caching import cached_task
from tasks.environment import home
from tasks.progress import progress_log
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


@cached_task(name="weigh", version=3)
def weigh_examples(
    edges: Ref,
    secrets: Ref,
    n_examples: int,
    rule: CapacityRule,
    c: float,
    mechanism: Mechanism | None = None,
) -> Weighed:
    """Solve the program at c (relative to c_max); set the held-out examples' weights to 0."""
    store = Store(home().store)
    found = weigh(
        store.read_frame(edges), store.read_frame(secrets), n_examples=n_examples, rule=rule, c=c,
        mechanism=mechanism, progress=progress_log(),
    )  # fmt: skip
    table = pl.DataFrame({"weight": found.weights}).with_row_index("example_id")
    result = Weighed(
        weights=store.put_frame(table, kind="weights"),
        held_out=store.put_json(found.held_out.tolist(), kind="held_out"),
        objective=float(found.weights.sum()),
        upper_bound=found.solved.upper_bound - len(found.held_out),
        gap=found.solved.gap,
        c_max=found.c_max,
        retained=float(found.weights.sum()) / found.candidates,
        kept=float((found.weights > 0).sum()) / found.candidates,
    )
    get_run_logger().info("c = %g: %.1f %% of the weight retained", c, 100 * result.retained)
    return result


def mechanism_of(config: HushConfig) -> Mechanism | None:
    """What the weights depend on besides the graph: nothing, unless they are equalised."""
    if config.weights.capacities != "equalised":
        return None
    return Mechanism(config.train.rounds, config.train.batch, config.method)
