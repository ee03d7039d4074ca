"""The command that a new user begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows import command_line
from flows.output import give, with_result


@with_result
def init(
    repository: Annotated[
        Path | None,
        typer.Argument(help="any folder of a git repository; this one unless given", show_default=False),
    ] = None,
) -> None:
    """Write a first hush.yaml: a repository's teams, authors and credentials, each with a comment."""
    found = command_line.repository(repository)
    place = command_line.prepare()
    from flows.init import init as write_first

    begun = write_first(found, command_line.FIRST, place, command_line.progress())

    def shown() -> None:
        said = [f"wrote {begun.file}: {', '.join(begun.active)}"]
        said += [f"as comments, each with its reason: {', '.join(begun.off)}"] if begun.off else []
        said += [
            "next: read it, then run hush plan" if begun.protects
            else "no text holds what these name; next: add an entry for what is confidential, then run hush plan"
        ]  # fmt: skip
        command_line.console().print("\n".join(said), markup=False)

    give(begun, shown)
