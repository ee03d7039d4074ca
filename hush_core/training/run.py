"""Whole training runs: the private one, which survives being killed, and the ordinary one."""

from __future__ import annotations

import hashlib
import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytorch_lightning as pl
from torch import nn
from transformers import GPT2LMHeadModel

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.training.checkpoint import load_checkpoint, save_checkpoint
from hush_core.training.data import Rounds
from hush_core.training.ledger import ReleaseLedger
from hush_core.training.models import Progress, check_lengths, per_example_losses
from hush_core.training.module import PlainModule, PrivateModule, make_optimizer
from hush_core.training.sampler import WeightedPoissonSampler

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan


@dataclass(frozen=True)
class Fitted:
    """A finished private run. Everything here is public."""

    model: GPT2LMHeadModel
    rounds_released: int
    """Counted over all attempts; never above the plan's."""
    rounds_applied: int
    """Those that shaped the model; lower where an attempt was killed between two checkpoints."""
    resumed: bool
    log: list[dict[str, Any]]
    """One row per applied round: round, learning_rate."""


def fit_private(
    plan: ProtectionPlan,
    texts: Sequence[bytes],
    model: GPT2LMHeadModel,
    train_config: TrainConfig,
    work_dir: Path,
    progress: Progress | None = None,
) -> Fitted:
    """Train `model` in place under the plan; call it again with the same arguments to resume.

    Args:
        plan: rates (n,), noise multiplier, rounds, expected batch, clip norm.
        texts: (n,) by example_id, each at most the model's context long.
        train_config: learning rate, optimiser, micro-batch, checkpoint interval (what the plan fixes is
            taken from the plan).
        work_dir: private to this run: ledger and checkpoint. Keep it for a resume.
        progress: called as progress("train", releases so far, plan.rounds).

    Raises:
        InputError: texts, model or work_dir do not fit the plan.
        KeyboardInterrupt: after SIGINT, when the round is finished and a checkpoint written.

    Guarantee: all attempts in `work_dir` together release at most plan.rounds noisy gradients, however they
    ended; each attempt takes fresh keys for sampling and noise, so no batch and no draw is used twice.
    """
    if len(texts) != len(plan.rates):
        raise InputError(
            "texts", f"are {len(texts)}, the plan has {len(plan.rates)} rates", "pass one per rate"
        )
    check_lengths(model, texts)
    work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    checkpoint = work_dir / "checkpoint.pt"
    optimizer = make_optimizer(model, train_config.optimizer, train_config.learning_rate)
    run = _run_digest(plan, texts, model)
    with ReleaseLedger(work_dir / "releases.jsonl", run=run, rounds=plan.rounds) as ledger:
        before = ledger.released
        log = load_checkpoint(checkpoint, model, optimizer) if before else []

        def applied(_: int) -> None:
            log.append({"round": ledger.released - 1, "learning_rate": train_config.learning_rate})
            if ledger.released % train_config.checkpoint_every == 0 and ledger.released < plan.rounds:
                save_checkpoint(checkpoint, model, optimizer, log)
            if progress is not None:
                progress("train", ledger.released, plan.rounds)

        if before < plan.rounds:
            module = PrivateModule(
                plan, model, losses=per_example_losses, optimizer=optimizer, ledger=ledger, on_step=applied
            )
            rounds = Rounds(
                texts,
                WeightedPoissonSampler(plan.rates),
                rounds=plan.rounds - before,
                micro_batch=train_config.micro_batch,
            )
            interrupted = _fit(module, rounds, work_dir)
            save_checkpoint(checkpoint, model, optimizer, log)
            if interrupted:
                raise KeyboardInterrupt
        return Fitted(model, ledger.released, len(log), resumed=before > 0, log=log)


def fit_plain(
    texts: Sequence[bytes],
    model: GPT2LMHeadModel,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    micro_batch: int = 32,
    rates: np.ndarray | None = None,
    optimizer: Literal["adamw", "sgd"] = "adamw",
    seed: int = 0,
    stage: str = "pretrain",
    progress: Progress | None = None,
) -> GPT2LMHeadModel:
    """Ordinary training in place, with NO protection: for public text, or to show what would have leaked.

    Args:
        rates: (n,) sampling rates as in a plan; min(1, batch/n) for every text by default.
        batch: the expected batch, by which each summed gradient is divided.
        seed: fixes every batch; not a secret here.
        progress: called as progress(stage, steps done, steps).

    Raises:
        InputError: no texts, or one that is longer than the model's context.
        KeyboardInterrupt: after SIGINT, when the step is finished.
    """
    if not texts:
        raise InputError("texts", "are none to train on", "name more public code, or set pretrain.steps to 0")
    check_lengths(model, texts)
    if steps == 0:
        return model
    if rates is None:
        batch = min(batch, len(texts))
        rates = np.full(len(texts), batch / len(texts))
    module = PlainModule(
        model,
        batch=batch,
        losses=per_example_losses,
        optimizer=make_optimizer(model, optimizer, learning_rate),
        on_step=None if progress is None else lambda step: progress(stage, step + 1, steps),
    )
    sampler = WeightedPoissonSampler(rates, key=hashlib.sha256(f"plain {seed}".encode()).digest())
    if _fit(module, Rounds(texts, sampler, rounds=steps, micro_batch=micro_batch), Path.cwd()):
        raise KeyboardInterrupt
    return model


def _run_digest(plan: ProtectionPlan, texts: Sequence[bytes], model: nn.Module) -> str:
    """What the releases of a ledger are of: the plan's numbers, the data, the model's shape."""
    digest = hashlib.sha256(plan.digest.encode())
    for text in texts:
        digest.update(len(text).to_bytes(8, "big") + text)
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.requires_grad}".encode())
    return digest.hexdigest()


def _fit(module: pl.LightningModule, rounds: Rounds, root: Path) -> bool:
    """Run all rounds; True if SIGINT stopped it after a finished one."""
    with _quiet(), _graceful() as stop:
        trainer = pl.Trainer(
            accelerator="auto",
            devices=1,
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            callbacks=[_StopWhenAsked(stop)],
            default_root_dir=root,
        )
        try:
            trainer.fit(module, train_dataloaders=rounds.loader())
        except SystemExit:  # Lightning's answer to a second SIGINT
            raise KeyboardInterrupt from None
    return stop.is_set()


class _StopWhenAsked(pl.Callback):
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        trainer.should_stop = self._stop.is_set()


@contextmanager
def _graceful() -> Iterator[threading.Event]:
    """The first SIGINT sets the event, the second acts as ever. Only the main thread can listen."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Lightning's hints (device lists, worker counts, tips) do not concern the user of a flow."""
    logger = logging.getLogger("pytorch_lightning")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"pytorch_lightning")
            warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).*")
            yield
    finally:
        logger.setLevel(level)
