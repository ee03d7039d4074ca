"""Go: import paths, embedded files and the C headers of a cgo preamble.

Kinds: `import`, `package` (the file's own clause), `embed`, `include`.

An import path is a folder below the module of some go.mod (or a `replace` of it), below a vendor or src folder,
or of the repository itself. Files of one package see each other without any import: each counts as imported by
the others.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.propagation.imports.path import above, composed, folder_of, joined, text, within
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Skipper, Source

_IMPORT = re.compile(rb"(?<![\w.\x80-\xff])import(?![\w\x80-\xff])")
_SPEC = re.compile(rb"(?:[\w\x80-\xff]{1,255}+|\.)?[ \t]{0,255}+(?:\"([^\"\n]{1,1024})\"|`([^`\n]{1,1024})`)")
_PACKAGE = linear.compile(
    rb"(?m)^[ \t\xef\xbb\xbf]{0,64}(?:/\*[^*\n]{0,999}\*/)?[ \t]{0,64}package[ \t]+([\w\x80-\xff]+)"
)
_EMBED = linear.compile(rb"(?m)^//go:embed[ \t]+([^\n]+)")
_INCLUDE = re.compile(
    rb"(?m)^[ \t]{0,64}(?://)?[ \t]{0,64}#[ \t]{0,64}include[ \t]{0,64}[\"<]([^\">\n]{1,1024})[\">]"
)
_MODULE = re.compile(r"(?m)^[ \t]*module[ \t]+\"?([^\s\"/][^\s\"]*)")
_REPLACE = re.compile(
    r"(?m)^[ \t]*(?:replace[ \t]+)?(\S+)(?:[ \t]+v\S+)?[ \t]+=>[ \t]+(\.\.?/\S*|\.\.?)(?=\s|$)"
)


def read(content: bytes, skip: Skipper) -> Iterator[Reference]:
    imports = list(_imports(content, skip))
    yield from imports
    clause = _PACKAGE.search(content)
    if clause:
        yield Reference("package", text(clause[1]))
    for match in _EMBED.finditer(content):
        yield from (Reference("embed", text(word.strip(b'"`'))) for word in match[1].split())
    if any(r.name == "C" for r in imports):
        yield from (Reference("include", text(match[1])) for match in _INCLUDE.finditer(content))


def _imports(content: bytes, skip: Skipper) -> Iterator[Reference]:
    for keyword in _IMPORT.finditer(content):
        at = skip(keyword.end())
        block = content[at : at + 1] == b"("
        if block:
            at = skip(at + 1)
        while skip.spend():
            match = _SPEC.match(content, at)
            if match is None:
                break
            yield Reference("import", text(match[1] or match[2]))
            if not block:
                break
            at = skip(match.end())
            if content[at : at + 1] == b";":
                at = skip(at + 1)


class Packages:
    """Go's packages (folders) among the files of a repository."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        self._modules: dict[str, list[str]] = defaultdict(list)
        for source in sources:
            folder = source.folder
            if source.name == "go.mod":
                self._read_module(folder, source.content)
            elif source.language == "go":
                if not source.path.endswith("_test.go"):
                    keys.provide(f"go/{folder}", source.index)
                for reference in source.references:
                    if reference.kind == "package":
                        keys.provide(f"go:{folder}:{reference.name}", source.index)
            for place in above(folder):
                keys.provide(f"go>{place}", source.index)

    def _read_module(self, folder: str, content: bytes) -> None:
        written = text(content[: 1 << 18])
        for match in _MODULE.finditer(written):
            self._modules[match[1].rstrip("/")].append(folder)
        for match in _REPLACE.finditer(written):
            target = joined(folder, match[2])
            if target is not None:
                self._modules[match[1].strip('"')].append(target)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        folder, name = source.folder, composed(reference.name)
        if reference.kind == "package":
            return self._keys.known((f"go:{folder}:{name}",))
        if reference.kind == "include":
            return self._keys.known((*source.beside(name), f"c~{name.casefold()}"))
        if reference.kind == "embed":
            target = joined(folder, name.removeprefix("all:").partition("*")[0])
            if target is None:
                return []
            place = folder_of(target) if "*" in name else target
            return self._keys.known((f"fs/{target}", f"go>{place}"))
        if name.startswith("."):
            target = joined(folder, name)
            return [] if target is None else self._keys.known((f"go/{target}",))
        slashes = [match.start() for match in re.finditer("/", name)]
        splits = [*((name[:at], name[at + 1 :]) for at in slashes), (name, "")]
        wanted = [
            within(place, rest) for prefix, rest in splits for place in self._modules.get(prefix, ())[:64]
        ]
        for place in above(folder):
            wanted += [within(place, f"vendor/{name}"), within(place, f"src/{name}")]
        found = self._keys.known(f"go/{place}" for place in (*wanted, f"vendor/{name}"))
        if not found and not self._modules:  # GOPATH: the repository is itself some folder of the path
            rests = (rest for _, rest in splits if rest)
            found = next((known for rest in rests if (known := self._keys.known((f"go/{rest}",)))), [])
        return found
