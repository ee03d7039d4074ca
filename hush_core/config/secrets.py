"""What must stay inside: one kind of entry a detector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from hush_core.config.section import Section

Level = str | float
"""A name out of `levels`, or the posterior itself."""


class SecretEntry(Section):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
    level: Level
    bits: Annotated[float, Field(gt=0)] | None = None
    """Declared min-entropy of the best single guess; only ever lowered by the caps."""


class PathSecret(SecretEntry):
    """Every file whose path matches the globs (gitignore syntax, last match wins) holds this secret."""

    kind: Literal["path"]
    globs: Annotated[tuple[str, ...], Field(min_length=1)]


class CodeownersSecret(SecretEntry):
    """Every file that CODEOWNERS gives to one of the teams holds this secret."""

    kind: Literal["codeowners"]
    teams: Annotated[tuple[str, ...], Field(min_length=1)]


class ContributorsSecret(SecretEntry):
    """Every file that one of the people ever changed holds this secret (whole history, merges included)."""

    kind: Literal["contributors"]
    emails: Annotated[tuple[str, ...], Field(min_length=1)]
    attribute: Literal["file"] = "file"


class CredentialsSecret(SecretEntry):
    """Every credential that the rules find is a secret of its own; its value is searched everywhere."""

    kind: Literal["credentials"]
    weak: Literal["drop", "refuse"] = "refuse"
    """What to do with credentials under 20 bits: drop every example that holds one, or refuse to go on."""


class LiteralsSecret(SecretEntry):
    """Every line of `file` is a secret of its own, searched everywhere; `bits` must be declared."""

    kind: Literal["literals"]
    file: Path
    bits: Annotated[float, Field(gt=0)]


Secret = Annotated[
    PathSecret | CodeownersSecret | ContributorsSecret | CredentialsSecret | LiteralsSecret,
    Field(discriminator="kind"),
]


SECRET_KINDS = ("path", "codeowners", "contributors", "credentials", "literals")
