"""Step 4b: which text fills which item, where items are more than examples; and what (ε, δ) promises of each
secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from hush_core.config import PERPLEXITY, MechanismConfig
from hush_core.corpus.prompted import texts_of
from hush_core.corpus.records import ItemText
from hush_core.mechanisms import filling, item_texts, scores, with_implied_targets
from tasks.extraction import Extracted
from tasks.models import Model
from tasks.runtime.caching import cached_task
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, Store, open_store

if TYPE_CHECKING:
    pass


class ItemTexts(BaseModel, frozen=True):
    """Which examples' text each item holds. Protected: it may follow from the text, and stays in the store."""

    filling: Ref
    """item · example_id (`hush_core.mechanisms.selection.FILLING`)."""
    pools: Ref
    pieces_of: int | None
    """Join an item's texts and cut them again, into pieces of so many bytes; None: as they are."""

    def fill(self, texts: Sequence[bytes], store: Store) -> list[ItemText]:
        """By example_id, the text of the item that an example names."""
        return item_texts(texts, store.read_frame(self.filling), pieces_of=self.pieces_of)


@cached_task(name="fill", version=1)
def fill_items(
    examples: Ref, weights: Ref, pools: Ref, mechanism: MechanismConfig, chunk_bytes: int, start: Model
) -> ItemTexts:
    """Choose what fills each item; `start` is the model made without protected text, for perplexity."""
    store = open_store()
    texts, table = texts_of(store.read_frame(examples)), store.read_frame(pools)
    loss = None
    if mechanism.select in PERPLEXITY:
        from hush_core.training.language_model import loss_by_itself

        loss = loss_by_itself(start.load())
    score = scores(texts, table, mechanism.select, loss)
    found = filling(mechanism, store.read_frame(weights)["weight"].to_numpy(), table, score)
    run_logger().info("%d items are filled from pools", found["item"].n_unique())
    pieces = mechanism.select == "chunks"
    return ItemTexts(
        filling=store.put_frame(found, kind="filling"), pools=pools, pieces_of=chunk_bytes if pieces else None
    )


def with_targets(extracted: Extracted, mechanism: MechanismConfig) -> Extracted:
    """With the targets that the mechanism implies, where it promises (ε, δ)."""
    if not mechanism.unit_dp:
        return extracted
    return extracted.model_copy(update={"secrets": imply_targets(extracted.secrets, *mechanism.unit_dp)})


@cached_task(name="imply", version=1)
def imply_targets(secrets: Ref, epsilon: float, delta: float) -> Ref:
    """The secrets with the targets that (ε, δ) implies, in place of their levels."""
    store = open_store()
    return store.put_frame(with_implied_targets(store.read_frame(secrets), epsilon, delta), kind="secrets")
