"""`hush secrets --why FILE:LINE`: what the rules for credentials say of a line, by column."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hush_core.config import HushConfig
from hush_core.errors import InputError


class LineReasons(BaseModel):
    """columns: (first, last, whether it counts, the rule or what a filter takes it for); never a value."""

    file: str
    line: int
    columns: list[tuple[int, int, bool, str]]


def why_at(place: str, config: HushConfig | None = None) -> LineReasons:
    """What is said of FILE:LINE, or of LABEL:PATH:LINE as the report prints it, a file of the config's revision.
    Raises InputError: the place has another form, or there is no such file or line."""
    file, _, number = place.rpartition(":")
    if not file or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise InputError("--why", f"{place}: is not FILE:LINE", "name a file and the number of a line")
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        label, _, path = file.partition(":")
        content = content_at(config, label, path) if config is not None else None
        if content is None:
            hint = "name a file that can be read, or LABEL:PATH:LINE of a report with that report's config"
            raise InputError("--why", f"{file}: {error.strerror}", hint) from None
    from hush_core.secrets.detectors.credentials import CredentialScanner
    from hush_core.secrets.detectors.why import why
    from tasks.runtime.environment import home

    try:
        found = why(content, int(number), CredentialScanner(home().store / "extraction"))
    except ValueError as error:
        raise InputError("--why", f"{place}: {error}", "name one of its lines") from None
    return LineReasons(file=file, line=int(number), columns=[tuple(one) for one in found])


def content_at(config: HushConfig, label: str, path: str) -> bytes | None:
    """A file of the revision of the repository that reports call `label`; None where it is not there."""
    from hush_core.corpus.git.clean_view import CleanView
    from hush_core.secrets.extraction import labelled

    for repository in labelled(config):
        if repository.label == label:
            with CleanView(repository.path, repository.rev) as view:
                return view.attempt("cat-file", "blob", f"{view.commit}:{path}")
    return None


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
