"""What pydantic finds wrong in a config, in the user's words: each mistake once, by its key, with a hint."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError

from hush_core.config.job import HushConfig
from hush_core.config.mechanism import MECHANISMS
from hush_core.config.secrets import ENTRIES, ENTRY_ID, further_kinds
from hush_core.config.section import CONFLICT, Section

ADD = {
    "version": "add `version: 1`, or let `hush init` write a first file",
    "secrets": "add at least one entry, as {id: creds, kind: credentials, level: 1.0e-4}",
}
"""What to write for a missing key of the whole file."""
PAGE = "docs/configuration.md"
MODEL_KINDS = ("byte_gpt", "huggingface")
YAML_WORDS = {"tuple": "list", "Tuple": "List", "dictionary or object to extract fields from": "mapping"}
"""What YAML calls a value of which pydantic gives the name in Python."""
Steps = list[tuple[str | int, Any]]
"""Each key, or place in a list, and what holds it."""


def mistakes(error: ValidationError, data: Mapping[str, Any], command: str) -> list[tuple[str, str]]:
    """Each mistake as (what, hint), unknown keys first, without a value that was given. An error of a union is the
    one of the branch that was meant: the deepest."""
    found: dict[str, tuple[bool, str, str]] = {}
    misspelt: set[str] = set()
    for one in error.errors(include_input=False, include_url=False, include_context=False):
        steps = _steps(one["loc"], data, missing=one["type"] == "missing")
        key, unknown = shown(_named(steps, data)), one["type"] == "extra_forbidden"
        meant = _meant(steps) if unknown else ""
        if meant:
            misspelt.add(".".join([*key.split(".")[:-1], meant]))
        what, hint = _in_words(one["type"], one["msg"], key, meant, steps, command)
        place = f"{key}: {what}" if one["type"] == CONFLICT else key  # one section can have several
        found.setdefault(place, (not unknown, what, hint))
    distinct = [
        one for key, one in found.items()
        if key not in misspelt and not any(other.startswith(f"{key}.") for other in found)
    ]  # fmt: skip
    return [(what, hint) for _, what, hint in sorted(distinct, key=lambda one: one[0])]


def key_of(place: tuple[str | int, ...], data: Mapping[str, Any], *, missing: bool = False) -> str:
    """Where something is, an entry of `secrets` by its id, and those without one by their number from 1.

    >>> key_of(("secrets", 1, "path", "globs"), {"secrets": [{}, {"id": "alpha", "kind": "path", "globs": 1}]})
    'secrets.alpha.globs'
    >>> key_of(("repos", 0, "rev"), {"repos": [{"rev": 1}]})
    'repos.1.rev'
    """
    return _named(_steps(place, data, missing=missing), data)


def shown(key: str) -> str:
    """A key as a message may hold it: one that is no name may be a value in the wrong place."""
    return key if len(key) <= 200 else key[:200] + "…"


def _steps(place: tuple[str | int, ...], data: Any, *, missing: bool) -> Steps:
    """The way to a place through the data, without the names of branches that pydantic puts between."""
    steps: Steps = []
    chosen = False
    for number, part in enumerate(place):
        if isinstance(data, Mapping) and data.get("kind") == part and steps and not chosen:
            chosen = True  # the branch of this kind
        elif (
            part in data if isinstance(data, Mapping) else isinstance(data, list) and part in range(len(data))
        ):
            steps.append((part, data))
            data, chosen = data[part], False
        elif missing and number == len(place) - 1:
            steps.append((part, data))
    return steps


def _named(steps: Steps, data: Mapping[str, Any]) -> str:
    parts = [str(part + 1 if isinstance(part, int) else part) for part, _ in steps]
    if len(steps) > 1 and steps[0][0] == "secrets" and isinstance(number := steps[1][0], int):
        entry = data["secrets"][number]
        name = entry.get("id") if isinstance(entry, Mapping) else None
        parts[1] = name if isinstance(name, str) and re.fullmatch(ENTRY_ID, name) else parts[1]
    return ".".join(parts)


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _sections(part)


def _meant(steps: Steps) -> str:
    """The key that an unknown one is a misspelling of, among those that its section takes; else empty."""
    sections: list[type[Section]] = [HushConfig]
    for part, _ in steps[:-1]:
        if isinstance(part, str):
            fields = [one.model_fields[part] for one in sections if part in one.model_fields]
            sections = [section for field in fields for section in _sections(field.annotation)]
    key, holder = steps[-1]
    of_kind = [
        one for one in sections
        if "kind" in one.model_fields and holder.get("kind") in get_args(one.model_fields["kind"].annotation)
    ]  # fmt: skip
    allowed = {name for one in of_kind or sections for name in one.model_fields}
    return next(iter(get_close_matches(str(key), sorted(allowed), 1)), "")


def _in_words(kind: str, message: str, key: str, meant: str, steps: Steps, command: str) -> tuple[str, str]:
    """One of pydantic's errors as (what, hint)."""
    where = key or "the file"
    if kind == "extra_forbidden":
        hint = f"did you mean `{meant}`?" if meant else "remove it or correct its spelling;"
        return f"unknown key {where}", f"{hint} {PAGE} lists all"
    if kind == "union_tag_not_found":
        return f"missing key {where}.kind, which hush {command} needs", f"add it; {PAGE} lists the kinds"
    if kind == "union_tag_invalid":  # pydantic's own message shows what was given
        kinds = {"model": MODEL_KINDS, "mechanism": tuple(MECHANISMS)}.get(key)
        kinds = kinds or (*ENTRIES, *sorted(further_kinds()))
        part, holder = steps[-1]
        near = get_close_matches(str(holder[part].get("kind")), kinds, 1)
        asked = f"did you mean `{near[0]}`? " if near else ""
        return f"{key}.kind: unknown kind", f"{asked}take one of {', '.join(kinds)}"
    if kind == "missing":
        needed = f"missing key {where}, which hush {command} needs"
        return needed, ADD.get(key, f"add it; {PAGE} says what it means")
    if kind in ("value_error", CONFLICT):
        what, _, hint = message.removeprefix("Value error, ").partition("; ")
        return (f"{key}: {what}" if key else what), hint or "correct this key"
    for theirs, ours in YAML_WORDS.items():
        message = message.replace(theirs, ours)
    return f"{where}: {message[:300]}", f"correct this key; {PAGE} gives its type and range"
