"""What is counted of a graph before it is decided which entries are learned under noise."""

import polars as pl

from hush_core.config import parse_config
from tasks.runtime.store import open_store
from tasks.weighing import measure_signal

NOTHING = {"redacted_secrets": 0, "left_out_secrets": 0, "left_out_examples": 0, "redacted_places": 0}


def test_an_entrys_text_counts_as_unlike_by_its_own_examples_alone(tmp_path):
    store = open_store()
    languages = ["text"] * 6 + ["python"] * 4
    examples = pl.DataFrame({"example_id": range(10), "language": languages})
    edges = pl.DataFrame(
        {"secret_id": [0, 0, 1, 1, 2, 2, 2], "example_id": [0, 1, 2, 3, 3, 6, 7]},
        schema={"secret_id": pl.UInt32, "example_id": pl.UInt32},
    )
    secrets = pl.DataFrame({
        "secret_id": [0, 1, 2], "name": ["people/a", "people/b", "team"],
        "prior": [1e-10] * 3, "posterior": [1e-4] * 3,
    })  # fmt: skip
    coverage = {
        "secrets": {"people": NOTHING, "team": NOTHING, "gone": NOTHING | {"left_out_secrets": 3}},
        "repositories": {"r": {"dropped_weak": 5}},
    }
    others = pl.DataFrame({"language": ["python"]})
    frames = [store.put_frame(frame) for frame in (examples, others, edges, secrets)]
    unlike = measure_signal.fn(*frames, store.put_json(coverage), 10)
    assert [unlike.by_entry[name][:2] for name in ("people", "team", "gone")] == [(2, 4), (1, 3), (3, 0)]
    assert (unlike.tagged, unlike.dropped) == (6, 5)
    assert [unlike.by_entry[name][3] for name in ("people", "team")] == [0, 0], "two other letters are there"

    alone = store.put_frame(examples.with_columns(language=pl.Series(["text"] * 4 + ["python"] * 6)))
    alike = measure_signal.fn(alone, *frames[1:], store.put_json(coverage), 10)
    entries = [{"id": name, "kind": "path", "globs": ["x"]} for name in ("people", "team", "more")]
    data = {"version": 1, "repos": ["."], "secrets": entries}
    facts = alike.entries(parse_config(data, where="job.yaml", folder=tmp_path))
    assert [(one.unlike, one.is_unlike) for one in facts] == [(4, True), (1, False), (0, False)]
