"""The JSON Schema of a config, for editors: `hush schema > hush.schema.json`.

What it refuses, `load_config` refuses. It knows types, ranges, names of keys and what must be there; what one key
means for another, and what files hold, only the loader can say.
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

from hush_core.config.job import HushConfig
from hush_core.config.secrets import further_detector, further_kinds
from hush_core.config.section import Section

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "hush: one job"


def config_schema() -> dict[str, Any]:
    """Draft 2020-12, of this installation: kinds of secrets that other packages add are in it.

    Raises:
        InputError: such a package cannot be loaded.
    """
    schema = HushConfig.model_json_schema()
    entries, parts = schema["properties"]["secrets"]["items"], schema["$defs"]
    for model in _sections(Section):
        part = schema if model is HushConfig else parts.get(model.__name__, {})
        for name, words in _words(model).items():
            if name in part.get("properties", {}):
                part["properties"][name].setdefault("description", words)
    for kind in sorted(further_kinds()):
        own = further_detector(kind).entry.model_json_schema(ref_template=f"#/$defs/{kind}.{{model}}")
        parts |= {f"{kind}.{name}": part for name, part in own.pop("$defs", {}).items()}
        parts[kind] = own
        entries["oneOf"].append({"$ref": f"#/$defs/{kind}"})
    entries.pop("discriminator", None)  # of OpenAPI, and no word of JSON Schema
    return {"$schema": DIALECT, **schema, "title": TITLE}


def _sections(model: type[Section]) -> Iterator[type[Section]]:
    for derived in model.__subclasses__():
        yield derived
        yield from _sections(derived)


def _words(model: type[Section]) -> dict[str, str]:
    """Field → the words below it in the code, which editors show; those of a base where the model has none."""
    found: dict[str, str] = {}
    for one in reversed([base for base in model.__mro__ if issubclass(base, Section)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                found[field.target.id] = inspect.cleandoc(str(below.value.value))
    return found
