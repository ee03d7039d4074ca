"""Which files of a repository import which: the importers of protected files hold the secret too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from hush_core.corpus.syntax import LIMITS
from hush_core.secrets.imports import c, go, java, javascript, python, rust
from hush_core.secrets.imports.reference import Keys, Reference, Source, composed

_QUIET = frozenset(("package", "type", "inline", "qualified", "module"))
"""Kinds that are no imports: not finding them says nothing."""


def references(language: str, content: bytes) -> list[Reference]:
    """The imports of one file as written, each once; empty for a language that is not read.

    Args:
        language: python, javascript, typescript, tsx, go, java, rust, c or cpp.

    Guarantees: time linear in the content, no exception on any bytes. Comments and strings are left out only
    where the content parses without errors; what does not parse yields more references, never fewer.
    """
    return _read(language, content)[0]


class ImportGraph:
    """The imports among the files of ONE repository.

    Args:
        files: (path, language as `corpus.language_of` gives it, content). All files, of any language:
            manifests (go.mod, package.json, tsconfig.json, Cargo.toml) and what is included are among them.

    A reference that several files fit counts for all of them. `counts` says what was found: files (of a
    language that is read), references, resolved, unresolved (external, or computed at run time), errors
    (files with syntax errors, whose comments and strings were read too) and, where a limit of
    `corpus.syntax` was met, its name; `unparsed` sums those.
    """

    def __init__(self, files: Sequence[tuple[str, str, bytes]]) -> None:
        self.counts: Counter[str] = Counter()
        sources = [self._source(i, *file) for i, file in enumerate(files)]
        keys = Keys()
        for source in sources:
            keys.provide(f"fs/{source.path}", source.index)
        scripts = javascript.Modules(sources, keys)
        headers = c.Headers(sources, keys)
        resolvers = {
            "python": python.Modules(sources, keys),
            "javascript": scripts,
            "typescript": scripts,
            "tsx": scripts,
            "go": go.Packages(sources, keys),
            "java": java.Types(sources, keys),
            "rust": rust.Modules(sources, keys),
            "c": headers,
            "cpp": headers,
        }
        self._asks: list[set[str]] = [set() for _ in sources]
        for source in sources:
            resolver = resolvers.get(source.language)
            for reference in source.references if resolver else ():
                found = resolver.resolve(source, reference)
                self._asks[source.index].update(found)
                if reference.kind not in _QUIET:
                    self.counts["references"] += 1
                    self.counts["resolved" if found else "unresolved"] += 1
        self._keys = keys
        self._askers: dict[str, list[int]] = defaultdict(list)
        for file, asked in enumerate(self._asks):
            for key in asked:
                self._askers[key].append(file)
        self._provided: dict[int, list[str]] = defaultdict(list)
        for key in self._askers:
            for file in keys.files(key):
                self._provided[file].append(key)

    def _source(self, index: int, path: str, language: str, content: bytes) -> Source:
        if language == "typescript" and path.endswith(".tsx"):
            language = "tsx"
        found, status = _read(language, content)
        self.counts["files"] += language in _READERS
        if status:
            self.counts[status] += 1
            self.counts["unparsed"] += status in LIMITS
        return Source(index, composed(path), language, content, tuple(found), status)

    def imports(self, file: int) -> set[int]:
        """The files that one file imports directly, itself left out."""
        return {f for key in self._asks[file] for f in self._keys.files(key)} - {file}

    def importers(self, targets: Iterable[int], depth: int = 1) -> dict[int, int]:
        """The files that import one of the targets, directly or through at most `depth` imports.

        Returns file → the number of imports on the shortest way to a target (1, …, depth), without the
        targets themselves. Time is linear in the table of keys, however many files share a name.
        """
        frontier = list(dict.fromkeys(targets))
        reached = dict.fromkeys(frontier, 0)
        followed: set[str] = set()
        for distance in range(1, depth + 1):
            pending = {key for file in frontier for key in self._provided.get(file, ())} - followed
            followed |= pending
            frontier = []
            for key in pending:
                for file in self._askers[key]:
                    if file not in reached:
                        reached[file] = distance
                        frontier.append(file)
        return dict(sorted((file, distance) for file, distance in reached.items() if distance))


_READERS = {
    "python": python.read,
    "javascript": lambda content: javascript.read("javascript", content),
    "typescript": lambda content: javascript.read("typescript", content),
    "tsx": lambda content: javascript.read("tsx", content),
    "go": go.read,
    "java": java.read,
    "rust": rust.read,
    "c": lambda content: c.read("c", content),
    "cpp": lambda content: c.read("cpp", content),
}


def _read(language: str, content: bytes) -> tuple[list[Reference], str]:
    reader = _READERS.get(language)
    return reader(content) if reader else ([], "")
