"""How a command gives its result: as a report for people, or as one JSON document for machines.

Every command that prints results has `--json` and `--quiet`. With `--json` standard output holds exactly one
document, `{"schema": "hush-output/1", "command": …, "result": …}`, or `"error"` in place of `"result"`, and
everything else goes to standard error. `hush schema COMMAND` prints the JSON Schema of a command's document.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer

SCHEMA = "hush-output/1"


@dataclass
class Output:
    """What the command line asked for; one a process."""

    json: bool = False
    quiet: bool = False
    command: str = ""


OUTPUT = Output()


def with_result(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a result: it has both options after its own."""
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(*given: Any, as_json: bool = False, quiet: bool = False, **named: Any) -> None:
        OUTPUT.json, OUTPUT.quiet, OUTPUT.command = as_json, quiet, command.__name__
        if quiet:
            os.environ["PREFECT_LOGGING_LEVEL"] = "WARNING"  # read at Prefect's import, which comes later
        command(*given, **named)

    parameters = [*own.parameters.values(), *_OPTIONS]
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _flag(name: str, option: str, words: str) -> inspect.Parameter:
    kind = Annotated[bool, typer.Option(option, help=words)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)


_OPTIONS = (
    _flag("as_json", "--json", "one JSON document on standard output, all else on standard error"),
    _flag("quiet", "--quiet", "the result, warnings and errors alone; no progress"),
)


def give(result: Any, render: Callable[[], None]) -> None:
    """The result of the command: rendered for people, or the document."""
    if not OUTPUT.json:
        render()
        return
    from pydantic import TypeAdapter

    body = TypeAdapter(type(result)).dump_python(result, mode="json", warnings=False)
    write({"result": body})


def fail(status: int, **error: Any) -> None:
    """The document of a command that failed; nothing but for machines."""
    if OUTPUT.json:
        write({"error": {"status": status, **error}})


def write(body: dict[str, Any]) -> None:
    """Numbers that JSON does not have are null."""
    document = {"schema": SCHEMA, "command": OUTPUT.command, **body}
    json.dump(_finite(document), sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list) else value
