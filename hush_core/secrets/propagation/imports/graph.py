"""Which files of a repository import which: the importers of protected files hold the secret too."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from hush_core.secrets.propagation.imports import c, go, java, javascript, python, rust
from hush_core.secrets.propagation.imports.path import composed
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Source
from hush_core.secrets.propagation.syntax import LIMITS, grammar_of

_QUIET = frozenset(("package", "type", "inline", "qualified", "module"))
"""Kinds that are no imports: not finding them says nothing."""
_SCRIPTS, _C = ("javascript", "typescript", "tsx"), ("c", "cpp")


def references(language: str, content: bytes) -> list[Reference]:
    """The imports of one file as written, each once; empty for a language that is not read.

    Args:
        language: python, javascript, typescript, tsx, go, java, rust, c or cpp.

    Guarantees: time linear in the content, no exception on any bytes. Comments and strings are left out only
    where the content parses without errors; what does not parse yields more references, never fewer.
    """
    return _read(language, content, sure=True)[0]


class ImportGraph:
    """The imports among the files of ONE repository.

    Args:
        files: (path, language as `corpus.language_of` gives it, content). All files, of any language:
            manifests (go.mod, package.json, tsconfig.json, Cargo.toml) and what is included are among them.

    A reference that several files fit counts for all of them. Files are parsed, to set comments and strings aside,
    when it is asked whether they import something (those in Rust at once): for a few targets that is a few files.

    `counts` says what was found: files (of a language that is read), references (as written, in comments and
    strings too), resolved, unresolved (external, or computed at run time). Of the files parsed so far it counts
    errors (those with syntax errors, whose comments and strings were read too) and, by name, the limits of
    `syntax` that were met; `unparsed` sums those.
    """

    def __init__(self, files: Sequence[tuple[str, str, bytes]]) -> None:
        self.counts: Counter[str] = Counter()
        self._sources = [self._source(i, *file) for i, file in enumerate(files)]
        self._keys = keys = Keys()
        for source in self._sources:
            keys.provide(f"fs/{source.path}", source.index)
        # `resolve(source, reference)` of each: the keys that a reference asks for, of those that some file provides
        self._resolvers = {
            "python": python.Modules(self._sources, keys),
            **dict.fromkeys(_SCRIPTS, javascript.Modules(self._sources, keys)),
            "go": go.Packages(self._sources, keys),
            "java": java.Types(self._sources, keys),
            "rust": rust.Modules(self._sources, keys),
            **dict.fromkeys(_C, c.Headers(self._sources, keys)),
        }
        self._sure: dict[int, frozenset[str]] = {}
        self._askers: dict[str, list[int]] = defaultdict(list)
        for source in self._sources:
            for key in self._asked(source, count=True):
                self._askers[key].append(source.index)
        self._provided: dict[int, list[str]] = defaultdict(list)
        for key in self._askers:
            for file in keys.files(key):
                self._provided[file].append(key)

    def _source(self, index: int, path: str, language: str, content: bytes) -> Source:
        language = grammar_of(language, path)
        found = self._read(language, content, sure=language in _AT_ONCE)
        self.counts["files"] += language in _READERS
        return Source(index, composed(path), language, content, tuple(found))

    def _read(self, language: str, content: bytes, sure: bool) -> list[Reference]:
        found, status = _read(language, content, sure)
        if status:
            self.counts[status] += 1
            self.counts["unparsed"] += status in LIMITS
        return found

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

    def _surely_asked(self, file: int) -> frozenset[str]:
        """The keys that a file's code asks for, comments and strings set aside."""
        if file not in self._sure:
            source = self._sources[file]
            if source.language not in _AT_ONCE:
                found = self._read(source.language, source.content, sure=True)
                source = replace(source, references=tuple(found))
            self._sure[file] = frozenset(self._asked(source))
        return self._sure[file]

    def imports(self, file: int) -> set[int]:
        """The files that one file imports directly, itself left out."""
        return {f for key in self._surely_asked(file) for f in self._keys.files(key)} - {file}

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
                    if file not in reached and key in self._surely_asked(file):
                        reached[file] = distance
                        frontier.append(file)
        return dict(sorted((file, distance) for file, distance in reached.items() if distance))


_READERS = {
    "python": python.read,
    **{grammar: partial(javascript.read, grammar) for grammar in _SCRIPTS},
    "go": go.read,
    "java": java.read,
    "rust": rust.read,
    **{grammar: partial(c.read, grammar) for grammar in _C},
}
"""By language: the references of a file, and the status of the parse that sets strings and comments aside."""

_AT_ONCE = frozenset(("rust",))
"""Here what one file says in a comment could hide what another one imports: `#[path]`, `mod x { … }`."""


def _read(language: str, content: bytes, sure: bool) -> tuple[list[Reference], str]:
    reader = _READERS.get(language)
    return reader(content, sure) if reader else ([], "")
