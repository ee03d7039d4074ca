"""JavaScript and TypeScript: import, export … from, require, dynamic import and their kin.

Kinds: `import` (a specifier), `url` (relative without a leading dot, for workers),
`folder` (the fixed beginning of one that is computed: all files in it).

A specifier is resolved as the usual bundlers do, and every file that fits is taken:

- with each extension, as a folder's index or package.json entry, or by the name of a package in the repository
- by `paths` and `baseUrl` of each tsconfig above the importer, by `imports` of package.json, and by `@/` and `~/`
"""

import re
from collections.abc import Callable, Iterator

from hush_core import linear
from hush_core.secrets.propagation.imports.manifests import Manifests
from hush_core.secrets.propagation.imports.path import above, folder_of, joined, text, within
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Skipper, Source

SUFFIXES = (
    *(".d.ts", ".d.mts", ".d.cts", ".ts", ".tsx", ".mts", ".cts"),
    *(".js", ".jsx", ".mjs", ".cjs", ".es6", ".es", ".coffee", ".vue", ".svelte", ".astro"),
    *(".json", ".json5", ".css", ".scss", ".sass", ".less", ".wasm", ".node", ".graphql", ".gql"),
)
_WRITTEN = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
"""An import of x.js may mean the source x.ts."""
_PLATFORMS = (".ios", ".android", ".native", ".web", ".windows", ".macos", ".server", ".client")

_KEYWORD = linear.compile(
    rb"(?<![\w$\x80-\xff])(?:from|import|require(?:\.\w{1,40}(?:\.\w{1,40})?)?|define|importScripts|proxyquire|URL"
    rb"|Worker|SharedWorker|(?:jest|vi)\.\w{1,40}|import\.meta\.glob\w{0,10})(?![\w$\x80-\xff])"
)
_STRING = re.compile(
    rb'"((?:[^"\\\r\n]|\\.){1,1024}+)"|\'((?:[^\'\\\r\n]|\\.){1,1024}+)\'|`((?:[^`\\]|\\.){1,1024}+)`',
    re.DOTALL,
)
_DIRECTIVE = linear.compile(
    rb"///[ \t]*<(?:reference|amd-dependency)\s{1,20}path\s{0,9}=\s{0,9}[\"']([^\"'\n]{1,1024})[\"']"
)
_URLS = (b"URL", b"Worker", b"SharedWorker", b"importScripts")
_COMPUTED = re.compile(r"\$\{|\*|\{")


def read(content: bytes, skip: Skipper) -> Iterator[Reference]:
    for keyword in _KEYWORD.finditer(content):
        at = skip(keyword.end())
        following = content[at : at + 1]
        if following == b"(":
            at = skip(at + 1)
        elif keyword[0] not in (b"from", b"import") or following not in (b'"', b"'"):
            continue
        for string in _strings(content, at, skip):
            yield _reference(string, keyword[0])
    yield from (Reference("import", text(match[1])) for match in _DIRECTIVE.finditer(content))


def _strings(content: bytes, at: int, skip: Skipper) -> Iterator[str]:
    """The string at a position, or those of the list there (AMD: an optional name, then a list)."""
    listed = False
    while skip.spend():
        if content[at : at + 1] == b"[":
            listed, at = True, skip(at + 1)
        match = _STRING.match(content, at)
        if match is None:
            return
        yield text(match[1] or match[2] or match[3])
        at = skip(match.end())
        if content[at : at + 1] != b",":
            return
        at = skip(at + 1)
        if not listed and content[at : at + 1] != b"[":
            return


def _reference(specifier: str, keyword: bytes) -> Reference:
    specifier = specifier.replace("\\/", "/").rpartition("!")[2]
    computed = _COMPUTED.search(specifier)
    if computed:
        return Reference("folder", folder_of(specifier[: computed.start()]) or ".")
    return Reference("url" if keyword in _URLS else "import", specifier)


class JavaScriptModules:
    """What a specifier can reach among the files of a repository."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        self._manifests = Manifests(sources)
        for source in sources:
            self._provide(source)

    def _provide(self, source: Source) -> None:
        provide, path, file = self._keys.provide, source.path, source.index
        stem = next((path[: -len(s)] for s in SUFFIXES if path.endswith(s)), None)
        if stem is None:
            return
        provide(f"js/{stem}", file)
        if path.endswith((".d.ts", ".d.mts", ".d.cts")):
            provide(f"js/{stem}.d", file)
        for platform in _PLATFORMS:
            if stem.endswith(platform):
                provide(f"js/{stem[: -len(platform)]}", file)
        if stem.rpartition("/")[2] == "index":
            provide(f"js/{folder_of(stem)}", file)
        for folder in above(source.folder):
            provide(f"js>{folder}", file)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        name = reference.name
        if reference.kind != "folder":
            name = name.partition("?")[0]
        name = name.partition("#")[0] if not name.startswith("#") else name
        folder = source.folder
        find = self._folder if reference.kind == "folder" else self._entry
        found: list[str] = []
        if name.startswith(".") or name == "":
            target = joined(folder, name)
            return find(target) if target is not None else []
        if name.startswith("/"):
            for root in above(folder):
                found += find(within(root, name.strip("/"))) + find(within(root, "public" + name.rstrip("/")))
            return found
        for target in self._manifests.aliases(folder, name):
            found += find(target)
        for place, rest in self._manifests.packages(name):
            found += self._package(place, rest, find)
        target = joined(folder, name) if reference.kind == "url" else None
        if target is not None:
            found += find(target)
        if not found and "/" in name:
            rest = name[2:] if name.startswith(("@/", "~/")) else name
            for root in above(folder):
                found += find(within(root, rest)) + find(within(root, f"src/{rest}"))
        return found

    def _package(self, place: str, rest: str, find: Callable[[str], list[str]]) -> list[str]:
        """A package of the repository: its entries, or the file under it; all of it where neither is found."""
        if rest:
            found = find(within(place, rest)) + find(within(place, f"src/{rest}"))
        else:
            found = find(place) + find(within(place, "src"))
        return found or self._folder(place)

    def _entry(self, target: str) -> list[str]:
        """The files that a path can represent."""
        found = self._direct(target)
        for entry in self._manifests.entries(target):
            found += self._direct(entry)
        return found

    def _direct(self, target: str) -> list[str]:
        wanted = [f"fs/{target}", f"js/{target}"]
        wanted += [f"js/{target[: -len(end)]}" for end in _WRITTEN if target.endswith(end)]
        return self._keys.known(wanted)

    def _folder(self, target: str) -> list[str]:
        return self._keys.known((f"js>{target}",))
