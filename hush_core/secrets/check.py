"""All that can be checked of a job's sources and secrets before the work begins: cheap, and in the user's words.

This lists the revision's tree (names and sizes, no content), and reads the first rows of each table and the files
that entries name. So a mistake shows in a second, before a server is started and text is read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from hush_core.config import CodeownersSecret, HushConfig, PathSecret, Table, UnitSecret
from hush_core.corpus import CleanView, match_path
from hush_core.corpus.git.history import refuse_shallow
from hush_core.corpus.git.tree import OWNERS, tree_entries
from hush_core.corpus.tables import documents_of
from hush_core.errors import InputError
from hush_core.secrets.detectors.globs import Globs
from hush_core.secrets.detectors.path import globs_of
from hush_core.secrets.detectors.registry import detector_of
from hush_core.secrets.detectors.unit import without_units
from hush_core.secrets.extraction import labelled, needs_history

ROWS = 20
"""Of each table so many documents are read, to see that its columns are there and hold text."""


def check_sources(config: HushConfig) -> None:
    """Refuse what the first task would refuse minutes later, and entries that protect nothing.

    Raises:
        InputError: an unreadable repository, revision, table or file; a column that is not there; a pattern
            that does not compile; globs or teams that name nothing.
    """
    labelled(config)
    for entry in config.secrets:
        with _named(f"secrets.{entry.id}", *entry.files()):
            detector_of(entry.kind).check(config, entry)
    histories = needs_history(config)
    globs = {"public": Globs(config.public, "public")} if config.public else {}
    globs |= {f"secrets.{e.id}.globs": globs_of(e) for e in config.secrets if isinstance(e, PathSecret)}
    paths, owners = _listing(config, histories)
    for table in config.tables:
        _check_table(config, table)
    _check_teams(config, owners)
    # names of documents, and files that are gone, are known only when they are read
    if config.repos and not config.tables and all(r.mode == "tree" for r in config.repos):
        for where, chosen in globs.items():
            if not any(map(chosen.match, paths)):
                raise InputError(
                    where,
                    "match no file of the sources, so nothing would be "
                    + ("public" if where == "public" else "protected"),
                    "correct them (gitignore syntax, paths from the repository's root), or leave them out",
                )


@contextmanager
def _named(entry: str, *keys: str) -> Iterator[None]:
    """Refusals inside also name the entry and its key, where they name only the file or the repository."""
    try:
        yield
    except InputError as error:
        if error.where.startswith(f"{entry}."):
            raise
        raise InputError(f"{'.'.join((entry, *keys))}: {error.where}", error.what, error.hint) from None


def _listing(config: HushConfig, histories: bool) -> tuple[set[str], list[bytes]]:
    """All paths of the revisions, and the contents of their CODEOWNERS files."""
    paths, owners = set(), []
    for number, repository in enumerate(config.repos, 1):
        with _named(f"repos.{number}"), CleanView(repository.path, repository.rev) as view:
            if histories:
                refuse_shallow(view)
            for entry in tree_entries(view):
                if entry.is_file:
                    paths.add(match_path(entry.path))
                    if entry.path in OWNERS:
                        owners.append(view.small(entry.blob, entry.path))
    return paths, owners


def _check_table(config: HushConfig, table: Table) -> None:
    """Read the first rows; an entry that protects units needs a unit in them."""
    first = list(islice(documents_of(table, config.max_file_bytes), ROWS))
    for entry in config.secrets:
        asked = isinstance(entry, UnitSecret) and entry.table in (None, table.label)
        if asked and first and first[0].unit is None:
            raise without_units(entry, table.label)


def _check_teams(config: HushConfig, owners: list[bytes]) -> None:
    known = {word for content in owners for word in content.decode("utf-8", "replace").casefold().split()}
    for entry in config.secrets:
        if not isinstance(entry, CodeownersSecret) or any(r.mode == "history" for r in config.repos):
            continue
        where = f"secrets.{entry.id}.teams"
        if not owners:
            raise InputError(
                where, "no source has a CODEOWNERS file at its revision", "name the files by kind: path"
            )
        teams = {t.casefold() for t in entry.teams}
        if known.isdisjoint(teams | {f"@{team}" for team in teams}):
            raise InputError(where, "are in no CODEOWNERS file", "write them as that file does, as @org/team")
