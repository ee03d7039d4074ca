"""Lightning's loop around a module of ours: quiet, and ended by a signal or a reason after a whole round.

`frozen` says which parameters the certified rounds leave as they are. The noise of a round has length σC√d over d
trained numbers, and the clipped sum at most BC whatever d is: fewer trained numbers take up less noise.

`kept_for_reuse` stops what the interpreter and the C library would do between the steps, and need not. Clipping
makes thousands of small objects a micro-batch: every so often Python's collector walks all objects of the process
for them, transformers' and torch's own among them, and finds nothing. And glibc hands large blocks back as soon as
they are freed, to have them zeroed page by page when the next micro-batch asks for them. What both cost:
docs/training.md, "What it costs".
"""

import logging
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy
from pytorch_lightning.utilities.exceptions import SIGTERMException
from torch import nn

from hush_core.errors import InputError
from hush_core.memory import kept_for_reuse
from hush_core.training.ranks import Ranks
from hush_core.training.rounds import Rounds

_SAME = 1.0
"""Seconds within which a second SIGTERM is one with the first."""


def run_rounds(module: pl.LightningModule, rounds: Rounds, root: Path, finished: Callable[[], bool]) -> None:
    """Run all rounds, or until `finished` is true after one on any rank."""
    ranks = Ranks.current()
    parallel: dict[str, Any] = {"devices": ranks.count}
    if ranks.count > 1:  # the processes are there already, whatever cluster the environment names
        parallel["strategy"] = DDPStrategy(cluster_environment=LightningEnvironment())
    with _quiet():
        trainer = pl.Trainer(
            accelerator="auto",
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            callbacks=[_StopWhen(finished)],
            default_root_dir=root,
            **parallel,
        )
        try:
            with kept_for_reuse():
                trainer.fit(module, train_dataloaders=rounds.loader())
        except SIGTERMException:  # Lightning's answer to a SIGTERM, between two rounds
            pass
        except SystemExit:  # Lightning's answer to a second SIGINT
            raise KeyboardInterrupt from None


class _StopWhen(pl.Callback):
    """Ends the run after the round in which `finished` became true on any rank."""

    def __init__(self, finished: Callable[[], bool]) -> None:
        self._finished = finished

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        trainer.should_stop = Ranks.current().any(self._finished())


@contextmanager
def graceful() -> Iterator[threading.Event]:
    """The first SIGINT or SIGTERM sets the event, the second acts as ever. Only the main thread can listen.

    `timeout` sends its SIGTERM twice, to the process and to its group: one within a second is the same.
    A SIGTERM acts as ever at the end, when what it would have cut off is finished: a runner that cancels a run has
    its own way to end it.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    terminated = threading.Event()
    asked_at = 0.0

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: Any) -> None:
        nonlocal asked_at
        if not stop.is_set():
            asked_at = time.monotonic()
            stop.set()
            if number == signal.SIGTERM:
                terminated.set()
        elif not (terminated.is_set() and time.monotonic() - asked_at < _SAME):
            restore()
            signal.raise_signal(number)

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()
        if terminated.is_set():
            signal.raise_signal(signal.SIGTERM)


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


@contextmanager
def frozen(network: nn.Module, kinds: Sequence[str]) -> Iterator[None]:
    """Meanwhile the parameters of these kinds are not trainable; those that were are so again afterwards.

    Args:
        kinds: `embedding`: all of `nn.Embedding`, and a head that is tied to one. `matrices`: every other parameter
            of two dimensions or more. With both, biases and scales are left.

    Raises:
        InputError: nothing is left to train.
    """
    tables = {id(p) for m in network.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    still = [
        p
        for p in network.parameters()
        if p.requires_grad
        and ("embedding" if id(p) in tables else "matrices" if p.dim() > 1 else "") in kinds
    ]
    if len(still) == sum(p.requires_grad for p in network.parameters()):
        raise InputError(
            "train.freeze", "leaves no parameter to train", "freeze less, or leave out model.lora"
        )
    for p in still:
        p.requires_grad = False
    try:
        yield
    finally:
        for p in still:
            p.requires_grad = True


OPERATIONS_A_THREAD = 2e9
"""Of less, a second thread costs more than it does."""


@contextmanager
def threads_for(operations: float) -> Iterator[None]:
    """At most as many threads of torch as so many floating-point operations are worth."""
    most = torch.get_num_threads()
    torch.set_num_threads(min(most, max(1, int(operations // OPERATIONS_A_THREAD))))
    try:
        yield
    finally:
        torch.set_num_threads(most)
