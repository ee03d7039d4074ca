"""From a YAML file to a job; every mistake names the file and the key, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from hush_core.config.job import Changes, HushConfig
from hush_core.config.secrets import ENTRY_ID, SECRET_KINDS, further_kinds
from hush_core.config.settings import ByteGptModel, HuggingFaceModel
from hush_core.errors import InputError
from hush_core.strict_yaml import read_yaml


def load_config(path: Path, changes: Changes | None = None) -> HushConfig:
    """Read one YAML file, with `changes` in place of its values.

    Relative paths in it are taken from the file's own folder.

    Raises:
        InputError: names the file, the key (or the line, where the YAML does not parse) and the hint.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read", "name a readable YAML file") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "is not UTF-8 text", "save it as UTF-8") from None
    try:
        data = read_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or "is not YAML"
        raise InputError(where, what, "correct the YAML on this line") from None
    if not isinstance(data, dict):
        raise InputError(str(path), "is not a mapping of keys", "start from examples/demo.yaml")
    for key, value in (changes or Changes()).overrides().items():
        _set(data, key.split("."), value)
    return parse_config(data, where=str(path), folder=path.parent)


def parse_config(data: Mapping[str, Any], *, where: str, folder: Path) -> HushConfig:
    """Validate a mapping as a config; `where` names its origin in messages."""
    try:
        config = HushConfig.model_validate(data)
    except ValidationError as error:
        raise InputError(where, *_explain(error, data)) from None
    repos = tuple(r.model_copy(update={"path": _anchor(r.path, folder)}) for r in config.repos)
    tables = tuple(t.model_copy(update={"path": _anchor(t.path, folder)}) for t in config.tables)
    secrets = tuple(
        s.model_copy(update={key: _anchor(file, folder) for key, file in s.files().items()})
        for s in config.secrets
    )
    anchored = {
        "repos": repos,
        "tables": tables,
        "secrets": secrets,
        "model": _model(config.model, where, folder),
        "train": _usual_rate(config.train, config.model),
        "pretrain": _usual_rate(config.pretrain, config.model),
    }
    return config.model_copy(update=anchored)


def _usual_rate(section: Any, model: ByteGptModel | HuggingFaceModel) -> Any:
    """A section with the learning rate that is usual for the model, where the file gives none."""
    if isinstance(model, ByteGptModel) or "learning_rate" in section.model_fields_set:
        return section
    return section.model_copy(update={"learning_rate": 3e-4 if model.lora else 5e-5})


def _model(
    model: ByteGptModel | HuggingFaceModel, where: str, folder: Path
) -> ByteGptModel | HuggingFaceModel:
    """A model's folder is taken from the file's own; any other name is the hub's."""
    if not isinstance(model, HuggingFaceModel):
        return model
    path = _anchor(Path(model.name), folder)
    if path.is_dir():
        return model.model_copy(update={"name": str(path)})
    if model.name.startswith((".", "/", "~")):
        raise InputError(
            where, f"model.name: there is no folder {path}", "name the model's folder, or a hub name"
        )
    return model


def _anchor(path: Path, folder: Path) -> Path:
    return (folder / path.expanduser()).resolve()


def _set(data: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            return  # the file has something else there; validation will name it
    if value is None:
        data.pop(keys[-1], None)
    else:
        data[keys[-1]] = value


def _key(place: tuple[str | int, ...], data: Mapping[str, Any]) -> str:
    """Where an error stands, an entry of `secrets` by its id, and those without one by their number from 1.

    >>> _key(("secrets", 1, "path", "globs"), {"secrets": [{}, {"id": "alpha"}]}), _key(("repos", 0, "rev"), {})
    ('secrets.alpha.globs', 'repos.1.rev')
    """
    parts = [str(part + 1 if isinstance(part, int) else part) for part in place]
    if len(place) > 1 and place[0] == "secrets" and isinstance(entry := data["secrets"][place[1]], dict):
        name = entry.get("id")
        parts[1] = name if isinstance(name, str) and re.fullmatch(ENTRY_ID, name) else parts[1]
        if [entry.get("kind")] == parts[2:3]:  # by which the entry's model was chosen
            del parts[2]
    return ".".join(parts)


def _explain(error: ValidationError, data: Mapping[str, Any]) -> tuple[str, str]:
    """The first error as (what, hint), without the value that was given."""
    details = error.errors(include_input=False, include_url=False, include_context=False)
    first = details[0]
    key = _key(first["loc"], data) or "the file"
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    message = re.sub(r"^Value error, ", "", first["msg"])
    if first["type"] == "extra_forbidden":
        return (
            f"unknown key {key}{more}",
            "remove it or correct its spelling; docs/configuration.md lists all",
        )
    if first["type"] == "union_tag_invalid" and first["loc"] == ("model",):
        return f"model.kind: unknown kind{more}", "take byte_gpt or huggingface"
    if first["type"] == "union_tag_invalid":  # pydantic's own message shows what was given
        return (
            f"{key}: unknown kind{more}",
            f"take one of {', '.join((*SECRET_KINDS, *sorted(further_kinds())))}",
        )
    if first["type"] == "missing":
        return f"missing key {key}{more}", "add it; docs/configuration.md says what it means"
    if first["type"] == "value_error":
        what, _, hint = message.partition("; ")
        return (what if first["loc"] == () else f"{key}: {what}") + more, hint or "correct this key"
    return f"{key}: {message}{more}", "correct this key; docs/configuration.md gives its type and range"
