"""Which untagged examples take the place of those that the certified rounds will draw.

Untagged is an example that no edge of the graph names: one of weight 0 may well hold a secret. Here only
`untagged_texts` reads texts by id, and it looks at the edges again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.weights.roles import (
    PLAIN,
    VALIDATION,
    assign_roles,
    check_untagged,
    tagged_examples,
    with_role,
)

FEWEST = 40
"""Untagged examples below which nothing is rehearsed."""
HELD_BACK = 10
"""Of the stand-ins that a plain phase never sees, every so-manyth is kept out of the rounds to measure on."""


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles, as ids of examples; disjoint, and all of them untagged.

    Attributes:
        stand_ins: (s,) may be drawn by the rehearsed rounds, in a random order of their own.
        rest: (u,) trained on without noise before the rounds; none unless the config says `plain`.
        validation: (v,) measured on. held_back: (h,) measured on too: of the stand-ins' files where there is a
            plain phase, as the tagged text that was not trained on is of the tagged files.
        tagged_share: the part of all examples that is tagged, which is how much `held_back` counts.
    """

    stand_ins: np.ndarray
    rest: np.ndarray
    validation: np.ndarray
    held_back: np.ndarray
    tagged_share: float


def rehearsal_roles(
    edges: pl.DataFrame,
    *,
    n_examples: int,
    plain: bool,
    files: Sequence[str] | None = None,
    order: np.ndarray | None = None,
    seed: int = 0,
) -> Roles:
    """Assign a role to every untagged example that is trained on; a function of the public graph alone.

    Without training before the rounds, all of them are stand-ins. With it, there are as many stand-ins as tagged
    examples, at most half of the untagged ones less those held back. If `files` says which file each example is of,
    they are whole files. Tagged text mostly is whole files, too, and what is learned of a file before the rounds
    must not help in them.

    Args:
        edges: example_id, secret_id. files: (n,) any name a file, the same for its examples.
        order: as for `assign_roles`: what the run measures on is no stand-in.

    Raises:
        InputError: fewer than 40 examples are untagged.
    """
    roles = assign_roles(edges, n_examples=n_examples, without_secret="plain", order=order)
    free, measured = with_role(roles, PLAIN), with_role(roles, VALIDATION)
    tagged = tagged_examples(edges, n_examples)
    if len(free) < FEWEST:
        raise InputError(
            "--rehearse",
            f"only {len(free)} examples are left that no secret tags, {FEWEST} are needed",
            "plan without it; the rule for c needs no rehearsal",
        )
    chance = np.random.default_rng(seed)
    share = float(tagged.mean())
    none = np.empty(0, dtype=np.int64)
    if not plain:
        return Roles(chance.permutation(free), none, measured, none, share)
    with_held_back = -(-int(tagged.sum()) * HELD_BACK // (HELD_BACK - 1))
    wanted = max(HELD_BACK, min(with_held_back, len(free) // 2))
    names = np.arange(n_examples) if files is None else np.unique(np.asarray(files), return_inverse=True)[1]
    order = chance.permutation(int(names.max()) + 1)[names[free]]  # a random place for each file
    by_file = free[np.argsort(order, kind="stable")]
    chosen = by_file[:wanted]
    kept = np.zeros(wanted, dtype=bool)
    kept[HELD_BACK // 2 :: HELD_BACK] = True
    return Roles(chance.permutation(chosen[~kept]), np.sort(by_file[wanted:]), measured, chosen[kept], share)


def untagged_texts(ids: np.ndarray, texts: Sequence[bytes] | pl.Series, edges: pl.DataFrame) -> list[bytes]:
    """The texts of examples that no edge names, by id.

    Raises:
        InputError: an edge names one of them: what is measured on tagged text may not steer a run.
    """
    check_untagged(ids, edges)
    return [texts[int(i)] for i in ids]


def rehearsal_plan(
    rates: np.ndarray,
    count: int,
    *,
    noise_multiplier: float,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    seed: int = 0,
) -> ProtectionPlan:
    """The plan of a rehearsal: the rates of the run's examples, given at random to `count` stand-ins.

    Args:
        rates: (n,) of the run; those that are 0 have no part in it.

    With as many stand-ins as examples the run's rates stay. With fewer, an even sample of the rates is scaled (each
    at most 1) so that Σρ = B again. With fewer than B, all are always drawn, and σ falls with the batch. The noise
    in a step, σC/B, is the run's own in every case. The plan has no certificates: nothing is promised to stand-ins.
    """
    drawn = np.sort(rates[rates > 0])
    if count < len(drawn):
        places = (np.arange(count) + 0.5) * (len(drawn) / count)
        drawn = _scaled(drawn[places.astype(np.int64)], min(float(expected_batch), float(count)))
    own = np.zeros(count)
    own[np.random.default_rng(seed).permutation(count)[: len(drawn)]] = drawn
    batch = max(1, round(float(own.sum())))
    return ProtectionPlan(
        own, noise_multiplier * batch / expected_batch, rounds, batch, clip_norm, "best", pl.DataFrame()
    )  # fmt: skip


def timed_plan(count: int, batch: int, rounds: int) -> ProtectionPlan:
    """Rounds of a batch of `count` stand-ins, drawn alike: to see how long they take."""
    batch = min(batch, count)
    return ProtectionPlan(np.full(count, batch / count), 1.0, rounds, batch, 1.0, "best", pl.DataFrame())


def _scaled(rates: np.ndarray, total: float) -> np.ndarray:
    """min(1, λ·rates) with Σ = total ≤ their number, shape kept; `rates` ascending and positive."""
    n = len(rates)
    for full in range(n):  # so many of the largest are 1
        factor = (total - full) / float(rates[: n - full].sum())
        if rates[n - full - 1] * factor <= 1:
            return np.minimum(1.0, rates * factor)
    return np.ones(n)
