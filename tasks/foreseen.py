"""Step 1b: what the law needs to know of a graph before it is decided which entries are learned under noise."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.config import HushConfig
from hush_core.weights import EntryFacts, shifts, signal_of, unlike_examples
from tasks.extraction import Extracted
from tasks.runtime.caching import cached_task
from tasks.runtime.store import Ref, open_store


class Foreseen(BaseModel, frozen=True):
    """Of a graph: B√T/σ that its targets allow, and facts of each entry.

    by_entry: its secrets, their examples (of redacted ones, places), the sum of their κ, and how many of the
    examples are unlike other text (`unlike_examples`).
    tagged, dropped: examples that hold a secret, and those that are left out already."""

    signal: float
    tagged: int
    dropped: int
    by_entry: dict[str, tuple[int, int, float, int]]

    def entries(self, config: HushConfig) -> list[EntryFacts]:
        """The facts of each entry of the config that the graph is of."""
        return [EntryFacts(entry, *self.by_entry.get(entry.id, (0, 0, 0.0, 0))) for entry in config.secrets]


@cached_task(name="foresee", version=2)
def foresee_signal(
    examples: Ref, public: Ref, edges: Ref, secrets: Ref, coverage: Ref, n_examples: int
) -> Foreseen:
    """Count and solve; nothing is decided here."""
    store = open_store()
    graph, table = store.read_frame(edges), store.read_frame(secrets)
    kinds, others = (
        pl.read_parquet(store.path(ref), columns=["language"])["language"] for ref in (examples, public)
    )
    unlike = unlike_examples(graph, kinds, others)
    named = table.with_columns(
        entry=pl.col("name").str.split("/").list.first(), shift=pl.Series(shifts(table), dtype=pl.Float64)
    )
    counted = (
        graph.select("secret_id", "example_id", unlike=pl.col("example_id").is_in(unlike.implode()))
        .join(named.select("secret_id", "entry"), on="secret_id")
        .group_by("entry").agg(
            pl.col("secret_id").n_unique(), pl.col("example_id").n_unique(),
            pl.col("example_id").filter("unlike").n_unique().alias("unlike"),
        )
    )  # fmt: skip
    held = named.join(graph.select("secret_id").unique(), on="secret_id", how="semi")
    shift = dict(held.group_by("entry").agg(pl.col("shift").sum()).iter_rows())
    report = store.read_json(coverage)
    by_entry = {
        entry: (
            facts["redacted_secrets"] + facts["left_out_secrets"],
            facts["left_out_examples"] or facts["redacted_places"],
            0.0,
            0,
        )
        for entry, facts in report["secrets"].items()
    }
    by_entry |= {entry: (n, held, shift[entry], other) for entry, n, held, other in counted.iter_rows()}
    return Foreseen(
        signal=signal_of(graph, table, n_examples=n_examples), tagged=graph["example_id"].n_unique(),
        dropped=sum(facts["dropped_weak"] for facts in report["repositories"].values()), by_entry=by_entry,
    )  # fmt: skip


def foresee(extracted: Extracted) -> Foreseen:
    return foresee_signal(
        extracted.examples, extracted.public, extracted.edges, extracted.secrets, extracted.coverage,
        extracted.n_examples,
    )  # fmt: skip
