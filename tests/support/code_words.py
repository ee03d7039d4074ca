"""The words of code: docstrings, comments and messages, as pages that `words.wrong` can read.

python tests/support/code_words.py [FILE ...]    # what is wrong, a line each; then words of docstrings and comments
"""

import ast
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path

from words import wrong

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("hush_core", "tasks", "flows", "hush")
NOT_PROSE = re.compile(
    r"[<>{}\\=$^Ѐ-ӿ぀-鿿]|\w\(|^\s*(?:SELECT|INSERT|CREATE|UPDATE|DELETE|ALTER|PRAGMA|WITH)\b"
)
"""Markup, expressions, commands, SQL and words of other languages in a string literal."""
PROSE = {
    "a", "an", "and", "by", "for", "in", "is", "it", "no", "not", "of", "or", "that", "the", "to", "was", "with",
}  # fmt: skip
"""A string without any such word is a list of names."""
PRAGMA = re.compile(r"#\s*(?:fmt:|noqa|type:|pragma|!|nosec)")
ARGUMENT = re.compile(r"^ +(\*{0,2}[\w., *|`]+(?: \([^)]*\))?): ")
"""An entry under Args, Raises or Attributes."""


def page_of(docstring: str) -> str:
    """A docstring as Markdown, line by line: no examples, tables or code, an argument as an item of a list."""
    first, *rest = docstring.expandtabs().split("\n")
    lines, example, code = [], False, False
    for line in [first, *textwrap.dedent("\n".join(rest)).split("\n")]:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        code = line.startswith("    ") and (code or (bool(lines) and not lines[-1]))  # below an empty line
        columns = re.search(r"\S {2,}\S", line)
        entry = ARGUMENT.match(line)
        lines.append(
            "" if example or code or columns else f"- {line[entry.end() :]}" if entry else line.strip()
        )
    return "\n".join(lines)


def literals(source: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """(line, text) of every docstring, also of attributes; and of every other string, with values as `x`."""
    docs, texts, inner = [], [], set()
    for node in ast.walk(ast.parse(source)):  # parents first
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            docs.append((node.lineno, node.value.value))
            inner.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            inner |= {part for part in ast.walk(node) if isinstance(part, ast.Constant)}
            parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in node.values)
            texts.append((node.lineno, "".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            texts.append((node.lineno, node.value))
    return docs, texts


def comments(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment; lines below each other that hold nothing else are one."""
    start, text, last = 0, "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or PRAGMA.match(token.string):
            continue
        line, alone = token.start[0], not token.line[: token.start[1]].strip()
        if text and not (alone and line == last + 1):
            yield start, text
            text = ""
        start = start if text else line
        text += token.string.lstrip("#").rstrip() + "\n"
        last = line
    if text:
        yield start, text


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """(line, page) of every docstring, comment and string of at least four words: errors, log lines, reports."""
    docs, texts = literals(source)
    yield from ((line, page_of(text)) for line, text in docs)
    yield from comments(source)
    yield from (
        (line, text)
        for line, text in texts
        if len(text.split()) >= 4 and PROSE.intersection(text.split()) and not NOT_PROSE.search(text)
    )


def wrong_in(source: str) -> list[str]:
    """What an engineer would not have written in a file of code, each with its line."""
    found = set()
    for start, page in spoken(source):
        for one in wrong(page):
            line, _, what = one.partition(":")
            found.add((start + int(line) - 1, what))
    return [f"{line}:{what}" for line, what in sorted(found)]


def words_in(source: str) -> int:
    """Words of docstrings and comments."""
    return sum(len(re.findall(r"\S*\w\S*", text)) for _, text in [*literals(source)[0], *comments(source)])


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]] or [
        p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.py"))
    ]
    sources = {path: path.read_text(encoding="utf-8") for path in files}
    bad = {path: found for path, source in sources.items() if (found := wrong_in(source))}
    print("\n".join(f"{path}:{one}" for path, found in bad.items() for one in found))
    print(
        f"{sum(map(words_in, sources.values()))} words; {len(files) - len(bad)} of {len(files)} files are clean"
    )
