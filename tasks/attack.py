"""Step 5: attack the trained model, secret by secret."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tasks.models import Model
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, Store

SEED = 7
"""Of the alternatives that a value is ranked among."""


class Attacked(BaseModel):
    """The table of `hush_core.auditing.exposure` by reference, and how many secrets came out verbatim."""

    model_config = ConfigDict(frozen=True)

    table: Ref
    secrets: int
    extracted: int
    ranked_first: int


@cached_task(name="attack", version=2)
def attack_model(model: Model, examples: Ref, occurrences: Ref, secrets: Ref, alternatives: int) -> Attacked:
    """Exposure and greedy extraction of every secret that has a value."""
    from hush_core.auditing import exposure
    from hush_core.training import load_model

    store = Store(home().store)
    table = exposure(
        load_model(store.path(model.files, verify=True)).on_accelerator(),
        store.read_frame(examples)["text"].to_list(),
        store.read_frame(occurrences),
        store.read_frame(secrets),
        alternatives=alternatives,
        seed=SEED,
        progress=progress_log(),
    )
    return Attacked(
        table=store.put_frame(table, kind="exposure"),
        secrets=table.height,
        extracted=int(table["extracted"].sum()),
        ranked_first=int((table["rank"] == 1).sum()),
    )
