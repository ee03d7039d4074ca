"""What each example is there for: a function of the graph, the config and untagged text, so it is public.

Nothing here looks at tagged text, a weight or a loss. An example counts as untagged because no edge names it, never
because its weight came out as 0 (docs/mathematics.md, Proposition 12).
"""

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from hush_core.errors import InputError

WithoutSecret = Literal["noise", "plain", "drop"]
"""What happens to examples without a secret: they are in the certified rounds, are trained on before them without
noise, or are left out."""

CERTIFIED, PLAIN, VALIDATION, HELD_OUT, HELD_BACK, DROPPED = ROLES = (
    "certified", "plain", "validation", "held_out", "held_back", "dropped",
)  # fmt: skip
"""certified: drawn, clipped and noised. plain: trained on without noise. validation: stops training without noise,
chooses among checkpoints and plans. held_out: untagged, only measured at the end. held_back: tagged, only measured
at the end. dropped: not looked at."""
ROLE = pl.Enum(ROLES)

ONE_IN = 20
"""So many untagged examples have one held out, and another that validates."""


def tagged_examples(edges: pl.DataFrame, n_examples: int) -> np.ndarray:
    """(n,) bool: the examples that some secret names."""
    tagged = np.zeros(n_examples, dtype=bool)
    tagged[edges["example_id"].to_numpy()] = True
    return tagged


def assign_roles(
    edges: pl.DataFrame,
    *,
    n_examples: int,
    without_secret: WithoutSecret,
    held_back: bool = False,
    one_in: int = ONE_IN,
    order: np.ndarray | None = None,
) -> pl.Series:
    """(n,) `ROLE`: what each example is there for.

    Args:
        edges: example_id, secret_id; all of the graph, near copies and spread included.
        held_back: keep every `one_in`-th tagged example out of training too, to measure on.
        order: (n,) of the texts (`text_order`). The untagged examples with the least values are held out, and the
            next ones validate. So the next run, on other text beside them, measures on the same, and a model that
            continues from this run's has not seen it. None: every `one_in`-th by id.

    Guarantee: no tagged text, weight or loss decides a role (docs/mathematics.md, Proposition 12).
    """
    tagged = tagged_examples(edges, n_examples)
    rest = {"noise": CERTIFIED, "plain": PLAIN, "drop": DROPPED}[without_secret]
    roles = np.where(tagged, CERTIFIED, rest).astype(object)
    untagged = np.flatnonzero(~tagged)
    measured, validating = untagged[::one_in], untagged[one_in // 2 :: one_in]
    if order is not None:
        ranked = untagged[np.argsort(order[untagged], kind="stable")]
        measured, validating = np.split(ranked[: len(measured) + len(validating)], [len(measured)])
    roles[measured] = HELD_OUT
    roles[validating] = VALIDATION
    if held_back:
        roles[np.flatnonzero(tagged)[one_in // 2 :: one_in]] = HELD_BACK
    return pl.Series("role", roles.tolist(), dtype=ROLE)


def text_order(texts: Sequence[bytes]) -> np.ndarray:
    """(n,) uint64: a hash of each text by itself, which no other text moves."""
    digests = (hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def with_role(roles: pl.Series, *wanted: str) -> np.ndarray:
    """Ids of the examples with one of these roles, ascending."""
    return np.flatnonzero(roles.is_in(list(wanted)).to_numpy())


def certified_edges(edges: pl.DataFrame, roles: pl.Series) -> pl.DataFrame:
    """The edges of the examples that the certified rounds may draw: all but those of what is held back."""
    return edges.filter(~pl.col("example_id").is_in(with_role(roles, HELD_BACK).tolist()))


def check_untagged(ids: np.ndarray, edges: pl.DataFrame) -> None:
    """Refuse to hand a tagged example to anything that works without noise.

    Raises:
        InputError: counts the examples that hold a secret.
    """
    wrong = np.intersect1d(np.asarray(ids), edges["example_id"].to_numpy())
    if len(wrong):
        raise InputError(
            "training without noise",
            f"was given {len(wrong)} examples that hold a secret, {wrong[0]} among them",
            "it may see examples alone that no edge of the graph names",
        )
