"""`hush secrets --review`: what is new, one value after the other, with one key for each decision; and
`--why FILE:LINE`: what the rules for credentials say of a line, by column."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click
import polars as pl
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.output import OUTPUT
from flows.reports.secrets import NUMBERS, UNNAMED
from hush_core.config import HushConfig
from hush_core.config.decisions import ValueDecision, decisions_file, read_decisions, write_decision
from hush_core.errors import InputError
from hush_core.figures import short_name
from tasks.publish_secrets import Summary
from tasks.wording import counted

KEYS = {"c": "credential", "p": "placeholder", "u": "public", "n": "unsure"}
ASKS = "\n".join((
    "  c  credential: stays protected as its entry says, and is not asked for again",
    "  p  placeholder: no secret from the next run on; text that holds it is trained on as it is, in every file",
    "  u  public: the same, with another word in the file of decisions",
    "  n  not sure: stays protected, and is asked for again",
    "  a capital: with your reason · v show the value · q stop",
))  # fmt: skip
"""What each key does, also to training."""
NO_LINE = "(its line is not shown: it may show more of a value; v shows the value)"


@dataclass(frozen=True)
class Open:
    """A value without a decision. place: where it first is. examples: that are left out (`lost`) or tagged."""

    name: str
    source: str
    path: str
    line: int
    examples: int
    lost: bool

    @property
    def digits(self) -> str:
        return self.name.rpartition(":")[2]


@dataclass(frozen=True, repr=False)
class Seen:
    """A value in clear, for this terminal alone; its line without it, where nothing else gives it away."""

    value: bytes
    line: str | None


def needs_terminal() -> None:
    """Refuse before any work where nobody can answer. Raises InputError: no terminal, or `--json`."""
    if OUTPUT.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "run `hush secrets` without --review, and this one in a terminal"
        raise InputError("--review", "there is no terminal to ask on", hint)


def open_values(summary: Summary, decided: dict[str, ValueDecision]) -> list[Open]:
    """The credentials that nobody decided on: those that cost the most examples first, random values that
    no name announces and those left undecided last."""
    found: dict[str, list[Open]] = {}
    for file in ("dropped.csv", "files.csv", "redacted.csv"):
        if file not in summary.files:
            continue
        rows = pl.read_csv(summary.files[file], infer_schema=False)
        for row in rows.filter(pl.col("kind") == "credentials").iter_rows(named=True):
            numbers = (int(row.get(key) or 0) for key in NUMBERS)
            examples, line = numbers
            one = Open(row["name"], row["source"], row["path"], line, examples, file == "dropped.csv")
            found.setdefault(one.digits, []).append(one)
    values = []
    for digits, places in found.items():
        if digits in decided and decided[digits].verdict != "unsure":
            continue
        first = min(places, key=lambda one: (not one.lost, one.source, one.path, one.line))
        total = sum(one.examples for one in places if one.lost == first.lost)
        values.append(Open(first.name, first.source, first.path, first.line, total, first.lost))
    return sorted(
        values,
        key=lambda one: (
            one.digits in decided, UNNAMED in one.name, not one.lost, -one.examples, one.name
        ),
    )  # fmt: skip


def decide(
    summary: Summary,
    config: HushConfig,
    config_file: Path,
    console: Console,
    *,
    look: Callable[[HushConfig, Open], Seen | None],
    today: Callable[[], date] = date.today,
) -> int:
    """Ask for each open value, and write each answer at once; how many were answered.

    look: the value and its line; None where it cannot be read.
    """
    file = decisions_file(config_file)
    waiting = open_values(summary, read_decisions(file))
    console.print(f"{counted(len(waiting), 'value')} without a decision.\n{ASKS}", soft_wrap=True)
    done = 0
    for number, one in enumerate(waiting, 1):
        place = f"{one.source}:{one.path}" + (f":{one.line}" if one.line else "")
        cost = f"{counted(one.examples, 'example')} {'left out for it' if one.lost else 'with it'}"
        console.print(f"[bold]{number}/{len(waiting)}[/bold] {escape(place)}", soft_wrap=True)
        console.print(f"    {escape(short_name(one.name, 12))}  {cost}", soft_wrap=True)
        seen = look(config, one)
        _past_logs((seen and seen.line) or NO_LINE)
        decision = _asked(one, seen, console, today().isoformat())
        if decision is None:
            break
        write_decision(file, decision)
        done += 1
    if done:
        console.print(f"{counted(done, 'decision')} in {escape(str(file))}; the next run goes by them")
    return done


def _past_logs(text: str) -> None:
    """To the terminal alone: what rich prints may be recorded."""
    sys.stdout.write(f"    {text}\n")
    sys.stdout.flush()


def _asked(one: Open, seen: Seen | None, console: Console, day: str) -> ValueDecision | None:
    """The decision on a value; None to stop."""
    while True:
        key = click.getchar()
        if key in ("q", "Q", "\x03", "\x04"):
            return None
        if key in ("v", "V"):
            unread = "cannot be read at this place"
            _past_logs(unread if seen is None else repr(seen.value.decode("utf-8", "replace")))
            continue
        if (verdict := KEYS.get(key.lower())) is None:
            console.print(ASKS, soft_wrap=True)
            continue
        reason = "looked at" if key.islower() else click.prompt("    why", default="looked at")
        if not key.islower() and seen is not None and seen.value.decode("utf-8", "replace") in reason:
            console.print("    the reason holds the value; say it without, and choose again")
            continue
        console.print(f"    {verdict}")
        return ValueDecision(
            one.digits, verdict, day, f"{reason} ({one.path})" if reason == "looked at" else reason
        )


def look_at(config: HushConfig, one: Open) -> Seen | None:
    """The value, read again out of the repository's revision, and its line; None where it is not there."""
    import hashlib
    import hmac

    from hush_core.secrets.detectors.credential_scanner import CredentialScanner
    from hush_core.secrets.detectors.credential_values import canonical
    from hush_core.secrets.report.masked_line import masked_line
    from tasks.runtime.environment import home

    key, scanner = home().identity_key(), CredentialScanner(home().store / "extraction")
    content = content_at(config, one.source, one.path) or b""
    found = scanner.scan(content)
    own = [
        d for d in found
        if hmac.new(key, canonical(d.rule, d.value), hashlib.sha256).hexdigest()[:12] == one.digits
    ]  # fmt: skip
    there = [d for d in own if content.count(b"\n", 0, d.start) + 1 == one.line]
    if own:
        return Seen(own[0].value, masked_line(content, there[0], found) if there else None)
    return None


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
    from hush_core.secrets.detectors.credential_scanner import CredentialScanner
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
