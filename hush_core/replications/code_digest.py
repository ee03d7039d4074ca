"""Which code a number rests on: a digest of a module and of all that it imports from hush_core.

A cell that was computed by other code is computed again, and one whose code did not change is not. Comments, line
breaks and docstrings change nothing, nor does what a replication says and draws of its rows.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import hush_core

AFTERWARDS = ("claims", "draw", "REPLICATION")
"""Names in the module itself that make no row."""
MARKING = "hush_core.replications.claims"
"""How claims are marked: makes no row either."""
_ROOT = Path(hush_core.__file__).parent.parent


def code_digest(module: str) -> str:
    """SHA-256 over the sources of `module` and of every module of hush_core that it reaches by import statements,
    wherever they stand; not of those that are loaded by name (pictures), nor of MARKING."""
    found: dict[str, str] = {}
    open_ = [module]
    while open_:
        name = open_.pop()
        if name not in found and name != MARKING:
            tree = ast.parse(_file(name).read_bytes())
            if name == module:
                tree.body = [one for one in tree.body if not _named(one) & set(AFTERWARDS)]
            open_ += _imports(tree)
            found[name] = _said(tree)
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(f"{name}\0{found[name]}\0".encode())
    return digest.hexdigest()


def _named(statement: ast.stmt) -> set[str]:
    """What a statement defines: a function, or names that it assigns to."""
    if isinstance(statement, ast.Assign):
        return {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return {statement.name} if isinstance(statement, ast.FunctionDef) else set()


def _said(tree: ast.Module) -> str:
    """What a module says, less its docstrings: strings that stand alone."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            kept = [
                one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _imports(tree: ast.Module) -> set[str]:
    """The modules of hush_core that a source names, as a whole or by one of their names."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in named if name.split(".")[0] == "hush_core" and _file(name).is_file()}


def _file(name: str) -> Path:
    path = _ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
