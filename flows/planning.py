"""The work of the flow `plan`: extract, weigh and calibrate each point of the sweep, recommend one, report."""

from __future__ import annotations

from pathlib import Path

from flows.check import check_config
from flows.remedies import remedies, share, widest_share
from flows.reports.coverage_notes import as_asked, coverage_notes
from flows.reports.lines import markdown
from flows.reports.plan import blocks
from flows.reports.plan_report import PlanReport
from flows.settling import settle
from flows.sweep import Point, noise_by_runs, other_choice, parameters_of, row_of, scales_of, sweep_points
from hush_core.config import Changes, HushConfig, HushMechanism
from hush_core.errors import InputError
from hush_core.weights import RULE, Scale
from tasks.earlier_runs import next_run
from tasks.extraction import Extracted
from tasks.items import with_targets
from tasks.publish_plan import PlanRow, publish_frontier, recommend
from tasks.runtime.environment import home
from tasks.runtime.steps import show_page
from tasks.runtime.store import open_store
from tasks.weighing import relax_target

SOLVED_AGAIN = 5
"""So many entries of the config are relaxed for what they would buy; the others get the bound of the prices."""


def planned(
    config_file: str,
    changes: Changes | None = None,
    sweep: list[float] | None = None,
    noise: list[float] | None = None,
    out: str | None = None,
) -> PlanReport:
    """What the flow `plan` does, whose arguments these are."""
    if noise:
        changes = (changes or Changes()).model_copy(update={"noise_multiplier": noise[0], "c": None})
    asked = check_config(Path(config_file), changes, command="plan")
    if not asked.mechanism.makes_noise:
        hint = "there is nothing to plan: hush run"
        raise InputError("mechanism", f"{asked.mechanism.kind} makes no noise", hint)
    scales = scales_of(asked, sweep, noise)
    settled = settle(asked)
    config = settled.config
    if not config.mechanism.makes_noise:
        scales = []
    extracted = with_targets(settled.extracted, config.mechanism)
    program = isinstance(config.mechanism, HushMechanism)
    fixed = sweep or noise or config.weights.noise_multiplier is not None or not program
    points, rows, chosen = _priced(config, extracted, scales, extend=not fixed)
    best = None if chosen is None else points[chosen]
    weighed = noise_share = other = widest = None
    helps, relaxed, by_runs = [], [], []
    train = config.train
    if best is not None:
        weighed, sigma = best.weighed, rows[chosen].noise_multiplier
        noise_share = share(sigma, batch=train.batch, rounds=train.rounds, parameters=parameters_of(config))
        helps, widest = remedies(best, extracted, config), widest_share(best)
        by_runs = noise_by_runs(weighed.weights, weighed.edges, best.method, extracted, config)
        other = row_of(other_choice(best, extracted, config), config)
        if program:
            relaxed = relax_target(
                weighed, extracted.edges, extracted.secrets, best.settings, sorted(config.levels.values()),
                rounds=config.rounds_in_all, expected_batch=train.batch, method=best.method,
                noise_multiplier=best.estimate.noise_multiplier, most=SOLVED_AGAIN,
            )  # fmt: skip
    folder = out or str(home().report_folder("plans", Path(config_file)))
    published = publish_frontier(
        config, extracted, rows, chosen, weighed, relaxed, by_runs, folder, settled.ways
    )
    coverage = open_store().read_json(extracted.coverage)
    now = next_run(config, extracted.examples, extracted.edges, extracted.secrets)
    report = PlanReport(
        secrets=extracted.n_secrets, examples=extracted.n_examples, method=config.method, rows=rows,
        best_point=chosen, rule=RULE, other=other, relaxations=relaxed, runs=config.runs, noise_by_runs=by_runs,
        published=published, expected_batch=train.batch, rounds=train.rounds, noise_share=noise_share,
        widest_share=widest, without_secret=config.weights.without_secret, remedies=helps, next_run=now,
        ways=settled.ways, replaced=settled.replaced, set_c=asked.weights.c, mechanism=config.mechanism.kind,
        swept=bool(sweep or noise),
        as_asked=as_asked(coverage), notes=coverage_notes(coverage),
        trained_as_usual=None if config.mechanism.makes_noise else extracted.n_examples,
    )  # fmt: skip
    show_page(markdown(blocks(report)), "hush-plan", "noise by c, and what binds")
    return report


def _priced(
    config: HushConfig, extracted: Extracted, scales: list[Scale], *, extend: bool
) -> tuple[list[Point], list[PlanRow], int | None]:
    points = sweep_points(config, extracted, scales, extend=extend)
    rows = [row_of(point, config) for point in points]
    chosen = recommend(rows, config.method) if rows else None
    if rows and chosen is None and config.weights.c is not None:
        # what a run takes, where a sweep passes it by
        points += sweep_points(config, extracted, [Scale(c=config.weights.c)])
        points.sort(key=lambda point: (point.method != "kl", point.settings.c or 0.0))
        rows = [row_of(point, config) for point in points]
        chosen = recommend(rows, config.method)
    return points, rows, chosen
