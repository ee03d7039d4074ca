"""What must stay inside: one kind of entry a detector; other packages may add kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, SerializeAsAny, WrapValidator, field_validator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from hush_core.config.section import MOST_EXAMPLES, Bits, Examples, Section
from hush_core.errors import InputError

ENTRY_POINTS = "hush.detectors"
"""The entry point group in which other packages name their detectors; an entry point is named after its kind."""

ENTRY_ID = r"[A-Za-z0-9][A-Za-z0-9._-]*"

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Level = Text | float
"""A name out of `levels`, or the posterior itself."""
Protect = Literal["auto", "noise", "redact", "drop"]
"""By noise in training; by replacing every copy found before examples are cut; by leaving out whatever holds it; or
by what the plan decides (`hush_core/weights/choice.py`)."""


class SecretEntry(Section):
    """One entry of `secrets`; a detector's own model adds its keys and pins `kind` to one word."""

    id: Annotated[str, Field(pattern=f"^{ENTRY_ID}$", max_length=80)]
    """Name in reports and certificates; unique. Never write the secret itself here."""
    kind: str
    """How the secret's examples are found. Installed packages may add kinds."""
    level: Level = 1e-3
    """The target r_j: a name from `levels`, or a number in (0, 1). For `credentials` the default is 0.0001."""
    bits: Bits | None = None
    """Declared: one guess is right with probability at most 2^-bits. Where bits are measured too, the smaller
    counts. Required for `literals`, `patterns` and `rare_words`."""
    protect: Protect = "auto"
    """`auto`: the plan decides. `noise`: trained on, with a bound at most the target. `redact` (values only):
    every copy that the search finds is replaced. `drop`: every example that holds one is left out."""
    may_be_empty: bool = False
    """Whether a job continues where the entry protects nothing. If false, `hush run` and `hush plan --rehearse`
    refuse, as a misspelt name would protect nothing unnoticed. For `credentials` the default is true."""

    says: ClassVar[str] = "a secret"
    """What reports call the text of one."""
    are_values: ClassVar[bool] = False
    """Whether its secrets are values, of which each copy can be replaced."""
    one_secret: ClassVar[bool] = False
    """Whether an entry is one secret, however much text holds it."""
    whole_files: ClassVar[bool] = False
    """Whether all of a file is the secret's. Else a chunk with it may have text around it that is not."""

    @field_validator("protect")
    @classmethod
    def _replaceable(cls, given: str) -> str:
        if given == "redact" and not cls.are_values:
            raise ValueError(
                "redact replaces the copies of a value, and secrets of this kind are no values; "
                "take noise, or drop to leave their text out"
            )
        return given

    def files(self) -> dict[str, Path]:
        """The files that the entry names, by key: what they hold decides what is found."""
        return {name: value for name, value in self if isinstance(value, Path)}


class Spread(Section):
    """How far a secret that is whole files reaches beyond them."""

    imports: Annotated[int, Field(ge=0, le=MOST_EXAMPLES)] = 1
    """Files that import one of them, through at most this many imports, hold the secret too. 0: none. Python,
    JavaScript, TypeScript, Go, Java, Rust, C, C++."""
    copies: bool = True
    """Text that copies a passage of one of them, edited or not, holds the secret too. Passages shared by more
    than 16 other files are set aside and counted."""


class FileSecret(SecretEntry):
    """One secret that is files or parts of them, and what indicates them."""

    one_secret: ClassVar[bool] = True

    spread: Spread = Spread()
    """What else reveals the files' content, and so holds the secret too."""


class PathSecret(FileSecret):
    """All files whose path matches the globs are one secret."""

    says: ClassVar[str] = "a file named as confidential"
    whole_files: ClassVar[bool] = True
    kind: Literal["path"]
    globs: Annotated[tuple[Text, ...], Field(min_length=1)]
    """gitignore syntax; the last match wins, `!` excludes. Globs that match no file are refused (trees
    without tables only)."""


class CodeownersSecret(FileSecret):
    """All files that CODEOWNERS assigns to one of the teams are one secret."""

    says: ClassVar[str] = "a file that belongs to a protected team"
    whole_files: ClassVar[bool] = True
    kind: Literal["codeowners"]
    teams: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Teams of a CODEOWNERS file in the root, `.github/`, `docs/` or `.gitlab/`. A team in no such file is
    refused."""


class ContributorsSecret(FileSecret):
    """Everything that one of these people ever changed is one secret. Needs the whole history; merges count."""

    says: ClassVar[str] = "text of a protected person"
    kind: Literal["contributors"]
    emails: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Author, committer or co-author, with `.mailmap`; `*` matches anything. A shallow clone is refused."""
    attribute: Literal["file", "commit", "blame"] = "file"
    """`file`: every file that they changed, its renames, splits and copies. `commit`: the lines that their
    commits added. `blame`: the lines that git blame assigns to them (not in history mode). Each contains the
    next."""


Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]


class DocumentedValue(Section):
    """One value that the rules find and a person has looked at: in these files it is an example, and no secret."""

    fingerprint: Fingerprint
    """The 12 hexadecimal digits after the colon in its name, as `hush secrets` prints it. Keyed, so valid in
    one home only."""
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Globs of the files in which it may occur. If any other file holds a copy, it is a secret everywhere."""
    source: Text | None = None
    """The repository or table in which `paths` hold; otherwise every one. A value in two sources needs two
    entries."""
    why: Text
    """The reason, for the reviewer of the config."""


class CredentialsSecret(SecretEntry):
    """Every distinct credential that the rules find is a secret. Its value is searched everywhere."""

    says: ClassVar[str] = "a credential"
    are_values: ClassVar[bool] = True
    kind: Literal["credentials"]
    level: Level = 1e-4
    """The target r_j."""
    may_be_empty: bool = True
    """A source without a credential is in order."""
    weak: Literal["drop", "refuse"] = "drop"
    """For a credential under 20 bits, or as easy to guess as its target allows, that is not redacted. `drop` leaves
    its examples out and reports it first. `refuse` stops the job and names the places, also where the plan would
    redact (`protect: auto`)."""
    documentation: Annotated[tuple[DocumentedValue, ...], Field(max_length=10_000)] = ()
    """Values that are examples of a manual: not secrets while they occur in their `paths` alone. Not with
    `protect: redact`."""

    not_secrets: tuple[Fingerprint, ...] = ()
    """Values that a person decided are placeholders or public, by the 12 digits: not secrets, wherever they occur.
    `hush secrets --review` writes them into the file `.decisions` beside the config, which adds to this list."""

    def conflicts(self) -> Iterator[str]:
        if self.documentation and self.protect == "redact":
            yield ("documentation and protect: redact do not go together; redacting an example costs little")
        named = [(value.fingerprint, value.source) for value in self.documentation]
        if len(set(named)) < len(named):
            yield ("documentation names a fingerprint twice for one source; write its paths in one place")


class ListSecret(SecretEntry):
    """Values that a file of yours names."""

    are_values: ClassVar[bool] = True

    file: Path
    """A UTF-8 file, kept outside the repository. `literals`: one literal a line, 3 bytes or more. `patterns`:
    one RE2 expression a line, optionally after `name: `; a group marks the secret, and two groups are
    refused."""
    bits: Bits


class LiteralsSecret(ListSecret):
    """Every line of a file that you write is a secret. Its value is searched everywhere."""

    says: ClassVar[str] = "a literal named as confidential"
    kind: Literal["literals"]


class PatternsSecret(ListSecret):
    """Every distinct match of your regular expressions is a secret. Its value is searched everywhere."""

    says: ClassVar[str] = "text that matches a confidential pattern"
    kind: Literal["patterns"]


class RareWordsSecret(SecretEntry):
    """Every word of 3 to 128 letters, digits and `_`, not all digits, that occurs in few examples is a
    secret."""

    says: ClassVar[str] = "a rare word"
    are_values: ClassVar[bool] = True
    kind: Literal["rare_words"]
    document_frequency: tuple[Examples, Examples]
    """`[least, most]`: a word in this many examples, both included, is a secret."""
    bits: Bits

    @field_validator("document_frequency")
    @classmethod
    def _range(cls, given: tuple[int, int]) -> tuple[int, int]:
        if given[0] > given[1]:
            raise ValueError("the least number of examples exceeds the most; give [least, most]")
        return given


class UnitSecret(SecretEntry):
    """Every person or customer of a table is a secret: all examples of all their documents hold it."""

    says: ClassVar[str] = "text of a protected person or customer"
    kind: Literal["unit"]
    table: str | None = None
    """The table whose `unit` values are secrets; otherwise all tables. A unit in several tables is one
    secret."""


class RemovedSecret(FileSecret):
    """The text of files that once had such paths and no longer exist is one secret; exact copies hold it."""

    says: ClassVar[str] = "text of a removed file"
    kind: Literal["removed"]
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Globs of paths that existed once and are gone at the revision. All versions count. Needs the whole
    history."""


Own = (
    PathSecret | CodeownersSecret | ContributorsSecret | CredentialsSecret | LiteralsSecret | PatternsSecret
    | RareWordsSecret | RemovedSecret | UnitSecret
)  # fmt: skip
ENTRIES = {get_args(entry.model_fields["kind"].annotation)[0]: entry for entry in get_args(Own)}
"""By kind, those that hush brings along."""


def further_kinds() -> dict[str, EntryPoint]:
    """The kinds that installed packages add; nothing of them is loaded here."""
    found = entry_points(group=ENTRY_POINTS)
    return {point.name: point for point in found if point.name not in ENTRIES}


def further_detector(kind: str) -> Any:
    """The detector that another package provides for a kind (`hush_core.secrets.detectors.base.Detector`).

    Raises:
        InputError: it cannot be loaded, or is no detector of this kind.
    """
    point = further_kinds()[kind]
    where = f"detector {kind!r} ({point.value})"
    try:
        detector = point.load()
    except Exception as error:
        raise InputError(
            where, f"cannot be loaded: {type(error).__name__}", "reinstall or remove its package"
        ) from None
    entry = getattr(detector, "entry", None)
    if getattr(detector, "kind", None) != kind or not (
        isinstance(entry, type) and issubclass(entry, SecretEntry)
    ):
        raise InputError(
            where,
            "is no detector of that kind, with an `entry` derived from SecretEntry",
            "correct the package: hush_core/secrets/detectors/base.py shows one",
        )
    return detector


@cache
def entry_of(kind: str) -> type[SecretEntry]:
    """The model of a kind's entries; `SecretEntry` itself where the package of the kind is not installed."""
    if kind in ENTRIES:
        return ENTRIES[kind]
    return further_detector(kind).entry if kind in further_kinds() else SecretEntry


def _by_kind(data: Any, handler: ValidatorFunctionWrapHandler) -> SecretEntry:
    """Kinds of other packages are validated by their own model."""
    if isinstance(data, SecretEntry) and data.kind not in ENTRIES:
        return data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if isinstance(kind, str) and kind not in ENTRIES and kind in further_kinds():
        entry: type[SecretEntry] = further_detector(kind).entry
        return entry.model_validate(data)
    return handler(data)


Secret = Annotated[SerializeAsAny[Annotated[Own, Field(discriminator="kind")]], WrapValidator(_by_kind)]
