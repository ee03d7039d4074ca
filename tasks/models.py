"""Models by reference: fetched, opened, measured as they are saved, kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from hush_core.config import ByteGptModel, HuggingFaceModel, LoraConfig
from hush_core.corpus.prompted import texts_of
from tasks.runtime.caching import cached_task
from tasks.runtime.steps import run_logger, step
from tasks.runtime.store import Ref, Store, open_store

if TYPE_CHECKING:
    from hush_core.training import LanguageModel

# torch is loaded in the functions that train or open a model: a run whose steps are all cached needs none of it

SEED = 20250607
"""Of initialisation and training without noise. Sampling and noise of the private run take fresh secret keys."""

MOST_EVALUATED = 400
"""Examples that a loss is measured on."""

AnyModel = ByteGptModel | HuggingFaceModel


class Model(BaseModel, frozen=True):
    """A model by reference, and its loss in bits (per `unit`) on held-out examples without a secret."""

    files: Ref
    bits: float | None
    """None: no such example is held out."""
    unit: str

    def load(self) -> LanguageModel:
        """The model itself, once its files are seen to be what they were."""
        from hush_core.training import load_model

        return load_model(open_store().path(self.files, verify=True))


def lora_of(model: AnyModel) -> LoraConfig | None:
    return model.lora if isinstance(model, HuggingFaceModel) else None


def base_model(model: AnyModel) -> Ref | None:
    """The named model in the store; None for a model that is made from nothing."""
    return fetch_model(model) if isinstance(model, HuggingFaceModel) else None


def base_name(model: AnyModel) -> str:
    """What adapters say that they belong to: the hub's name, or the folder's own."""
    if isinstance(model, ByteGptModel):
        return ""
    return Path(model.name).name if Path(model.name).is_dir() else model.name


@step(name="fetch_model")
def fetch_model(model: HuggingFaceModel) -> Ref:
    """A copy of the named model in the store, so that a run is of its content and not of its name. Not cached:
    the name may have another content tomorrow."""
    from hush_core.training.models import copy_model, model_folder

    store = open_store()
    with store.scratch() as folder:
        path = Path(folder) / "model"
        copy_model(model_folder(model), path)
        return store.put_directory(path, kind="base")


def open_start(store: Store, model: AnyModel, base: Ref | None, chunk_bytes: int) -> LanguageModel:
    """The model that a config names, before any training."""
    from hush_core.training import byte_gpt, open_model

    if isinstance(model, ByteGptModel):
        return byte_gpt(model, context=chunk_bytes, seed=SEED)
    here = model.model_copy(update={"name": str(store.path(base, verify=True))})
    opened, fresh = open_model(here, longest=chunk_bytes, seed=SEED)
    if fresh:
        run_logger().warning(
            "%d parameters are not in %s and start at random, %s among them: pre-train on public text",
            len(fresh), model.name, fresh[0],
        )  # fmt: skip
    return opened


def keep(store: Store, model: LanguageModel, held_out: Ref, *, merge: bool = True) -> Model:
    from hush_core.training import save_model

    with store.scratch() as folder:
        path = Path(folder) / "model"
        save_model(model, path, merge=merge)
        return keep_folder(store, path, held_out)


def keep_folder(store: Store, path: Path, held_out: Ref) -> Model:
    """Measure what was saved, as it was saved, and keep it."""
    from hush_core.training import load_model

    model = load_model(path).on_accelerator()
    bits = _loss(model, texts_of(store.read_frame(held_out)))
    return Model(files=store.put_directory(path, kind="model"), bits=bits, unit=model.unit)


def _loss(model: LanguageModel, texts: list[bytes]) -> float | None:
    """In bits; None where there is nothing to score, as none of what is learned lies within the context."""
    bits = model.evaluate(texts, max_examples=MOST_EVALUATED) if texts else None
    return bits if bits == bits else None  # NaN is not equal to itself


@cached_task(name="measure", version=1)
def measure(model: Model, texts: Ref) -> float | None:
    """Loss in bits per `model.unit` on a table of texts; None where it is empty."""
    some = texts_of(open_store().read_frame(texts))
    return _loss(model.load().on_accelerator(), some) if some else None
