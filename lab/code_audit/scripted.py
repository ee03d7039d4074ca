"""Chance taken out of a step: batches that are told in advance, and noise that is nothing, known, or everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DROWNING = 2.0**80
"""Grid steps. A clipped sum of a few examples is far below 2^55 of them in each coordinate, half a float32 rounding
of this: a release that holds it is the same float32 number whatever the sum was."""


class ScriptedSampler:
    """Round k draws `batches[k]`, ascending example ids. What a masked model is shown of an example depends on that
    example alone: in training it is drawn for each by itself, so that neighbours may be given the same."""

    def __init__(self, batches: Sequence[Sequence[int]]) -> None:
        self._batches = [np.asarray(batch, dtype=np.int64) for batch in batches]

    def draw(self, round: int) -> np.ndarray:
        return self._batches[round]

    def generator(self, round: int, use: str) -> Any:
        return _Stateless()


class _Stateless:
    """A generator that begins anew with every call."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np.random.default_rng(0), name)


class ConstantNoise:
    """In place of `SecureGaussian`: every draw is `value` grid steps."""

    def __init__(self, value: float) -> None:
        self._value = value

    def stream(self, counter: int, spread: float) -> Callable[[int], np.ndarray]:
        return lambda size: np.full(size, self._value)


class WatchedNoise:
    """A noise source that also notes, for each stream, its counter and how many releases the ledger had counted."""

    def __init__(self, noise: Any, released: Callable[[], int]) -> None:
        self._noise, self._released = noise, released
        self.streams: list[tuple[int, int]] = []

    def stream(self, counter: int, spread: float) -> Callable[[int], np.ndarray]:
        self.streams.append((counter, self._released()))
        return self._noise.stream(counter, spread)
