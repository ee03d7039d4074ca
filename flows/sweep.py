"""The points of a plan: each method at each scale, weighed and calibrated in parallel tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hush_core.config import ByteGptModel, CorrelatedMechanism, HushConfig, HushMechanism, Method
from hush_core.errors import HushError, InputError, Unavailable
from hush_core.weights import Scale, WeightSettings, drowns, smaller_c_to_try, weight_settings
from tasks.calibration import NoiseEstimate, estimate_noise
from tasks.extraction import Extracted
from tasks.publish_plan import NoiseOfRuns, PlanRow, frame_of, recommend
from tasks.runtime.steps import Running
from tasks.runtime.store import Ref
from tasks.weighing import Weighed, weigh_examples

DEFAULT_C = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
RUNS = (1, 7, 52, 365)
"""A model once, nightly for a week, weekly and nightly for a year."""
DEFAULT_NOISE = (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)
"""As multiples of `weights.noise_multiplier`."""


T = TypeVar("T")


@dataclass
class Point:
    """One method at one scale; `note` says why where there is no noise multiplier."""

    method: Method
    settings: WeightSettings
    weighed: Weighed | None = None
    estimate: NoiseEstimate | None = None
    note: str = ""


def sweep_points(
    config: HushConfig,
    extracted: Extracted,
    scales: list[Scale],
    *,
    extend: bool = False,
    methods: tuple[Method, ...] = (),
) -> list[Point]:
    """Every method at every scale; tasks are submitted to the flow's runner.

    With `extend`, a sweep of c continues downwards, a decade at a time, while the recommended point is at its edge.
    Points are by method (all that are compared, unless given), then by scale, ascending in c.
    """
    points: list[Point] = []
    methods = methods or methods_of(config)
    while scales:
        more = [Point(m, weight_settings(config, method=m, scale=s)) for m in methods for s in scales]
        weigh_all(more, extracted, config)
        price_all(more, extracted, config)
        points += more
        own = frame_of([row_of(p, config) for p in points if p.method == config.method])
        scales = [Scale(c=c) for c in smaller_c_to_try(own)] if extend else []
    places = {method: place for place, method in enumerate(methods)}
    return sorted(points, key=lambda p: (places[p.method], p.settings.c or p.settings.noise_multiplier))


def scales_of(config: HushConfig, sweep: list[float] | None, noise: list[float] | None) -> list[Scale]:
    """The points to try: what was asked for, else a default sweep around what the config says."""
    if not isinstance(config.mechanism, HushMechanism):
        if sweep or noise:
            option, what = (
                "--c" if sweep else "--noise",
                f"mechanism {config.mechanism.kind} solves no program",
            )
            raise InputError(option, what, "leave --c and --noise out")
        return [Scale(c=1.0)]
    if sweep and noise:
        raise InputError("--c and --noise", "are both given, and one is swept", "give one of the two")
    if sweep and not all(0 < c <= 1 for c in sweep):
        raise InputError("--c", "a value lies outside (0, 1]", "give fractions of c_max")
    if noise and not all(0.05 <= sigma <= 1e6 for sigma in noise):
        hint = "give numbers such as 0.5 or 1"
        raise InputError("--noise", "a noise multiplier lies outside [0.05, 1e6]", hint)
    target = config.weights.noise_multiplier
    if not sweep and target is not None:
        return [Scale(noise_multiplier=s) for s in sorted(set(noise or (target * f for f in DEFAULT_NOISE)))]
    own = () if config.weights.c is None else (config.weights.c,)
    return [Scale(c=c) for c in sorted(set(sweep or (*DEFAULT_C, *own)))]


def recommended_point(config: HushConfig, extracted: Extracted) -> Point | None:
    """The point to take by the rule, of the sweep that a plan makes where nothing is asked; None where no point has
    a certified noise multiplier. A c or σ of the config is the only point."""
    fixed = config.weights.c is not None or config.weights.noise_multiplier is not None
    program = isinstance(config.mechanism, HushMechanism)
    scales = (
        [Scale(config.weights.c, config.weights.noise_multiplier)] if fixed else scales_of(config, None, None)
    )
    points = sweep_points(config, extracted, scales, extend=program and not fixed, methods=(config.method,))
    chosen = recommend([row_of(point, config) for point in points], config.method)
    return None if chosen is None else points[chosen]


def methods_of(config: HushConfig) -> tuple[Method, ...]:
    """The paper's method and the config's own, or the tight one where that is the paper's."""
    if isinstance(config.mechanism, CorrelatedMechanism):  # its bound is exact: there is no other
        return (config.method,)
    return ("kl", config.method if config.method != "kl" else "best")


def weigh_all(points: list[Point], extracted: Extracted, config: HushConfig) -> None:
    """Solve the programs in parallel; points with equal settings share one."""
    running = {
        s: weigh_examples.submit(**extracted.graph, settings=s, mechanism=config.mechanism)
        for s in dict.fromkeys(p.settings for p in points)
    }
    for point in points:
        point.weighed, point.note = result_or_refusal(running[point.settings], Weighed)


def price_all(points: list[Point], extracted: Extracted, config: HushConfig) -> None:
    """The noise of every point that weights were found for, in parallel."""
    settings, running = config.train, []
    for point in points:
        if point.weighed is None:
            continue
        if point.weighed.largest_batch < settings.batch:
            point.note = f"train.batch: at most {point.weighed.largest_batch} can be drawn from this weight"
            continue
        found = point.weighed
        noise = _noise(found.weights, found.edges, point.method, extracted, config, config.rounds_in_all)
        running.append((point, noise))
    for point, future in running:
        point.estimate, point.note = result_or_refusal(future, NoiseEstimate)


def _noise(
    weights: Ref, edges: Ref, method: Method, extracted: Extracted, config: HushConfig, in_all: int
) -> Running[NoiseEstimate]:
    return estimate_noise.submit(
        weights, edges, extracted.secrets, rounds=config.train.rounds,
        expected_batch=config.train.batch, method=method, in_all=in_all, mechanism=config.mechanism,
    )  # fmt: skip


def noise_by_runs(
    weights: Ref, edges: Ref, method: Method, extracted: Extracted, config: HushConfig
) -> list[NoiseOfRuns]:
    """The noise of these weights if every target were promised for so many runs, each from the public start or from
    the previous model. None if the mechanism has no promise of several runs."""
    if config.mechanism.unit_dp or not config.mechanism.composes_over_runs:
        return []
    rounds = config.train.rounds  # of a later run: the config's, or a twentieth
    later = config.train.later_rounds or max(1, rounds // 20)
    noise = partial(_noise, weights, edges, method, extracted, config)
    running = [
        (runs, noise(rounds * runs), noise(rounds + later * (runs - 1)))
        for runs in sorted({*RUNS, config.runs})
    ]

    def sigma(future: Running[NoiseEstimate]) -> float | None:
        found, _ = result_or_refusal(future, NoiseEstimate)
        return found and found.noise_multiplier

    return [
        NoiseOfRuns(runs=runs, from_start=sigma(start), from_previous=sigma(previous), later_rounds=later)
        for runs, start, previous in running
    ]


def result_or_refusal(future: Running[Any], kind: type[T]) -> tuple[T | None, str]:
    """What a step gave; or None, and what it said where it refused."""
    result = future.result(raise_on_failure=False)
    return (result, "") if isinstance(result, kind) else (None, refusal(result))


def refusal(error: object) -> str:
    """What a refused step said; anything else is a fault, or a storage that is away, and ends the flow."""
    if isinstance(error, HushError) and not isinstance(error, Unavailable):
        return str(error)
    raise error if isinstance(error, BaseException) else TypeError(f"no result but {type(error).__name__}")


def numbers_of(config: HushConfig) -> int | None:
    """How many numbers the model has; None where only its files tell."""
    model = config.model
    return model.parameters(config.chunk_bytes) if isinstance(model, ByteGptModel) else None


def parameters_of(config: HushConfig) -> int | None:
    """How many numbers the noise is added to; None where only the model's files tell."""
    model, frozen = config.model, config.train.freeze
    return model.parameters(config.chunk_bytes, frozen) if isinstance(model, ByteGptModel) else None


def other_choice(point: Point, extracted: Extracted, config: HushConfig) -> Point:
    """The same point with the other thing done to examples without a secret."""
    other = "noise" if point.settings.without_secret == "plain" else "plain"
    changed = Point(point.method, point.settings.model_copy(update={"without_secret": other}))
    weigh_all([changed], extracted, config)
    price_all([changed], extracted, config)
    return changed


def row_of(point: Point, config: HushConfig) -> PlanRow:
    weighed, estimate, parameters = point.weighed, point.estimate, parameters_of(config)
    drowned = None
    if estimate and parameters:
        drowned = drowns(
            estimate.noise_multiplier, rounds=config.train.rounds, expected_batch=config.train.batch,
            parameters=parameters,
        )  # fmt: skip
    return PlanRow(
        method=point.method,
        c=weighed.c if weighed else point.settings.c,
        noise_asked=point.settings.noise_multiplier,
        noise_multiplier=estimate and estimate.noise_multiplier,
        weight_retained=weighed and weighed.retained,
        examples_kept=weighed and weighed.kept,
        protected_retained=weighed and weighed.protected_retained,
        largest_batch=weighed and weighed.largest_batch,
        gap=weighed and weighed.gap,
        trained_plain=weighed and weighed.trained_plain,
        distinct=estimate and estimate.distinct,
        without_secret=point.settings.without_secret,
        drowned=drowned,
        note=point.note,
    )
