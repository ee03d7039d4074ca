"""Small graphs of units that share examples, for the tests of mechanisms; and every mechanism that there is."""

from typing import get_args

import numpy as np
from frames import frame_of

from hush_core.config import MECHANISMS


def every(kind):
    """A mechanism of the kind for each of its selections, all of two records."""
    keys = MECHANISMS[kind].model_fields
    if "select" not in keys:
        return [MECHANISMS[kind](kind=kind)]
    return [MECHANISMS[kind](kind=kind, records=2, select=one) for one in get_args(keys["select"].annotation)]


ALL = [mechanism for kind in MECHANISMS if kind != "hush" for mechanism in every(kind)]
"""Without hush, whose items are the examples: what is drawn of them is a program's, and no rule's."""
NOISY = [mechanism for mechanism in ALL if mechanism.makes_noise]
NO_NOISE = [mechanism for mechanism in ALL if not mechanism.makes_noise]
GROUP, USER = every("group_privacy"), every("user_wise")


def name_of(mechanism):
    return f"{mechanism.kind}-{getattr(mechanism, 'select', '')}".rstrip("-")


def frames(pairs, kinds):
    """(edges, secrets) of (example, secret) pairs; `kinds`: by secret."""
    pairs = sorted(set(pairs))
    edges = frame_of(
        example_id=[p[0] for p in pairs], secret_id=[p[1] for p in pairs], reason=["held"] * len(pairs)
    )
    m = len(kinds)
    secrets = frame_of(secret_id=range(m), kind=kinds, name=[f"s{i}" for i in range(m)], prior=1e-6, posterior=1e-3,
                       bits=19.93, provenance="test")  # fmt: skip
    return edges, secrets


def shared_units(seed, *, n=40, units=5, tokens=1, share=0.3):
    """(edges, secrets, roles) of units with one owner for most of n examples and two for some, and some tokens."""
    from hush_core.weights import assign_roles

    chance = np.random.default_rng(seed)
    pairs = []
    for example in range(int(0.8 * n)):
        owners = {int(chance.integers(units))}
        if chance.random() < share:
            owners.add(int(chance.integers(units)))
        pairs += [(example, owner) for owner in owners]
        pairs += [(example, units + t) for t in range(tokens) if chance.random() < 0.1]
    edges, secrets = frames(pairs, ["unit"] * units + ["credentials"] * tokens)
    return edges, secrets, assign_roles(edges, n_examples=n, without_secret="noise")
