"""The graph refuses frames that break the contract."""

import polars as pl
import pytest

from hush_core.secrets.graph import EDGES, EXAMPLES, OCCURRENCES, SECRETS, SecretGraph


def frames() -> dict[str, pl.DataFrame]:
    rows = [(i, "r", "p", "c", 0, 3, "text", b"abc") for i in range(2)]
    return {
        "examples": pl.DataFrame(rows, schema=EXAMPLES, orient="row"),
        "public": pl.DataFrame(schema=EXAMPLES),
        "secrets": pl.DataFrame([(0, "path", "s", 1e-10, 1e-3, 33.2, "x")], schema=SECRETS, orient="row"),
        "edges": pl.DataFrame([(0, 0, "path"), (1, 0, "path")], schema=EDGES, orient="row"),
        "occurrences": pl.DataFrame(schema=OCCURRENCES),
    }


def test_a_good_graph_passes_and_shows_no_text():
    assert "abc" not in repr(SecretGraph(**frames()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("examples", lambda f: f.with_columns(example_id=pl.col("example_id") + 1)),
        ("examples", lambda f: f.drop("text")),
        ("edges", lambda f: f.reverse()),
        ("edges", lambda f: pl.concat([f, f]).sort("example_id")),
        ("edges", lambda f: f.with_columns(secret_id=pl.lit(1, pl.UInt32))),
        ("edges", lambda f: f.with_columns(example_id=pl.col("example_id").cast(pl.Int64))),
        ("secrets", lambda f: f.with_columns(prior=pl.lit(1e-3))),
        ("secrets", lambda f: f.with_columns(prior=pl.lit(None, pl.Float64))),
    ],
)
def test_every_breach_is_seen(name, change):
    broken = frames()
    broken[name] = change(broken[name])
    with pytest.raises(ValueError, match=name):
        SecretGraph(**broken)
