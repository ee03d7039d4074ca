"""`hush …`: a thin face over the flows. Exit status 0 on success, 2 for a user's mistake, 1 for all else.

What a command needs is imported in it: nobody who asks for help waits for torch, and the environment is prepared
before Prefect and MLflow are imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import command_line
from hush_core.errors import InputError

if TYPE_CHECKING:
    from hush_core.config import Changes

app = typer.Typer(
    help="Train on your own code and text, and prove how likely each secret is to come back out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help in plain text: drawing boxes takes as long as all the rest of it
)
METHODS = ("kl", "renyi", "blow_up", "best")
"""Those of `hush_core.config.Method`."""

ConfigFile = Annotated[Path, typer.Argument(help="the YAML file of the job", show_default=False)]
Target = Annotated[
    str, typer.Argument(help="a certificate's directory, or models:/NAME/VERSION", show_default=False)
]
MethodOption = Annotated[
    str | None, typer.Option(help="certificate method, instead of the file's", metavar="|".join(METHODS))
]
COption = Annotated[float | None, typer.Option("--c", help="weights.c, relative to c_max")]
RoundsOption = Annotated[int | None, typer.Option(help="train.rounds")]
BatchOption = Annotated[int | None, typer.Option(help="train.batch")]
RateOption = Annotated[float | None, typer.Option(help="train.learning_rate")]


@app.command()
def run(
    config: ConfigFile,
    method: MethodOption = None,
    c: COption = None,
    noise: Annotated[
        float | None, typer.Option(help="keep as much as this noise multiplier can certify, in place of c")
    ] = None,
    rounds: RoundsOption = None,
    batch: BatchOption = None,
    learning_rate: RateOption = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="plan.yaml of `hush plan --rehearse`; other options go before it", show_default=False
        ),
    ] = None,
) -> None:
    """The main job: extract, weigh, calibrate, train, attack, certify, register."""
    changes = command_line.changes(
        method=method, c=c, noise_multiplier=noise, rounds=rounds, batch=batch, learning_rate=learning_rate
    )
    if plan is not None:
        from hush_core.config import read_plan

        changes = changes.over(read_plan(plan))
    checked = command_line.check(config, changes)
    from flows.answers import find_answer
    from flows.reports.job_screen import render

    if (known := find_answer(checked)) is not None:
        render(known, command_line.console())
        return
    from flows.train import train

    command_line.serve()
    with command_line.owned():
        report = train(str(config.resolve()), changes)
    render(report, command_line.console())


@app.command()
def secrets(
    config: ConfigFile,
    secret: Annotated[
        list[str] | None,
        typer.Option(help="list the files of this secret, or entry of the config; repeatable"),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="baseline.json to compare with, instead of the last report's")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the report; it names files: a private place")
    ] = None,
) -> None:
    """Which files hold which secret, and what changed since the last report; plans and trains nothing."""
    if baseline is not None and not baseline.is_file():
        raise InputError("--baseline", f"{baseline}: is no file", "name the baseline.json of a report")
    given = [None if path is None else str(path.resolve()) for path in (baseline, command_line.writable(out))]
    command_line.check(config, trains=False)
    from flows.reports.secrets import render, render_files
    from flows.secrets import secrets as secrets_flow

    command_line.serve()
    with command_line.owned():
        summary = secrets_flow(str(config.resolve()), *given)
    render(summary, command_line.console())
    render_files(summary, secret or [], command_line.console())


@app.command()
def plan(
    config: ConfigFile,
    method: MethodOption = None,
    rounds: RoundsOption = None,
    batch: BatchOption = None,
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
            "--rehearse", help="search for the plan with the lowest predicted loss (docs/rehearsal.md)"
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
    """What will it cost? Weights and noise for a sweep of c or of σ; or the plan of the best model (--rehearse)."""
    changes = command_line.changes(method=method, rounds=rounds, batch=batch)
    if rehearse:
        _rehearse(config, changes, c, noise, out, trials=trials, examples=examples, minutes=minutes)
        return
    if trials is not None or examples is not None or minutes is not None:
        raise InputError(
            "--trials, --examples and --minutes", "say nothing without --rehearse", "add --rehearse"
        )
    command_line.check(config, changes, trains=False)
    from flows.plan import plan as plan_flow
    from flows.reports.plan import render
    from flows.sweep import scales_of
    from hush_core.config import load_config

    scales_of(load_config(config, changes), c, noise)  # a mistake in the sweep, before a server is started
    where = None if out is None else str(command_line.writable(out).resolve())
    command_line.serve()
    with command_line.owned():
        planned = plan_flow(str(config.resolve()), changes, c or None, noise or None, where)
    render(planned, command_line.console())


def _rehearse(
    config: Path,
    changes: Changes,
    c: list[float] | None,
    noise: list[float] | None,
    out: Path | None,
    **effort: float | None,
) -> None:
    """`hush plan --rehearse`."""
    if noise:
        changes = command_line.changes(**changes.model_dump(exclude_none=True), noise_multiplier=noise[0])
    command_line.check(config, changes)
    from flows.rehearse import Effort, rehearse
    from flows.reports.rehearsal import render
    from flows.sweep import scales_of
    from hush_core.config import load_config

    scales_of(load_config(config, changes), c, noise)
    asked = Effort(sweep=tuple(noise or c or ()), **{k: v for k, v in effort.items() if v is not None})
    asked.check()
    where = None if out is None else str(command_line.writable(out).resolve())
    command_line.serve()
    with command_line.owned():
        report = rehearse(str(config.resolve()), changes, asked, where)
    render(report, command_line.console())


@app.command()
def verify(
    target: Target,
    delta: Annotated[float | None, typer.Option(help="also report (ε, δ)-DP and f-DP at this δ")] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="with --delta: a secret to compose by its own rates; repeatable")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="with --delta: folder for tables and a picture")] = None,
    after: Annotated[
        str | None, typer.Option(help="one made earlier in the same store: its runs must be counted")
    ] = None,
) -> None:
    """Recompute a certificate from its own tables by a second route; fail on any mismatch."""
    if delta is None and (secret or out):
        raise InputError("--secret and --out", "say nothing without --delta", "add --delta, as 1e-6")
    if any(name.startswith("models:") for name in (target, after or "")):
        command_line.prepare()
        command_line.answer()
    from rich.markup import escape

    from flows.reports.verification import verdict
    from flows.verify import verify_target

    verification = verify_target(target, progress=command_line.progress(), after=after)
    first, *rest = verdict(verification)
    command_line.console().print(f"[green]{escape(first)}[/green]")
    for line in rest:
        command_line.console().print(
            f"[bold red]{escape(line)}[/bold red]" if line.startswith("WARNING") else escape(line)
        )
    command_line.console().print(f"Digest {verification.certificate.digest}")
    if delta is not None:
        from flows.reports.privacy import render_privacy, report_target

        render_privacy(
            report_target(verification, delta, secret or (), out, progress=command_line.progress()),
            command_line.console(),
        )


@app.command()
def runs(
    add: Annotated[
        str | None,
        typer.Option(
            help="count the runs of this certificate, of a copy of this home, too", show_default=False
        ),
    ] = None,
) -> None:
    """List the runs whose releases are counted in this home, or count those of another one."""
    command_line.prepare()
    if add and add.startswith("models:"):
        command_line.answer()
    from flows.runs import add_runs, render_runs

    if add:
        new, known = add_runs(add, progress=command_line.progress())
        command_line.console().print(f"{new} runs are counted from now on, {known} were already")
    render_runs(command_line.console())


@app.command()
def review(
    model_uri: Annotated[str, typer.Argument(help="models:/NAME/VERSION", show_default=False)],
    decision: Annotated[str | None, typer.Option(help="approve or reject; asked for when not given")] = None,
    reason: Annotated[str | None, typer.Option(help="why; asked for when not given")] = None,
    reviewer: Annotated[str | None, typer.Option(help="who decides")] = None,
) -> None:
    """Verify, show, and approve or reject a registered model; moves the alias `champion`."""
    if decision not in (None, "approve", "reject"):
        raise InputError("--decision", "is neither approve nor reject", "give one of the two")
    command_line.prepare()
    command_line.answer()
    from flows.review import review_in_terminal

    review_in_terminal(
        model_uri, decision=decision, reason=reason, reviewer=reviewer, console=command_line.console()
    )


@app.command()
def serve(
    config: Annotated[Path | None, typer.Argument(help="the YAML file that scheduled runs use")] = None,
    cron: Annotated[
        str | None, typer.Option(help="when to retrain; promise.cron, or 0 2 * * *, unless given")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="of the schedule; promise.timezone, or UTC, unless given")
    ] = None,
    with_servers: Annotated[
        bool, typer.Option(help="also start Prefect and MLflow servers on loopback")
    ] = False,
) -> None:
    """Register the flows as Prefect deployments, scheduled and triggerable from the UI, and run them."""
    if config is not None:
        command_line.check(config)
    else:
        command_line.prepare()
        command_line.answer()
    from flows.serve import serve as serve_flows

    serve_flows(config.resolve() if config else None, cron=cron, timezone=timezone, with_servers=with_servers)


@app.command()
def demo(
    directory: Annotated[Path | None, typer.Option(help="where the demo's repository is built")] = None,
) -> None:
    """The main job on real code with planted credentials; ends in a one-screen report."""
    home = command_line.prepare()
    command_line.answer()
    from flows.demo.run import run_demo

    command_line.serve()
    run_demo(directory or home.root / "demo", command_line.console())


def main() -> None:
    """The console script."""
    with command_line.exit_status():
        app(standalone_mode=True)


if __name__ == "__main__":
    main()
