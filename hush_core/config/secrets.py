"""What must stay inside: one kind of entry a detector; other packages may add kinds."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny, WrapValidator, field_validator, model_validator
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
    kind: str
    level: Level = 1e-3
    bits: Bits | None = None
    """Declared min-entropy of the best single guess; only ever lowered by the caps."""
    protect: Protect = "auto"
    may_be_empty: bool = False
    """Whether a job goes on where the entry protects nothing: no text holds any of it. Refused by default, as a
    name with a slip of the pen would protect nothing and say so to nobody."""

    are_values: ClassVar[bool] = False
    """Whether its secrets are values, of which each copy can be replaced."""

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
    """Files that import a tagged one through at most so many imports hold the secret too."""
    identifiers: Annotated[int, Field(ge=0, le=MOST_EXAMPLES)] = 0
    """So do files that mention a name defined in a tagged one, if it stands in at most so many files."""
    copies: bool = True
    """So does what copies a passage of a tagged one, edited or not."""


class FileSecret(SecretEntry):
    """A secret that is whole files, and what tells about them."""

    spread: Spread = Spread()


class PathSecret(FileSecret):
    """Every file whose path matches the globs (gitignore syntax, last match wins) holds this secret."""

    kind: Literal["path"]
    globs: Annotated[tuple[Text, ...], Field(min_length=1)]


class CodeownersSecret(FileSecret):
    """Every file that CODEOWNERS gives to one of the teams holds this secret."""

    kind: Literal["codeowners"]
    teams: Annotated[tuple[Text, ...], Field(min_length=1)]


class ContributorsSecret(FileSecret):
    """What one of the people ever changed holds this secret (whole history, merges included)."""

    kind: Literal["contributors"]
    emails: Annotated[tuple[Text, ...], Field(min_length=1)]
    attribute: Literal["file", "commit", "blame"] = "file"
    """The whole file, the lines that their commits added, or the lines that git blame gives to them."""


class DocumentedValue(Section):
    """One value that the rules find and a person has looked at: in these files it is an example, and no secret."""

    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    """The 12 digits after the colon in its name, as `hush secrets` tells it: keyed, so of this home alone."""
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Globs (gitignore syntax) of the files in which it may stand. Where it stands in another, it is a secret."""
    source: Text | None = None
    """The repository or table, by its name in the job, in which they hold; None: in every one."""
    why: Text
    """For whoever reviews the config."""


class CredentialsSecret(SecretEntry):
    """Every credential that the rules find is a secret of its own; its value is searched everywhere."""

    are_values: ClassVar[bool] = True

    kind: Literal["credentials"]
    level: Level = 1e-4
    may_be_empty: bool = True
    """A source without a credential is as it should be."""
    weak: Literal["drop", "refuse"] = "drop"
    """What to do with credentials under 20 bits: drop every example that holds one, or refuse to go on.

    Dropped by default, as nothing of them is trained on then, and every report says so first: a nightly job that
    stops for each new test password is switched off. Who wants a gate asks for one.
    """
    documentation: Annotated[tuple[DocumentedValue, ...], Field(max_length=10_000)] = ()
    """Values that are examples, by fingerprint: no secrets, if they stand in their `paths` alone."""

    @model_validator(mode="after")
    def _noised(self) -> CredentialsSecret:
        if self.documentation and self.protect == "redact":
            raise ValueError(
                "documentation and protect: redact do not go together; redacting an example costs little"
            )
        named = [(value.fingerprint, value.source) for value in self.documentation]
        if len(set(named)) < len(named):
            raise ValueError(
                "documentation names a fingerprint twice for one source; write its paths in one place"
            )
        return self


class LiteralsSecret(SecretEntry):
    """Every line of `file` is a secret of its own, searched everywhere; `bits` must be declared."""

    are_values: ClassVar[bool] = True

    kind: Literal["literals"]
    file: Path
    bits: Bits


class PatternsSecret(SecretEntry):
    """Every distinct match of a pattern in `file` is a secret of its own; `bits` must be declared."""

    are_values: ClassVar[bool] = True

    kind: Literal["patterns"]
    file: Path
    bits: Bits


class RareWordsSecret(SecretEntry):
    """Every word that stands in so many examples is a secret of its own; `bits` must be declared."""

    are_values: ClassVar[bool] = True

    kind: Literal["rare_words"]
    document_frequency: tuple[Examples, Examples]
    bits: Bits

    @field_validator("document_frequency")
    @classmethod
    def _range(cls, given: tuple[int, int]) -> tuple[int, int]:
        if given[0] > given[1]:
            raise ValueError("the least number of examples exceeds the most; give [least, most]")
        return given


class UnitSecret(SecretEntry):
    """Whoever a table's documents belong to is a secret of their own; all their documents hold it."""

    kind: Literal["unit"]
    table: str | None = None
    """None: all tables of the job."""


class RemovedSecret(FileSecret):
    """The text of files that once stood at these paths and are gone; its copies hold this secret."""

    kind: Literal["removed"]
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]


SECRET_KINDS = (
    "path", "codeowners", "contributors", "credentials", "literals", "patterns", "rare_words", "removed", "unit",
)  # fmt: skip
"""The kinds that hush brings along."""


def further_kinds() -> dict[str, EntryPoint]:
    """The kinds that installed packages add; nothing of them is loaded here."""
    found = entry_points(group=ENTRY_POINTS)
    return {point.name: point for point in found if point.name not in SECRET_KINDS}


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


def _by_kind(data: Any, handler: ValidatorFunctionWrapHandler) -> SecretEntry:
    """Kinds of other packages are validated by their own model."""
    if isinstance(data, SecretEntry) and data.kind not in SECRET_KINDS:
        return data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if isinstance(kind, str) and kind not in SECRET_KINDS and kind in further_kinds():
        entry: type[SecretEntry] = further_detector(kind).entry
        return entry.model_validate(data)
    return handler(data)


Secret = Annotated[
    SerializeAsAny[
        Annotated[
            PathSecret
            | CodeownersSecret
            | ContributorsSecret
            | CredentialsSecret
            | LiteralsSecret
            | PatternsSecret
            | RareWordsSecret
            | RemovedSecret
            | UnitSecret,
            Field(discriminator="kind"),
        ]
    ],
    WrapValidator(_by_kind),
]
