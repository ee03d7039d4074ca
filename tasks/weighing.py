"""Step 2: the linear program → one weight an example, what it costs each secret, and what a change would buy.

Before that, what the law needs to know of a graph, to decide which entries are learned under noise."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from hush_core.accounting import noise_for_all
from hush_core.config import HushConfig, HushMechanism, MechanismConfig, Method
from hush_core.errors import HushError
from hush_core.mechanisms import lay_out
from hush_core.weights import (
    Coverage,
    EntryFacts,
    Weighing,
    WeightSettings,
    binding_secrets,
    largest_batch,
    lost_examples,
    relaxations,
    relaxed_weights,
    sampling_rates,
    shifts,
    signal_of,
    text_order,
    unlike_examples,
)
from hush_core.weights.roles import PLAIN, certified_edges
from tasks.extraction import Extracted
from tasks.runtime.caching import cached_task
from tasks.runtime.progress import progress_log
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, Store, open_store
from tasks.wording import counted

HUSH = HushMechanism()
SAME = ("objective", "upper_bound", "gap", "value", "value_bound", "c", "c_max", "candidates")
"""What a weighing says of itself."""


class Weighed(BaseModel, frozen=True):
    """The weights, and how good they are: Σw of the examples in training, and its certified upper bound."""

    weights: Ref
    """example_id · weight · role (`hush_core.weights.roles`)."""
    binding: Ref
    """By secret: capacity, load, price, what is lost for it (`hush_core.weights.binding_secrets`)."""
    edges: Ref
    """The graph of items, which every bound is of; that of the examples where an item is an example."""
    pools: Ref | None = None
    """Which examples' text an item may hold (`hush_core.mechanisms.POOLS`); None: the one that names it."""
    lost: Ref
    """Examples of weight below 1, and the secret that is the reason; stays in the store."""
    objective: float
    upper_bound: float
    gap: float
    value: float
    """What the objective reached: Σw, or the expected number of distinct examples."""
    value_bound: float
    coverage: tuple[float, float] | None
    """Draws of an example of weight 1, and the least total weight, where the objective is distinct examples."""
    c: float
    c_max: float
    candidates: int
    """Examples that the certified rounds may draw."""
    retained: float
    """Σw over their number."""
    kept: float
    """The fraction of them with a weight above 0."""
    trained_plain: int
    """Examples without a secret that are trained on without noise."""
    with_secret: int
    protected_retained: float
    """Σw over the number, of the examples with a secret."""
    largest_batch: int

    def load(self, store: Store) -> Weighing:
        weights, binding = store.read_frame(self.weights), store.read_frame(self.binding)
        return Weighing(
            weights=weights["weight"].to_numpy(),
            roles=weights["role"],
            capacities=binding["capacity"].to_numpy(),
            prices=binding["price"].to_numpy(),
            **self.model_dump(include={"upper_bound", "gap", "c_max", "c", "value", "value_bound"}),
            coverage=Coverage(*self.coverage) if self.coverage else None,
        )


@cached_task(name="weigh", version=7)
def weigh_examples(
    examples: Ref,
    edges: Ref,
    secrets: Ref,
    n_examples: int,
    settings: WeightSettings,
    mechanism: MechanismConfig = HUSH,
) -> Weighed:
    """What the rounds draw, and with which weights; examples that name no item weigh 0."""
    store = open_store()
    graph = store.read_frame(edges)
    layout = lay_out(
        graph, store.read_frame(secrets), n_examples=n_examples, settings=settings, mechanism=mechanism,
        order=text_order(store.read_frame(examples)["text"].to_list()), progress=progress_log(),
    )  # fmt: skip
    found, shown, items = layout.weighing, layout.shown, layout.items
    table = pl.DataFrame({"weight": found.weights, "role": found.roles}).with_row_index("example_id")
    drawn = certified_edges(graph, found.roles)
    kept = pl.DataFrame({"weight": shown.weights}).with_row_index("example_id")
    tagged = kept.join(drawn.select("example_id").unique(), on="example_id", how="semi")["weight"]
    result = Weighed(
        weights=store.put_frame(table, kind="weights"),
        binding=store.put_frame(binding_secrets(shown, graph), kind="binding"),
        edges=store.put_frame(items.edges, kind="edges") if items and items.pools is not None else edges,
        pools=store.put_frame(items.pools, kind="pools") if items and items.pools is not None else None,
        lost=store.put_frame(lost_examples(shown, graph), kind="lost"),
        **{name: getattr(found, name) for name in SAME},
        coverage=(found.coverage.draws, found.coverage.least) if found.coverage else None,
        retained=shown.objective / max(found.candidates, 1),
        kept=float((shown.weights > 0).sum()) / max(found.candidates, 1),
        trained_plain=int((found.roles == PLAIN).sum()),
        with_secret=len(tagged),
        protected_retained=float(tagged.sum()) / max(len(tagged), 1),
        largest_batch=largest_batch(found.weights),
    )
    run_logger().info("c = %.3g: %.1f %% of the weight retained", result.c, 100 * result.retained)
    return result


class Relaxation(BaseModel, frozen=True):
    """What raising one entry's target would buy; the weight and the noise are those of the program solved again."""

    entry: str
    secrets: int
    posterior: float
    target: float
    at_most: float
    """Of the objective, more than it is now: no solution of the changed program can exceed it."""
    gain: float | None
    """What solving it again brought; None where it was not."""
    distinct: bool
    """Whether both count distinct examples seen; else examples' worth of weight."""
    noise_multiplier: float | None
    """What the new weights need; None where it was not computed."""

    @property
    def words(self) -> str:
        text = f"raising r of {self.entry} from {self.posterior:.2g} to {self.target:.2g} "
        verb, what = ("shows", "more distinct example") if self.distinct else ("keeps", "more example")
        if self.gain is None:
            return text + f"{verb} at most {counted(round(self.at_most), what)}"
        text += f"{verb} {counted(round(self.gain), what)}"
        return text + (f", at σ = {self.noise_multiplier:.3g}" if self.noise_multiplier else "")


@cached_task(name="relieve", version=2)
def relax_target(
    weighed: Weighed,
    edges: Ref,
    secrets: Ref,
    settings: WeightSettings,
    levels: list[float],
    *,
    rounds: int,
    expected_batch: int,
    method: Method,
    noise_multiplier: float,
    most: int,
) -> list[Relaxation]:
    """What raising an entry's target to the next level would buy, for all; the best `most` are solved again."""
    store = open_store()
    graph, table = store.read_frame(edges), store.read_frame(secrets)
    weighing = weighed.load(store)
    now = {"noise_multiplier": noise_multiplier}
    offers = relaxations(weighing, table, settings, levels=levels, **now)
    found, progress = [], progress_log()
    for place, offer in enumerate(offers.iter_rows(named=True)):
        gain = noise = None
        if place < most:
            progress("relaxing entries", place, min(most, offers.height))
            change = {"entry": offer["entry"], "target": offer["target"]}
            weights, other = relaxed_weights(weighing, graph, table, settings, **change, **now)
            gain = weighing.worth(weights) - weighing.value
            try:
                rates = sampling_rates(weights, expected_batch)
                noise = noise_for_all(graph, rates, other, rounds=rounds, method=method)
            except HushError as error:
                run_logger().warning("%s relaxed: %s", offer["entry"], error)
        found.append(Relaxation(gain=gain, noise_multiplier=noise, distinct=bool(weighing.coverage), **offer))
    return found


class GraphSignal(BaseModel, frozen=True):
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


@cached_task(name="measure_signal", version=2)
def measure_signal(
    examples: Ref, public: Ref, edges: Ref, secrets: Ref, coverage: Ref, n_examples: int
) -> GraphSignal:
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
    held_by = (
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
    by_entry |= {entry: (n, held, shift[entry], other) for entry, n, held, other in held_by.iter_rows()}
    return GraphSignal(
        signal=signal_of(graph, table, n_examples=n_examples), tagged=graph["example_id"].n_unique(),
        dropped=sum(facts["dropped_weak"] for facts in report["repositories"].values()), by_entry=by_entry,
    )  # fmt: skip


def graph_signal(extracted: Extracted) -> GraphSignal:
    return measure_signal(
        extracted.examples, extracted.public, extracted.edges, extracted.secrets, extracted.coverage,
        extracted.n_examples,
    )  # fmt: skip
