"""Which code a number rests on: a digest of the definitions that make it, and of all that they use in
hush_core and lab.

A cell that was computed by other code is computed again, and one whose code did not change is not. Counted are the
functions, classes and constants that a replication's `cells` and `compute` reach by name, through all modules; what
stands beside them in the same files is not. Comments, line breaks and docstrings change nothing, nor does what a
replication says and draws of its rows.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hush_core
import lab

AFTERWARDS = ("claims", "draw", "REPLICATION")
"""Names in the module itself that make no row."""
MARKING = "lab.replications.claims"
"""How claims are marked: makes no row either."""
_ROOTS = {"hush_core": Path(hush_core.__file__).parent, "lab": Path(lab.__file__).parent}


def code_digest(module: str) -> str:
    """SHA-256 over the sources of the definitions that the rows of a replication's module rest on.

    Not counted: what is loaded by a name that is put together while running (pictures), and MARKING. A module whose
    code looks a name up by itself (`globals()`), or that is handed on whole, counts whole; so does a statement
    that changes something while a module is loaded, in every module that is loaded for it.
    """
    digest = hashlib.sha256()
    for line in sorted(Reach(module).lines()):
        digest.update(line.encode() + b"\0")
    return digest.hexdigest()


@dataclass
class _Module:
    """A source file, taken apart.

    Attributes:
        statements: those at its top, without docstrings.
        defined: by name, the places of the statements that define or change it.
        imported: by name, (module, its name there; None: the module itself).
        acting: places of statements that define nothing, and so are there for what they do.
    """

    name: str
    statements: list[ast.stmt]
    defined: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    imported: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    acting: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for place, statement in enumerate(self.statements):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.imported |= _bindings(statement)
                continue
            names = set(_names_defined(statement))
            inner = [one for one in ast.walk(statement) if isinstance(one, (ast.Import, ast.ImportFrom))]
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                for one in inner:  # under `if` or `try`
                    self.imported |= _bindings(one)
            for name in names:
                self.defined[name].append(place)
            if not names and not (inner and _for_types_alone(statement)):
                self.acting.append(place)
        own = {*self.defined, *(name for name, (of, _) in self.imported.items() if _is_ours(of))}
        for place, statement in enumerate(self.statements):  # a decorator of ours may keep what it is given
            used = {one.id for part in getattr(statement, "decorator_list", ()) for one in ast.walk(part)
                    if isinstance(one, ast.Name)}  # fmt: skip
            if used & own:
                self.acting.append(place)

    def beginnings(self) -> list[str]:
        """What a replication's rows begin with: `cells`, and what REPLICATION names as `compute`; of a module that
        is no replication all but AFTERWARDS."""
        for place in self.defined.get("REPLICATION", ()):
            for one in ast.walk(self.statements[place]):
                if isinstance(one, ast.keyword) and one.arg == "compute":
                    return ["cells", *(name.id for name in ast.walk(one.value) if isinstance(name, ast.Name))]
        return [name for name in (*self.defined, *self.imported) if name not in AFTERWARDS]


class Reach:
    """What a replication's rows rest on, followed by name from module to module."""

    def __init__(self, replication: str) -> None:
        self._modules: dict[str, _Module] = {}
        self._asked: set[tuple[str, str | None]] = set()
        self._taken: dict[str, set[int]] = defaultdict(set)
        self._outside: set[str] = set()
        for name in self._module(replication).beginnings():
            self._need(replication, name)

    def spans(self) -> dict[Path, list[tuple[int, int]]]:
        """By file, the first and last lines of what is counted."""
        found = {}
        for name, places in self._taken.items():
            statements = [self._modules[name].statements[place] for place in sorted(places)]
            found[_file(name)] = [(_first_line(one), one.end_lineno or one.lineno) for one in statements]
        return found

    def lines(self) -> Iterator[str]:
        """One of each statement that is counted, and of each name from elsewhere."""
        for name, places in self._taken.items():
            yield from (f"{name}: {ast.dump(self._modules[name].statements[place])}" for place in places)
        yield from self._outside

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            tree = _without_docstrings(ast.parse(_file(name).read_bytes()))
            self._modules[name] = _Module(name, tree.body)
            self._load(self._modules[name])
        return self._modules[name]

    def _load(self, module: _Module) -> None:
        """What Python does as well when it loads a module: its packages, its imports, and statements that act."""
        package = module.name.rpartition(".")[0]
        if package and _is_module(package):
            self._module(package)
        for target, name in module.imported.values():
            for each in (target, f"{target}.{name}"):
                if _is_module(each) and each != MARKING:
                    self._module(each)
        for place in module.acting:
            self._take(module, place)

    def _need(self, of: str, name: str | None) -> None:
        """`name` of a module, or all of it."""
        open_ = [(of, name)]
        while open_:
            asked = open_.pop()
            if asked in self._asked or asked[0] == MARKING:
                continue
            self._asked.add(asked)
            where, what = asked
            if not _is_ours(where) or not _is_module(where):
                self._outside.add(f"{where}.{what}")
                continue
            module = self._module(where)
            if what is None:
                open_ += [(where, one) for one in (*module.defined, *module.imported)]
                continue
            for place in module.defined.get(what, ()):
                self._take(module, place)
            if what in module.imported:
                open_.append(module.imported[what])
            elif what not in module.defined:
                inner = f"{where}.{what}"
                open_.append((inner, None) if _is_module(inner) else (where, None))

    def _take(self, module: _Module, place: int) -> None:
        if place not in self._taken[module.name]:
            self._taken[module.name].add(place)
            for of, name in self._used(module, module.statements[place]):
                self._need(of, name)

    def _used(self, module: _Module, node: ast.AST) -> Iterator[tuple[str, str | None]]:
        """What a statement names, of its own module and of others."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            target, name = module.imported.get(node.value.id, ("", ""))
            whole = target if name is None else f"{target}.{name}"
            if node.value.id not in module.defined and _is_module(whole):
                yield whole, node.attr
                return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _bindings(node).values()
        elif isinstance(node, ast.Name):
            if node.id in ("globals", "vars") and node.id not in module.defined:
                yield module.name, None
            elif node.id in module.defined or node.id in module.imported:
                yield module.name, node.id
        for inner in ast.iter_child_nodes(node):
            yield from self._used(module, inner)


def _bindings(statement: ast.Import | ast.ImportFrom) -> dict[str, tuple[str, str | None]]:
    """By the name that is bound: (module, name there)."""
    if isinstance(statement, ast.ImportFrom):
        return {one.asname or one.name: (statement.module or "", one.name) for one in statement.names}
    return {one.asname or one.name.partition(".")[0]: (one.name, None) for one in statement.names}


def _names_defined(statement: ast.stmt) -> Iterator[str]:
    """Names of the module that a statement at its top binds, inside `if`, `try`, `for` and `with`, too."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For)):
        targets = [statement.target]
    for target in targets:
        stored = (one for one in ast.walk(target) if isinstance(one, ast.Name))
        yield from (one.id for one in stored if isinstance(one.ctx, ast.Store))  # not `sys` of `sys.x = 1`
    for inner in ast.iter_child_nodes(statement):
        for one in (inner, *getattr(inner, "body", ())):  # `body`: of an exception's handler
            if isinstance(one, ast.stmt):
                yield from _names_defined(one)


def _first_line(statement: ast.stmt) -> int:
    """With its decorators."""
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])


def _for_types_alone(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING")


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Without strings that stand alone."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            kept = [
                one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
            node.body = kept or ([] if node is tree else [ast.Pass()])  # type: ignore[attr-defined]
    return tree


def _is_ours(name: str) -> bool:
    return name.split(".")[0] in _ROOTS


def _is_module(name: str) -> bool:
    return _is_ours(name) and _file(name).is_file()


def _file(name: str) -> Path:
    package, *inside = name.split(".")
    path = _ROOTS[package].joinpath(*inside)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
