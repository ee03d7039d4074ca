"""Step 4c: the certified rounds, under the plan; or none, where nothing of a secret is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hush_core.config import Execution, LoraConfig, TrainConfig
from hush_core.corpus.prompted import texts_of
from hush_core.history import RunText
from hush_core.mechanisms import drawn_items, rates_of_texts
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION
from tasks.calibration import Calibrated
from tasks.earlier_runs import Before, OtherRuns, let_go_names, run_history, whole_files
from tasks.hosts import training_hosts
from tasks.items import ItemTexts
from tasks.models import SEED, Model, keep_folder
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.live import Live
from tasks.runtime.progress import TimedProgress, progress_log
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, Store, open_store
from tasks.runtime.turns import turn_given_away
from tasks.texts import TextsByRole


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


NOTED = ("occurrences", "base_name", "settings_digest", "job", "before")
"""What the history notes, and what decides nothing of the model."""


@cached_task(name="train", version=TRAIN_VERSION, ignore=("execution", "apart", "live", *NOTED))
def train_protected(
    calibrated: Calibrated,
    edges: Ref,
    secrets: Ref,
    occurrences: Ref,
    examples: Ref,
    texts_by_role: TextsByRole,
    public: Ref,
    start: Model,
    lora: LoraConfig | None,
    *,
    items: ItemTexts | None = None,
    settings: TrainConfig,
    execution: Execution,
    base_name: str,
    settings_digest: str,
    job: str,
    before: Before | None,
    repetition: int = 0,
    apart: bool = False,
    live: Live | None = None,
) -> Trained:
    """Run the plan. Killed and started again, it goes on; no release beyond the plan's rounds is ever made.

    `settings` say what run it is (`TrainConfig.essential`), `execution` how it is done this time, `settings_digest`
    what was decided before any text was seen (`HushConfig.settings_digest`). `job` and `before`: under a promise of
    several runs, the name of the job and what its plan counted in. `items`: which text fills which item, where
    items are more than examples; `edges` are those of the examples.
    `repetition`: of a comparison that makes the same run several times, each with batches and noise of its own;
    `apart`: in a process of its own, whose memory is told. `live`: where its metrics are shown meanwhile.

    Raises:
        InputError: another run released something since the plan was made, or is training.
    """
    from hush_core.training import (
        adapted,
        fit_private,
        learning_curve,
        load_model,
        rounds_without_checkpoint,
        save_model,
        split_public,
    )
    from hush_core.training.checkpoint import CHECKPOINT, drop_previous
    from hush_core.training.processes import fit_in_processes

    store = open_store()
    plan = calibrated.load(store)
    run = settings.done_by(execution)
    filled = () if items is None else (items.filling.sha256, items.pieces_of)
    key = content_key(
        "train", TRAIN_VERSION, plan.digest, examples.sha256, start.files.sha256, lora, settings, *filled,
        *([f"repetition {repetition}"] if repetition else []),
    )  # fmt: skip
    tables = (calibrated.weights, edges, secrets, occurrences, examples, texts_by_role, public)
    rates, sigma = plan.as_sampled
    pools = items and items.load_pools(store)
    text = RunText(
        **_noted(store, *tables, settings_digest), noise_multiplier=sigma, rates=rates_of_texts(rates, pools),
        rounds=plan.rounds, items=None if pools is None else drawn_items(store.read_frame(edges), pools, rates),
    )  # fmt: skip
    texts = texts_of(store.read_frame(examples))
    if items is not None:
        texts = items.fill(texts, store)
    _, measured = split_public(texts_of(store.read_frame(public)))
    mixed, validation = (
        texts_of(store.read_frame(table)) for table in (texts_by_role.plain, texts_by_role.validation)
    )
    history = run_history()
    witness = history.note(key, text, job=job, before=None if before is None else before.model_dump_json())
    folder, log = store.path(start.files, verify=True), run_logger()
    if lost := rounds_without_checkpoint(store.work_dir(key)):
        log.warning(
            "%s: no checkpoint is left of the %d rounds released there. They stay counted, and training begins "
            "with the first weights; to keep them, stop and restore checkpoint.pt from a backup",
            store.work_dir(key), lost,
        )  # fmt: skip
    counted = before.others.load(store) if before is not None else None
    progress, watch = TimedProgress(progress_log()), None
    if live is not None:
        live.begin(history.public_name(key), plan.rounds)
        watch = live.row
    with store.scratch() as saved, history.training(key, text, counted) as lock:
        out = Path(saved) / "model"
        hosts = training_hosts()
        if run.processes > 1 or apart or hosts is not None:
            with turn_given_away():
                fitted = fit_in_processes(
                    run.processes, plan, texts, folder, run, lora, store.work_dir(key), out,
                    progress=progress, public=measured, untagged=mixed, validation=validation, seed=SEED,
                    base=base_name, witness=witness, watch=watch, lock=lock, **({"hosts": hosts} if hosts else {}),
                )  # fmt: skip
        else:
            model = adapted(load_model(folder), lora, seed=SEED)
            fitted = fit_private(
                plan, texts, model, run, store.work_dir(key), progress, public=measured,
                untagged=mixed, validation=validation, witness=witness, watch=watch,
            )  # fmt: skip
            save_model(fitted.model, out, base=base_name)
        if live is not None:
            live.end(failed=False)
        if fitted.cut:
            log.warning("%d examples are longer than the model's context and were cut there", fitted.cut)
        if fitted.resumed:
            lost = fitted.rounds_released - fitted.rounds_applied
            log.info("resumed: %d rounds released, %d of them lost", fitted.rounds_released, lost)
        if fitted.rounds_released < plan.rounds:
            log.info("stopped early: %d of %d rounds released", fitted.rounds_released, plan.rounds)
        kept = keep_folder(store, out, texts_by_role.held_out)
        history.note_model(key, kept.files.sha256)
        drop_previous(store.work_dir(key) / CHECKPOINT)
        earlier = history.earlier(key, text)
        if earlier.let_go.height:
            log.warning(
                "earlier runs protected text as %s that no entry names now, and this run uses it: nothing is "
                "promised of these over all runs", let_go_names(earlier, store.read_frame(secrets)),
            )  # fmt: skip
        return Trained(
            model=kept,
            rounds_released=fitted.rounds_released,
            rounds_applied=fitted.rounds_applied,
            run=history.public_name(key),
            others=OtherRuns.of(earlier, store),
            curve=learning_curve(fitted.log),
            seconds_a_round=progress.seconds_a_step(),
            peak_memory=getattr(fitted, "peak_memory", None),
        )


@cached_task(name="train without rounds", version=1, ignore=NOTED)
def keep_without_rounds(
    calibrated: Calibrated,
    edges: Ref,
    secrets: Ref,
    occurrences: Ref,
    examples: Ref,
    texts_by_role: TextsByRole,
    public: Ref,
    start: Model,
    lora: LoraConfig | None,
    *,
    base_name: str,
    settings_digest: str,
    job: str,
    before: Before | None,
) -> Trained:
    """The model as ordinary training left it, as that of a run without certified rounds, which is noted: what it
    trained on without noise, and none of the promised runs. Arguments as of `train_protected`; `before` is None of
    a mechanism that never makes a round.

    Raises:
        InputError: another run released something since `before`, or is training.
    """
    from hush_core.training import adapted, load_model, save_model

    store, history = open_store(), run_history()
    key = content_key("without rounds", 1, examples.sha256, edges.sha256, secrets.sha256, start.files.sha256)
    tables = (calibrated.weights, edges, secrets, occurrences, examples, texts_by_role, public)
    text = RunText.without_rounds(**_noted(store, *tables, settings_digest))
    counted = None if before is None else before.others.load(store)
    with store.scratch() as saved, history.training(key, text, counted):
        history.note_without_rounds(
            key, text, job=job, before=None if before is None else before.model_dump_json()
        )
        out = Path(saved) / "model"
        model = adapted(load_model(store.path(start.files, verify=True)), lora, seed=SEED)
        save_model(model, out, base=base_name)
        kept = keep_folder(store, out, texts_by_role.held_out)
        history.note_model(
            key, kept.files.sha256, of=before.champion.run if before and before.champion else ""
        )
        others = OtherRuns.of(history.earlier(key, text), store)
        run = history.public_name(key)
        return Trained(model=kept, rounds_released=0, rounds_applied=0, run=run, others=others)


def _noted(
    store: Store,
    weights: Ref,
    edges: Ref,
    secrets: Ref,
    occurrences: Ref,
    examples: Ref,
    texts_by_role: TextsByRole,
    public: Ref,
    settings_digest: str,
) -> dict[str, Any]:
    """What the run is to note, but for what its rounds draw: arguments of `RunText`."""
    table, roles = store.read_frame(examples), store.read_frame(weights)["role"]
    without_noise = (public, texts_by_role.plain, texts_by_role.validation, texts_by_role.held_out)
    return {
        "texts": table["text"].to_list(), "edges": store.read_frame(edges), "secrets": store.read_frame(secrets),
        "settings": settings_digest, "files": whole_files(table),
        "without_noise": [text for one in without_noise for text in store.read_frame(one)["text"]],
        "plain": roles.is_in([PLAIN, VALIDATION, HELD_OUT]).to_numpy(), "drawn": (roles == CERTIFIED).to_numpy(),
        "occurrences": store.read_frame(occurrences),
    }  # fmt: skip
