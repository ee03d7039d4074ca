"""`hush secrets --why FILE:LINE`: what the rules for credentials say of a line, by column."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hush_core.errors import InputError


class LineReasons(BaseModel):
    """columns: (first, last, whether it counts, the rule or what a filter takes it for); never a value."""

    file: str
    line: int
    columns: list[tuple[int, int, bool, str]]


def why_at(place: str) -> LineReasons:
    """What is said of FILE:LINE. Raises InputError: the place has another form, or there is no such file or
    line."""
    file, _, number = place.rpartition(":")
    if not file or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise InputError("--why", f"{place}: is not FILE:LINE", "name a file and the number of a line")
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise InputError("--why", f"{file}: {error.strerror}", "name a file that can be read") from None
    from hush_core.secrets.detectors.credentials import CredentialScanner
    from hush_core.secrets.detectors.why import why
    from tasks.runtime.environment import home

    try:
        found = why(content, int(number), CredentialScanner(home().store / "extraction"))
    except ValueError as error:
        raise InputError("--why", f"{place}: {error}", "name one of its lines") from None
    return LineReasons(file=file, line=int(number), columns=[tuple(one) for one in found])


def render_reasons(reasons: LineReasons, console: Console) -> None:
    if not reasons.columns:
        console.print(
            f"{escape(reasons.file)}:{reasons.line}: no rule sees anything on this line. If it holds a credential, "
            "name it with an entry of kind patterns or literals."
        )
        return
    table = Table("columns", "credential", "rule, or what a filter takes it for", box=None)
    for first, last, found, what in reasons.columns:
        table.add_row(f"{first} to {last}", "yes" if found else "no", escape(what))
    console.print(table)
