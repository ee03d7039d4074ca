"""`hush …`: a thin face over the flows. Exit status 0 on success, 2 for a user's mistake, 1 for all else.

What a command needs is imported in it: nobody who asks for help waits for torch, and the environment is prepared
before Prefect and MLflow are imported.
"""

from __future__ import annotations

import atexit
import gc
from typing import Annotated

import typer

from flows import command_line
from flows.commands import begin, jobs, models, service

app = typer.Typer(
    help="Train on your own code and text, and prove how likely each secret is to come back out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help in plain text: drawing boxes takes as long as all the rest of it
)
COMMANDS = (
    begin.secrets, begin.init, jobs.plan, jobs.run, jobs.compare, jobs.replicate, models.verify, models.runs,
    models.audit, models.canaries, models.review, models.watch, service.serve, service.stop, service.doctor,
    service.backup, service.restore, jobs.demo, service.schema, service.explain,
)  # fmt: skip
"""In the order of `hush --help`."""
for command in COMMANDS:
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"hush {version('hush-secrets')}")
        raise typer.Exit


@app.callback()
def hush(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="show the version and exit", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Train on your own code and text, and prove how likely each secret is to come back out."""


def main() -> None:
    atexit.register(gc.freeze)  # called last: else Python looks for garbage among all libraries
    with command_line.exit_status():
        command_line.parsed(app)


if __name__ == "__main__":
    main()
