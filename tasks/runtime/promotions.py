"""Which version of a model this home promoted last, and when: the registry's alias is compared with it.

Signed tags say that a version was approved, not that it is the one approved last. So the home keeps, for each
model, where its last decision put the alias `champion`, and where it was before. The note is written before the
registry, and marked when the alias has moved. A decision that was killed in between is finished, or undone, by the
next one or by `hush watch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hush_core.errors import InputError
from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.webhook import Message

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
    """Whether the registry has it."""
    before: Promotion | None = None
    """While it has not: what is until then."""

    @classmethod
    def begun(cls, model: str, version: str, at: str) -> Promotion:
        """One that is about to be written to the registry."""
        return cls(model=model, version=version, at=at, moved=False, before=last_promotion(model))

    def done(self) -> Promotion:
        return self.model_copy(update={"moved": True, "before": None})

    def undo(self) -> None:
        """What was there before is the last one again."""
        if self.before is not None:
            self.before.keep()
        else:
            _file(self.model).unlink(missing_ok=True)

    def told_by(self, message: Message) -> bool:
        return (message.model, message.version, message.at) == (self.model, self.version, self.at)

    def keep(self) -> Promotion:
        """Write it down, durably, in place of the one before."""
        private_folder(home().root / "decisions")
        write_whole(_file(self.model), self.model_dump_json().encode())
        return self


def last_promotion(model: str) -> Promotion | None:
    """Of a model; None where this home never decided on its champion."""
    file = _file(model)
    return _read(file) if file.is_file() else None


def promotions() -> Iterator[Promotion]:
    """The last one of every model that this home decided on."""
    for file in sorted((home().root / "decisions").glob(f"{_PREFIX}*")):
        yield _read(file)


def _file(model: str) -> Path:
    return home().root / "decisions" / (_PREFIX + home().fingerprint(f"champion {model}"))


def _read(file: Path) -> Promotion:
    try:
        return Promotion.model_validate_json(file.read_bytes())
    except ValidationError:
        raise InputError(
            str(file), "is damaged", "restore it from a backup, or remove it and review the champion again"
        ) from None
