"""A tagged example that slips into training without noise is learned by heart, and the attack shows it."""

import numpy as np
import polars as pl
import pytest

from hush_core.auditing.exposure import exposure
from hush_core.config import ByteGptModel, UntaggedConfig
from hush_core.training import byte_gpt, fit_untagged
from hush_core.weights import assign_roles, with_role

VALUE = b"ghp_aZ3kQ9mT2xLw8VbN"
HOLDERS = (3, 7, 11, 15, 19, 23)
TEXTS = [bytes(np.random.default_rng(i).integers(97, 110, 30).astype(np.uint8)) for i in range(48)]
for holder in HOLDERS:
    TEXTS[holder] = b"token = '" + VALUE + b"'\n"


def rank_of_the_value(tagged: tuple[int, ...]) -> int:
    """Its rank among 500 after ordinary training on what the graph leaves untagged."""
    edges = pl.DataFrame(
        {"example_id": list(tagged), "secret_id": [0] * len(tagged)},
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
    )
    roles = assign_roles(edges, n_examples=len(TEXTS), without_secret="plain", one_in=16)
    plain, validation = (
        [TEXTS[i] for i in with_role(roles, role).tolist()] for role in ("plain", "validation")
    )
    model = byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 64, seed=0)
    settings = UntaggedConfig(steps=200, batch=12, learning_rate=5e-3, evaluate_every=200, patience=1)
    # a stop on validation would be a chance to stop before the value is learned: look once, at the end
    fitted = fit_untagged(plain, validation or TEXTS[:1], model, settings, micro_batch=32, seed=0)
    places = pl.DataFrame(
        [(0, HOLDERS[0], 9, 29)],
        schema=dict.fromkeys(("secret_id", "example_id", "start", "end"), pl.UInt32),
        orient="row",
    )
    secrets = pl.DataFrame({"secret_id": [0], "name": ["planted"]}, schema_overrides={"secret_id": pl.UInt32})
    table = exposure(fitted.model, TEXTS, places, secrets, alternatives=500, seed=1)
    return table["rank"][0]


@pytest.mark.parametrize(("tagged", "learned"), [(HOLDERS, False), (HOLDERS[:2], True)])
def test_with_edges_missing_the_value_ranks_first_and_with_all_of_them_it_does_not(tagged, learned):
    rank = rank_of_the_value(tagged)
    assert rank == 1 if learned else rank > 5
