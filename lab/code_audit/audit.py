"""The audit of the code: what one training step does with a batch, and with the batch less one example.

    checks = audit_step()                      # the step that `hush run` takes, on a small model
    print(code_report(checks))

No model is attacked and nothing is estimated: batches are told in advance, the noise is taken out, known, or made
so large that it drowns the sum, and what leaves the step is compared (docs/auditing.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Literal, get_args

import numpy as np

from hush_core.errors import InputError
from hush_core.training.language_model import LanguageModel
from lab.code_audit.check import Check
from lab.code_audit.noise_checks import noise_checks
from lab.code_audit.parts import REAL, StepParts
from lab.code_audit.recording import Setup
from lab.code_audit.reference import gradients_alone, middle_norm
from lab.code_audit.replay_checks import replay_checks, start_check
from lab.code_audit.resume_check import resume_check
from lab.code_audit.sampling_checks import sampling_checks
from lab.code_audit.sum_checks import sum_checks, sums_of

Group = Literal["sum", "replay", "start", "sampling", "resume"]
_OF_THE_SUM = (
    "sensitivity, own contribution, clipping, division, noise, noise of an empty batch, noise is fresh, "
    "noise source, counted first"
)
_LENGTHS = (19, 7, 13, 16, 4, 10)
"""Bytes of the made-up examples: several padded lengths, and none the batch's size."""


def audit_step(
    model: LanguageModel | None = None,
    *,
    parts: StepParts = REAL,
    noise_multiplier: float = 1.0,
    only: Collection[Group] = get_args(Group),
) -> list[Check]:
    """Replay a training step on neighbouring batches of made-up text; one Check a property, in a fixed order.

    Args:
        model: the one to audit the step on; `parts.start` makes a small one where it is None. It is as before
            afterwards.
        parts: pieces of the step to put in the place of hush's own.
        noise_multiplier: σ.
        only: groups of checks.

    A piece that refuses to run, or fails, is a property that did not hold; the evidence says why.

    What it shows: for these examples, weights and this machine, the release is Σ clipped/B plus fresh noise of the
    right scale, from the right source, counted first, and nothing else leaves the step. Not: that the model keeps
    its promise for all inputs (that is proved, docs/training.md), or anything of a GPU that is not used here.
    """
    texts = made_up_texts()
    if model is None:
        model = parts.start(texts)
    checks: list[Check] = []

    def run(group: Group, names: str, some: Callable[[], list[Check]]) -> None:
        if group not in only:
            return
        try:
            checks.extend(some())
        except (InputError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, InputError) else type(error).__name__
            checks.extend(Check(name, False, f"the step ended in: {said}") for name in names.split(", "))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setup = _setup(parts, model, texts, noise_multiplier)

        def of_the_sum() -> list[Check]:
            sums = sums_of(setup)
            return [*sum_checks(setup, sums), *noise_checks(setup, sums)]

        run("sum", _OF_THE_SUM, of_the_sum)
        run("replay", "release, nothing else leaves", lambda: replay_checks(setup))
        run("start", "start", lambda: [start_check(parts, texts)])
        run("sampling", "Poisson sampling, batches reach the step", lambda: sampling_checks(setup))
        run("resume", "resume", lambda: [resume_check(parts, model, texts)])
    return checks


def made_up_texts() -> list[bytes]:
    """Public: random lower-case letters, one text of a single letter, one that repeats itself."""
    generator = np.random.default_rng(7)
    texts = [generator.integers(97, 123, size=n, dtype=np.uint8).tobytes() for n in _LENGTHS]
    texts[1], texts[2] = b"e" * _LENGTHS[1], (b"ab" * _LENGTHS[2])[: _LENGTHS[2]]
    return texts


def _setup(parts: StepParts, model: LanguageModel, texts: Sequence[bytes], noise_multiplier: float) -> Setup:
    """With a clip norm between the examples' own norms."""
    sequences, _ = model.encode(list(texts))
    without_clip = Setup(parts, model, sequences, 1.0, noise_multiplier)
    return Setup(parts, model, sequences, middle_norm(gradients_alone(without_clip)), noise_multiplier)
