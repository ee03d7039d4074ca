"""Which version of a model this home promoted last, and when: what the registry's alias is held against.

Signed tags say that a version was approved, not that it is the one approved last. So the home keeps, for each
model, where its last decision put the alias `champion`: written before the alias moves, and marked when it has
moved. A decision that was killed in between is finished by the next one, or by `hush watch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hush_core.errors import InputError
from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home

_PREFIX = "champion-"


class Promotion(BaseModel):
    """Where the last decision of this home put the alias of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    version: str | None
    """None: the alias was taken away."""
    at: str
    """When that was decided, as the decision's tag says it (UTC, to the second)."""
    moved: bool
    """Whether the registry has been told."""

    def keep(self) -> Promotion:
        """Write it down, durably, in place of the one before."""
        folder = private_folder(home().root / "decisions")
        name = _PREFIX + home().fingerprint(f"champion {self.model}")
        write_whole(folder / name, self.model_dump_json().encode())
        return self


def last_promotion(model: str) -> Promotion | None:
    """Of a model; None where this home never decided on its champion."""
    file = home().root / "decisions" / (_PREFIX + home().fingerprint(f"champion {model}"))
    return _read(file) if file.is_file() else None


def promotions() -> Iterator[Promotion]:
    """The last one of every model that this home decided on."""
    for file in sorted((home().root / "decisions").glob(f"{_PREFIX}*")):
        yield _read(file)


def _read(file: Path) -> Promotion:
    try:
        return Promotion.model_validate_json(file.read_bytes())
    except ValidationError:
        raise InputError(
            str(file), "is damaged", "restore it from a backup, or remove it and review the champion again"
        ) from None
