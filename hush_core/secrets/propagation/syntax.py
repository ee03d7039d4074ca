"""Source code as syntax trees: one place that loads the tree-sitter grammars, parses and walks.

Repositories are hostile input. What was seen of tree-sitter 0.26.1, and what is done about it:

- A parse can take seconds for 20 kB, in ONE action at the end of the file, if much is still open (Java `x<x<x<…`,
  brackets). No callback can stop that, so what is open at once is counted beforehand.
- Other inputs are slow action by action (Python, a long run of `\\` line ends): steps and processor time are
  limited while the parse runs.
- A query takes quadratic time over a long run of `*`, and crashes the process if a callback could stop it. So there
  are no queries here: trees are walked with a cursor, which is linear.

A content over a limit has no tree, only the name of the limit; callers count it and continue without. The
versions are pinned: 0.25.2 crashes in `parse` under the callback that 0.26.1 bears.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

import numpy as np
import tree_sitter

MAX_BYTES = 1 << 20
MAX_DEPTH = 256
"""Brackets open at once; the cost of error recovery grows with the square of it."""
STEPS_BASE, STEPS_A_BYTE = 20_000, 1.0
"""Hundreds of parser actions. Real code takes about 0.05 a byte."""
SECONDS_BASE, SECONDS_A_BYTE = 0.06, 1e-6
"""Processor time of this thread, some 8 times what real code takes: the last resort, since unlike the other
limits it is not the same on every machine. What it stops is reported apart, as `too_slow`."""

LIMITS = ("too_large", "too_deep", "too_many_steps", "too_slow")
"""Why a content has no tree."""


def grammar_of(language: str, path: str) -> str:
    """The grammar of a file whose language is as `corpus.language_of` gives it.

    >>> grammar_of("typescript", "a.tsx"), grammar_of("typescript", "a.ts")
    ('tsx', 'typescript')
    """
    return "tsx" if language == "typescript" and path.endswith(".tsx") else language


_QUOTED = {
    "python": "comment string_content",
    "javascript": "comment string_fragment regex_pattern jsx_text",
    "typescript": "comment string_fragment regex_pattern",
    "tsx": "comment string_fragment regex_pattern jsx_text",
    "go": "comment interpreted_string_literal raw_string_literal",
    "java": "line_comment block_comment string_literal",
    "rust": "line_comment block_comment string_literal raw_string_literal",
    "c": "comment string_literal",
    "cpp": "comment string_literal raw_string_literal",
}
"""Nodes that are no code; what is interpolated into a string is beside these, not within."""
LANGUAGES = frozenset(_QUOTED)
"""Names as `grammar_of` gives them."""

_GENERIC = frozenset(("java", "cpp", "rust", "typescript"))
"""Grammars in which `<` may open something."""

_OPEN = np.zeros(256, dtype=np.int8)
_OPEN[list(b"([{")] = 1
_OPEN[list(b")]}")] = -1
_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"()[]{}")
_NOT_ANGLES = bytes(b for b in range(256) if b not in b"<;{}")
_SEGMENTS = bytes.maketrans(b"{}", b";;")


@dataclass(frozen=True)
class Parsed:
    """A syntax tree, or the limit that kept it from being built.

    `tree` is None exactly where `limit` is one of LIMITS. A tree with `errors` covers the whole content, but
    parts of it may be misread: a quotation mark out of place turns code into a string.
    """

    grammar: str
    tree: tree_sitter.Tree | None = field(repr=False)
    limit: str = ""

    @property
    def errors(self) -> bool:
        """Whether the tree is missing or not to be relied on."""
        return self.tree is None or self.tree.root_node.has_error


def parse(grammar: str, content: bytes) -> Parsed:
    """Parse one content within the limits; time is bounded by a constant times its length.

    Args:
        grammar: one of LANGUAGES.

    Raises:
        KeyError: no such grammar.
    """
    parser = tree_sitter.Parser(_language(grammar))  # a new one: it is no thread's but ours
    if len(content) > MAX_BYTES:
        return Parsed(grammar, None, "too_large")
    if _too_deep(grammar, content):
        return Parsed(grammar, None, "too_deep")
    guard = _Guard(len(content))
    try:
        tree = parser.parse(
            lambda offset, point: content[offset : offset + 65536],
            encoding="utf8",
            progress_callback=lambda offset, error: guard(),
        )
    except ValueError:  # how the binding reports that the callback stopped it
        tree = None
    if guard.limit or tree is None:
        return Parsed(grammar, None, guard.limit or "too_slow")
    return Parsed(grammar, tree)


def in_code(grammar: str, content: bytes, positions: Iterable[int]) -> tuple[set[int], str]:
    """Which positions are code, not inside a comment or the text of a string; and "", "errors" or a limit.

    Only a content that parses without errors gives cause to reject a position: where it does not, or where a
    limit is met, all are kept. Parses no further than the last position where that is enough.
    """
    wanted = sorted(set(positions))
    if not wanted:
        return set(), ""
    line_end = content.find(b"\n", wanted[-1])
    parsed = None
    if 0 <= line_end < len(content) // 2:
        parsed = parse(grammar, content[: line_end + 1])
    if parsed is None or parsed.errors:
        parsed = parse(grammar, content)
    if parsed.errors:
        return set(wanted), parsed.limit or "errors"
    return set(_outside(parsed, wanted)), ""


def _outside(parsed: Parsed, positions: list[int]) -> Iterator[int]:
    """Those of the sorted positions that no comment or string covers.

    The cursor only moves forward, and goes below a node only if a position is in it.
    """
    assert parsed.tree is not None
    quoted = _quoted(parsed.grammar)
    cursor = parsed.tree.walk()
    ends = [parsed.tree.root_node.end_byte]  # of the nodes above the cursor; the root is never left
    if not cursor.goto_first_child():
        yield from positions
        return
    for position in positions:
        while True:
            node = cursor.node
            if node.end_byte <= position:
                if cursor.goto_next_sibling():
                    continue
                if len(ends) > 1 and ends[-1] <= position:
                    cursor.goto_parent()
                    ends.pop()
                    continue
            elif node.start_byte <= position:
                if node.kind_id in quoted:
                    break
                if cursor.goto_first_child():
                    ends.append(node.end_byte)
                    continue
            yield position  # in a leaf that is code, or between two nodes
            break


class _Guard:
    """Called every hundred actions; true once a limit is met, which it then names. Time is asked for every time, as
    an action may read all of a text; first the cheap clock."""

    def __init__(self, size: int) -> None:
        self.limit = ""
        self._steps = int(STEPS_BASE + STEPS_A_BYTE * size)
        seconds = SECONDS_BASE + SECONDS_A_BYTE * size
        self._end, self._soonest = time.thread_time() + seconds, time.perf_counter() + seconds

    def __call__(self) -> bool:
        self._steps -= 1
        if self._steps < 0:
            self.limit = "too_many_steps"
        elif time.perf_counter() > self._soonest and time.thread_time() > self._end:
            self.limit = "too_slow"
        return bool(self.limit)


def _too_deep(grammar: str, content: bytes) -> bool:
    """Whether too many brackets are open at once, counting those in strings and comments.

    A `<` may be a bracket or a comparison; no bracket of that kind reaches beyond `;`, `{` or `}`.
    """
    brackets = np.frombuffer(content.translate(None, _NOT_BRACKETS), dtype=np.uint8)
    if int(np.cumsum(_OPEN[brackets], dtype=np.int32).max(initial=0)) > MAX_DEPTH:
        return True
    if grammar not in _GENERIC:
        return False
    runs = content.translate(_SEGMENTS, _NOT_ANGLES).split(b";")
    return max(map(len, runs)) > MAX_DEPTH


@cache
def _language(grammar: str) -> tree_sitter.Language:
    both = grammar in ("typescript", "tsx")  # one module holds the two
    module = import_module(f"tree_sitter_{'typescript' if both else grammar}")
    return tree_sitter.Language(getattr(module, f"language_{grammar}" if both else "language")())


@cache
def _quoted(grammar: str) -> frozenset[int]:
    language = _language(grammar)
    kinds = (language.id_for_node_kind(kind, True) for kind in _QUOTED[grammar].split())
    return frozenset(kind for kind in kinds if kind is not None)
