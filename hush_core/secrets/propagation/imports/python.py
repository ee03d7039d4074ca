"""Python: `import`, `from … import` (relative too) and imports by a literal name.

Kinds: `import`, `from` (name with its leading dots, `names` what it takes), `dynamic`.

A module is searched for in the importer's own folder (a script's) and under every root. Roots are the repository
itself, folders called src or lib, folders with a pyproject.toml or setup file, and the folder above each regular
package. If none has the module, any file whose path ends so is taken, as a search path may be set anywhere.
Importing a module runs the packages that it is in: they are imported too.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from hush_core import linear
from hush_core.secrets.propagation.imports.path import MAX_PARTS, endings, folder_of, text, within
from hush_core.secrets.propagation.imports.reference import Keys, Reference, Source

SUFFIXES = (".py", ".pyi", ".pyx", ".pxd", ".pyw")
_ROOT_NAMES = frozenset(("src", "lib", "python", "py", "source", "packages"))
_ROOT_FILES = frozenset(("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "manage.py", "conftest.py"))

_IMPORT, _FROM_WORD = re.compile(rb"import(?![\w\x80-\xff])"), re.compile(rb"from(?![\w\x80-\xff])")
_WORD_BYTES = frozenset(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_." + bytes(range(0x80, 0x100))
)
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+"
_BLANK = rb"(?:[ \t\f]|\\\r?\n)*+"
_WIDE = rb"(?:[ \t\f\r\n\\]|#[^\n]*+\n)*+"  # inside parentheses
_DOTTED = rb"%s(?:%s\.%s%s){0,%d}+" % (_NAME, _BLANK, _BLANK, _NAME, MAX_PARTS)
_AS = rb"(?:%s\bas\b%s%s)?+" % (_BLANK, _BLANK, _NAME)
_MODULE = re.compile(rb"%s(%s)%s%s(,?)" % (_BLANK, _DOTTED, _AS, _BLANK))
_FROM = re.compile(
    rb"((?:[ \t\f.]|\\\r?\n){0,4096}+)((?:(?!c?import(?![\w\x80-\xff]))%s)?+)%s\bc?import\b%s([(*]?)"
    % (_DOTTED, _BLANK, _BLANK)
)
_TAKEN = re.compile(rb"%s(%s)%s%s(,?)" % (_BLANK, _NAME, _AS, _BLANK))
_TAKEN_WIDE = re.compile(rb"%s(%s)(?:%s\bas\b%s%s)?+%s(,?)" % (_WIDE, _NAME, _WIDE, _WIDE, _NAME, _WIDE))
_DYNAMIC = linear.compile(
    rb"\b(?:import_module|__import__|importorskip|run_module|find_spec|import_string|resolve_name)\s{0,200}\("
    rb"\s{0,200}(?:\w{1,40}\s{0,9}=\s{0,9})?[rRbBuU]{0,2}(?:\"\"\"|'''|[\"'])([\w.:\x80-\xff]{1,1024})[\"']"
)
_SQUEEZE = re.compile(rb"[ \t\f\r\n\\]+")


def read(content: bytes) -> Iterator[Reference]:
    if b"import" not in content:
        return
    end = 0
    for start, after in _keywords(content):
        if start < end:
            continue  # the `import` of a `from … import`
        if content.startswith(b"from", start):
            match = _FROM.match(content, after)
            if match is None:
                continue
            end = match.end()
            module = match[1].count(b".") * "." + text(_SQUEEZE.sub(b"", match[2]))
            taken = _listed(_TAKEN_WIDE if match[3] else _TAKEN, content, end)
            names = ("*",) if match[3] == b"*" else tuple(map(text, taken))
            yield Reference("from", module, names)
        else:
            for name in _listed(_MODULE, content, after):
                yield Reference("import", text(_SQUEEZE.sub(b"", name)))
    for call in _DYNAMIC.finditer(content):
        yield Reference("dynamic", text(call[1].replace(b":", b".")))


def _keywords(content: bytes) -> list[tuple[int, int]]:
    """(start, end) of every `import`, `cimport` and `from` that is a word; a literal search is ten times as fast as
    one expression for all of it."""
    found = [match.span() for match in _FROM_WORD.finditer(content)]
    for match in _IMPORT.finditer(content):
        start = match.start()
        found.append((start - (start > 0 and content[start - 1] == ord("c")), match.end()))
    return sorted(span for span in found if not span[0] or content[span[0] - 1] not in _WORD_BYTES)


def _listed(pattern: re.Pattern[bytes], content: bytes, at: int) -> Iterator[bytes]:
    """Entries separated by commas; ends at the first that is not followed by one."""
    while match := pattern.match(content, at):
        yield match[1]
        if not match[2]:
            return
        at = match.end()


class PythonModules:
    """Python's modules among the files of a repository."""

    def __init__(self, sources: list[Source], keys: Keys) -> None:
        self._keys = keys
        packages = {source.folder for source in sources if source.name.rpartition(".")[0] == "__init__"}
        roots = {""} | {source.folder for source in sources if source.name in _ROOT_FILES} - packages
        for package in packages:
            top = package
            while top in packages and top:
                top = folder_of(top)
            roots.add(top)
        for source in sources:
            module = _module(source.path)
            if module is not None:
                self._provide(source.index, module, folder_of(source.path), packages, roots)

    def _provide(self, file: int, module: str, folder: str, packages: set[str], roots: set[str]) -> None:
        provide = self._keys.provide
        provide(f"py/{module}", file)
        for ending in endings(module):
            root = module[: len(module) - len(ending)].rstrip("/")
            if root in roots or root.rpartition("/")[2] in _ROOT_NAMES:
                provide(f"py:{ending.replace('/', '.')}", file)
            if "/" in ending or folder not in packages:
                provide(f"py~{ending.replace('/', '.')}", file)

    def resolve(self, source: Source, reference: Reference) -> list[str]:
        dots = len(reference.name) - len(reference.name.lstrip("."))
        name = reference.name[dots:].strip(".")
        folder = folder_of(source.path)
        if dots:
            for _ in range(dots - 1):
                if not folder:
                    return []
                folder = folder_of(folder)
            return self._beneath(folder, name, reference.names)
        taken = [one for one in reference.names if one != "*"]
        modules = [name, *(f"{name}.{one}" for one in taken)]
        if reference.kind == "dynamic" and "." in name:
            modules.append(name.rpartition(".")[0])  # "package.module.attribute"
        exact = self._keys.known(f"py:{module}" for module in modules)
        own = within(folder, name.replace(".", "/"))
        exact += self._keys.known(f"py/{module}" for module in (own, *(within(own, one) for one in taken)))
        if not exact:
            exact = self._keys.known(f"py~{module}" for module in modules)
        return exact + self._keys.known(f"py:{prefix}" for prefix in _prefixes(name))

    def _beneath(self, folder: str, name: str, names: tuple[str, ...]) -> list[str]:
        target = within(folder, name.replace(".", "/"))
        wanted = [target, *(within(target, taken) for taken in names if taken != "*")]
        wanted += [within(folder, prefix.replace(".", "/")) for prefix in _prefixes(name)]
        return self._keys.known(f"py/{module}" for module in wanted)


def _prefixes(name: str) -> Iterator[str]:
    """The packages that a dotted name is in."""
    return accumulate(name.split(".")[:-1], "{}.{}".format)


def _module(path: str) -> str | None:
    """Path without suffix, a package by its folder; None for what is no module."""
    stem = next((path[: -len(s)] for s in SUFFIXES if path.endswith(s)), None)
    if stem is None:
        return None
    return folder_of(stem) if stem.rpartition("/")[2] == "__init__" else stem
