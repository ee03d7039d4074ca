"""YAML as this project reads it: a key given twice is an error, and 1e-5 is a number (YAML 1.1 says neither)."""

from __future__ import annotations

import re
from typing import Any

import yaml


def read_yaml(text: str) -> Any:
    """Parse one document into plain values.

    Raises:
        yaml.YAMLError: with the place of the mistake, where there is one.
    """
    return yaml.load(text, _Strict)


class _Strict(yaml.SafeLoader):
    pass


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if key in seen:
            raise yaml.MarkedYAMLError(problem=f"key {key} is given twice", problem_mark=key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Strict.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
