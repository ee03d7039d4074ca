"""Step 3: the smallest noise for which every secret's bound is certified; for plans, that number alone."""

from __future__ import annotations

from pydantic import BaseModel

from hush_core.accounting import noise_for_all
from hush_core.accounting.correlated import Cycle, Strategy, groups_table
from hush_core.config import MechanismConfig, Method
from hush_core.errors import HushError, Unavailable
from hush_core.history import PromisedRuns, bounds_at_priors, bounds_without_rounds, plan_of_runs
from hush_core.mechanisms import noise_of_plan, plan_of
from hush_core.plan import ProtectionPlan
from hush_core.weights import expected_distinct, paper_weights, sampling_rates
from hush_core.weights.roles import CERTIFIED
from tasks.earlier_runs import Before
from tasks.runtime.caching import cached_task
from tasks.runtime.progress import progress_log
from tasks.runtime.runner import in_parts
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, Store, open_store


class Calibrated(BaseModel, frozen=True):
    """A ProtectionPlan by reference: its numbers, and where its weights and bounds lie."""

    weights: Ref
    bounds: Ref
    noise_multiplier: float | None
    """None of a run without certified rounds, which has no plan to load."""
    rounds: int
    expected_batch: int
    clip_norm: float
    method: Method
    records: int = 1
    """Of an item, averaged in a round."""
    groups: Ref | None = None
    """Of a cycle: example_id · group; None where rounds are sampled."""
    strategy: tuple[float, ...] | None = None
    """Of a cycle: its coefficients."""
    cycle_batch: float | None = None
    """Of a cycle: the items of a round on average, at most `expected_batch`."""

    @property
    def effective_noise(self) -> float | None:
        """σC over the items of a round; None without rounds."""
        if self.noise_multiplier is None:
            return None
        return self.noise_multiplier * self.clip_norm / (self.cycle_batch or self.expected_batch)

    def load(self, store: Store) -> ProtectionPlan:
        """The plan itself; rates are recomputed from the weights, never stored beside them."""
        weights, cycle = store.read_frame(self.weights)["weight"].to_numpy(), None
        if self.groups is not None:
            groups = store.read_frame(self.groups)["group"].to_numpy()
            cycle = Cycle(groups, int(groups.max()) + 1, Strategy(self.strategy))
        return ProtectionPlan(
            sampling_rates(weights, self.expected_batch), self.noise_multiplier, self.rounds, self.expected_batch,
            self.clip_norm, self.method, store.read_frame(self.bounds), self.records, cycle,
        )  # fmt: skip


class Promised(BaseModel, frozen=True):
    """A promise over several runs (`PromisedRuns`), with what the runs before it released."""

    runs: int
    before: Before
    settings_digest: str
    later_rounds: int | None


@cached_task(name="calibrate", task_run_name="calibrate-{method}", version=5)
@in_parts
def calibrate_noise(
    weights: Ref,
    edges: Ref,
    secrets: Ref,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    method: Method,
    *,
    promised: Promised | None = None,
    mechanism: MechanismConfig,
) -> Calibrated:
    """Calibrate by one method and certify every secret at the result; for all of the runs that are `promised`."""
    store = open_store()
    tables = (
        store.read_frame(weights)["weight"].to_numpy(), store.read_frame(edges), store.read_frame(secrets),
    )  # fmt: skip
    shape = {"rounds": rounds, "expected_batch": expected_batch, "clip_norm": clip_norm, "method": method}
    settings = {**shape, "progress": progress_log()}
    if promised:
        runs = PromisedRuns(
            promised.runs, promised.before.others.load(store), promised.settings_digest, promised.later_rounds
        )
        plan = plan_of_runs(mechanism, *tables, runs, **settings)
    else:
        plan = plan_of(mechanism, *tables, **settings)
    run_logger().info("%s: noise multiplier %.4g", method, plan.noise_multiplier)
    return Calibrated(
        weights=weights,
        bounds=store.put_frame(plan.certificates, kind="bounds"),
        noise_multiplier=plan.noise_multiplier,
        **shape,
        records=plan.records,
        groups=store.put_frame(groups_table(plan.cycle), kind="groups") if plan.cycle else None,
        strategy=plan.cycle.strategy.coefficients if plan.cycle else None,
        cycle_batch=plan.cycle.batch if plan.cycle else None,
    )


@cached_task(name="no rounds", version=2)
def without_rounds(
    weights: Ref, edges: Ref, secrets: Ref, expected_batch: int, clip_norm: float, method: Method, *,
    before: Before | None, settings_digest: str,
) -> Calibrated:  # fmt: skip
    """Of a run that draws nothing of a secret. Where its mechanism makes no private round, each bound is its prior.
    In a run of a promise, what the runs `before` released stays all that was released, if nothing else is wrong
    with them."""
    store = open_store()
    graph = store.read_frame(edges), store.read_frame(secrets)
    if before is None:
        bounds = bounds_at_priors(*graph, method=method)
    else:
        earlier = before.others.load(store)
        bounds = bounds_without_rounds(*graph, method=method, settings=settings_digest, earlier=earlier)
        run_logger().info("no text of a secret is new: no certified round, and no run of the promise")
    return Calibrated(
        weights=weights, bounds=store.put_frame(bounds, kind="bounds"), noise_multiplier=None, rounds=0,
        expected_batch=expected_batch, clip_norm=clip_norm, method=method,
    )  # fmt: skip


class NoiseEstimate(BaseModel, frozen=True):
    """What weights cost: the noise multiplier that certifies every secret, and what the rounds will see."""

    noise_multiplier: float
    distinct: float
    """How many examples the rounds draw at least once, in expectation."""


@cached_task(name="price", task_run_name="price-{method}", version=5)
def estimate_noise(
    weights: Ref,
    edges: Ref,
    secrets: Ref,
    rounds: int,
    expected_batch: int,
    method: Method,
    in_all: int,
    mechanism: MechanismConfig,
) -> NoiseEstimate:
    """The noise of a run of `rounds` by one method, where all promised runs have so many `in_all`."""
    store = open_store()
    drawn = store.read_frame(weights)["weight"].to_numpy()
    sigma = noise_of_plan(
        mechanism, drawn, store.read_frame(edges), store.read_frame(secrets), rounds=in_all,
        expected_batch=expected_batch, method=method, progress=progress_log(),
    )  # fmt: skip
    run_logger().info("%s, %d rounds in all: noise multiplier %.4g", method, in_all, sigma)
    distinct = expected_distinct(sampling_rates(drawn, expected_batch), rounds)
    return NoiseEstimate(noise_multiplier=sigma, distinct=distinct)


@cached_task(name="paper", task_run_name="paper-noise", version=1)
@in_parts
def paper_noise(weights: Ref, edges: Ref, secrets: Ref, rounds: int, expected_batch: int) -> float | None:
    """σ by the paper's method on its own program at the weight that `weights` retain; None where it has none."""
    store = open_store()
    graph, table, ours = store.read_frame(edges), store.read_frame(secrets), store.read_frame(weights)
    total = float(ours["weight"].sum())
    try:
        theirs = paper_weights(graph, table, trainable=(ours["role"] == CERTIFIED).to_numpy(), total=total)
        rates = sampling_rates(theirs, expected_batch)
        return noise_for_all(graph, rates, table, rounds=rounds, method="kl", progress=progress_log())
    except Unavailable:
        raise
    except HushError as error:
        run_logger().warning("the paper's program: %s", error)
        return None
