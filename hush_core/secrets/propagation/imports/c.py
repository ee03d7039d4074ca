"""C, C++ and Objective-C: what is included; C++ modules.

Kinds: `quote`, `angle`, `macro` (an include by macro: cannot be known), `module` (declared), `import` (of one).

A quoted name is searched for beside the file. Otherwise, and for `<…>`, every file whose path ends so is taken, in
any case: search paths are the build's, and some file systems ignore case.
"""

from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.propagation.imports.path import endings, text
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Source

_GAP = rb"(?:[ \t\f\v]|\\\r?\n|/\*[^*\n]*\*/)*"
_INCLUDE = linear.compile(
    rb"(?m)^%s(#|%%:|\?\?=)%s(?:include|include_next|import|embed)\b%s(?:\"([^\"\n]{1,1024})\"|<([^>\n]{1,1024})>|(\w{1,255}))"
    % (_GAP, _GAP, _GAP)
)
_MODULE = linear.compile(
    rb"(?m)^[ \t]{0,255}(?:export[ \t]{1,255})?(module|import)[ \t]{1,255}"
    rb"(?:\"([^\"\n]{1,1024})\"|<([^>\n]{1,1024})>|([\w.:]{1,255}))[ \t]{0,255};"
)


def read(content: bytes, modules: bool = False) -> Iterator[Reference]:
    for match in _INCLUDE.finditer(content):
        kind = "quote" if match[2] else "angle" if match[3] else "macro"
        yield Reference(kind, text(match[2] or match[3] or match[4]))
    if modules:
        for match in _MODULE.finditer(content):
            kind = "quote" if match[2] else "angle" if match[3] else text(match[1])
            yield Reference(kind, text(match[2] or match[3] or match[4]))


class Headers:
    """What can be included among the files of a repository; only endings that some file asks for are kept."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        asked: set[str] = set()
        for source in sources:
            for reference in source.references:
                if reference.kind in ("quote", "angle", "include"):
                    asked.add(_ending(reference.name))
                elif reference.kind == "module" and source.language == "cpp":
                    keys.provide(f"c:{reference.name}", source.index)
        for source in sources:
            for ending in endings(source.path.casefold()):
                if ending in asked:
                    keys.provide(f"c~{ending}", source.index)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        if reference.kind in ("macro", "module"):
            return []
        if reference.kind == "import":
            whole = reference.name.partition(":")[0]
            return self._keys.known((f"c:{reference.name}", f"c:{whole}"))
        if reference.kind == "quote":
            found = self._keys.known(source.beside(reference.name.replace("\\", "/")))
            if found:
                return found
        return self._keys.known((f"c~{_ending(reference.name)}",))


def _ending(name: str) -> str:
    """The part of an include that does not depend on where it is seen from."""
    parts = name.replace("\\", "/").casefold().split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))
