"""Passwords in columns: tables with a head (comma, semicolon, tab, bar, blanks), PostgreSQL's `COPY`, and SQL's `INSERT`.

The column is the one whose name is a password's. All that is no placeholder in it is one, whatever it looks like.
"""

# ruff: noqa: E501  (patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from hush_core import linear
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_files import FILE_PASSWORD, FILE_SECRET
from hush_core.secrets.detectors.credential_languages import LOCAL_NAMES, LOCAL_USERS
from hush_core.secrets.detectors.credential_looks import is_passphrase
from hush_core.secrets.detectors.credential_public import is_placeholder
from hush_core.secrets.detectors.credential_randomness import looks_made

_PASSWORD = (
    rb"(?:[\w .-]{0,32}[ _.-])?(?:(?:plain|clear|user|login|db|admin|root|auth|e?mail|account|raw|new|old)[ _-]?)?"
    rb"(?:pass(?:word|wd|phrase|code)?|pwd|pw|%b)(?:[ _-]?(?:plain|plaintext|cleartext|clear|raw))?"
    % LOCAL_NAMES
)
_SECRET = rb"(?:secret|api[ _-]?key|access[ _-]?key|credentials?)"
COLUMNS_GATE = (
    rb"(?:^|[,;\t|(][ ]?|[ ]{2})[\"'`\[:#]{0,2}(?:%b|%b)[\"'`\]]{0,2}[ ]?(?:[,;\t|)\]]|[ ]*\r?$|[ ]{2})"
) % (_PASSWORD, _SECRET)
"""A cell of a head; hyperscan, without case, by lines."""
_NAME, _SECRET_NAME = linear.compile(rb"(?i)" + _PASSWORD), linear.compile(rb"(?i)" + _SECRET)
_BESIDE = linear.compile(
    rb"(?i)(?:[\w .-]{0,24}[ _.-])?(?:user|login|name|username|login_?name|e?mail|host|hostname|server|url|uri|site|website|id|uid|role|account|title|db|database|%b)\w{0,4}"
    % LOCAL_USERS
)
"""What another column of such a table is called."""
_HEAD_CELL = re.compile(rb"[A-Za-z_\x80-\xff*][\w .()/*?#\x80-\xff-]{0,40}|")
_RULE = re.compile(rb"[\s|:+=-]+")
_SQL_HEAD = linear.compile(
    rb"(?i)(?:(copy)[ \t]+|insert[ \t]+(?:ignore[ \t]+)?into[ \t]+)[\w.\"`\[\]]{1,120}[ \t\r\n]{0,8}\(([^()]{3,})\)[ \t\r\n]{0,8}(?:values|from[ \t]+stdin[^\n;]{0,200};?[ \t]*\r?\n)"
)  # fmt: skip
_NOTHING = re.compile(
    rb"(?i)(?:[x*.#_?-]+|null|none|nil|n/?a|true|false|yes|no|string|text|varchar.*|\\n|default|empty|required|optional)"
)
_MIXED = re.compile(rb"(?=\D{0,40}[0-9])(?=[^A-Za-z]{0,40}[A-Za-z])\S{8,64}")
_DIGEST = linear.compile(
    rb"(?i)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})|\$\w{1,10}\$.*|\{\w+\}.*|pbkdf2_.*|sha\d.*:.*"
)
MOST_ROWS, MOST_CELLS, MOST_LINE = 100_000, 64, 8192
MOST_NAMES, REACH_UP = 2000, 2200
"""Bytes of a statement's names of columns, and before such a name, where its statement begins."""


def in_columns(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of each value below a column's name, on the lines on which the gate sees one."""
    done = 0
    for at, cells in heads(content, lines):
        if at < done:
            continue
        for start, end, any_value in cells:
            done = max(done, end)
            value = content[start:end]
            if (
                len(value) >= 4
                and (any_value or looks_made(value) or is_passphrase(value) or _MIXED.fullmatch(value))
                and not _NOTHING.fullmatch(value)
                and not is_placeholder(value)
                and not (any_value and _DIGEST.fullmatch(value))
            ):
                yield (FILE_SECRET if looks_made(value) else FILE_PASSWORD), start, end


Cells = Iterator[tuple[int, int, bool]]
"""Where each is, and whether its column is one of passwords, in which any value is one."""
Columns = dict[int, bool]


def heads(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[int, Cells]]:
    """Where the heads of tables with a column of passwords are on these lines, and the cells of that column."""
    statements = _statements(content, lines)
    statement = next(statements, None)
    for first, last in lines:
        deadline.check()
        while statement is not None and statement.end() <= first:
            statement = next(statements, None)
        if statement is None or statement.start() >= last:
            yield from ((first, cells) for cells in _table(content, first, last))
            yield from ((first, cells) for cells in _by_position(content, first, last))
        elif columns := _columns(statement[2].split(b",")):
            yield first, _statement(content, statement, columns)


def _statements(content: bytes, lines: list[tuple[int, int]]) -> Iterator[linear.Match]:
    """The beginnings of SQL statements around these lines, each once."""
    low = high = 0
    for first, last in lines:
        if first - REACH_UP > high:
            yield from _heads(content, low, high)
            low = first - REACH_UP
        high = min(len(content), last + REACH_UP)
    yield from _heads(content, low, high)


def _heads(content: bytes, low: int, high: int) -> Iterator[linear.Match]:
    return (match for match in _SQL_HEAD.finditer(content, low, high) if len(match[2]) <= MOST_NAMES)


def _columns(names: list[bytes]) -> Columns:
    names = [name.strip(b" \t\r\n\"'`[]*#:") for name in names]
    columns = {n: True for n, name in enumerate(names) if _NAME.fullmatch(name)}
    columns |= {n: False for n, name in enumerate(names) if _SECRET_NAME.fullmatch(name)}
    return columns if any(_BESIDE.fullmatch(name) for n, name in enumerate(names) if n not in columns) else {}


def _table(content: bytes, first: int, last: int) -> Iterator[Cells]:
    """The cells below a head on this line, if it is one, as long as lines have as many."""
    for separator, count, columns in by_line(_head, content[first:last]):
        yield _below(content, last, separator, count, columns)


def _head(line: bytes) -> Iterator[tuple[int, int, Columns]]:
    """The separator, the number of cells, and the columns of passwords of a line that is the head of a table."""
    head = line.rstrip(b"\r\n")
    if len(head) > 2048:
        return
    for separator in b"\t|,; ":
        names = [head[a:b].strip(b" \t\"'") for a, b in _cells(head, separator)]
        if (
            len(names) < 2
            or not (names[-1] or separator == ord("|"))
            or not all(_HEAD_CELL.fullmatch(name) for name in names)
        ):
            continue
        columns = _columns(names)
        if columns and len(names) <= MOST_CELLS and sum(map(bool, names)) > 1:
            yield separator, len(names), columns
            return


def _by_position(content: bytes, first: int, last: int) -> Iterator[Cells]:
    """The values of lists that are as long as a list of names on this line, a few lines away.

    >>> text = b"const fields = ['#user', '#pass'];\\nconst values = ['lena.photo', 'insta_Lena01'];\\n"
    >>> [text[start:end] for cells in _by_position(text, 0, 35) for start, end, _ in cells]
    [b'insta_Lena01']
    """
    for at, count, columns in by_line(_names, content[first:last]):
        low, high = max(0, first - NEAR_UP), min(len(content), last + NEAR_DOWN)
        for row in _LIST.finditer(content, low, high):
            if row.start() == first + at or not row[1]:
                continue
            start = row.start(1)
            cells = list(_cells(row[1], ord(",")))
            if len(cells) == count:
                places = {n: _unquoted(content, start + cells[n][0], start + cells[n][1]) for n in columns}
                quoted = not content[content.rfind(b"\n", 0, start) + 1 : start].strip().startswith(b"- [")
                if all(_is_literal(content, s, e, quoted) for s, e in places.values()):
                    yield iter([(*places[n], columns[n]) for n in columns])


def _names(line: bytes) -> Iterator[tuple[int, int, Columns]]:
    """Where lists of names are on a line, how many names each has, and the columns of passwords."""
    for match in _LIST.finditer(line):
        names = [cell.strip(b" \t\"'`") for cell in (match[1] or match[2]).split(b",")]
        if 2 <= len(names) <= MOST_CELLS and all(map(_LISTED.fullmatch, names)) and _columns(names):
            yield match.start(), len(names), _columns(names)


_LIST = linear.compile(
    rb"[\[({][ \t]*([^\[\](){}\n]{5,400}?)[ \t]*[\])}]|(?://|#|--)[ \t]{0,4}([\w, -]{5,200})(?:\n|\Z)"
)
_LISTED = linear.compile(rb"[#:@]?[A-Za-z_\x80-\xff][\w .-]{0,40}")
_NO_LITERAL = linear.compile(rb"/.*|[a-z_ ]*|.*(?:://|[\\'\"]).*")


def _is_literal(content: bytes, start: int, end: int, quoted: bool) -> bool:
    """Whether a cell of a list is a value and no name, path or address: in quotes, or in a list of YAML."""
    quotes = content[start - 1 : start] in b"\"'`"
    return (quotes or not quoted) and not _NO_LITERAL.fullmatch(content[start:end])


NEAR_UP, NEAR_DOWN = 100, 120
"""Bytes between a list of names and its values: less than `changes.around` takes in."""


def _rows(content: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Where the lines from a place on begin, and each without its end, up to an empty one."""
    for _ in range(MOST_ROWS):
        deadline.check()
        end = content.find(b"\n", at) + 1 or len(content)
        if not (row := content[at:end].rstrip(b"\r\n")):
            return
        yield at, row
        at = end


def _below(content: bytes, first: int, separator: int, count: int, columns: Columns) -> Cells:
    for at, row in _rows(content, first):
        if len(row) > MOST_LINE:
            return
        if not _RULE.fullmatch(row):
            cells = list(_cells(row, separator))
            if len(cells) != count:
                return
            places = [_unquoted(content, at + start, at + end) for start, end in cells]
            values = [content[start:end] for start, end in places]
            alone = (n for n in columns if values.count(values[n]) == 1)  # `guest,guest` is nobody's
            yield from ((*places[n], columns[n]) for n in alone)


def _unquoted(content: bytes, start: int, end: int) -> tuple[int, int]:
    """A cell without the blanks and quotes around it."""
    while start < end and content[start] in b" \t\"'`":
        start += 1
    while end > start and content[end - 1] in b" \t\"'`":
        end -= 1
    return start, end


def _cells(row: bytes, separator: int) -> Iterator[tuple[int, int]]:
    """Where the cells of a line are (RFC 4180: what is in quotes may hold the separator)."""
    if separator == ord(" "):
        yield from (match.span() for match in _APART.finditer(row))
        return
    start = at = 0
    quoted = 0
    while at < len(row):
        c = row[at]
        if quoted:
            quoted = 0 if c == quoted else quoted
        elif c in b"\"'" and not row[start:at].strip():
            quoted = c
        elif c == separator:
            yield start, at
            start = at + 1
        at += 1
    yield start, len(row)


_APART = linear.compile(rb"\S+(?: \S+)*")
"""A cell where two blanks and more are between cells."""


def _statement(content: bytes, match: linear.Match, columns: Columns) -> Cells:
    """The cells of a statement's rows."""
    names = match[2].split(b",")
    if match[1]:
        yield from _copied(content, match.end(), len(names), columns)
        return
    at = match.end()
    for _ in range(MOST_ROWS):
        deadline.check()
        opened = _OPENS.match(content, at)
        if opened is None:
            return
        row, at = _literals(content, opened.end())
        yield from (
            (*row[n], columns[n]) for n in columns if len(row) == len(names) and row[n][1] > row[n][0]
        )


_OPENS = linear.compile(rb"[\s,]{0,64}\(")
_CELL = linear.compile(
    rb"[ \t\r\n]{0,64}(?:[NEne]?'((?:[^'\\\n]|''|\\.){0,512})'|\"((?:[^\"\\\n]|\\.){0,512})\"|([^,()'\"\n]{0,200}(?:\([^()'\"\n]{0,100}\))?))[ \t\r\n]{0,64}([,)])"
)


def _literals(content: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """The values of one row in brackets, by place; one that is no literal is empty. And where the row ends."""
    row: list[tuple[int, int]] = []
    while len(row) <= MOST_CELLS:
        cell = _CELL.match(content, at, min(len(content), at + 1024))
        if cell is None:
            return [], at
        group = 1 if cell.span(1)[0] >= 0 else 2 if cell.span(2)[0] >= 0 else 0
        row.append(cell.span(group) if group else (cell.start(), cell.start()))
        at = cell.end()
        if cell[4] == b")":
            break
    return row, at


def _copied(content: bytes, first: int, count: int, columns: Columns) -> Cells:
    """The rows of PostgreSQL's COPY: tabs between, up to a backslash and a dot."""
    for at, row in takewhile(lambda one: one[1] != b"\\.", _rows(content, first)):
        cells = list(_cells(row, 9))
        if len(cells) == count:
            yield from ((at + cells[n][0], at + cells[n][1], columns[n]) for n in columns)
