"""From a YAML file to a job; every error names the file and the key, and how to fix it."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from hush_core.config.changes import Changes
from hush_core.config.chat_template import template_text
from hush_core.config.decisions import NO_SECRETS, decisions_file, read_decisions
from hush_core.config.job import HushConfig
from hush_core.config.mistakes import key_of, mistakes, shown
from hush_core.config.models import ByteGptModel, HuggingFaceModel
from hush_core.config.secrets import CredentialsSecret
from hush_core.errors import InputError
from hush_core.strict_yaml import read_yaml

MOST_CHARACTERS = 1 << 20
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def load_config(path: Path, changes: Changes | None = None, *, command: str = "run") -> HushConfig:
    """Read one YAML file, with `changes` in place of its values.

    Relative paths in it start at the file's own folder. For `hush secrets` a folder means the git repository in it,
    with the default rules for credentials.

    Args:
        command: the one that asks; keys that it does not need may be missing.

    Raises:
        InputError: names the file, the key (or the line, if the YAML does not parse) and a hint.
    """
    if command == "secrets" and path.is_dir():
        config = parse_config(first_look(path), where=str(path), folder=path, command=command)
        return _decided(config, path)
    folder = "; a repository is named by its folder" if command == "secrets" else ""
    try:
        text = _text(path)
    except OSError as error:
        raise InputError(
            str(path), error.strerror or "cannot be read", f"name a readable YAML file{folder}"
        ) from None
    except UnicodeDecodeError:
        raise InputError(str(path), "is not UTF-8 text", "save it as UTF-8") from None
    try:
        data = read_yaml(text)
    except yaml.YAMLError as error:
        mark, place = getattr(error, "problem_mark", None), getattr(error, "position", None)
        line = mark.line + 1 if mark else text.count("\n", 0, place) + 1 if isinstance(place, int) else None
        where = f"{path}:{line}" if line else str(path)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"
        raise InputError(where, what, f"correct the YAML on this line{folder}") from None
    if not isinstance(data, dict):
        raise InputError(str(path), "is not a mapping of keys", f"let `hush init` write a first file{folder}")
    for key, value in (changes or Changes()).overrides().items():
        _set(data, key.split("."), value)
    (changes or Changes()).protects(data.get("secrets"))
    return _decided(parse_config(data, where=str(path), folder=path.parent, command=command), path)


def _decided(config: HushConfig, path: Path) -> HushConfig:
    """The config with what the file of decisions beside it calls no secret."""
    none = [one.digits for one in read_decisions(decisions_file(path)).values() if one.verdict in NO_SECRETS]
    if not none:
        return config
    secrets = tuple(
        entry.model_copy(update={"not_secrets": tuple(sorted({*entry.not_secrets, *none}))})
        if isinstance(entry, CredentialsSecret)
        else entry
        for entry in config.secrets
    )
    return config.model_copy(update={"secrets": secrets})


def first_look(repository: Path) -> dict[str, Any]:
    """The file that `hush secrets REPOSITORY` goes by: the credentials of the checked out commit."""
    source = {"path": str(repository.resolve()), "name": repository.resolve().name or "repository"}
    credentials = {"id": "credentials", "kind": "credentials"}
    return {"version": 1, "repos": [source], "secrets": [credentials]}


def _text(path: Path) -> str:
    """The file's text; a pipe or a device is not waited for."""
    if path.exists() and not path.is_dir() and not path.is_file():
        raise InputError(str(path), "is no plain file", "name a readable YAML file")
    with open(path, encoding="utf-8") as file:
        text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            str(path), f"is longer than {MOST_CHARACTERS} characters", "name a config, not a table or a model"
        )
    return text


def parse_config(data: Mapping[str, Any], *, where: str, folder: Path, command: str = "run") -> HushConfig:
    """Validate a mapping as a config; `where` names its origin in messages, `command` is as in `load_config`."""
    for place, text in _texts(data, ()):
        if _UNPRINTABLE.search(text):
            raise InputError(
                f"{where}: {shown(key_of(place, data))}",
                "holds a control character, or half of a character",
                "write plain text there; a tab or a line break belongs into a file of its own",
            )
    try:
        config = HushConfig.model_validate(data)
    except ValidationError as error:
        first, *others = [InputError(where, *one) for one in mistakes(error, data, command)]
        raise InputError(where, first.what, first.hint, others) from None

    def anchored(path: Path, key: str) -> Path:
        return _anchor(path, folder, f"{where}: {key}")

    repos = tuple(
        r.model_copy(update={"path": anchored(r.path, f"repos.{n}.path")})
        for n, r in enumerate(config.repos, 1)
    )
    model = _model(config.model, where, folder)
    tables = tuple(
        t.model_copy(
            update={
                "path": anchored(t.path, f"tables.{n}.path"),
                "chat_template": t.messages
                and template_text(t.chat_template, model, folder, where=f"{where}: tables.{n}.chat_template"),
            }
        )
        for n, t in enumerate(config.tables, 1)
    )
    secrets = tuple(
        s.model_copy(update={key: anchored(file, f"secrets.{s.id}.{key}") for key, file in s.files().items()})
        for s in config.secrets
    )
    changed = {
        "repos": repos,
        "tables": tables,
        "secrets": secrets,
        "model": model,
        "train": _usual_rate(config.train, config.model),
        "pretrain": _usual_rate(config.pretrain, config.model),
    }
    return config.model_copy(update=changed).for_mechanism()


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
    path = _anchor(Path(model.name), folder, f"{where}: model.name")
    if path.is_dir():
        return model.model_copy(update={"name": str(path)})
    if model.name.startswith((".", "/", "~")):
        raise InputError(
            where, f"model.name: there is no folder {path}", "name the model's folder, or a hub name"
        )
    return model


def _anchor(path: Path, folder: Path, where: str) -> Path:
    """The path taken from the config's folder, where the system can have a file of that name."""
    try:
        whole = (folder / path.expanduser()).resolve()
        os.path.lexists(whole)
        whole.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return whole  # its reader reports it, with what it should be
    except (OSError, RuntimeError, ValueError):  # too long a name, a loop of links, ~ of nobody
        raise InputError(
            where, "is a path that cannot be", "name a file or folder of this machine; ~ alone is your home"
        ) from None
    return whole


def _texts(value: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text of the file and where it is, keys among them."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield place, str(key)
            yield from _texts(part, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _texts(part, (*place, number))


def _set(data: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            return  # the file has something else there; validation will name it
    if value is None:
        data.pop(keys[-1], None)
    else:
        data[keys[-1]] = value
