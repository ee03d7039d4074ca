"""Which files of a repository import which: the importers of protected files hold the secret too."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from hush_core.secrets.propagation.imports import c, go, java, javascript, python, rust
from hush_core.secrets.propagation.imports.path import composed
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Skipper, Source

_QUIET = frozenset(("package", "type", "inline", "qualified", "module"))
"""Kinds that are no imports: not finding them says nothing."""
_SCRIPTS, _C = ("javascript", "typescript"), ("c", "cpp")


def references(language: str, content: bytes) -> list[Reference]:
    """The imports of one file as written, each once; empty for a language that is not read.

    Args:
        language: python, javascript, typescript, go, java, rust, c or cpp.

    Guarantees: time linear in the content, no exception on any bytes. Comments and strings are read like code, so
    there are more references, never fewer. A parser sets them aside, but a hostile file can exhaust its memory.
    """
    return _read(language, content)[0]


class ImportGraph:
    """The imports among the files of ONE repository.

    Args:
        files: (path, language as `corpus.language_of` gives it, content). All files, of any language:
            manifests (go.mod, package.json, tsconfig.json, Cargo.toml) and what is included are among them.

    A reference that several files fit counts for all of them.

    `counts` says what was found: files (of a language that is read), references (as written), resolved, unresolved
    (external, or computed at run time). Files that were not read to their end are `cut`: they have too many
    comments between the words of their imports.
    """

    def __init__(self, files: Sequence[tuple[str, str, bytes]]) -> None:
        self.counts: Counter[str] = Counter()
        self._sources = [self._source(i, *file) for i, file in enumerate(files)]
        self._keys = keys = Keys()
        for source in self._sources:
            keys.provide(f"fs/{source.path}", source.index)
        # `resolve(source, reference)` of each: the keys that a reference asks for, of those that some file provides
        self._resolvers = {
            "python": python.PythonModules(self._sources, keys),
            **dict.fromkeys(_SCRIPTS, javascript.JavaScriptModules(self._sources, keys)),
            "go": go.Packages(self._sources, keys),
            "java": java.Types(self._sources, keys),
            "rust": rust.RustModules(self._sources, keys),
            **dict.fromkeys(_C, c.Headers(self._sources, keys)),
        }
        self._askers: dict[str, list[int]] = defaultdict(list)
        for source in self._sources:
            for key in self._asked(source, count=True):
                self._askers[key].append(source.index)
        self._provided: dict[int, list[str]] = defaultdict(list)
        for key in self._askers:
            for file in keys.files(key):
                self._provided[file].append(key)

    def _source(self, index: int, path: str, language: str, content: bytes) -> Source:
        found, cut = _read(language, content)
        self.counts["files"] += language in _READERS
        self.counts["cut"] += cut
        return Source(index, composed(path), language, content, tuple(found))

    def _asked(self, source: Source, count: bool = False) -> set[str]:
        """The keys that a file's references ask for."""
        resolver, asked = self._resolvers.get(source.language), set()
        for reference in source.references if resolver else ():
            found = resolver.resolve(source, reference)
            asked.update(found)
            if count and reference.kind not in _QUIET:
                self.counts["references"] += 1
                self.counts["resolved" if found else "unresolved"] += 1
        return asked

    def imports(self, file: int) -> set[int]:
        """The files that one file imports directly, itself left out."""
        return {f for key in self._asked(self._sources[file]) for f in self._keys.files(key)} - {file}

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


_READERS: dict[str, Callable[[bytes, Skipper], Iterable[Reference]]] = {
    "python": lambda content, _: python.read(content),
    **dict.fromkeys(_SCRIPTS, javascript.read),
    "go": go.read,
    "java": lambda content, _: java.read(content),
    "rust": rust.read,
    "c": lambda content, _: c.read(content),
    "cpp": lambda content, _: c.read(content, modules=True),
}
"""By language: the references of a file."""


def _read(language: str, content: bytes) -> tuple[list[Reference], bool]:
    """The references of a file, and whether it was not read to its end."""
    reader, skip = _READERS.get(language), Skipper(content)
    found = list(dict.fromkeys(reader(content, skip))) if reader else []
    return found, skip.spent
