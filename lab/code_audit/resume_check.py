"""A run that is killed and started again: no noise and no batch of the first attempt comes back, none is released
that the ledger does not count, and the plan's rounds are the end of it."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from torch import Tensor, nn

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.history.ledger import LEDGER, releases_in
from hush_core.plan import ProtectionPlan
from hush_core.training.data import Tokens
from hush_core.training.language_model import LanguageModel
from lab.code_audit.check import Check
from lab.code_audit.noise_checks import alike, scale_interval
from lab.code_audit.parts import StepParts
from lab.code_audit.recording import BATCH, releases_of

_ROUNDS, _KILLED, _EXAMPLES = 4, 2, 32


class _Killed(Exception):
    """Ends an attempt as a fault would: between two rounds, unannounced."""


def resume_check(parts: StepParts, model: LanguageModel, texts: Sequence[bytes]) -> Check:
    """Two attempts of `parts.fit`, without examples and with half of 32 in each round, and another run besides."""
    faults: list[str] = []
    empty = _attempts(parts, model, texts, rate=0.0)
    size = empty.releases[0].numel() if empty.releases else 1
    if len(empty.releases) < _ROUNDS:
        faults.append(f"{len(empty.releases)} of {_ROUNDS} rounds were released")
    if empty.counted < len(empty.releases):
        faults.append(f"{len(empty.releases)} releases, {empty.counted} counted")
    if len(empty.releases) > _ROUNDS:
        faults.append(f"{len(empty.releases)} releases where {_ROUNDS} are certified")
    other = _attempts(parts, model, texts, rate=0.0)
    noises = [release.double() for release in (*empty.releases, *other.releases)]
    most = max((alike(a, b) for a, b in combinations(noises, 2)), default=0.0)
    if most > 7 / np.sqrt(size):
        faults.append(f"noise came back: two rounds, or two runs, have a cosine of {most:.3g}")
    low, high = scale_interval(size)
    ratios = [float(r.double().square().mean().sqrt()) * BATCH for r in empty.releases]
    if not all(low < ratio < high for ratio in ratios):
        faults.append(f"noise of {', '.join(f'{ratio:.3g}' for ratio in ratios)} sigma C")
    drawn = _attempts(parts, model, texts, rate=0.5).batches
    if len(drawn) > _KILLED and any(batch in drawn[_KILLED:] for batch in drawn[:_KILLED]):
        faults.append("a batch of the first attempt was drawn again")
    return Check(
        "resume",
        not faults,
        "; ".join(faults)
        or f"{_ROUNDS} rounds in two attempts, and again in another run: fresh batches, fresh noise (cosines up to "
        f"{most:.2g}), all counted, no further round",
    )


@dataclass
class _Seen:
    """Releases and batches by round, over all attempts, and the lines of the ledger."""

    releases: list[Tensor] = field(default_factory=list)
    batches: list[frozenset[tuple[int, ...]]] = field(default_factory=list)
    counted: int = 0


def _attempts(parts: StepParts, model: LanguageModel, texts: Sequence[bytes], *, rate: float) -> _Seen:
    """Killed after two rounds, resumed to the end, and started a third time."""
    model = replace(model, network=copy.deepcopy(model.network))
    many = [b"%d " % i + texts[i % len(texts)] for i in range(_EXAMPLES)]
    known = {_shown(row) for row in model.encode(many)[0]}
    plan = ProtectionPlan(np.full(_EXAMPLES, rate), 1.0, _ROUNDS, BATCH, 1.0, "best", pl.DataFrame())
    settings = TrainConfig(
        rounds=_ROUNDS, batch=BATCH, optimizer="sgd", learning_rate=1e-12, micro_batch=8, checkpoint_every=1
    )
    seen = _Seen()
    with (
        tempfile.TemporaryDirectory(prefix="hush-audit-") as folder,
        releases_of(model.network) as seen.releases,
        _rows_of(model.network, known) as rows,
    ):

        def attempt(last: int) -> None:
            def progress(what: str, done: int, total: int) -> None:
                seen.batches.append(frozenset(rows))
                rows.clear()
                if done >= last:
                    raise _Killed

            with suppress(_Killed, InputError):
                parts.fit(plan, many, model, settings, Path(folder) / "run", progress=progress)

        attempt(_KILLED)
        attempt(_ROUNDS + 1)
        attempt(_ROUNDS + 1)
        seen.counted = releases_in(Path(folder) / "run" / LEDGER)
    return seen


def _shown(row: Tokens) -> tuple[int, ...]:
    return tuple(int(token) for token in row[:-1])


@contextmanager
def _rows_of(network: nn.Module, known: set[tuple[int, ...]]) -> Iterator[set[tuple[int, ...]]]:
    """Which known examples the network was shown."""
    lengths = sorted({len(row) for row in known})
    found: set[tuple[int, ...]] = set()

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        for row in [] if ids is None else ids.tolist():
            found.update(part for length in lengths if (part := tuple(row[:length])) in known)

    handle = network.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield found
    finally:
        handle.remove()
