"""What a run is: the file's job with every number and every `protect: auto` settled, the same for all commands.

`hush plan` shows it, `hush run` takes it. The thinking is `hush_core.weights.choice`; every step is a task, reused
where its inputs have not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flows.extraction import extracted_of
from flows.sweep import numbers_of, recommended_point
from hush_core.config import DroppingMechanism, HushConfig, HushMechanism, RedactionMechanism, makes_noise
from hush_core.weights import (
    Predicted,
    Way,
    batch_for,
    decide,
    rounds_for,
    taking,
    values_redacted,
    weight_settings,
)
from hush_core.weights.choice import FEWEST
from tasks.extraction import Extracted
from tasks.foreseen import Foreseen, foresee
from tasks.runtime.environment import home
from tasks.runtime.store import Store
from tasks.weighing import weigh_examples


@dataclass(frozen=True)
class Settled:
    """config: with nothing left open. ways: of each entry; none of a mechanism without noise that the file names.
    replaced: sentences on numbers of the file that are not used as they are."""

    config: HushConfig
    extracted: Extracted
    ways: tuple[Way, ...] = ()
    replaced: tuple[str, ...] = ()


def settle(asked: HushConfig, *, candidates: bool = False) -> Settled:
    """Decide what the file leaves open.

    Args:
        candidates: what is no value is taken under noise whatever is predicted: what a rehearsal measures.
    """
    if not makes_noise(asked.mechanism):
        return Settled(asked, extracted_of(asked))
    first = values_redacted(asked)
    undecided = [entry.id for entry in first.secrets if entry.protect == "auto"]
    extracted = extracted_of(first)
    foreseen = foresee(first, extracted)
    predicted = Predicted(
        signal=foreseen.signal, numbers=numbers_of(asked), examples=extracted.n_examples, tagged=foreseen.tagged,
        free=extracted.n_examples - foreseen.tagged,
    )  # fmt: skip
    if candidates:
        return _numbered(asked, taking(first, dict.fromkeys(undecided, "noise")), predicted, foreseen)
    settled = _decided(asked, first, undecided, predicted, foreseen)
    by_law = [way.entry for way in settled.ways if way.entry in undecided and way.taken == "noise"]
    if by_law and predicted.free >= FEWEST:  # the law is of many rounds: these have a signal of their own
        own = recommended_point(settled.config, settled.extracted)
        if own is not None and own.estimate is not None:
            train = settled.config.train
            signal = (train.batch or 1) * (train.rounds or 1) ** 0.5 / own.estimate.noise_multiplier
            settled = _decided(asked, first, undecided, replace(predicted, signal=signal), foreseen)
    return settled


def _decided(
    asked: HushConfig, first: HushConfig, undecided: list[str], predicted: Predicted, foreseen: Foreseen
) -> Settled:
    ways = decide(asked, foreseen.entries(first), predicted)
    taken = {way.entry: way.taken for way in ways if way.entry in undecided}
    return replace(_numbered(asked, taking(first, taken), predicted, foreseen), ways=ways)


def _numbered(asked: HushConfig, decided: HushConfig, predicted: Predicted, foreseen: Foreseen) -> Settled:
    """The numbers of the rounds; or none of them, where no entry is learned under noise."""
    extracted = extracted_of(decided)
    if not extracted.n_edges and isinstance(decided.mechanism, HushMechanism) and not asked.asks_for_noise:
        return _without_rounds(asked, decided, extracted)
    chosen: dict[str, Any] = {"weights.without_secret": asked.without_secret}
    if decided.train.rounds is None:
        chosen["train.rounds"] = rounds_for(decided)
    config, replaced = decided.with_chosen(chosen), ()
    program = isinstance(config.mechanism, HushMechanism)
    widest = config if config.weights.c is not None or not program else config.with_chosen({"weights.c": 1.0})
    if widest.weights.capacities == "equalised":  # which need a batch to be solved for
        changed = widest.weights.model_copy(
            update={"capacities": "matched", "noise_multiplier": None, "c": 1.0}
        )
        widest = widest.model_copy(update={"weights": changed})
    if widest.train.batch is None:
        widest = widest.with_chosen({"train.batch": 1})
    weighed = weigh_examples(
        extracted.examples, edges=extracted.edges, secrets=extracted.secrets, n_examples=extracted.n_examples,
        settings=weight_settings(widest), mechanism=config.mechanism,
    )  # fmt: skip
    batch, sentence = batch_for(config, weighed.candidates, max(1, weighed.largest_batch))
    if batch != config.train.batch:
        config = config.with_chosen({"train.batch": batch})
        replaced = (sentence,) if sentence else ()
    if program and config.weights.c is None and config.weights.noise_multiplier is None:
        point = recommended_point(config, extracted)
        config = config.with_chosen({"weights.c": 1.0 if point is None else point.settings.c})
    return Settled(config, extracted, replaced=replaced)


def _without_rounds(asked: HushConfig, decided: HushConfig, extracted: Extracted) -> Settled:
    """Nothing is learned under noise: values are replaced, what else holds a secret is left out, the rest is trained
    on as usual."""
    redacts = any(entry.protect == "redact" for entry in decided.secrets)
    mechanism = RedactionMechanism(kind="redaction") if redacts else DroppingMechanism(kind="dropping")
    config = decided.with_chosen({
        "mechanism": mechanism, "weights.without_secret": "plain", "train.rounds": rounds_for(asked),
        "train.batch": asked.train.batch or 1, "weights.c": asked.weights.c or 1.0,
    })  # fmt: skip
    given = [key for key in ("rounds", "batch") if getattr(asked.train, key) is not None]
    given = [f"train.{key}" for key in given] + ["weights.c"] * (asked.weights.c is not None)
    unused = (f"{', '.join(given)}: not used, as no certified round is made",) if given else ()
    return Settled(config, extracted, replaced=unused)


def coverage_of(extracted: Extracted) -> dict[str, Any]:
    return Store(home().store).read_json(extracted.coverage)
