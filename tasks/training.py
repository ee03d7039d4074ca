"""Step 4c: the certified rounds, under the plan; or none, where nothing of a secret is new."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from hush_core.config import Execution, LoraConfig, TrainConfig
from hush_core.corpus.prompted import texts_of
from hush_core.corpus.records import ItemText
from hush_core.history import Earlier, RunText
from hush_core.mechanisms import drawn_items, rates_of_texts
from hush_core.plan import ProtectionPlan
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION
from tasks.calibration import Calibrated
from tasks.earlier_runs import Before, OtherRuns, now_untagged_names, run_history, whole_files
from tasks.items import ItemTexts
from tasks.models import SEED, Model, keep_folder
from tasks.reachable import training_hosts
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.live import Live
from tasks.runtime.progress import TimedProgress, progress_log
from tasks.runtime.runner import turn_given_away
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, Store, open_store
from tasks.texts import TextsByRole

if TYPE_CHECKING:
    from hush_core.training import Fitted, Job, OtherTexts


class Trained(BaseModel, frozen=True):
    """The protected model, what was released to get it, and its loss on public text by rounds released."""

    model: Model
    rounds_released: int
    rounds_applied: int
    run: str
    """A public name of the run, by which later certificates count it."""
    others: OtherRuns
    """Up to the end of this run."""
    curve: tuple[tuple[int, float], ...] = ()
    seconds_a_round: float | None = None
    """The median of those that were timed; None where none was."""
    peak_memory: int | None = None
    """Bytes, of a run in a process of its own."""


TRAIN_VERSION = 6


class Inputs(BaseModel, frozen=True):
    """What the rounds are made of, by reference."""

    calibrated: Calibrated
    edges: Ref
    """Of the examples, also where items are more than examples."""
    secrets: Ref
    examples: Ref
    texts_by_role: TextsByRole
    public: Ref
    start: Model
    lora: LoraConfig | None


class Noted(BaseModel, frozen=True):
    """What the history notes, and what decides nothing of the model."""

    occurrences: Ref
    base_name: str
    settings_digest: str
    """What was decided before any text was seen (`HushConfig.settings_digest`)."""
    job: str
    """Its name under a promise of several runs."""
    before: Before | None
    """What the plan counted in under a promise; None of a mechanism that never makes a round."""

    @property
    def of_promise(self) -> dict[str, str | None]:
        return {"job": self.job, "before": self.before and self.before.model_dump_json()}

    def counted(self, store: Store) -> Earlier | None:
        return self.before and self.before.others.load(store)


@cached_task(name="train", version=TRAIN_VERSION, ignore=("noted", "execution", "apart", "live"))
def train_protected(
    inputs: Inputs,
    noted: Noted,
    *,
    items: ItemTexts | None = None,
    settings: TrainConfig,
    execution: Execution,
    repetition: int = 0,
    apart: bool = False,
    live: Live | None = None,
) -> Trained:
    """Run the plan. Killed and started again, it resumes; no release beyond the plan's rounds is ever made.

    `settings` say what run it is (`TrainConfig.essential`), `execution` how it is done this time.
    `items`: which text fills which item, where items are more than examples.
    `repetition`: of a comparison that makes the same run several times, each with batches and noise of its own;
    `apart`: in a process of its own, whose memory is reported. `live`: where its metrics are shown meanwhile.
    Raises InputError: another run released something since the plan was made, or is training."""
    from hush_core.training import Job, learning_curve
    from hush_core.training.checkpoint import CHECKPOINT, drop_previous

    store, history = open_store(), run_history()
    plan = inputs.calibrated.load(store)
    filled = () if items is None else (items.filling.sha256, items.pieces_of)
    key = content_key(
        "train", TRAIN_VERSION, plan.digest, inputs.examples.sha256, inputs.start.files.sha256, inputs.lora,
        settings, *filled, *([f"repetition {repetition}"] if repetition else []),
    )  # fmt: skip
    text = _run_text(store, inputs, noted, plan, items)
    witness, progress = history.note(key, text, **noted.of_promise), TimedProgress(progress_log())
    if live is not None:
        live.begin(history.public_name(key), plan.rounds)
    with store.scratch() as saved, history.training(key, text, noted.counted(store)) as lock:
        job = Job(
            plan, _texts(store, inputs, items), store.path(inputs.start.files, verify=True),
            settings.done_by(execution), inputs.lora, store.work_dir(key), Path(saved) / "model",
            _other_texts(store, inputs), noted.base_name, SEED, witness,
        )  # fmt: skip
        fitted = _fit(job, progress, live, lock, apart=apart)
        kept = keep_folder(store, job.out_dir, inputs.texts_by_role.held_out)
        history.note_model(key, kept.files.sha256)
        drop_previous(job.work_dir / CHECKPOINT)
        return Trained(
            model=kept,
            rounds_released=fitted.rounds_released,
            rounds_applied=fitted.rounds_applied,
            run=history.public_name(key),
            others=_others(store, history.earlier(key, text), inputs.secrets),
            curve=learning_curve(fitted.log),
            seconds_a_round=progress.seconds_a_step(),
            peak_memory=fitted.peak_memory,
        )


@cached_task(name="train without rounds", version=1, ignore=("noted",))
def keep_without_rounds(inputs: Inputs, noted: Noted) -> Trained:
    """The model as ordinary training left it, as that of a run without certified rounds, which is noted: what it
    trained on without noise, and none of the promised runs. Raises InputError: another run released something since
    `noted.before`, or is training."""
    from hush_core.training import adapted, load_model, save_model

    store, history, before = open_store(), run_history(), noted.before
    hashes = [one.sha256 for one in (inputs.examples, inputs.edges, inputs.secrets, inputs.start.files)]
    key = content_key("without rounds", 1, *hashes)
    text = _run_text(store, inputs, noted)
    with store.scratch() as saved, history.training(key, text, noted.counted(store)):
        history.note_without_rounds(key, text, **noted.of_promise)
        out = Path(saved) / "model"
        start = load_model(store.path(inputs.start.files, verify=True))
        save_model(adapted(start, inputs.lora, seed=SEED), out, base=noted.base_name)
        kept = keep_folder(store, out, inputs.texts_by_role.held_out)
        champion = before.champion.run if before and before.champion else ""
        history.note_model(key, kept.files.sha256, of=champion)
        others = OtherRuns.of(history.earlier(key, text), store)
        run = history.public_name(key)
        return Trained(model=kept, rounds_released=0, rounds_applied=0, run=run, others=others)


def _texts(store: Store, inputs: Inputs, items: ItemTexts | None) -> Sequence[ItemText]:
    texts = texts_of(store.read_frame(inputs.examples))
    return texts if items is None else items.fill(texts, store)


def _other_texts(store: Store, inputs: Inputs) -> OtherTexts:
    from hush_core.training import OtherTexts, split_public

    tables = (inputs.public, inputs.texts_by_role.plain, inputs.texts_by_role.validation)
    public, plain, validation = (texts_of(store.read_frame(table)) for table in tables)
    return OtherTexts(split_public(public)[1], plain, validation)


def _fit(job: Job, progress: TimedProgress, live: Live | None, lock: int, *, apart: bool) -> Fitted:
    """Make the rounds that are left, here or in processes of their own, and save the model."""
    from hush_core.training import fit_job, rounds_without_checkpoint, save_model
    from hush_core.training.processes import fit_in_processes

    watch, hosts, log = live and live.row, training_hosts(), run_logger()
    if lost := rounds_without_checkpoint(job.work_dir):
        log.warning(
            "%s: no checkpoint is left of the %d rounds released there. They stay counted, and training begins "
            "with the first weights; to keep them, stop and restore checkpoint.pt from a backup",
            job.work_dir, lost,
        )  # fmt: skip
    if job.settings.processes > 1 or apart or hosts is not None:
        with turn_given_away():
            more = {"hosts": hosts} if hosts else {}
            fitted = fit_in_processes(job.settings.processes, job, progress, watch=watch, lock=lock, **more)
    else:
        fitted = fit_job(job, progress, watch)
        save_model(fitted.model, job.out_dir, base=job.base)
    if live is not None:
        live.end(failed=False)
    if fitted.cut:
        log.warning("%d examples are longer than the model's context and were cut there", fitted.cut)
    if fitted.resumed:
        lost = fitted.rounds_released - fitted.rounds_applied
        log.info("resumed: %d rounds released, %d of them lost", fitted.rounds_released, lost)
    if fitted.rounds_released < job.plan.rounds:
        log.info("stopped early: %d of %d rounds released", fitted.rounds_released, job.plan.rounds)
    return fitted


def _others(store: Store, earlier: Earlier, secrets: Ref) -> OtherRuns:
    if earlier.now_untagged.height:
        run_logger().warning(
            "earlier runs protected text as %s that no entry names now, and this run uses it: nothing is "
            "promised of these over all runs", now_untagged_names(earlier, store.read_frame(secrets)),
        )  # fmt: skip
    return OtherRuns.of(earlier, store)


def _run_text(
    store: Store,
    inputs: Inputs,
    noted: Noted,
    plan: ProtectionPlan | None = None,
    items: ItemTexts | None = None,
) -> RunText:
    """What the run is to note; without a plan, that of one without rounds."""
    table, by_role = store.read_frame(inputs.examples), inputs.texts_by_role
    roles, edges = store.read_frame(inputs.calibrated.weights)["role"], store.read_frame(inputs.edges)
    without_noise = (inputs.public, by_role.plain, by_role.validation, by_role.held_out)
    given: dict[str, Any] = {
        "texts": table["text"].to_list(), "files": whole_files(table), "edges": edges,
        "secrets": store.read_frame(inputs.secrets), "occurrences": store.read_frame(noted.occurrences),
        "without_noise": [text for one in without_noise for text in store.read_frame(one)["text"]],
        "plain": roles.is_in([PLAIN, VALIDATION, HELD_OUT]).to_numpy(), "drawn": (roles == CERTIFIED).to_numpy(),
        "settings": noted.settings_digest,
    }  # fmt: skip
    if plan is None:
        return RunText.without_rounds(**given)
    rates, sigma = plan.as_sampled
    pools = items and store.read_frame(items.pools)
    drawn = None if pools is None else drawn_items(edges, pools, rates)
    rates = rates_of_texts(rates, pools)
    return RunText(**given, noise_multiplier=sigma, rates=rates, rounds=plan.rounds, items=drawn)
