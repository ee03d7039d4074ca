"""`hush init`: look at a repository, and write a first hush.yaml for it. Starts no server; no flow is needed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hush_core.config import load_config, parse_config
from hush_core.config.first import Candidate, Found, chunk_bytes_for, entry_id, first_config
from hush_core.corpus import CleanView, match_path
from hush_core.corpus.git.tree import OWNERS, tree_entries
from hush_core.errors import InputError
from hush_core.files import new_file, private_folder
from hush_core.progress import Progress
from hush_core.secrets import extract
from hush_core.secrets.detectors.codeowners import Codeowners
from hush_core.secrets.detectors.credential_files import FILE_SECRET
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from tasks.runtime.environment import Home
from tasks.runtime.store import Store
from tasks.wording import counted

MOST_TEAMS, MOST_AUTHORS = 8, 3
_NAME = re.compile(r"@?[A-Za-z0-9._+-]+(?:[/@][A-Za-z0-9._+-]+)*")
"""A team or address that is written as it is: no glob, no quotation mark."""


class WrittenConfig(BaseModel):
    """What `hush init` wrote: the entries that are active, and those that are written as comments; whether any text
    holds what an active one names."""

    file: Path
    active: tuple[str, ...]
    off: tuple[str, ...]
    protects: bool


def init(repository: Path, target: Path, place: Home, progress: Progress) -> WrittenConfig:
    """Write `target`, a config for the repository, from what is found at its checked out commit. Raises InputError:
    `target` exists, or the repository cannot be read."""
    if os.path.lexists(target):
        raise InputError(str(target), "exists already", "edit it, or move it away and run hush init again")
    store = Store(place.store)
    cache = private_folder(store.root / "extraction")
    data, counts, noted = _draft(repository, CredentialScanner(cache, progress))
    config = parse_config(data, where=str(repository), folder=repository, command="secrets")
    work = store.work_dir("extraction")
    extracted = extract(config, place.identity_key(), progress, cache=cache, work=work)
    here, coverage = target.parent.resolve(), extracted.coverage
    inside = here.is_relative_to(repository)
    found = Found(
        path=os.path.relpath(repository, here) if inside else str(repository),
        name=data["repos"][0]["name"],
        files=sum(facts["files"] for facts in coverage["repositories"].values()),
        examples=extracted.examples.height,
        chunk_bytes=data["chunk_bytes"],
        candidates=tuple(
            _candidate(one, counts[one["id"]], coverage["secrets"][one["id"]]) for one in data["secrets"]
        ),
        noted=tuple(noted),
    )
    active = {one.id for one in found.candidates if found.taken(one)}
    text = first_config(found)
    try:
        with new_file(target) as file:
            file.write(text.encode())
    except FileExistsError:
        raise InputError(str(target), "exists already", "edit it, or move it away") from None
    except OSError as error:
        hint = "go to a folder that you may write to"
        raise InputError(str(target), error.strerror or "cannot be written", hint) from None
    load_config(target)
    ids = [one.id for one in found.candidates]
    return WrittenConfig(
        file=target,
        active=tuple(one for one in ids if one in active),
        off=tuple(one for one in ids if one not in active),
        protects=any(one.examples for one in found.candidates if one.id in active),
    )


def _draft(repository: Path, scanner: CredentialScanner) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """A config with every candidate; what each one's comment begins with, by id; what was not looked for."""
    entries: list[dict[str, Any]] = [{"id": "credentials", "kind": "credentials", "level": 1e-4}]
    counts, noted = {"credentials": ""}, []

    def add(kind: str, key: str, names: list[str], words: str) -> None:
        own = entry_id(names[0], set(counts))
        entries.append({"id": own, "kind": kind, key: names, "level": 1e-3})
        counts[own] = words

    with CleanView(repository) as view:
        files = [e for e in tree_entries(view) if e.kind == "blob" and e.mode != "120000"]
        owners = [Codeowners(view.small(e.blob, e.path)) for e in files if e.path in OWNERS]
        owned = Counter(frozenset(t for o in owners for t in o.owners(match_path(e.path))) for e in files)
        authors = Counter(view.run("log", "--format=%ae", view.commit).decode("utf-8", "replace").split("\n"))
        shallow = view.shallow
    if shallow:
        noted.append("Authors: not looked for, as a shallow clone does not know them: git fetch --unshallow.")
        authors.clear()
    teams: Counter[str] = Counter()
    for one, number in owned.items():
        teams.update(dict.fromkeys(one, number))
    if not teams:
        noted.append("Teams: the repository has no CODEOWNERS.")
    together: dict[frozenset[frozenset[str]], list[str]] = {}
    for team, _ in _frequent(teams, MOST_TEAMS, scanner):
        together.setdefault(frozenset(one for one in owned if team in one), []).append(team)
    for same in together.values():
        who = f"{'Team' if len(same) == 1 else 'Teams'} {', '.join(same)}"
        add("codeowners", "teams", same, f"{who}: {counted(teams[same[0]], 'file')} by CODEOWNERS")
    for author, number in _frequent(authors, MOST_AUTHORS, scanner):
        add("contributors", "emails", [author], f"Author {author}: {counted(number, 'commit')}")
    size = sum(e.size for e in files)
    data = {
        "version": 1,
        "repos": [{"path": str(repository), "name": _name(repository)}],
        "secrets": [{**entry, "may_be_empty": True} for entry in entries],
        "chunk_bytes": chunk_bytes_for(size),
    }
    return data, counts, noted


def _frequent(counts: Mapping[str, int], most: int, scanner: CredentialScanner) -> list[tuple[str, int]]:
    """The most frequent names that a config can hold as they are, and that show no credential; no robots."""
    good = (
        (name, number)
        for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if "@" in name and _NAME.fullmatch(name) and len(name) <= 200 and "bot@" not in name
    )
    found: Counter[str] = Counter()
    for name, number in good:
        if len(found) >= most and name.casefold() not in found:
            continue
        if not any(one.exact and one.rule != FILE_SECRET for one in scanner.scan(name.encode())):
            found[name.casefold()] += number
    return found.most_common()


def _candidate(entry: dict[str, Any], comment: str, facts: dict[str, Any]) -> Candidate:
    if entry["kind"] == "credentials":
        comment = f"Credentials: {facts['secrets']:,} found that can be protected"
        if weak := facts["weak_secrets"]:
            comment += f", {weak:,} too weak for noise"
    names = tuple(entry.get("teams") or entry.get("emails") or ())
    return Candidate(entry["id"], entry["kind"], names, comment, facts["examples"])


def _name(repository: Path) -> str:
    """What reports call it: the folder's name, or that of the folder around a bare repository called `repo`."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", repository.name.removesuffix(".git")).strip("-")
    return name[:80] or "repository"
