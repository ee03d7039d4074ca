"""Step 4: start from a model, pre-train on public text, then train: protected by the plan, and (for the demo)
unprotected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from prefect import task
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.config import (
    ByteGptModel,
    Execution,
    HuggingFaceModel,
    LoraConfig,
    PretrainConfig,
    TrainConfig,
)
from tasks.calibration import Calibrated
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, Store

if TYPE_CHECKING:
    from hush_core.training import LanguageModel

# torch is loaded in the functions that train or open a model: a run whose steps are all cached needs none of it

SEED = 20250607
"""Of initialisation and public pre-training only. Sampling and noise of the private run take fresh secret keys."""

UNPROTECTED_BATCH = 16
UNPROTECTED_LEARNING_RATE = {"byte_gpt": 3e-3, "full": 1e-4, "lora": 1e-3}
"""The small batches and the rates that are usual for AdamW; the protected run's are chosen for noise and would
be unfair here."""

MOST_EVALUATED = 400
"""Examples that a loss is measured on; all of them public or without a secret."""

AnyModel = ByteGptModel | HuggingFaceModel


class Model(BaseModel):
    """A model by reference, and its loss in bits (per `unit`) by kind of text it was measured on."""

    model_config = ConfigDict(frozen=True)

    files: Ref
    bits: dict[str, float]
    unit: str


class Trained(BaseModel):
    """The protected model, what was released to get it, and its loss on public text by rounds released."""

    model_config = ConfigDict(frozen=True)

    model: Model
    rounds_released: int
    rounds_applied: int
    earlier_runs: Ref
    """secret_id, earlier_runs u32: other runs of this store, up to the end of this one, that trained on it."""
    secrets_trained_before: int
    runs_on_this_data: int
    """This one, and the most earlier runs of any secret."""
    unknown_runs: int
    """Of the earlier runs: those that do not say whose text they saw. They count for every secret."""
    curve: tuple[tuple[int, float], ...] = ()


def lora_of(model: AnyModel) -> LoraConfig | None:
    """The adapters that a config asks for, if any."""
    return model.lora if isinstance(model, HuggingFaceModel) else None


def base_model(model: AnyModel) -> Ref | None:
    """The named model in the store; None for a model that is made from nothing."""
    return fetch_model(model) if isinstance(model, HuggingFaceModel) else None


def base_name(model: AnyModel) -> str:
    """What adapters say that they belong to: the hub's name, or the folder's own."""
    if isinstance(model, ByteGptModel):
        return ""
    return Path(model.name).name if Path(model.name).is_dir() else model.name


@task(name="fetch_model")
def fetch_model(model: HuggingFaceModel) -> Ref:
    """A copy of the named model in the store, so that a run is of its content and not of its name. Not cached:
    the name may stand for another content tomorrow."""
    from hush_core.training.models import copy_model, model_folder

    store = Store(home().store)
    with store.scratch() as folder:
        path = Path(folder) / "model"
        copy_model(model_folder(model), path)
        return store.put_directory(path, kind="base")


@cached_task(name="pretrain", version=3, ignore=("micro_batch",))
def pretrain(
    public: Ref,
    examples: Ref,
    held_out: Ref,
    model: AnyModel,
    base: Ref | None,
    settings: PretrainConfig,
    chunk_bytes: int,
    micro_batch: int,
) -> Model:
    """Ordinary training on public text, from a fresh model or the named one; with 0 steps, that model."""
    from hush_core.training import adapted, fit_plain, split_public

    store = Store(home().store)
    start = _open(store, model, base, chunk_bytes)
    texts, _ = split_public(store.read_frame(public)["text"].to_list())
    if settings.steps and texts:
        start = adapted(start, lora_of(model), seed=SEED)
        fit_plain(
            texts,
            start,
            steps=settings.steps,
            batch=settings.batch,
            learning_rate=settings.learning_rate,
            micro_batch=micro_batch,
            seed=SEED,
            progress=progress_log(),
        )
    elif settings.steps:
        get_run_logger().warning("nothing to pre-train on: no public example (see `public:` in the config)")
    return _keep(store, start, examples, held_out, merge=False)


TRAIN_VERSION = 4


@cached_task(name="train", version=TRAIN_VERSION, ignore=("execution", "base_name"))
def train_protected(
    calibrated: Calibrated,
    edges: Ref,
    secrets: Ref,
    examples: Ref,
    held_out: Ref,
    public: Ref,
    start: Model,
    lora: LoraConfig | None,
    *,
    settings: TrainConfig,
    execution: Execution,
    base_name: str,
) -> Trained:
    """Run the plan. Killed and started again, it goes on; no release beyond the plan's rounds is ever made.

    `settings` say what run it is (`TrainConfig.essential`), `execution` how it is done this time.
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
    from hush_core.training.run_history import RunHistory, RunText

    store = Store(home().store)
    plan = calibrated.load(store)
    run = settings.done_by(execution)
    key = content_key(
        "train", TRAIN_VERSION, plan.digest, examples.sha256, start.files.sha256, lora, settings
    )
    texts = store.read_frame(examples)["text"].to_list()
    _, measured = split_public(store.read_frame(public)["text"].to_list())
    text = RunText(texts, plan.rates, store.read_frame(edges), store.read_frame(secrets))
    place = home()
    history = RunHistory(store.root, key=place.identity_key(), identity=place.fingerprint("identity"))
    witness = history.note(key, text)
    folder, log = store.path(start.files, verify=True), get_run_logger()
    if lost := rounds_without_checkpoint(store.work_dir(key)):
        log.warning(
            "%s: no checkpoint is left of the %d rounds released there. They stay counted, and training begins "
            "with the first weights; to keep them, stop and restore checkpoint.pt from a backup",
            store.work_dir(key), lost,
        )  # fmt: skip
    with store.scratch() as saved:
        out = Path(saved) / "model"
        if run.processes > 1:
            fitted = fit_in_processes(
                run.processes, plan, texts, folder, run, lora, store.work_dir(key), out,
                progress=progress_log(), public=measured, seed=SEED, base=base_name, witness=witness,
            )  # fmt: skip
        else:
            model = adapted(load_model(folder), lora, seed=SEED)
            fitted = fit_private(
                plan, texts, model, run, store.work_dir(key), progress_log(), public=measured,
                witness=witness,
            )  # fmt: skip
            save_model(fitted.model, out, base=base_name)
        if fitted.cut:
            log.warning("%d examples are longer than the model's context and were cut there", fitted.cut)
        if fitted.resumed:
            lost = fitted.rounds_released - fitted.rounds_applied
            log.info("resumed: %d rounds released, %d of them lost", fitted.rounds_released, lost)
        if fitted.rounds_released < plan.rounds:
            log.info("stopped early: %d of %d rounds released", fitted.rounds_released, plan.rounds)
        kept = _kept(store, out, examples, held_out)
        drop_previous(store.work_dir(key) / CHECKPOINT)
        earlier = history.earlier(key, text)
        counts = pl.DataFrame({"earlier_runs": earlier.runs}).with_row_index("secret_id")
        return Trained(
            model=kept,
            rounds_released=fitted.rounds_released,
            rounds_applied=fitted.rounds_applied,
            earlier_runs=store.put_frame(counts, kind="earlier_runs"),
            secrets_trained_before=earlier.secrets,
            runs_on_this_data=1 + earlier.most,
            unknown_runs=earlier.unknown,
            curve=learning_curve(fitted.log),
        )


@cached_task(name="train_unprotected", version=2)
def train_unprotected(
    examples: Ref, held_out: Ref, start: Model, model: AnyModel, settings: TrainConfig
) -> Model:
    """The same model on the same data, no clipping, no noise, as many examples seen. Never registered.

    Every example equally often.
    """
    from hush_core.training import adapted, fit_plain, load_model

    store = Store(home().store)
    lora = lora_of(model)
    network = adapted(load_model(store.path(start.files, verify=True)), lora, seed=SEED)
    kind = model.kind if isinstance(model, ByteGptModel) else "lora" if lora else "full"
    kept_out = set(store.read_json(held_out))
    texts = [t for i, t in enumerate(store.read_frame(examples)["text"].to_list()) if i not in kept_out]
    fit_plain(
        texts,
        network.at(settings.precision),
        steps=settings.rounds * settings.batch // UNPROTECTED_BATCH,
        batch=UNPROTECTED_BATCH,
        learning_rate=UNPROTECTED_LEARNING_RATE[kind],
        micro_batch=settings.micro_batch,
        seed=SEED,
        stage="unprotected",
        progress=progress_log(),
    )
    return _keep(store, network, examples, held_out)


def _open(store: Store, model: AnyModel, base: Ref | None, chunk_bytes: int) -> LanguageModel:
    from hush_core.training import byte_gpt, open_model

    if isinstance(model, ByteGptModel):
        return byte_gpt(model, context=chunk_bytes, seed=SEED)
    here = model.model_copy(update={"name": str(store.path(base, verify=True))})
    opened, fresh = open_model(here, longest=chunk_bytes, seed=SEED)
    if fresh:
        get_run_logger().warning(
            "%d parameters are not in %s and start at random, %s among them: pre-train on public text",
            len(fresh), model.name, fresh[0],
        )  # fmt: skip
    return opened


def _keep(store: Store, model: LanguageModel, examples: Ref, held_out: Ref, *, merge: bool = True) -> Model:
    from hush_core.training import save_model

    with store.scratch() as folder:
        path = Path(folder) / "model"
        save_model(model, path, merge=merge)
        return _kept(store, path, examples, held_out)


def _kept(store: Store, path: Path, examples: Ref, held_out: Ref) -> Model:
    """Measure what was saved, as it was saved, and keep it."""
    from hush_core.training import load_model

    model = load_model(path).on_accelerator()
    texts = _texts(store, examples, store.read_json(held_out))
    bits = {"held-out, no secret": model.evaluate(texts, max_examples=MOST_EVALUATED)} if texts else {}
    return Model(files=store.put_directory(path, kind="model"), bits=bits, unit=model.unit)


def _texts(store: Store, examples: Ref, ids: Sequence[int]) -> list[bytes]:
    column = store.read_frame(examples)["text"]
    return [column[i] for i in ids]
