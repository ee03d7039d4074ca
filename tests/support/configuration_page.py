"""The lists of keys in docs/configuration.md, from the config's schema. From the root of the repository:

python tests/support/configuration_page.py        # rewrites them in place
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import UnionType

from pydantic import BaseModel

from hush_core.config import HushConfig
from hush_core.config.schema import _words as words_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
PLAIN = {bool: "true or false", str: "text", Path: "path", date: "day", dict: "mapping", int: "integer"}


def models_in(annotation: object) -> list[type[BaseModel]]:
    """Every model inside an annotation: itself, of a tuple, or of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in (tuple, typing.Union, UnionType, typing.Annotated):
        return [m for part in typing.get_args(annotation) for m in models_in(part)]
    return []


def _bounds(metadata: typing.Iterable[object]) -> dict[str, float]:
    """ge, gt, le, lt of a number, wherever pydantic keeps them."""
    found: dict[str, float] = {}
    for part in metadata:
        for one in (part, *getattr(part, "metadata", ())):
            found |= {k: v for k in ("ge", "gt", "le", "lt") if (v := getattr(one, k, None)) is not None}
    return found


def _number(kind: type, bounds: dict[str, float]) -> str:
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if kind is int:
        endless = most is None or most >= 2**24
        return f"integer, {least} or more" if endless else f"integer, {least:,} to {most:,}"
    if least is None and most is None:
        return "number"
    between = f"{least:g}, {most:g}".replace("e+0", "e").replace("e-0", "e-")
    return f"number in {'[' if 'ge' in bounds else '('}{between}{']' if 'le' in bounds else ')'}"


def type_of(annotation: object, metadata: typing.Iterable[object] = ()) -> str:
    """A field's type in words."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_of(parts[0], [*metadata, *parts[1:]])
    if origin is typing.Literal:
        quoted = [f"`{value}`" for value in parts]
        return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
    if origin in (typing.Union, UnionType):
        given = [part for part in parts if part is not type(None)]
        if all(typing.get_origin(part) is typing.Literal for part in given):
            return type_of(typing.Literal[tuple(value for part in given for value in typing.get_args(part))])
        types = list(dict.fromkeys(type_of(part, metadata) for part in given))
        return " or ".join("a list of them" if one == f"list of {types[0]}" else one for one in types)
    if origin is tuple:
        return f"list of {type_of(parts[0])}" if Ellipsis in parts else "two integers"
    if annotation in (int, float):
        return _number(typing.cast(type, annotation), _bounds(metadata))
    return "mapping" if models_in(annotation) else PLAIN[typing.cast(type, origin or annotation)]


def default_of(field: typing.Any) -> str:
    """A field's default as the page writes it."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel) or value in ((), {}):
        return "optional"
    return f"default `{value if isinstance(value, str) else json.dumps(value)}`"


class Key(typing.NamedTuple):
    """One line of the page."""

    name: str
    kinds: tuple[str, ...]
    type: str
    default: str
    words: str

    def line(self, all_kinds: int, parent: Key | None = None) -> str:
        """As the page has it; the kinds that have it are named unless all do, or the key above says so."""
        some = 0 < len(self.kinds) < all_kinds and (parent is None or parent.kinds != self.kinds)
        of = f" of {', '.join(f'`{kind}`' for kind in self.kinds)}" if some else ""
        return f"- `{self.name}`{of} ({self.type}; {self.default}). {self.words}"


def keys_of(model: type[BaseModel], prefix: str, kind: str = "", deep: bool = True) -> Iterator[Key]:
    """The keys of a section and of what it holds.

    Raises:
        KeyError: a field without words below it.
    """
    words = words_of(model)
    for name, field in model.model_fields.items():
        if name == "kind":
            continue
        text = re.sub(r"\s+", " ", words[name]).strip()
        kinds = (kind,) if kind else ()
        yield Key(prefix + name, kinds, type_of(field.annotation, field.metadata), default_of(field), text)
        for inner in models_in(field.annotation) if deep else ():
            yield from keys_of(inner, f"{prefix}{name}.", kind)


def lines_of(section: str) -> list[str]:
    """The list of a section: its kinds, then its keys; of `file` the keys of the first level alone."""
    if section == "file":
        return [key.line(0) for key in keys_of(HushConfig, "", deep=False)]
    models = models_in(HushConfig.model_fields[section].annotation)
    kinds = {_kind_of(model): model for model in models if "kind" in model.model_fields}
    found: dict[str, Key] = {}
    for model in models:
        for key in keys_of(model, f"{section}.", _kind_of(model) if kinds else ""):
            before = found.get(key.name)
            if before is None:
                found[key.name] = key
            else:  # several kinds have it: the fuller words, the default that most have
                fuller = max(before, key, key=lambda one: len(one.words))
                found[key.name] = fuller._replace(kinds=before.kinds + key.kinds, default=before.default)
    described = [*(f"- `{kind}`: {_about(model)}" for kind, model in kinds.items()), *([""] if kinds else [])]
    return described + [
        key.line(len(kinds), found.get(key.name.rpartition(".")[0])) for key in found.values()
    ]


def _kind_of(model: type[BaseModel]) -> str:
    (kind,) = (
        typing.get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ("",)
    )
    return str(kind)


def _about(model: type[BaseModel]) -> str:
    return re.sub(r"\s+", " ", str(model.__doc__)).strip()


def filled(page: str) -> str:
    """The page with every list between `<!-- keys: SECTION -->` and `<!-- end -->` as the schema gives it."""

    def fill(found: re.Match[str]) -> str:
        return f"<!-- keys: {found[1]} -->\n" + "\n".join(lines_of(found[1])) + "\n<!-- end -->"

    return re.sub(r"<!-- keys: (\w+) -->\n.*?<!-- end -->", fill, page, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
