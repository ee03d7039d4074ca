"""Commands on a config or a paper: what is planned, trained, compared and replicated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows import command_line
from flows.output import give, with_result
from hush_core.errors import InputError

if TYPE_CHECKING:
    from hush_core.config import Changes

METHODS = ("kl", "renyi", "blow_up", "best")
"""Those of `hush_core.config.Method`."""
ConfigFile = Annotated[
    Path | None, typer.Argument(help="the YAML file of the job; hush.yaml unless given", show_default=False)
]
CHANGES: dict[str, Any] = {
    "method": Annotated[
        str | None,
        typer.Option(help="certificate method, instead of the file's", metavar="|".join(METHODS)),
    ],
    "c": Annotated[float | None, typer.Option("--c", help="weights.c, relative to c_max")],
    "noise_multiplier": Annotated[
        float | None,
        typer.Option("--noise", help="keep as much as this noise multiplier can certify, in place of c"),
    ],
    "rounds": Annotated[int | None, typer.Option(help="train.rounds")],
    "batch": Annotated[int | None, typer.Option(help="train.batch")],
    "learning_rate": Annotated[float | None, typer.Option(help="train.learning_rate")],
}
"""The options that change a job for one run, by their name in `hush_core.config.Changes`."""


def with_changes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command of `changes` and a file: the first are these options, which come behind the file."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        del command.__annotations__["changes"]  # its type is imported when the command is called
        own = inspect.signature(command, eval_str=True)
        _, file, *others = own.parameters.values()
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=CHANGES[name])
            for name in names
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            command(command_line.changes(**{name: given.pop(name) for name in names}), **given)

        others = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in others]
        run.__signature__ = own.replace(parameters=[file, *options, *others])  # type: ignore[attr-defined]
        return run

    return decorate


@with_result
@with_changes("method", "c", "noise_multiplier", "rounds", "batch", "learning_rate")
def run(
    changes: Changes,
    config: ConfigFile = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="plan.yaml of `hush plan --rehearse`; other options go before it", show_default=False
        ),
    ] = None,
) -> None:
    """Train, attack, certify and register a model: the main job."""
    if plan is not None:
        from hush_core.config import read_plan

        changes = changes.over(read_plan(plan))
    config = command_line.job_file(config)
    checked = command_line.check(config, changes)
    from flows.answers import find_answer
    from flows.reports.job_screen import render

    if (known := find_answer(checked, f"train {config.stem}")) is not None:
        give(known, lambda: render(known, command_line.console()))
        return
    from flows.train import train

    with command_line.owned():
        report = train(str(config.resolve()), changes)
    give(report, lambda: render(report, command_line.console()))


@with_result
@with_changes("method", "rounds", "batch")
def plan(
    changes: Changes,
    config: ConfigFile = None,
    c: Annotated[list[float] | None, typer.Option("--c", help="values of c to try; may be repeated")] = None,
    noise: Annotated[
        list[float] | None,
        typer.Option(help="noise multipliers to fit the weights to, in place of c; may be repeated"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder for tables and picture")] = None,
    *,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse", help="search for the plan with the lowest predicted loss (docs/planning.md)"
        ),
    ] = False,
    trials: Annotated[int | None, typer.Option(help="with --rehearse: so many plans in all")] = None,
    examples: Annotated[
        float | None, typer.Option(help="with --rehearse: what a run may cost, in examples drawn")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="with --rehearse: what a run may cost, in minutes of training here")
    ] = None,
) -> None:
    """What will it cost? Weights and noise for a sweep of c or σ. With --rehearse: the plan of the best model."""
    config = command_line.job_file(config)
    if rehearse:
        _rehearse(config, changes, c, noise, out, trials=trials, examples=examples, minutes=minutes)
        return
    if trials is not None or examples is not None or minutes is not None:
        hint = "add --rehearse"
        raise InputError("--trials, --examples and --minutes", "say nothing without --rehearse", hint)
    command_line.one_thread()
    checked = command_line.check(config, changes, command="plan")
    from flows.answers import plan_report_of
    from flows.reports.lines import show
    from flows.reports.plan import blocks
    from flows.sweep import scales_of

    scales_of(checked, c, noise)  # a mistake in the sweep, before a server is started
    where = None if out is None else str(command_line.writable(out).resolve())
    planned = plan_report_of(checked, str(config.resolve()), changes, c or None, noise or None, where)
    give(planned, lambda: show(blocks(planned), command_line.console()))


def _rehearse(
    config: Path,
    changes: Changes,
    c: list[float] | None,
    noise: list[float] | None,
    out: Path | None,
    **effort: float | None,
) -> None:
    if noise:
        changes = command_line.changes(**changes.model_dump(exclude_none=True), noise_multiplier=noise[0])
    command_line.check(config, changes, command="plan --rehearse")
    from flows.rehearse import Effort, rehearse
    from flows.reports.lines import show
    from flows.reports.rehearsal import blocks
    from flows.sweep import scales_of
    from hush_core.config import load_config

    scales_of(load_config(config, changes), c, noise)
    asked = Effort(sweep=tuple(noise or c or ()), **{k: v for k, v in effort.items() if v is not None})
    asked.check()
    where = None if out is None else str(command_line.writable(out).resolve())
    with command_line.owned():
        report = rehearse(str(config.resolve()), changes, asked, where)
    give(report, lambda: show(blocks(report), command_line.console()))


@with_result
@with_changes("method", "c", "rounds", "batch", "learning_rate")
def compare(
    changes: Changes,
    config: ConfigFile = None,
    mechanisms: Annotated[
        list[str] | None,
        typer.Option(
            help="rivals, as hush/matched/plain, dp_sgd or user_wise/longest/8; repeatable, or with commas",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="how often each is trained")] = 3,
    parallel: Annotated[int | None, typer.Option(help="so many at the same time", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="folder for tables and picture")] = None,
) -> None:
    """Compare what each way of protecting costs on this data. All mechanisms hold one promise."""
    config = command_line.job_file(config)
    checked = command_line.check(config, changes, command="compare")
    from flows.compare import Comparison
    from flows.compare import compare as compare_flow
    from flows.reports.comparison import blocks
    from flows.reports.lines import show
    from hush_core.rivals import rivals_of

    names = [name for given in mechanisms or () for name in given.split(",") if name.strip()]
    if mechanisms and not names:
        raise InputError("--mechanisms", "names none", "name some, or leave it out for all")
    what = Comparison(
        mechanisms=tuple(names), seeds=seeds, **({} if parallel is None else {"parallel": parallel})
    )
    what.check()
    rivals_of(checked, names)  # a mistake in a name, before a server is started
    where = None if out is None else str(command_line.writable(out).resolve())
    with command_line.owned():
        report = compare_flow(str(config.resolve()), changes, what, where)
    give(report, lambda: show(blocks(report), command_line.console()))


@with_result
def replicate(
    name: Annotated[str | None, typer.Argument(help="as --list shows it", show_default=False)] = None,
    *,
    show: Annotated[bool, typer.Option("--list", help="the replications, with their sources")] = False,
    full: Annotated[bool, typer.Option("--full", help="the paper's sizes, for a GPU; else minutes")] = False,
    data: Annotated[
        Path | None, typer.Option(help="folder of the public data that it asks for", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for page, numbers and picture")] = Path(
        "lab/docs/results"
    ),
) -> None:
    """Compute a figure or table of a paper again, ours beside it. Every claim has a mark."""
    if show == (name is not None):
        raise InputError("hush replicate", "wants a name, or --list", "give one of the two")
    with command_line.laboratory("hush replicate"):
        from lab.replications import find_data, find_replication, screen

    if name is None:
        known = screen.known_replications()
        give(known, lambda: command_line.console().print("\n".join(known.lines()), highlight=False))
        return
    find_data(data, find_replication(name).data)  # a mistake, before a server is started
    where = [str(data.resolve()) if data else None, str(command_line.writable(out).resolve())]
    command_line.answer()
    from lab.replications.flow import replicate as replicate_flow

    with command_line.owned():
        report = replicate_flow(name, "full" if full else "short", *where)
    give(report, lambda: screen.render(report, command_line.console()))


@with_result
def demo(
    directory: Annotated[Path | None, typer.Option(help="where the demo's repository is built")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="a larger repository and model, more training")
    ] = False,
) -> None:
    """Run the main job on real code with planted credentials. Ends in a one-screen report."""
    command_line.writable(directory, "--directory")
    home = command_line.answer()
    from flows.demo.run import run_demo

    command_line.serve()
    report = run_demo(directory or home.root / "demo", command_line.console(), full=full)
    from flows.reports.job_screen import render

    give(report, lambda: render(report, command_line.console()))
    if report.audit_refuted:
        raise typer.Exit(1)
