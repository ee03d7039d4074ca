"""Rust: use, mod, extern crate, qualified paths and include macros.

Kinds: `use` (one path of the tree, `*` and `self` as written), `mod`, `inline` (a module with a body),
`path` (`#[path]`; `names` the module), `include`, `qualified` (a path elsewhere in the code).

Modules are resolved by the folders of their files. A path means the file of its longest beginning that is a module;
if all of it is one, also the parent, which may hold an item of that name.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hush_core import linear
from hush_core.secrets.propagation.imports.manifests import mapping
from hush_core.secrets.propagation.imports.path import (
    MAX_PARTS,
    above,
    composed,
    folder_of,
    joined,
    text,
    within,
)
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Skipper, Source

_USE = linear.compile(rb"(?<![\w\x80-\xff])(?:use|extern\s{1,255}crate)(?![\w\x80-\xff])")
_TOKEN = re.compile(rb"(?:r#)?([A-Za-z_\x80-\xff][\w\x80-\xff]*+)|(::|[{},;*])")
_MOD = linear.compile(
    rb"(?:#\[\s*path\s*=\s*\"([^\"\n]{1,1024})\"\s*\]\s*(?:#\[[^\]\n]*\]\s*)*(?:pub(?:\s*\([^)\n]*\))?\s+)?"
    rb"|(?<![\w\x80-\xff]))mod\s+(?:r#)?([\w\x80-\xff]{1,255})\s*([;{])"
)
_INCLUDE = linear.compile(rb"\binclude(?:_str|_bytes)?!\s{0,99}[(\[{]\s{0,999}\"([^\"\n]{1,1024})\"")
_QUALIFIED = linear.compile(rb"(?<![\w:\x80-\xff])[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*){1,16}")
_CRATE_FOLDERS = ("src", "src/bin", "tests", "examples", "benches")


def read(content: bytes, skip: Skipper) -> list[Reference]:
    references = list(_declared(content, skip))
    used = {r.name for r in references if r.kind == "use"}
    inside = {text(b"".join(match[0].split())) for match in _QUALIFIED.finditer(content)} - used
    return references + [Reference("qualified", name) for name in sorted(inside)]


def _declared(content: bytes, skip: Skipper) -> Iterator[Reference]:
    for match in _USE.finditer(content):
        for path in _use_tree(content, match.end(), skip):
            yield Reference("use", path)
    for match in _MOD.finditer(content):
        name = text(match[2])
        yield Reference("inline" if match[3] == b"{" else "mod", name)
        if match[1]:
            yield Reference("path", text(match[1]), (name,))
    for match in _INCLUDE.finditer(content):
        yield Reference("include", text(match[1]))


def _use_tree(content: bytes, at: int, skip: Skipper) -> Iterator[str]:
    """The paths of one use declaration; ends at the first token that cannot be there."""
    stack: list[list[str]] = []
    path: list[str] = []
    after_name = renaming = False
    while skip.spend():
        at = skip(at)
        match = _TOKEN.match(content, at)
        if match is None:
            break
        at = match.end()
        name, mark = match[1], match[2]
        if name == b"as" and after_name:
            renaming, after_name = True, False
        elif name is not None:
            if after_name:
                break
            if not renaming:
                path = [*path, text(name)]
                if len(path) > MAX_PARTS:
                    break
            after_name, renaming = True, False
        elif mark == b"*":
            path = [*path, "*"]
            after_name = True
        elif mark == b"::":
            after_name = False
        elif mark == b"{":
            if len(stack) >= MAX_PARTS:
                break
            stack.append(path)
            after_name = False
        else:
            if after_name:
                yield "::".join(path)
            if mark == b"}" and stack:
                path, after_name = stack.pop(), False
            elif mark == b"," and stack:
                path, after_name = stack[-1], False
            else:
                return
    if path:
        yield "::".join(path)


class RustModules:
    """Rust's crates and modules among the files of a repository."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        self._crates: dict[str, list[str]] = defaultdict(list)
        self._folders: set[str] = set()
        self._roots: set[str] = set()
        self._aliases: dict[str, list[str]] = defaultdict(list)
        for source in sources:
            if source.name == "Cargo.toml":
                self._read_manifest(source.folder, _load(source.content))
        for source in sources:
            if source.language == "rust":
                self._provide(source)

    def _read_manifest(self, folder: str, data: dict[str, Any]) -> None:
        self._folders.update(within(folder, name) for name in _CRATE_FOLDERS)
        self._folders.add(folder)  # build.rs
        places = [within(folder, "src")]
        package, library = mapping(data.get("package")), mapping(data.get("lib"))
        names, targets = [package.get("name"), library.get("name")], [library]
        for kind in ("bin", "example", "test", "bench"):
            listed = data.get(kind)
            targets += [t for t in listed if isinstance(t, dict)] if isinstance(listed, list) else []
        for target in targets:
            path = target.get("path")
            file = joined(folder, path) if isinstance(path, str) else None
            if file is not None:
                self._roots.add(file)
                self._folders.add(folder_of(file))
                if target is library:
                    places.append(file.removesuffix(".rs"))
        for name in names:
            if isinstance(name, str):
                self._crates[composed(name).replace("-", "_")] += places
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, entry in mapping(data.get(section)).items():
                path = mapping(entry).get("path")
                place = joined(folder, path) if isinstance(path, str) else None
                if place is not None:  # under this name here, whatever its own is
                    self._crates[composed(name).replace("-", "_")].append(within(place, "src"))

    def _provide(self, source: Source) -> None:
        provide, stem = self._keys.provide, source.path.removesuffix(".rs")
        folder, _, name = stem.rpartition("/")
        provide(f"rs/{stem}", source.index)
        if name in ("mod", "lib", "main"):
            provide(f"rs/{folder}", source.index)
        if name in ("lib", "main"):
            self._folders.add(folder)
        for reference in source.references:
            if reference.kind == "path":
                target = joined(folder, reference.name)
                for module in self._children(source, reference.names[0]) if target is not None else ():
                    self._aliases[module].append(target)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        if reference.kind in ("path", "include"):
            return self._keys.known(source.beside(reference.name))
        if reference.kind == "inline":
            return []
        if reference.kind == "mod":
            return [key for module in self._children(source, reference.name) for key in self._at(module)]
        parts = [p for p in reference.name.split("::") if p]
        if parts and parts[-1] in ("*", "self") and len(parts) > 1:
            parts.pop()
        found: list[str] = []
        for place, rest, anchored in dict.fromkeys(self._places(source, tuple(parts))):
            found += self._longest(place, rest, anchored)
        return found

    def _places(self, source: Source, parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], bool]]:
        """Where a path may begin: (folder of a module, what is left of the path, whether it surely does)."""
        if not parts:
            return
        first, rest = parts[0], parts[1:]
        here = source.path.removesuffix(".rs")
        folder, _, name = here.rpartition("/")
        own = [folder] if name in ("mod", "lib", "main") or source.path in self._roots else [here]
        if folder in self._folders and folder not in own:
            own.append(folder)  # src/bin/x.rs, tests/x.rs: roots of their own
        if first == "crate":
            yield from ((place, rest, True) for place in above(folder) if place in self._folders)
        elif first in ("self", "super"):
            ups = 0
            while parts and parts[0] in ("self", "super"):
                ups += parts[0] == "super"
                parts = parts[1:]
            for place in own:
                for _ in range(ups):
                    place = folder_of(place)
                yield place, parts, True
                if ups:  # `super` inside `mod tests { … }` is this file's own module
                    yield own[0], parts, False
        else:
            yield from ((place, rest, True) for place in self._crates.get(first, ()))
            yield from ((place, parts, False) for place in (*own, folder_of(own[0])))
            yield from ((place, parts, False) for place in above(folder) if place in self._folders)

    def _longest(self, place: str, parts: tuple[str, ...], anchored: bool) -> list[str]:
        for count in range(min(len(parts), MAX_PARTS), -1 if anchored else 0, -1):
            found = self._at("/".join((place, *parts[:count])).strip("/"))
            if found:
                if count == len(parts) and count > (0 if anchored else 1):
                    found = found + self._at("/".join((place, *parts[: count - 1])).strip("/"))
                return found
        return []

    def _at(self, module: str) -> list[str]:
        wanted = [f"rs/{module}", *(f"fs/{target}" for target in self._aliases.get(module, ()))]
        return self._keys.known(wanted)

    def _children(self, source: Source, name: str) -> list[str]:
        """Where `mod name;` may lie: beside the file, under it, or under a module with a body in it."""
        here = source.path.removesuffix(".rs")
        places = [folder_of(here), here]
        bodies = [r.name for r in source.references if r.kind == "inline"][:16]
        places += [within(place, body) for place in places for body in bodies]
        return [within(place, name) for place in places]


def _load(content: bytes) -> dict[str, Any]:
    """TOML as a mapping; empty if it is no TOML (the file is hostile input)."""
    try:
        return tomllib.loads(content.decode("utf-8")) if len(content) <= 1 << 16 else {}
    except (ValueError, RecursionError):
        return {}
