"""Commands on the installation: its servers, its health, its copies, its schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows import command_line
from flows.output import give, with_result
from hush_core.errors import InputError
from tasks.wording import counted


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
    postgres: Annotated[
        bool,
        typer.Option("--postgres", help="with --with-servers: their databases in PostgreSQL, started too"),
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", help="with --with-servers: return when all is ready; hush stop")
    ] = False,
    prefect_port: Annotated[
        int, typer.Option(help="with --with-servers: Prefect's, on loopback", min=1, max=65535)
    ] = 4200,
    mlflow_port: Annotated[
        int, typer.Option(help="with --with-servers: MLflow's, on loopback", min=1, max=65535)
    ] = 5000,
    metrics: Annotated[
        int | None,
        typer.Option(
            help="port on loopback for Prometheus; none unless given", min=1, max=65535, show_default=False
        ),
    ] = None,
) -> None:
    """Register the flows as Prefect deployments, and run them. They are scheduled and started from the UI."""
    if (postgres or background) and not with_servers:
        raise InputError("--postgres and --background", "say nothing without --with-servers", "add it")
    if config is not None:
        command_line.check(config, command="serve")
    else:
        command_line.answer()
    from flows.serve import serve as serve_flows
    from flows.serve import serve_in_background

    where = config.resolve() if config else None
    if background:
        given = {"--cron": cron, "--timezone": timezone}
        options = [part for name, value in given.items() if value is not None for part in (name, value)]
        options += ["--with-servers", *(["--postgres"] if postgres else [])]
        options += ["--prefect-port", str(prefect_port), "--mlflow-port", str(mlflow_port)]
        options += ["--metrics", str(metrics)] if metrics else []
        print(serve_in_background([*([str(where)] if where else []), *options]))
        return
    serve_flows(
        where,
        cron=cron,
        timezone=timezone,
        with_servers=with_servers,
        postgres=postgres,
        prefect_port=prefect_port,
        mlflow_port=mlflow_port,
        metrics_port=metrics,
    )


def stop() -> None:
    """End what `hush serve --with-servers` started. The runs that it was doing leave a checkpoint."""
    from flows.serve import stop as stop_servers

    print("stopped" if stop_servers() else "no servers of this HUSH_HOME are running")


@with_result
def doctor(
    config: Annotated[Path | None, typer.Argument(help="a job's YAML, to be checked too")] = None,
) -> None:
    """Say all that is wrong with this installation. Each has its fix; changes nothing."""
    import os

    from tasks.runtime.environment import home, settings

    place = home()
    for name, value in settings(place).items():  # and makes no folder
        os.environ.setdefault(name, value)
    from flows.doctor import examine
    from flows.results import Examined

    found = [str(mistake) for mistake in examine(place, config)]
    total = counted(len(found), "mistake") if found else "nothing is wrong"
    lines = [*(f"- {mistake}" for mistake in found), total]
    give(Examined(mistakes=found), lambda: print("\n".join(lines)))
    if found:
        raise typer.Exit(1)


def backup(
    into: Annotated[Path, typer.Argument(help="a new folder; as private as HUSH_HOME", show_default=False)],
) -> None:
    """Copy all of HUSH_HOME while everything may continue. Its databases too."""
    from flows.backup import back_up

    files = back_up(command_line.prepare(), into)
    print(f"{len(files)} files in {into}")


def restore(
    source: Annotated[Path, typer.Argument(help="the folder of a backup", show_default=False)],
) -> None:
    """Make an empty HUSH_HOME what it was when the backup was taken."""
    from flows.backup import restore as restore_home
    from tasks.runtime.environment import home

    taken, spent = restore_home(home(), source)
    print(f"restored as of {taken}. Runs since then released something that this home does not count:")
    print(
        "count each with `hush runs --add CERTIFICATE`. One that was killed has none: copy its folders under"
    )
    print("store/history and store/work from the broken home, or promise nothing over all runs")
    for run in spent:
        print(f"run {run[:12]} had not ended then: it counts with all its rounds, and releases no more")


def schema(
    of: Annotated[
        str, typer.Argument(help="config, or a command: of what its --json prints", show_default=True)
    ] = "config",
) -> None:
    """Print a JSON Schema of the config or a command's result. For editors, and for machines."""
    import json

    if of == "config":
        from hush_core.config.schema import config_schema

        print(json.dumps(config_schema(), indent=2))
        return
    command_line.prepare()
    from flows.results import output_schema

    print(json.dumps(output_schema(of), indent=2))


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="a code, or words of a message or report; none: all", show_default=False),
    ] = None,
) -> None:
    """Explain a refusal, or a word of a report. Says what to do."""
    from flows.explain import explain as found

    print("\n".join(line for refusal in found(words or ()) for line in refusal.lines()))
