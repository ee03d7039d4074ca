"""The mutants that mutmut makes of a file: one operator, constant, argument or condition changed in a function."""

import ast
import difflib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from mutmut.mutation.file_mutation import create_mutations, deep_replace, group_by_top_level_node

SAYS = ("progress", "warn")
"""Calls that only tell a person something."""


@dataclass(frozen=True)
class Mutant:
    """`path` with `text` in place of what it holds; `lines` are those of the statements that differ."""

    path: str
    name: str
    text: str
    lines: tuple[int, int]
    right: str
    wrong: str

    def matches(self, entry: dict[str, str]) -> bool:
        """Whether an entry of equivalent.toml is about this mutant."""
        return (self.path, self.right, self.wrong) == (entry["file"], entry["right"], entry["wrong"])


@dataclass(frozen=True)
class Candidate:
    """A mutant whose text is not written yet: files have hundreds, a sample takes few."""

    path: str
    name: str
    function: str
    said: bool
    _module: cst.Module
    _mutation: object

    @property
    def key(self) -> str:
        """What the mutation does, in words that an edit elsewhere in the file leaves as they are."""
        code = cst.Module([]).code_for_node
        change = f"{code(self._mutation.original_node)} {code(self._mutation.mutated_node)}"
        return f"{self.name} {change}"

    def make(self) -> Mutant:
        right = self._module.code
        replaced = deep_replace(self._module, self._mutation.original_node, self._mutation.mutated_node)
        assert isinstance(replaced, cst.Module)
        wrong = replaced.code
        before, after = right.splitlines(), wrong.splitlines()
        changes = [
            c
            for c in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            if c[0] != "equal"
        ]
        first, last = changes[0][1] + 1, max(changes[-1][2], changes[0][1] + 1)
        old = "\n".join(line.strip() for c in changes for line in before[c[1] : c[2]])
        new = "\n".join(line.strip() for c in changes for line in after[c[3] : c[4]])
        return Mutant(self.path, self.name, wrong, _statement(right, first, last), old, new)


def candidates(root: Path, path: str) -> Iterator[Candidate]:
    """All mutants of one file, those that only change what is said included (`said`)."""
    module, mutations, *_ = create_mutations(path, (root / path).read_text())
    speech = _Speech()
    module.visit(speech)
    seen: dict[str, int] = {}
    for node, of_function in group_by_top_level_node(mutations).items():
        if not isinstance(node, cst.FunctionDef):
            continue
        for number, mutation in enumerate(of_function, 1):
            function = node.name.value
            twin = f"{path}:{function}:{number}"
            seen[twin] = seen.get(twin, 0) + 1
            name = twin if seen[twin] == 1 else f"{twin}'{seen[twin]}"
            yield Candidate(
                path, name, function, id(mutation.original_node) in speech.nodes, module, mutation
            )


def sample(found: list[Candidate], size: int, seed: int) -> list[Candidate]:
    """The `size` whose digests come first: an edit to one function leaves the rest of the sample as it was."""
    return sorted(found, key=lambda c: hashlib.sha256(f"{seed} {c.key}".encode()).digest())[:size]


class _Speech(cst.CSTVisitor):
    """Nodes that only change what a person is told: strings that hold a space, and all inside `raise`, inside a
    call of something named …Error, and inside a call that reports progress. Whether it is raised is not among them.
    """

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self._depth = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if self._depth or _speaks(node):
            self._depth += 1
            self.nodes.add(id(node))
        if isinstance(node, cst.SimpleString) and " " in node.value:
            self.nodes.add(id(node))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self._depth:
            self._depth -= 1


def _speaks(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Raise):
        return True
    if not isinstance(node, cst.Call):
        return False
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return isinstance(name, cst.Name) and (name.value.endswith("Error") or name.value in SAYS)


def _statement(text: str, first: int, last: int) -> tuple[int, int]:
    """The lines of the innermost statement around these; of a compound statement only its head counts."""
    best = (1, len(text.splitlines()))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body and not isinstance(node, ast.FunctionDef) else node.end_lineno
        if node.lineno <= first and last <= max(end, node.lineno) and end - node.lineno <= best[1] - best[0]:
            best = (node.lineno, max(end, node.lineno))
    return best
