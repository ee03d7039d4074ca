"""Java: imports (static and wildcard too), qualified names, and the package's own files.

Kinds: `import` (a wildcard ends in `.*`), `package`, `type` (declared in the file), `qualified`.

A name is a type that some file declares in that package, or a path that ends so (for other languages of the
JVM). A file sees the types of its own package without an import: it imports those whose names it mentions.
"""

from collections import defaultdict

from hush_core import linear
from hush_core.secrets.propagation.imports.path import MAX_PARTS, endings, folder_of, text
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Source

_NAME = rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_GAP = rb"\s*(?:/\*[^*\n]*\*/\s*)?"
_DOTTED = rb"%s(?:%s\.%s%s){0,%d}" % (_NAME, _GAP, _GAP, _NAME, MAX_PARTS)
_IMPORT = linear.compile(
    rb"(?<![\w$.\x80-\xff])import%s(?:\bstatic\b%s)?(%s(?:%s\.%s\*)?)%s;"
    % (_GAP, _GAP, _DOTTED, _GAP, _GAP, _GAP)
)
_PACKAGE = linear.compile(rb"(?m)^(?:[ \t]|@[\w.]+|/\*[^*\n]*\*/)*\bpackage%s(%s)%s;" % (_GAP, _DOTTED, _GAP))
_TYPE = linear.compile(rb"(?<![\w$.\x80-\xff])(?:class|interface|enum|record)\s+(%s)" % _NAME)
_QUALIFIED = linear.compile(rb"(?<![\w$.\x80-\xff])[a-z_]\w*(?:\.%s){1,%d}" % (_NAME, MAX_PARTS))
_SQUEEZE = linear.compile(rb"/\*[^*\n]*\*/|\s+")
_UNREAD = linear.compile(
    rb"//[^\n]*|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/|\"(?:[^\"\\\n]|\\[^\n])*\"|'(?:[^'\\\n]|\\[^\n]){1,8}'"
)
_OPEN = linear.compile(rb"//[^\n]*|\"(?:[^\"\\\n]|\\[^\n])*\"")
"""The same behind the last end of a comment: a comment that begins there has no end, and is not one."""
_JVM = (".java", ".kt", ".scala", ".groovy")


def read(content: bytes) -> list[Reference]:
    references = [
        Reference("import", text(_SQUEEZE.sub(b"", match[1]))) for match in _IMPORT.finditer(content)
    ]
    code = code_of(content)
    clause = _PACKAGE.search(code) or _PACKAGE.search(content)
    references.append(Reference("package", text(_SQUEEZE.sub(b"", clause[1])) if clause else ""))
    references += [Reference("type", text(match[1])) for match in _TYPE.finditer(code)]
    names = {text(match[0]) for match in _QUALIFIED.finditer(code)} - {r.name for r in references}
    references += [Reference("qualified", name) for name in sorted(names)]
    return references


def code_of(content: bytes) -> bytes:
    """A file without its comments and strings; linear. What is no end of one is read as code."""
    end = content.rfind(b"*/") + 2
    if end < 2:
        return _OPEN.sub(b" ", content)
    return _UNREAD.sub(b" ", content[:end]) + _OPEN.sub(b" ", content[end:])


class Types:
    """Java's packages and types among the files of a repository."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        self._types: dict[str, set[str]] = defaultdict(set)
        for source in sources:
            if source.language == "java":
                package = next((r.name for r in source.references if r.kind == "package"), "")
                keys.provide(f"java.{package}", source.index)
                for reference in source.references:
                    if reference.kind == "type":
                        self._types[package].add(reference.name)
                        keys.provide(f"java:{package}.{reference.name}", source.index)
            stem = next((source.path[: -len(s)] for s in _JVM if source.path.endswith(s)), None)
            if stem is not None:
                for ending in endings(stem):
                    if "/" in ending:
                        keys.provide(f"java:{ending.replace('/', '.')}", source.index)
                for ending in endings(folder_of(stem)):
                    keys.provide(f"java.{ending.replace('/', '.')}", source.index)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        name = reference.name
        if reference.kind == "type":
            return []
        if reference.kind == "package":
            siblings = self._types.get(name, set())
            mentioned = words(code_of(source.content))
            smaller, larger = sorted((siblings, {text(word) for word in mentioned}), key=len)
            return self._keys.known(f"java:{name}.{word}" for word in smaller if word in larger)
        if name.endswith(".*"):
            name = name[:-2]
            if found := self._keys.known((f"java.{name}",)):
                return found
        while "." in name:
            if found := self._keys.known((f"java:{name}",)):
                return found
            name = name.rpartition(".")[0]
        return []


_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_ASCII = bytes(b if b in _LETTERS else 32 for b in range(256))
_WIDE = bytes(b if b in _LETTERS or b >= 128 else 32 for b in range(256))


def words(content: bytes) -> set[bytes]:
    """The words of a content: runs of letters, digits and `_`; one linear pass.

    Every other byte separates, `$` too. Bytes from 128 on are read both ways, as letters and as separators:
    a name may hold them, and a typographic quotation mark may be next to it.

    >>> sorted(words(b"a1.b_2 $x"))
    [b'a1', b'b_2', b'x']
    """
    found = set(content.translate(_ASCII).split())
    if not content.isascii():
        found.update(content.translate(_WIDE).split())
    return found
