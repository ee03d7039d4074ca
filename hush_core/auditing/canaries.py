"""Texts with made-up secrets, some of them repeated: what an attack should find if anything can be found.

    planted = plant_canaries(100, repeats=(1, 4, 16), seed=0)
    planted.texts, planted.occurrences, planted.secrets          # as `exposure` takes them

Source: Carlini et al. 2019 ("The Secret Sharer"): a fixed form with random symbols, inserted once or several times;
reconstruction_rdp.txt §4.3, up to 280 times. The values are drawn here, so that every one of the form was as
likely, which no secret that people made can claim. To train with them under a promise, name them in the config as
any other secret (docs/auditing.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.errors import InputError

SYMBOLS = b"abcdefghijklmnopqrstuvwxyz0123456789"
FORM = "the access code of account {number} is {value}."


@dataclass(frozen=True, eq=False)
class Canaries:
    """texts: each canary as often as it is repeated, shuffled. occurrences: secret_id, example_id, start, end.
    secrets: secret_id, name (its number and repeats, never the value), repeats."""

    texts: list[bytes]
    occurrences: pl.DataFrame
    secrets: pl.DataFrame
    bits: float
    """log2 of how many values there are: each has prior 2^−bits."""


def plant_canaries(
    count: int,
    *,
    length: int = 16,
    repeats: Sequence[int] = (1,),
    seed: int,
    form: str = FORM,
    symbols: bytes = SYMBOLS,
) -> Canaries:
    """`count` canaries of `length` random symbols, the k-th of them repeated repeats[k mod len(repeats)] times.

    Args:
        seed: decides every value and the order; equal arguments give equal texts. form: with {value} once, and
            {number} or not.

    Raises:
        InputError: the form has not one {value}, or there are too few values to draw `count` different ones from.
    """
    if form.count("{value}") != 1:
        raise InputError("form", "has not one {value}", 'write it as "the code of {number} is {value}."')
    if len(set(symbols)) ** length < 4 * count or min(repeats, default=0) < 1:
        raise InputError(
            "canaries", "are too many for their length, or not repeated once", "raise length or repeats"
        )
    rng = np.random.default_rng(seed)
    table = np.frombuffer(bytes(sorted(set(symbols))), dtype=np.uint8)
    values: dict[bytes, None] = {}
    while len(values) < count:
        values[table[rng.integers(len(table), size=length)].tobytes()] = None
    rows = []
    for number, value in enumerate(values):
        before, after = (part.replace("{number}", str(number)).encode() for part in form.split("{value}"))
        rows += [(number, before + value + after, len(before))] * repeats[number % len(repeats)]
    order = rng.permutation(len(rows))
    places = [(rows[i][0], at, rows[i][2], rows[i][2] + length) for at, i in enumerate(order)]
    schema = dict.fromkeys(("secret_id", "example_id", "start", "end"), pl.UInt32)
    times = [repeats[number % len(repeats)] for number in range(count)]
    return Canaries(
        texts=[rows[i][1] for i in order],
        occurrences=pl.DataFrame(places, schema=schema, orient="row").sort("secret_id", "example_id"),
        secrets=pl.DataFrame(
            {
                "secret_id": range(count),
                "name": [f"canary-{n} (planted {t} times)" for n, t in enumerate(times)],
            }
            | {"repeats": times},
            schema={"secret_id": pl.UInt32, "name": pl.String, "repeats": pl.UInt32},
        ),
        bits=length * float(np.log2(len(table))),
    )
