"""Step 2b: the texts apart by role: what trains or chooses without noise is handed no text with a secret."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.corpus.prompted import text_columns
from hush_core.weights import check_untagged, with_role
from hush_core.weights.roles import CERTIFIED, HELD_BACK, HELD_OUT, PLAIN, VALIDATION
from tasks.runtime.caching import cached_task
from tasks.runtime.store import Ref, open_store


class TextsByRole(BaseModel, frozen=True):
    """Tables of texts (columns as `text_columns`) by what they are there for (`hush_core.weights.roles`)."""

    plain: Ref
    """No secret; trained on without noise. Empty unless `weights.without_secret` is `plain`."""
    validation: Ref
    """No secret; stops training without noise, and chooses."""
    held_out: Ref
    """No secret; what the published loss is of."""
    held_back: Ref
    """With a secret; only measured, when all is done, and only where `audit.held_back` asks for it."""


@cached_task(name="split", version=1)
def split_texts(examples: Ref, weights: Ref, edges: Ref) -> TextsByRole:
    """One table a role; a text without a secret keeps its bytes and its place whatever the secrets' values are.
    Raises InputError: an example with a secret has a role without noise."""
    store = open_store()
    roles, graph = store.read_frame(weights)["role"], store.read_frame(edges)
    texts = text_columns(store.read_frame(examples))
    check_untagged(with_role(roles, PLAIN, VALIDATION, HELD_OUT), graph)
    tables = {
        role: store.put_frame(texts.filter(roles == role), kind=f"texts_{role}")
        for role in (PLAIN, VALIDATION, HELD_OUT, HELD_BACK)
    }
    return TextsByRole(**tables)


@cached_task(name="join", version=1)
def all_trained(examples: Ref, weights: Ref) -> Ref:
    """The texts that any training sees, tagged ones too: for the unprotected model alone."""
    store = open_store()
    roles = store.read_frame(weights)["role"]
    seen = roles.is_in([CERTIFIED, PLAIN])
    return store.put_frame(text_columns(store.read_frame(examples)).filter(pl.Series(seen)), kind="texts_all")
