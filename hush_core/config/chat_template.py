"""Which chat template renders a table's conversations: a file's, the model's own, or the plain one."""

import json
from pathlib import Path
from typing import Any

from hush_core.config.models import ByteGptModel, HuggingFaceModel
from hush_core.errors import InputError

PLAIN = "plain"
_FILES = ("chat_template.jinja", "tokenizer_config.json")
_MOST = 1 << 20


def template_text(
    given: str | None, model: ByteGptModel | HuggingFaceModel, folder: Path, *, where: str
) -> str:
    """`plain`, or a template with the model's special tokens set: all that a conversation's text depends on.

    Args:
        given: `plain`, a file's path relative to `folder`, or None for the model's own. where: names the key.

    Raises:
        InputError: no such file, or the files of a model on the hub cannot be had.
    """
    if given == PLAIN:
        return PLAIN
    if given is None and isinstance(model, ByteGptModel):
        return PLAIN
    own = _own_files(model, where, needed=given is None)
    if given is None:
        template = _own_template(own)
        return PLAIN if template is None else _with_tokens(template, own)
    path = (folder / Path(given).expanduser()).resolve()
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InputError(
            where, f"{path} cannot be read", "name a file with a Jinja template, or write plain"
        ) from None
    if len(template) > _MOST:
        raise InputError(where, f"{path} is longer than {_MOST} characters", "name a template")
    return _with_tokens(template, own)


def _own_files(model: ByteGptModel | HuggingFaceModel, where: str, *, needed: bool) -> dict[str, str]:
    """The texts of the model's files that may hold a template, by name."""
    if isinstance(model, ByteGptModel):
        return {}
    if Path(model.name).is_dir():
        paths = {name: Path(model.name) / name for name in _FILES}
    else:
        paths = _from_hub(model, where, needed=needed)
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.is_file()}


def _from_hub(model: HuggingFaceModel, where: str, *, needed: bool) -> dict[str, Path]:
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(model.name, revision=model.revision, allow_patterns=list(_FILES))
    except Exception:  # the hub's client has many; `fetch_model` says later what it is
        if not needed:
            return {}
        raise InputError(
            where,
            "is the model's own, which the hub did not give",
            "set chat_template to plain or to a file, or name the model's folder",
        ) from None
    return {name: Path(folder) / name for name in _FILES}


def _own_template(files: dict[str, str]) -> str | None:
    """A tokenizer has one template, or several by name of which one is the default."""
    if _FILES[0] in files:
        return files[_FILES[0]]
    found = _settings(files).get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found if isinstance(found, str) and found else None


def _settings(files: dict[str, str]) -> dict[str, Any]:
    try:
        value = json.loads(files.get(_FILES[1], "{}"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _with_tokens(template: str, files: dict[str, str]) -> str:
    """The template, with `bos_token` and the like as the tokenizer has them."""
    settings = _settings(files)
    tokens = {}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = settings.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            tokens[name] = token
    return "".join(f"{{%- set {name} = {json.dumps(token)} -%}}" for name, token in tokens.items()) + template
