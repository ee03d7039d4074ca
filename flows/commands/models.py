"""Commands on what was trained: verified, counted, attacked, reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows import command_line
from flows.output import give, with_result
from hush_core.errors import InputError

Target = Annotated[
    str,
    typer.Argument(
        help="models:/NAME/VERSION, its folder, or a certificate's folder alone", show_default=False
    ),
]


@with_result
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
    key: Annotated[
        Path | None,
        typer.Option(
            help="public key of who must have signed it, or a folder of NAME.pem; HUSH_TRUST unless given",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Recompute a certificate by a second route. Fails on any mismatch."""
    command_line.one_thread()
    if delta is None and (secret or out):
        raise InputError("--secret and --out", "say nothing without --delta", "add --delta, as 1e-6")
    if delta is not None and not 0 < delta < 1:
        raise InputError("--delta", f"{delta!r} does not lie between 0 and 1", "give δ, as 1e-6")
    if any(name.startswith("models:") for name in (target, after or "")):
        command_line.answer()
    from flows.results import verified
    from flows.verify import verify_target
    from hush_core.signing import read_trust

    trust = None if key is None else read_trust(key)
    verification = verify_target(target, progress=command_line.progress(), after=after, trust=trust)
    privacy = None
    if delta is not None:
        from flows.reports.verification import report_target

        privacy = report_target(verification, delta, secret or (), out, progress=command_line.progress())

    def shown() -> None:
        from flows.reports.verification import render_privacy, render_verdict

        render_verdict(verification, command_line.console())
        if privacy is not None:
            render_privacy(privacy, command_line.console())

    give(verified(target, verification, privacy), shown)


@with_result
def runs(
    add: Annotated[
        str | None,
        typer.Option(
            help="count the runs of this certificate, of a copy of this home, too", show_default=False
        ),
    ] = None,
) -> None:
    """List the runs whose releases are counted in this home. Refuted ones are marked; or count those of another."""
    if add is not None and add.startswith("models:"):
        command_line.answer()
    else:
        command_line.prepare()
    from flows.runs import add_runs, ask_registry, counted_runs, render_runs

    new, known = add_runs(add, progress=command_line.progress()) if add is not None else (None, None)
    counted = counted_runs(new, known, unasked=ask_registry())

    def shown() -> None:
        if add:
            command_line.console().print(f"{new} runs are counted from now on, {known} were already")
        render_runs(counted, command_line.console())

    give(counted, shown)


@with_result
def audit(
    model_uri: Annotated[
        str | None,
        typer.Argument(help="models:/NAME/VERSION; none with --code or --statistics", show_default=False),
    ] = None,
    alternatives: Annotated[
        int, typer.Option(help="strings of its form that each value is ranked among", min=1)
    ] = 1000,
    out: Annotated[
        Path | None, typer.Option(help="folder for tables and pictures; they name secrets, never values")
    ] = None,
    code: Annotated[
        bool, typer.Option("--code", help="audit the training step of this installation, not a model")
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics", help="play one-shot, one-run and repeated-run audits on its sampler and noise"
        ),
    ] = False,
) -> None:
    """Attack a registered model; compare with its certificate. Fails if it is refuted."""
    if code + statistics + (model_uri is not None) != 1:
        hint = "give one of the three"
        raise InputError("hush audit", "wants a model's URI or --code or --statistics", hint)
    if model_uri is None:
        with command_line.laboratory("hush audit --code" if code else "hush audit --statistics"):
            from lab.code_audit import screen

        done = screen.audit_code() if code else screen.audit_draws()
        give(done, lambda: screen.render(done, command_line.console()))
        if not done.holds:
            raise typer.Exit(1)
        return
    command_line.answer()
    where = None if out is None else str(command_line.writable(out).resolve())
    from tasks.runtime.versions import find_version

    find_version(model_uri)  # before a server is started for its flow
    from flows.audit import audit as audit_flow
    from flows.reports.verification import render_audit

    with command_line.owned():
        report = audit_flow(model_uri, alternatives, where)
    give(report, lambda: render_audit(report.document, report.rows, command_line.console()))


@with_result
def canaries(
    out: Annotated[Path, typer.Argument(help="folder for the table and the values", show_default=False)],
    count: Annotated[int, typer.Option(help="different canaries", min=1, max=1_000_000)] = 50,
    length: Annotated[int, typer.Option(help="random symbols of each, letters and digits", min=4)] = 16,
    repeat: Annotated[list[int] | None, typer.Option(help="times that one is planted; repeatable")] = None,
    seed: Annotated[int | None, typer.Option(help="for the same ones again; drawn unless given")] = None,
) -> None:
    """Make up texts with secrets, to plant in a job. `hush audit` should find them if anything can be found."""
    from flows.canaries import write_canaries

    folder = command_line.writable(out, "hush canaries")
    from flows.results import CanaryFiles

    lines = write_canaries(folder, count=count, length=length, repeats=tuple(repeat or (1, 4, 16)), seed=seed)
    give(CanaryFiles(folder=str(folder), config=lines), lambda: print(lines))


@with_result
def review(
    model_uri: Annotated[str, typer.Argument(help="models:/NAME/VERSION", show_default=False)],
    decision: Annotated[str | None, typer.Option(help="approve or reject; asked for when not given")] = None,
    reason: Annotated[str | None, typer.Option(help="why; asked for when not given")] = None,
    reviewer: Annotated[str | None, typer.Option(help="who decides")] = None,
) -> None:
    """Verify, show, and approve or reject a registered model. Approval moves the alias `champion`."""
    if decision not in (None, "approve", "reject"):
        raise InputError("--decision", "is neither approve nor reject", "give one of the two")
    command_line.answer()
    from tasks.runtime.versions import find_version

    find_version(model_uri)  # before a server is started for its flow
    from flows.review import render_review, review_in_terminal

    done = review_in_terminal(
        model_uri, decision=decision, reason=reason, reviewer=reviewer, console=command_line.console()
    )
    give(done, lambda: render_review(done, command_line.console()))


@with_result
def watch(
    config: Annotated[
        Path | None, typer.Argument(help="the YAML file whose model is watched", show_default=False)
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="a further model; repeatable")] = None,
) -> None:
    """Verify every champion again; what fails loses the alias. Sends promotions that the webhook missed."""
    if config is not None:
        from hush_core.config import load_config

        load_config(config, command="watch")
    command_line.answer()
    from flows.watch import render_watched
    from flows.watch import watch as watch_flow

    with command_line.owned():
        done = watch_flow(None if config is None else str(config.resolve()), model)
    give(done, lambda: render_watched(done, command_line.console()))
