"""A whole private training run, which survives being killed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from hush_core.config import TrainConfig
from hush_core.corpus.prompted import PromptedText
from hush_core.corpus.records import ItemText, texts_of_item
from hush_core.errors import InputError
from hush_core.history.ledger import LEDGER, ReleaseLedger, releases_in
from hush_core.progress import Progress, Watch
from hush_core.training.averaging import KeptWeights
from hush_core.training.checkpoint import CHECKPOINT, check_room, load_checkpoint, save_checkpoint
from hush_core.training.data import predicts
from hush_core.training.independence import check_model
from hush_core.training.job import Job, OtherTexts
from hush_core.training.language_model import LanguageModel
from hush_core.training.loop import frozen, graceful, run_rounds
from hush_core.training.lora import adapted
from hush_core.training.models import load_model
from hush_core.training.module import PrivateModule
from hush_core.training.noise import SecureGaussian, grid_step
from hush_core.training.placement import items_that_hold, longest_input, same_kernels
from hush_core.training.ranks import Ranks
from hush_core.training.rounded_gaussian import check_spread
from hush_core.training.rounds import Item, Rounds, items_at_once, rows_of_item
from hush_core.training.sampler import CyclicSampler, WeightedPoissonSampler
from hush_core.training.schedule import Attempt
from hush_core.training.update import update_of

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan


@dataclass(frozen=True)
class Fitted:
    """A finished private run. Everything here but `peak_memory` is public."""

    model: LanguageModel | None
    """None of a run in other processes: it is in the folder that the job names."""
    rounds_released: int
    """Counted over all attempts; never above the plan's."""
    rounds_applied: int
    """Those that shaped the model; lower where an attempt was killed between two checkpoints."""
    resumed: bool
    cut: int
    """Examples that are longer than the model's context, and were cut there."""
    log: list[dict[str, Any]]
    """One row per applied round: round, learning_rate and, where it was evaluated, public_loss and validation_loss
    in bits, of what would be kept (`train.average`)."""

    peak_memory: int | None = None
    """Of a run in other processes: the most bytes that the first took at once, on a GPU where it trains there, else
    of all its memory."""


def fit_job(job: Job, progress: Progress | None = None, watch: Watch | None = None) -> Fitted:
    """`fit_private` of the model that a job names, in each of its processes."""
    model = adapted(load_model(job.model_dir), job.lora, seed=job.seed)
    return fit_private(
        job.plan, job.texts, model, job.settings, job.work_dir, progress, others=job.others, witness=job.witness,
        watch=watch,
    )  # fmt: skip


def fit_private(
    plan: ProtectionPlan,
    texts: Sequence[ItemText],
    model: LanguageModel,
    train_config: TrainConfig,
    work_dir: Path,
    progress: Progress | None = None,
    *,
    others: OtherTexts = OtherTexts(),  # noqa: B008 - frozen
    witness: Path | None = None,
    rehearsal: bytes | None = None,
    watch: Watch | None = None,
) -> Fitted:
    """Train `model` in place under the plan; call it again with the same arguments to resume.

    In a process group (torch.distributed) every rank calls it with the same arguments: the batch is shared
    out, and the model is the same on all of them as with one process: sums are exact.

    Args:
        plan: rates (n,), noise multiplier, rounds, expected batch, clip norm, records of an item.
        texts: (n,) by item: the text of an example, or the records of a pool.
        train_config: learning rate and its schedule, optimiser, precision, micro-batch, checkpoint interval,
            evaluation and early stopping (what the plan fixes is taken from the plan).
        work_dir: private to this run: ledger and checkpoint. Keep it for a resume.
        progress: called as progress("train", releases so far, plan.rounds).
        others: texts that no edge of the graph names.
        witness: where each release is counted a second time, in another folder; beside the ledger if None.
        rehearsal: 32 bytes that fix all batches and noise. For a plan without certificates only, on text that
            is not protected: anyone who knows them can take the noise off again.
        watch: called with each row of the log, after its round, on the first rank.

    Raises:
        InputError: texts, model or work_dir do not fit the plan. Early stopping or `keep: best` without text
            that may decide. No untagged text for `untagged_batch`. All rounds are spent and nothing is left of
            them. No room for checkpoints (before a round is spent).
        KeyboardInterrupt: after SIGINT, when the round is finished and a checkpoint written.

    Guarantee: all attempts in `work_dir` together release at most plan.rounds noisy gradients, however they
    ended; each attempt takes fresh keys for sampling and noise, so no batch and no draw is used twice.
    """
    if len(texts) != len(plan.rates):
        what = f"are {len(texts)}, the plan has {len(plan.rates)} rates"
        raise InputError("texts", what, "pass one per rate")
    if rehearsal is not None and plan.certificates.height:
        hint = "leave them to the operating system"
        raise InputError("rehearsal", "a certified plan has fixed draws", hint)
    measured = others.public or others.validation
    if (train_config.early_stopping or train_config.keep == "best") and not measured:
        raise InputError(
            "train.early_stopping" if train_config.early_stopping else "train.keep",
            "needs at least 40 public examples",
            "name more under `public:`, or train without noise on untagged text (weights.without_secret: plain). "
            "No other text may decide",
        )
    model = model.at(train_config.precision).on_accelerator()  # what is tried below is tried where it trains
    with frozen(model.network, train_config.freeze), same_kernels(model.device):
        return _fit(
            plan, texts, model, train_config, work_dir, progress, others=others, witness=witness,
            rehearsal=rehearsal, watch=watch,
        )  # fmt: skip


def _fit(
    plan: ProtectionPlan,
    texts: Sequence[ItemText],
    model: LanguageModel,
    settings: TrainConfig,
    work_dir: Path,
    progress: Progress | None,
    *,
    others: OtherTexts,
    witness: Path | None,
    rehearsal: bytes | None,
    watch: Watch | None,
) -> Fitted:
    """`fit_private` of whatever is trainable."""
    ranks, checkpoint = Ranks.current(), work_dir / CHECKPOINT
    _check(plan, model, settings, others)
    items, cut = _encoded(model, texts)
    work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    update = update_of(plan, model, settings, others.untagged, _key(rehearsal, "mix"))
    optimizer, scale = update.optimizer, update.scale
    kept = KeptWeights(model.network, settings, plan.rounds)
    begun = {} if scale is None else {name: tensor.clone() for name, tensor in scale.tensors.items()}
    with _ledger(plan, texts, model, work_dir, witness, ranks) as ledger:
        before = ranks.share(ledger.released if ledger else None)
        log = load_checkpoint(checkpoint, model.network, optimizer, kept.tensors | begun)
        if scale is not None:
            scale.resume(begun, str(checkpoint))
        kept.resume(log)
        if ledger and log:
            ledger.at_least(log[-1]["round"] + 1)
        if before >= plan.rounds and not log:
            raise InputError(
                str(work_dir), f"has spent all {plan.rounds} certified rounds, and no checkpoint is left of them",
                "take the model that it ended in, if one was registered; else restore checkpoint.pt from a "
                "backup, or plan another run (it releases as much again)",
            )  # fmt: skip
        attempt = Attempt(settings, before, plan.rounds, log, model, others, kept, ranks, progress, watch)

        def save() -> None:
            save_checkpoint(checkpoint, model.network, optimizer, log, kept.tensors | begun)

        if before < plan.rounds and not attempt.stopped:
            update = replace(update, rate=attempt.rate, on_step=lambda _: attempt.applied(save))
            module = PrivateModule(
                plan, model.network, losses=model.losses, update=update, ledger=ledger,
                noise=SecureGaussian(_key(rehearsal, "noise")),
            )  # fmt: skip
            rounds = _rounds(plan, model, items, settings.micro_batch, before, _key(rehearsal, "sampler"))
            if ranks.first:
                left, extra = -(-(plan.rounds - before) // settings.checkpoint_every), kept.tensors | begun
                check_room(checkpoint, model.network, optimizer, writes=left, rounds=plan.rounds, extra=extra)
            with graceful() as stop:  # until the last checkpoint is written
                run_rounds(module, rounds, work_dir, lambda: stop.is_set() or attempt.stopped)
                if ranks.first:
                    save()
            if ranks.any(stop.is_set()):
                raise KeyboardInterrupt
        kept.finish()
        return Fitted(model, attempt.released, len(log), before > 0, cut, log)


def _check(plan: ProtectionPlan, model: LanguageModel, settings: TrainConfig, others: OtherTexts) -> None:
    """InputError for what cannot be trained under the plan, or where nothing of the texts that are measured is
    learned: their loss would be no number, and nothing could decide."""
    check_model(model)
    size = max(1, sum(p.numel() for p in model.network.parameters() if p.requires_grad))
    check_spread(plan.noise_multiplier * plan.clip_norm / grid_step(plan.clip_norm, size))
    for kind, texts in (("public", others.public), ("validation", others.validation)):
        if (
            settings.evaluate_every
            and texts
            and not any(predicts(tokens) for tokens in model.encode(texts)[0])
        ):
            raise InputError(
                f"{kind} text",
                "holds no completion within the model's context, so no loss can be measured on it",
                "name text with completions, leave out train.evaluate_every, or set loss_on: all",
            )


def _encoded(model: LanguageModel, texts: Sequence[ItemText]) -> tuple[list[Item], int]:
    """Each item's tokens, or those of each of its records; how many texts were cut."""
    sequences, cut = model.encode([text for item in texts for text in texts_of_item(item)])
    if len(sequences) == len(texts):
        return list(sequences), cut
    rest = iter(sequences)
    pools = (tuple(next(rest) for _ in texts_of_item(item)) for item in texts)
    return [pool[0] if len(pool) == 1 else pool for pool in pools], cut


def _rounds(
    plan: ProtectionPlan, model: LanguageModel, items: Sequence[Item], most: int, released: int, key: bytes
) -> Rounds:
    """What is left of them after so many releases, in micro-batches of at most so many examples."""
    ranks = Ranks.current()
    pools = {len(item) if isinstance(item, tuple) else 1 for item in items}
    kinds = sorted({rows_of_item(pool, plan.records) for pool in pools})
    at_once = {rows: items_at_once(most, plan.expected_batch, rows) for rows in kinds}
    at_once = {rows: items_that_hold(model, count, ranks, rows=rows) for rows, count in at_once.items()}
    if plan.cycle is None:
        sampler = WeightedPoissonSampler(plan.rates, key=ranks.share(key))
    else:
        sampler = CyclicSampler(plan.cycle, first=released, key=ranks.share(key))
    return Rounds(
        items, model.objective, sampler, rounds=plan.rounds - released, micro_batch=at_once,
        longest=longest_input(model), records=plan.records, rank=ranks.rank, ranks=ranks.count,
    )  # fmt: skip


def _key(rehearsal: bytes | None, use: str) -> bytes:
    """A fresh secret key, or the fixed one of a rehearsal for this use."""
    return os.urandom(32) if rehearsal is None else hashlib.sha256(use.encode() + rehearsal).digest()


def rounds_without_checkpoint(work_dir: Path) -> int:
    """Releases counted there of which no checkpoint is left: training would begin again from the first weights."""
    return 0 if any(work_dir.glob("checkpoint*.pt")) else releases_in(work_dir / LEDGER)


@contextmanager
def _ledger(
    plan: ProtectionPlan,
    texts: Sequence[ItemText],
    model: LanguageModel,
    work_dir: Path,
    witness: Path | None,
    ranks: Ranks,
) -> Iterator[ReleaseLedger | None]:
    """The ledger of this run, open, on the first rank; None on the others."""
    if not ranks.first:
        yield None
        return
    run = _run_digest(plan, texts, model.network)
    path = work_dir / LEDGER
    with ReleaseLedger(path, run=run, rounds=plan.rounds, witness=witness) as ledger:
        yield ledger


def _run_digest(plan: ProtectionPlan, texts: Sequence[ItemText], model: nn.Module) -> str:
    """What the releases of a ledger are of: the plan's numbers, the data, the model's shape."""
    digest = hashlib.sha256(plan.digest.encode())
    for item in texts:
        records = texts_of_item(item)
        if len(records) > 1:
            digest.update(f"an item of {len(records)} records".encode())
        for text in records:
            digest.update(len(text).to_bytes(8, "big") + text)
            if isinstance(text, PromptedText):
                digest.update(f"learned {text.completions}".encode())
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.requires_grad}".encode())
    return digest.hexdigest()
