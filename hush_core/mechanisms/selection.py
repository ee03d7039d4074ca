"""Which text fills which item: the part of a mechanism that may look at protected text, and is never published.

What fills an item depends on the texts of its own pool alone, each scored by itself, so that no unit's text moves
what another unit's items hold (docs/mechanisms.md, Proposition M3).
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from hush_core.config import PERPLEXITY, RANKED, GroupPrivacyMechanism, MechanismConfig, UserWiseMechanism
from hush_core.corpus.records import ItemText, Records
from hush_core.errors import InputError

FILLING = {"item": pl.UInt32, "example_id": pl.UInt32}

_LARGEST_FIRST = ("longest", "highest_perplexity")


def scores(
    texts: Sequence[bytes], pools: pl.DataFrame, select: str, loss: Callable[[bytes], float] | None = None
) -> np.ndarray | None:
    """(n,) by example_id: the length in bytes, or the mean loss a token, of every text in a pool; None where the
    selection needs none.

    Args:
        loss: of one text by itself, under a model that was made without protected text.
    """
    if select not in RANKED:
        return None
    found = np.zeros(len(texts))
    for example in pools["example_id"].to_list():
        found[example] = loss(texts[example]) if select in PERPLEXITY and loss else len(texts[example])
    return found


def filling(
    mechanism: MechanismConfig, weights: np.ndarray, pools: pl.DataFrame, score: np.ndarray | None
) -> pl.DataFrame:
    """FILLING: the examples whose text each item of a pool holds, the first choice first.

    Group privacy fills s items of a pool with the s examples that the selection ranks first, one each. User-wise
    DP-SGD fills its one item with the k first, or with all of them if each round draws its own. Ties go by id.
    """
    match mechanism:
        case UserWiseMechanism():
            most = len(weights) if score is None else mechanism.records
        case GroupPrivacyMechanism():
            most = 0
        case _:
            raise InputError(
                f"mechanism {mechanism.kind}", "has no rule for what fills an item", "add it to `filling`"
            )
    ids = pools["example_id"].to_numpy()
    sign = -1.0 if mechanism.select in _LARGEST_FIRST else 1.0
    rank = np.zeros(len(ids)) if score is None else sign * score[ids]
    table = pools.with_columns(pl.Series("rank", rank), pl.Series("names", weights[ids] > 0))
    ordered = table.sort("pool", "rank", "example_id").with_columns(
        pl.int_range(pl.len()).over("pool").alias("place")
    )
    named = table.filter("names").sort("pool", "example_id").with_columns(
        pl.int_range(pl.len()).over("pool").alias("place")
    )  # fmt: skip
    items = named.select("pool", "place", item="example_id")
    if most:
        found = ordered.filter(pl.col("place") < most).join(
            items.drop("place"), on="pool", how="inner", maintain_order="left"
        )
    else:
        found = ordered.join(items, on=["pool", "place"], how="inner", maintain_order="left")
    return found.select("item", "example_id").cast(dict(FILLING))


def item_texts(
    texts: Sequence[bytes], filled: pl.DataFrame, *, pieces_of: int | None = None
) -> list[ItemText]:
    """(n,) by example_id: the text of each item that the filling names; of all others, their own.

    Args:
        pieces_of: join an item's texts and cut them into pieces of so many bytes (`select: chunks`).
    """
    found: list[ItemText] = list(texts)
    groups = filled.group_by("item", maintain_order=True).agg("example_id")
    for item, members in groups.iter_rows():
        held = tuple(texts[member] for member in members)
        if pieces_of is not None:
            whole = b"".join(held)
            held = tuple(whole[at : at + pieces_of] for at in range(0, len(whole), pieces_of)) or (b"",)
        found[item] = held[0] if len(held) == 1 else Records(held)
    return found
