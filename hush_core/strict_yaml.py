"""YAML as this project reads it: a key given twice is an error, and 1e-5 is a number (YAML 1.1 says neither)."""

import re
from typing import Any

import yaml

MOST_DEEP = 20
MOST_VALUES = 100_000


def read_yaml(text: str) -> Any:
    """Parse one document into plain values, none of them deeper than MOST_DEEP or one of more than MOST_VALUES.

    Raises:
        yaml.YAMLError: with the place of the mistake, where there is one.
    """
    try:
        value = yaml.load(text, _Strict)
    except RecursionError:
        raise yaml.MarkedYAMLError(problem="nests too deep") from None
    _count(value, 0, 0)
    return value


def _count(value: Any, depth: int, seen: int) -> int:
    """How many values there are in all, with anchors expanded: a few lines of them may mean billions."""
    if depth > MOST_DEEP:
        raise yaml.MarkedYAMLError(problem="nests too deep")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        seen = _count(part, depth + 1, seen)
    if seen >= MOST_VALUES:
        raise yaml.MarkedYAMLError(problem=f"holds more than {MOST_VALUES} values")
    return seen + 1


class _Strict(yaml.SafeLoader):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError):  # 10,000 digits, the 40th of May
            raise yaml.MarkedYAMLError(
                problem="is no number or date that can be read", problem_mark=node.start_mark
            ) from None


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise yaml.MarkedYAMLError(problem="merges (<<) are not read", problem_mark=key_node.start_mark)
        key = loader.construct_object(key_node)
        if not isinstance(key, str):
            raise yaml.MarkedYAMLError(problem="a key is no text", problem_mark=key_node.start_mark)
        if key in seen:
            raise yaml.MarkedYAMLError(
                problem=f"key {key[:40]!r} is given twice", problem_mark=key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Strict.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
