"""Step 4a: training without noise: on public text, on text without a secret, and (for the demo) on everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from hush_core.config import PretrainConfig, TrainConfig, UntaggedConfig
from hush_core.corpus.prompted import texts_of
from tasks.models import SEED, AnyModel, Model, keep, lora_of, open_start
from tasks.runtime.caching import cached_task
from tasks.runtime.progress import progress_log
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, open_store
from tasks.texts import TextsByRole

if TYPE_CHECKING:
    from hush_core.training import UntaggedFit


class PlainlyTrained(BaseModel, frozen=True):
    """What ordinary training came to, and how: loss on validation text by steps, the rate, where it was best."""

    model: Model
    steps: int
    """After which the model was best on validation text, and is as it was then."""
    learning_rate: float
    curve: tuple[tuple[int, float], ...]


@cached_task(name="pretrain", version=5, ignore=("micro_batch",))
def pretrain(
    public: Ref,
    held_out: Ref,
    model: AnyModel,
    base: Ref | None,
    settings: PretrainConfig,
    chunk_bytes: int,
    micro_batch: int,
) -> Model:
    """Ordinary training on public text, from a fresh model or the named one; with 0 steps, that model."""
    from hush_core.training import adapted, fit_plain, split_public

    store = open_store()
    start = open_start(store, model, base, chunk_bytes)
    texts, _ = split_public(texts_of(store.read_frame(public)))
    if settings.steps and texts:
        start = adapted(start, lora_of(model), seed=SEED)
        fit_plain(
            texts, start, steps=settings.steps, batch=settings.batch, learning_rate=settings.learning_rate,
            micro_batch=micro_batch, seed=SEED, progress=progress_log(),
        )  # fmt: skip
    elif settings.steps:
        run_logger().warning("nothing to pre-train on: no public example (see `public:` in the config)")
    return keep(store, start, held_out, merge=False)


@cached_task(name="train_untagged", version=1, ignore=("micro_batch",))
def train_untagged(
    plain: Ref,
    validation: Ref,
    held_out: Ref,
    start: Model,
    model: AnyModel,
    settings: UntaggedConfig,
    precision: str,
    micro_batch: int,
    repetition: int = 0,
) -> PlainlyTrained:
    """Ordinary training on the text without a secret, to the state that is best on validation text.

    None of the tables holds an example with a secret, so what comes out is the same for every candidate.
    `repetition`: of a comparison; each has another order of the text.
    """
    fitted = _fit(
        plain, validation, start, model, settings, precision, micro_batch, stage="untagged",
        seed=SEED + repetition,
    )  # fmt: skip
    return _kept(fitted, held_out, merge=False)


@cached_task(name="train_unprotected", version=4)
def train_unprotected(
    texts: TextsByRole,
    everything: Ref,
    start: Model,
    model: AnyModel,
    settings: TrainConfig,
    plan: UntaggedConfig,
    *,
    more: int,
) -> PlainlyTrained:
    """The same model on all of the data, no clipping, no noise, at its best. Never registered.

    It is trained by `plan`, as text without a secret is, but for the steps. It may see as many examples as the
    protected model does (`more`: before its rounds), every one equally often. It is kept where it is best on
    validation text. Where every example holds a secret there is no such text, and the last state is taken.
    """
    seen = settings.rounds * settings.batch + more
    steps = max(1, seen // plan.batch)
    plan = plan.model_copy(update={"steps": steps, "evaluate_every": min(plan.evaluate_every, steps)})
    fitted = _fit(
        everything, texts.validation, start, model, plan, settings.precision, settings.micro_batch,
        stage="unprotected",
    )  # fmt: skip
    return _kept(fitted, texts.held_out)


def _fit(
    texts: Ref, validation: Ref, start: Model, model: AnyModel, plan: UntaggedConfig, precision: str,
    micro_batch: int, *, stage: str, seed: int = SEED,
) -> UntaggedFit:  # fmt: skip
    """To the state that is best on validation text; of an unprotected model without any such text, to the last."""
    from hush_core.training import UntaggedFit, adapted, fit_plain, fit_untagged, load_model
    from hush_core.training.untagged import usual_rate

    store, log = open_store(), progress_log()
    seen, judged = (texts_of(store.read_frame(table)) for table in (texts, validation))
    network = adapted(load_model(store.path(start.files, verify=True)), lora_of(model), seed=SEED)
    progress = lambda _, done, steps: log(stage, done, steps)  # noqa: E731
    how = {"micro_batch": micro_batch, "seed": seed, "progress": progress}
    if judged or stage != "unprotected":
        fitted = fit_untagged(seen, judged, network, plan, precision=precision, **how)
        at = stage, fitted.steps, fitted.learning_rate
        run_logger().info("%s: best after %d steps at learning rate %g", *at)
        return fitted
    rate = usual_rate(network)
    fit_plain(seen, network.at(precision), steps=plan.steps, batch=plan.batch, learning_rate=rate, **how)
    return UntaggedFit(network, plan.steps, (), rate, cut=0)


def _kept(fitted: UntaggedFit, held_out: Ref, *, merge: bool = True) -> PlainlyTrained:
    model = keep(open_store(), fitted.model, held_out, merge=merge)
    return PlainlyTrained(
        model=model, steps=fitted.steps, learning_rate=fitted.learning_rate, curve=fitted.curve
    )
