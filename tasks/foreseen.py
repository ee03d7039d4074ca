"""Step 1b: what the law needs to know of a graph before it is decided which entries are learned under noise."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.config import HushConfig
from hush_core.weights import EntryFacts, shifts, signal_of
from tasks.extraction import Extracted
from tasks.runtime.caching import cached_task
from tasks.runtime.store import Ref, open_store


class Foreseen(BaseModel, frozen=True):
    """Of a graph: B√T/σ that its targets allow, and by entry its secrets, their examples (of redacted ones,
    places) and the sum of their κ.
    tagged, dropped: examples that hold a secret, and those that are left out already."""

    signal: float
    tagged: int
    dropped: int
    by_entry: dict[str, tuple[int, int, float]]

    def entries(self, config: HushConfig) -> list[EntryFacts]:
        """The facts of each entry of the config that the graph is of."""
        return [EntryFacts(entry, *self.by_entry.get(entry.id, (0, 0, 0.0))) for entry in config.secrets]


@cached_task(name="foresee", version=1)
def foresee_signal(edges: Ref, secrets: Ref, coverage: Ref, n_examples: int) -> Foreseen:
    """Count and solve; nothing is decided here."""
    store = open_store()
    graph, table = store.read_frame(edges), store.read_frame(secrets)
    named = table.with_columns(
        entry=pl.col("name").str.split("/").list.first(), shift=pl.Series(shifts(table), dtype=pl.Float64)
    )
    counted = (
        graph.select("secret_id", "example_id").join(named.select("secret_id", "entry"), on="secret_id")
        .group_by("entry").agg(pl.col("secret_id").n_unique(), pl.col("example_id").n_unique())
    )  # fmt: skip
    held = named.join(graph.select("secret_id").unique(), on="secret_id", how="semi")
    shift = dict(held.group_by("entry").agg(pl.col("shift").sum()).iter_rows())
    report = store.read_json(coverage)
    by_entry = {
        entry: (
            facts["redacted_secrets"] + facts["left_out_secrets"],
            facts["left_out_examples"] or facts["redacted_places"],
            0.0,
        )
        for entry, facts in report["secrets"].items()
    }
    by_entry |= {entry: (n, examples, shift[entry]) for entry, n, examples in counted.iter_rows()}
    return Foreseen(
        signal=signal_of(graph, table, n_examples=n_examples), tagged=graph["example_id"].n_unique(),
        dropped=sum(facts["dropped_weak"] for facts in report["repositories"].values()), by_entry=by_entry,
    )  # fmt: skip


def foresee(extracted: Extracted) -> Foreseen:
    """The same of an extraction."""
    return foresee_signal(extracted.edges, extracted.secrets, extracted.coverage, extracted.n_examples)
