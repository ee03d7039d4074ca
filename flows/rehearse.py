"""Which plan gives the best model? Every one is rehearsed on text that no secret tags; trains nothing for keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prefect import flow
from prefect.logging import get_run_logger
from pydantic import BaseModel

from flows.check import check_config
from flows.reports.lines import markdown
from flows.reports.rehearsal import RehearsalReport, blocks, build_report, nothing_to_rehearse
from flows.settling import settle
from flows.sweep import noise_by_runs, refusal
from hush_core.config import Changes, HushConfig, HushMechanism
from hush_core.errors import HushError, InputError
from hush_core.files import write_whole
from hush_core.rehearsal import Budget, Search, Space, Tried, space_of
from hush_core.weights import can_redact, values_redacted, weight_settings
from tasks.calibration import estimate_noise
from tasks.extraction import Extracted
from tasks.leftovers import claim_flow_run
from tasks.models import SEED, base_model, lora_of
from tasks.ordinary_training import pretrain, train_untagged
from tasks.rehearse import (
    CalibratedPoint,
    LossOfRuns,
    Setup,
    assign_stand_ins,
    loss_of,
    publish_rehearsal,
    rehearse_point,
    start_loss,
    time_rounds,
)
from tasks.runtime.caching import content_key
from tasks.runtime.environment import home
from tasks.runtime.flow_runs import named
from tasks.runtime.progress import suspendable
from tasks.runtime.steps import show_page
from tasks.runtime.store import open_store
from tasks.texts import split_texts
from tasks.weighing import Weighed, weigh_examples

STUDY_VERSION = 1
TRIALS = 24
LEAST_GAIN = 0.002
"""Bits: two rehearsals of the same rounds with other draws differ by as much (lab/docs/utility.md)."""
BEST, AGAIN = 3, 2
"""So many of the best points are rehearsed again, so often, with other draws: the lowest of many is luck too."""


class Effort(BaseModel, frozen=True, extra="forbid"):
    """How much to rehearse: `trials` points in all, each for `examples` draws or `minutes` of training; without
    either, the draws that the config's own rounds and batch make."""

    trials: int = TRIALS
    examples: float | None = None
    minutes: float | None = None
    sweep: tuple[float, ...] = ()
    """Values of c (or of σ, where the config gives σ) in place of the usual ones."""

    def check(self) -> None:
        """Raises InputError: a number that is not positive, or both budgets."""
        if self.examples is not None and self.minutes is not None:
            hint = "give one of them"
            raise InputError("--examples and --minutes", "are two budgets for the same run", hint)
        for name, value in (("trials", self.trials), ("examples", self.examples), ("minutes", self.minutes)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"--{name}", "is not a positive number", "give one")


@flow(name="rehearse", flow_run_name=named("rehearse"), validate_parameters=True)
@suspendable
def rehearse(
    config_file: str, changes: Changes | None = None, effort: Effort | None = None, out: str | None = None
) -> RehearsalReport:
    """Search for the plan with the lowest predicted loss at equal promise and equal compute.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values.
        effort: how many points, and what each may cost.
        out: folder for table, picture and plan.yaml; one of the config's own under HUSH_HOME/plans without it.

    Killed and started again with the same arguments, it continues where it was.
    """
    claim_flow_run()
    effort = effort or Effort()
    effort.check()
    asked = check_config(Path(config_file), changes, command="plan --rehearse")
    if asked.mechanism != HushMechanism():
        raise InputError(
            "mechanism", "a rehearsal searches the weights of hush, planned for the secrets' levels",
            "leave `mechanism` out to rehearse; `hush compare` sets the others beside it",
        )  # fmt: skip
    folder = Path(out or str(home().report_folder("plans", Path(config_file))))
    settled = settle(asked, candidates=True, trains=True)
    config, extracted = settled.config, settled.extracted
    if not config.mechanism.makes_noise:
        return nothing_to_rehearse(config, extracted, folder)
    rehearsal = Rehearsal(config, extracted, set_up(config, extracted))
    search = rehearsal.open_search(effort)
    rehearsal.rehearse_points(search, effort.trials)
    rehearsal.repeat_best(search)
    best = search.recommended()
    by_runs = [] if best is None else rehearsal.loss_by_runs(best)
    gained = None if best is None else start_loss(rehearsal.setup) - best.mean
    taken = None if best is None else taken_point(asked, config, best.point, gained)
    unit = rehearsal.setup.start.unit
    published = publish_rehearsal(config, search, by_runs, unit, folder, str(config_file), taken)
    report = build_report(
        config, extracted, rehearsal.setup, search, by_runs, published, gained=gained, taken=taken
    )
    show_page(markdown(blocks(report)), "hush-rehearsal", "predicted loss by plan")
    return report


def taken_point(asked: HushConfig, config: HushConfig, point: Changes, gained: float) -> Changes:
    """What `hush run --plan` takes: the point, where its rounds gained something or a person asks for them; else
    what says `protect: auto` and is no value is left out. Of `without_secret` only `plain` is written: the run
    derives `noise` again, and written it would ask for certified rounds of values, too, which are redacted."""
    undecided = [e.id for e in values_redacted(asked).secrets if e.protect == "auto" and not can_redact(e)]
    ways = dict.fromkeys(undecided, "noise" if gained > LEAST_GAIN else "drop")
    plain = "plain" if config.weights.without_secret == "plain" else None
    decided = Changes(protect=ways or None, without_secret=plain)
    return decided if undecided and gained <= LEAST_GAIN else decided.over(point)


def set_up(config: HushConfig, extracted: Extracted) -> Setup:
    """Roles, and the model that the rehearsed rounds begin with: trained on no text of a stand-in."""
    lora, base = lora_of(config.model), base_model(config.model)
    plain = config.weights.without_secret == "plain"
    weighed = weigh_examples(**extracted.graph, settings=weight_settings(config))
    held_out = split_texts(extracted.examples, weighed.weights, extracted.edges).held_out
    roles = assign_stand_ins(extracted.examples, extracted.edges, extracted.n_examples, plain)
    start = pretrain(
        extracted.public, held_out, config.model, base, config.pretrain, config.chunk_bytes,
        config.train.micro_batch,
    )  # fmt: skip
    if plain:
        start = train_untagged(
            roles.rest, roles.validation, held_out, start, config.model, config.untagged, config.train.precision,
            config.train.micro_batch,
        ).model  # fmt: skip
    return Setup(roles=roles, start=start, lora=lora)


@dataclass(frozen=True)
class Rehearsal:
    """What every point of a job is rehearsed with."""

    config: HushConfig
    extracted: Extracted
    setup: Setup

    def open_search(self, effort: Effort) -> Search:
        """The study of this job, on disk: new, or as an earlier command left it."""
        question = self.config.model_dump(mode="json", include={"weights", "method", "train"})
        tables = (self.extracted.edges, self.extracted.secrets, self.extracted.n_examples)
        budget = effort.model_dump(exclude={"trials"})
        key = content_key("rehearse", STUDY_VERSION, *tables, self.setup, question, budget)
        folder = open_store().work_dir(f"rehearsal-{key[:40]}")
        kept = folder / "space.json"
        if kept.is_file():
            space = Space.model_validate_json(kept.read_bytes())
        else:
            space = space_of(self.config, self.budget(effort), sweep=effort.sweep)
            write_whole(kept, space.model_dump_json().encode())
        return Search(folder / "study.db", space, seed=SEED)

    def budget(self, effort: Effort) -> Budget:
        train = self.config.train
        if effort.minutes is not None:
            rate = train.learning_rate if isinstance(train.learning_rate, float) else min(train.learning_rate)
            cost = time_rounds(self.setup, train.model_copy(update={"learning_rate": rate}))
            return Budget(seconds=60 * effort.minutes, cost=cost)
        drawn = train.rounds * (train.batch + (train.untagged_batch or 0))
        return Budget(examples=float(drawn if effort.examples is None else effort.examples))

    def calibrate(self, point: Changes) -> CalibratedPoint | str:
        """The weights of a point and the noise that keeps every promise with them; or why no noise does."""
        here = point.applied_to(self.config)
        try:
            weighed: Weighed = weigh_examples(**self.extracted.graph, settings=weight_settings(here))
            if weighed.largest_batch < here.train.batch:
                return f"train.batch: at most {weighed.largest_batch} can be drawn from this weight"
            noise = estimate_noise(
                weighed.weights, self.extracted.edges, self.extracted.secrets, rounds=here.train.rounds,
                expected_batch=here.train.batch, method=here.method, in_all=here.rounds_in_all,
                mechanism=here.mechanism,
            )  # fmt: skip
        except HushError as error:
            return refusal(error)
        sigma, distinct = noise.noise_multiplier, noise.distinct
        return CalibratedPoint(
            weights=weighed.weights, noise_multiplier=sigma, distinct=distinct, retained=weighed.retained
        )

    def rehearse_points(self, search: Search, trials: int) -> None:
        log = get_run_logger()
        while (begun := search.next(trials)) is not None:
            trial, point = begun
            calibrated = self.calibrate(point)
            if isinstance(calibrated, str):
                search.refuse(trial, calibrated)
                log.info("%d of %d: refused: %s", len(search.tried()), trials, calibrated)
                continue
            facts = calibrated.model_dump(include={"noise_multiplier", "distinct", "retained"})
            settings = point.applied_to(self.config).train
            try:
                on_loss = lambda step, loss, t=trial: search.step(t, step, loss)  # noqa: E731
                rehearsed = rehearse_point(self.setup, calibrated, settings, on_loss, SEED)
            except HushError as error:  # noise too large for the grid of a release, say
                search.refuse(trial, refusal(error))
                continue
            search.end(trial, rehearsed, facts)
            log.info("%d of %d: %s", len(search.tried()), trials, in_words(search.tried()[-1]))

    def repeat_best(self, search: Search) -> None:
        """Rehearse the best again with other draws, and compare their means."""
        for one in search.best(BEST):
            if len(one.again) >= AGAIN:
                continue
            calibrated, settings = self.calibrate(one.point), one.point.applied_to(self.config).train
            others = (
                rehearse_point(self.setup, calibrated, settings, lambda *_: False, SEED + n).loss
                for n in range(1, AGAIN + 1)
            )
            search.note_repeats(one, [float("inf") if loss is None else loss for loss in others])

    def loss_by_runs(self, best: Tried) -> list[LossOfRuns]:
        """The best point at the noise that so many runs need to keep every target together."""
        here, calibrated = best.point.applied_to(self.config), self.calibrate(best.point)

        def loss(sigma: float | None) -> float | None:
            if sigma is None:
                return None
            noisier = calibrated.model_copy(update={"noise_multiplier": sigma})
            try:
                return loss_of(self.setup, noisier, here.train, SEED)
            except HushError as error:  # noise too large for the grid of a release, say
                get_run_logger().info("σ = %.3g: %s", sigma, refusal(error))
                return None

        rows = noise_by_runs(calibrated.weights, self.extracted.edges, here.method, self.extracted, here)
        return [
            LossOfRuns(**row.model_dump(), loss_from_start=first, loss_from_previous=later)
            for row in rows
            for first, later in [(loss(row.from_start), loss(row.from_previous))]
        ]


def in_words(one: Tried) -> str:
    loss = f"predicted {one.loss:.4f}" if one.loss is not None else one.state
    return f"{loss}, σ = {one.facts['noise_multiplier']:.3g}, {one.point.model_dump(exclude_none=True)}"
