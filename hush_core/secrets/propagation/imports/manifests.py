"""package.json and tsconfig.json of a repository: names of packages, their entries, aliases of paths.

Both are hostile input: what does not parse, or is not of the expected shape, is as if it were not there.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hush_core import linear
from hush_core.secrets.propagation.imports.path import above, composed, folder_of, joined
from hush_core.secrets.propagation.imports.reference import Source

MAX_MANIFEST = 1 << 18
MAX_TARGETS = 64
"""Targets of one alias, and entries of one package, that are tried; the tools take the first that exists."""

_CONFIG = re.compile(r"(?:^|/)(?:tsconfig|jsconfig)[^/]*\.json$")
_ENTRIES = ("main", "module", "browser", "types", "typings", "source", "exports", "svelte", "bin")
_BUILT = re.compile(r"^(?:dist|build|lib|out|es|esm|cjs)(?:/(?:esm|cjs|es|types))?(?=/)")
_JSONC = linear.compile(
    rb'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/|/\*[\s\S]*|,(?=\s*[}\]])'
)


class Manifests:
    """Everything that package.json and tsconfig files say about where a specifier leads."""

    def __init__(self, sources: list[Source]) -> None:
        self._packages: dict[str, list[str]] = defaultdict(list)
        self._entries: dict[str, list[str]] = {}
        self._aliases: dict[str, dict[str, list[tuple[str | None, str]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        configs: dict[str, dict[str, Any]] = {}
        for source in sources:
            if source.name == "package.json":
                self._read_package(source.folder, _load(source.content))
            elif _CONFIG.search(source.path):
                configs[source.path] = _load(source.content)
        for path in configs:
            self._read_config(path, configs)

    def packages(self, name: str) -> Iterator[tuple[str, str]]:
        """Folders of the packages that a specifier without a path names, with what follows the name."""
        parts = name.split("/")
        count = 2 if name.startswith("@") else 1
        for folder in self._packages.get("/".join(parts[:count]), ()):
            yield folder, "/".join(parts[count:])

    def entries(self, folder: str) -> list[str]:
        """Paths that the package.json of a folder names as its entries."""
        return self._entries.get(folder, [])

    def aliases(self, folder: str, name: str) -> Iterator[str]:
        """Paths that a specifier represents under the aliases in force in a folder."""
        if len(name) > 1024:
            return
        for place in above(folder):
            patterns = self._aliases.get(place)
            if patterns is None:
                continue
            for end in range(len(name) + 1):
                for suffix, target in patterns.get(name[:end], ()):
                    if suffix is None:
                        if end == len(name):
                            yield target
                    elif name.endswith(suffix) and len(name) >= end + len(suffix):
                        yield target.replace("*", name[end : len(name) - len(suffix)], 1)

    def _read_package(self, folder: str, data: dict[str, Any]) -> None:
        name = data.get("name")
        if isinstance(name, str) and name:
            self._packages[composed(name)].append(folder)
        entries: dict[str, None] = {}
        for value in _strings([data.get(key) for key in _ENTRIES]):
            for variant in (value, _BUILT.sub("src", value.removeprefix("./"))):
                target = joined(folder, variant.replace("*", ""))
                if target is not None and target != folder:
                    entries[target] = None
        if entries:
            self._entries[folder] = list(entries)[:MAX_TARGETS]
        for pattern, value in mapping(data.get("imports")).items():
            self._alias(folder, folder, pattern, list(_strings([value])))

    def _read_config(self, path: str, configs: dict[str, dict[str, Any]]) -> None:
        """The aliases of a tsconfig hold in its folder; those that it extends hold there too."""
        holds = folder_of(path)
        seen: set[str] = set()
        pending = [path]
        while pending and len(seen) < 8:
            path = pending.pop()
            if path in seen or path not in configs:
                continue
            seen.add(path)
            data, folder = configs[path], folder_of(path)
            for parent in _strings([data.get("extends")]):
                target = joined(folder, parent)
                if target is not None:
                    pending += [target, target + ".json"]
            options = mapping(data.get("compilerOptions"))
            base = options.get("baseUrl")
            root = joined(folder, base) if isinstance(base, str) else folder
            if root is None:
                continue
            if isinstance(base, str):
                self._alias(holds, root, "*", ["*"])
            for pattern, value in mapping(options.get("paths")).items():
                self._alias(holds, root, pattern, list(_strings([value])))

    def _alias(self, holds: str, root: str, pattern: str, targets: list[str]) -> None:
        prefix, star, suffix = composed(pattern).partition("*")
        known = self._aliases[holds][prefix]
        for target in targets:
            path = joined(root, composed(target))
            entry = (suffix if star else None, path)
            if path is not None and entry not in known and len(known) < MAX_TARGETS:
                known.append(entry)


def _strings(values: list[Any]) -> Iterator[str]:
    """Every string within lists and the values of mappings."""
    pending = values[::-1]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield composed(value)
        elif isinstance(value, list):
            pending += value[::-1]
        elif isinstance(value, dict):
            pending += list(value.values())[::-1]


def _load(content: bytes) -> dict[str, Any]:
    """JSON with comments and trailing commas, as a mapping; empty where it is not one."""
    if len(content) > MAX_MANIFEST:
        return {}
    try:
        written = content.removeprefix(b"\xef\xbb\xbf")
        plain = _JSONC.sub(lambda match: match[0] if match[0].startswith(b'"') else b" ", written)
        data = json.loads(plain.decode())
    except (ValueError, RecursionError):
        return {}
    return mapping(data)


def mapping(value: Any) -> dict[str, Any]:
    """A value of a manifest if it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}
