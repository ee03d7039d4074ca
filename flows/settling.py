"""What a run is: the file's job with every number and every `protect: auto` settled, the same for all commands.

`hush plan` shows it, `hush run` takes it. The thinking is `hush_core.weights.choice`; every step is a task, reused
where its inputs have not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flows.extraction import extracted_of
from flows.reports.ways import sentences
from flows.sweep import numbers_of, recommended_point
from hush_core.config import DroppingMechanism, HushConfig, HushMechanism, RedactionMechanism
from hush_core.weights import (
    Predicted,
    Way,
    batch_for,
    can_redact,
    decide,
    left_out_for_sure,
    rounds_for,
    step_for,
    taking,
    values_redacted,
    weight_settings,
)
from hush_core.weights.choice import Taken
from tasks.extraction import Extracted, refuse_empty_entries, refuse_without_edges
from tasks.weighing import GraphSignal, graph_signal, weigh_examples


@dataclass(frozen=True)
class Settled:
    """config: with nothing left open. ways: of each entry; none of a mechanism without noise that the file names.
    replaced: sentences on numbers of the file that are not used as they are."""

    config: HushConfig
    extracted: Extracted
    ways: tuple[Way, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """What a reader of a run must know first: rounds that are made though they are predicted to gain nothing,
        and numbers of the file that are not used."""
        return [*sentences([way for way in self.ways if way.little]), *self.replaced]


def settle(asked: HushConfig, *, candidates: bool = False, trains: bool = False) -> Settled:
    """Decide what the file leaves open. `candidates`: secrets that are not values are taken under noise whatever is
    predicted, as a rehearsal measures them. `trains`: an entry that protects nothing is refused, before the weights
    are computed."""
    if not asked.mechanism.makes_noise:
        return Settled(asked, _found(asked, trains))
    first = values_redacted(asked)
    undecided = [entry.id for entry in first.secrets if entry.protect == "auto"]
    if candidates:
        ways: dict[str, Taken] = {
            e.id: "redact" if can_redact(e) else "noise" for e in first.secrets if e.id in undecided
        }
        decided = taking(first, ways)
        _found(decided, trains)
        return _numbered(asked, decided, plain=True)
    numbers = numbers_of(asked)
    if undecided and (signal := left_out_for_sure(first, numbers)) is not None:
        left = taking(first, dict.fromkeys(undecided, "drop"))
        extracted = _found(left, trains)
        foreseen = graph_signal(extracted)
        predicted = Predicted(signal, numbers, extracted.n_examples + foreseen.dropped, foreseen.dropped)
        if not predicted.nothing_left:
            return _decided(asked, first, undecided, predicted, foreseen)
    extracted = _found(first, trains)
    foreseen = graph_signal(extracted)
    predicted = Predicted(foreseen.signal, numbers, extracted.n_examples, foreseen.tagged)
    settled = _decided(asked, first, undecided, predicted, foreseen)
    by_law = any(way.entry in undecided and way.taken == "noise" for way in settled.ways)
    # the law is of many draws: these rounds have a signal of their own
    if by_law and not predicted.nothing_left:
        own, train = recommended_point(settled.config, settled.extracted), settled.config.train
        if own is not None and own.estimate is not None:
            signal = train.batch * train.rounds**0.5 / own.estimate.noise_multiplier
            settled = _decided(asked, first, undecided, replace(predicted, signal=signal), foreseen)
    return settled


def _found(config: HushConfig, trains: bool) -> Extracted:
    extracted = extracted_of(config)
    if trains:
        refuse_empty_entries(config, extracted)
    return extracted


def _decided(
    asked: HushConfig, first: HushConfig, undecided: list[str], predicted: Predicted, signal: GraphSignal
) -> Settled:
    ways = decide(asked, signal.entries(first), predicted)
    taken = {way.entry: way.taken for way in ways if way.entry in undecided}
    return replace(_numbered(asked, taking(first, taken), plain=not predicted.nothing_left), ways=ways)


def _numbered(asked: HushConfig, decided: HushConfig, *, plain: bool) -> Settled:
    """The numbers of the rounds; None where no entry is learned under noise. `plain`: whether there is text to
    train on without noise, if the file does not say what happens to it."""
    extracted, without = extracted_of(decided), asked.without_secret
    if not extracted.n_edges and not asked.asks_for_noise:
        return _without_rounds(asked, decided, extracted)
    refuse_without_edges(extracted)
    if not plain:
        without = asked.weights.without_secret or "noise"
    chosen: dict[str, Any] = {"weights.without_secret": without}
    if decided.train.rounds is None:
        chosen["train.rounds"] = rounds_for(decided)
    config, sentence = decided.with_chosen(chosen), ""
    settings = weight_settings(_with_most_weight(config))
    weighed = weigh_examples(**extracted.graph, settings=settings, mechanism=config.mechanism)
    batch, sentence = batch_for(config, weighed.candidates, max(1, weighed.largest_batch))
    if batch != config.train.batch:
        config = config.with_chosen({"train.batch": batch})
    config = config.with_chosen(step_for(config))
    program = isinstance(config.mechanism, HushMechanism)
    if program and config.weights.c is None and config.weights.noise_multiplier is None:
        point = recommended_point(config, extracted) if config.promise is None else None
        c = config.c_of_promise or (1.0 if point is None else point.settings.c)
        config = config.with_chosen({"weights.c": c})
    return Settled(config, extracted, replaced=(sentence,) if sentence else ())


def _with_most_weight(config: HushConfig) -> HushConfig:
    """The job by whose weights it is seen how large a batch can be: at the c that is given, else at 1."""
    weights = config.weights
    if weights.capacities == "equalised":  # which are solved for a batch
        weights = weights.model_copy(update={"capacities": "matched", "noise_multiplier": None})
    weights = weights.model_copy(update={"c": weights.c or config.c_of_promise or 1.0})
    train = config.train.model_copy(update={"batch": config.train.batch or 1})
    return config.model_copy(update={"weights": weights, "train": train})


def _without_rounds(asked: HushConfig, decided: HushConfig, extracted: Extracted) -> Settled:
    """Nothing is learned under noise: values are replaced, other examples with a secret are left out, and the rest
    is trained on without noise."""
    redacts = any(entry.protect == "redact" for entry in decided.secrets)
    mechanism = RedactionMechanism(kind="redaction") if redacts else DroppingMechanism(kind="dropping")
    config = decided.with_chosen({
        "mechanism": mechanism, "weights.without_secret": "plain", "train.rounds": rounds_for(asked),
        "train.batch": asked.train.batch or 1, "weights.c": asked.weights.c or 1.0,
        "train.optimizer": asked.train.optimizer or "adamw",
        "train.untagged_batch": asked.train.untagged_batch or 0,
    })  # fmt: skip
    train, c = asked.train, asked.weights.c
    given = {"train.rounds": train.rounds, "train.batch": train.batch, "weights.c": c}
    unused = ", ".join(key for key, value in given.items() if value is not None)
    replaced = (f"{unused}: not used, as no certified round is made",) if unused else ()
    return Settled(config, extracted, replaced=replaced)
