"""The file that carries a chosen plan into a run: a few keys, each of `Changes`, readable and editable by people.

>>> write_plan(Path("plan.yaml"), Changes(c=0.05, rounds=400), "predicted: 2.31 bits")      # doctest: +SKIP
>>> read_plan(Path("plan.yaml"))                                                            # doctest: +SKIP
"""

from pathlib import Path

import yaml
from pydantic import ValidationError

from hush_core.config.changes import Changes
from hush_core.errors import InputError
from hush_core.files import write_whole
from hush_core.strict_yaml import read_yaml

MOST_BYTES = 1 << 16


def write_plan(path: Path, changes: Changes, *notes: str) -> None:
    """Write the changes as YAML, under notes as comments."""
    lines = [f"# {line}" for note in notes for line in note.splitlines()]
    body = yaml.safe_dump(changes.model_dump(exclude_none=True), sort_keys=False)
    write_whole(path, "\n".join([*lines, body]).encode())


def read_plan(path: Path) -> Changes:
    """The changes in a file of `write_plan`, or of the same keys by hand.

    Raises:
        InputError: names the file, and the line or key that is wrong.
    """
    try:
        if not path.is_file():
            raise InputError(str(path), "is no file", "name the plan.yaml that `hush plan --rehearse` wrote")
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            str(path), error.strerror or "cannot be read", "name a file that you may read"
        ) from None
    hint = "take the plan.yaml that `hush plan --rehearse` wrote"
    if len(text) > MOST_BYTES:
        raise InputError(str(path), f"is longer than {MOST_BYTES} bytes", hint)
    try:
        data = read_yaml(text.decode())
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InputError(f"{path}:{mark.line + 1}" if mark else str(path), "is not YAML", hint) from None
    if not isinstance(data, dict) or not data:
        raise InputError(str(path), "is not a mapping of keys", hint)
    try:
        changes = Changes.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        known = ", ".join(Changes.model_fields)
        raise InputError(f"{path}: {key[:200]}", first["msg"], f"known keys: {known}") from None
    if changes.c is not None and changes.noise_multiplier is not None:
        raise InputError(str(path), "c and noise_multiplier are both given", "keep one of them")
    return changes
