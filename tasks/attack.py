"""Step 5: attack the trained model, secret by secret."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
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


@cached_task(name="attack_redacted", version=3)
def attack_redacted(
    model: Model, examples: Ref, redactions: Ref, values: Ref, redacted: Ref, alternatives: int
) -> Attacked:
    """Exposure and greedy extraction of every value that was redacted, at its placeholders."""
    from hush_core.auditing.exposure import redacted_exposure

    tables = (examples, redactions, values, redacted)
    return _attack(redacted_exposure, "exposure_redacted", model, alternatives, *tables)


@cached_task(name="attack", version=4)
def attack_model(model: Model, examples: Ref, occurrences: Ref, secrets: Ref, alternatives: int) -> Attacked:
    """Exposure and greedy extraction of every secret that has a value."""
    from hush_core.auditing.exposure import exposure

    return _attack(exposure, "exposure", model, alternatives, examples, occurrences, secrets)


def _attack(
    attack: Callable[..., pl.DataFrame],
    kind: str,
    model: Model,
    alternatives: int,
    examples: Ref,
    *tables: Ref,
) -> Attacked:
    from hush_core.training import load_model

    store = open_store()
    table = attack(
        load_model(store.path(model.files, verify=True)).on_accelerator(),
        store.read_frame(examples)["text"].to_list(), *map(store.read_frame, tables), alternatives=alternatives,
        seed=SEED, progress=progress_log(),
    )  # fmt: skip
    return Attacked(
        table=store.put_frame(table, kind=kind),
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
    on = (extracted.examples, extracted.redactions, extracted.redacted_values, extracted.redacted)
    return attack_redacted(start, *on, alternatives), attack_redacted(trained, *on, alternatives)
