"""Step 5: attack the trained model, secret by secret."""

from __future__ import annotations

from pydantic import BaseModel

from tasks.extraction import Extracted
from tasks.models import Model
from tasks.runtime.caching import cached_task
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, open_store

SEED = 7
"""Of the alternatives that a value is ranked among."""


class Attacked(BaseModel, frozen=True):
    """The table of `hush_core.auditing.exposure` by reference, and how many secrets came out verbatim."""

    table: Ref
    secrets: int
    extracted: int
    ranked_first: int


@cached_task(name="attack", version=5)
def attack_model(
    model: Model, examples: Ref, tables: tuple[Ref, ...], alternatives: int, *, redacted: bool = False
) -> Attacked:
    """Exposure and greedy extraction of every secret that has a value (`tables`: occurrences, secrets), or of every
    value that was redacted, at its placeholders (`tables`: redactions, redacted values, redacted)."""
    from hush_core.auditing.exposure import exposure, redacted_exposure

    store = open_store()
    table = (redacted_exposure if redacted else exposure)(
        model.load().on_accelerator(), store.read_frame(examples)["text"].to_list(),
        *map(store.read_frame, tables), alternatives=alternatives, seed=SEED, progress=progress_log(),
    )  # fmt: skip
    return Attacked(
        table=store.put_frame(table, kind="exposure_redacted" if redacted else "exposure"),
        secrets=table.height,
        extracted=int(table["extracted"].sum()),
        ranked_first=int((table["rank"] == 1).sum()),
    )


def attack_redactions(
    extracted: Extracted, start: Model, trained: Model, alternatives: int
) -> tuple[Attacked | None, Attacked | None]:
    """The attack on redacted values before the certified rounds and after; None where nothing was redacted."""
    if not extracted.n_redacted:
        return None, None
    tables = (extracted.redactions, extracted.redacted_values, extracted.redacted)
    attack = attack_model.with_options(task_run_name="attack-redacted")
    before, after = (
        attack(one, extracted.examples, tables, alternatives, redacted=True) for one in (start, trained)
    )
    return before, after
