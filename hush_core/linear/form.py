"""Expressions of Python's `re` in RE2's form: sets of characters by their bytes, and look-around as context."""

from __future__ import annotations

from functools import cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_MOST = 1000
"""RE2 takes no larger number in a repeat."""
Characters = frozenset[int]


class Translation:
    """RE2's form of an expression, and which of its groups are the written ones and which mark the borders."""

    def __init__(self, pattern: bytes, flags: int, *, before: bool = True) -> None:
        self.pattern, self._before = pattern, before
        tree = _parser.parse(pattern, flags)
        self._state = tree.state.flags
        self._count = 0
        self._written: dict[int, int] = {}
        self.begins: list[int] = []
        self.ends: list[int] = []
        items = list(tree)
        self.looks_behind = self._behind(items)
        fold = bool(self._state & _parser.SRE_FLAG_IGNORECASE)
        self.expression = self._sequence(items, fold, head=self.looks_behind, tail=True)
        self.groups = [self._written[n] for n in range(1, tree.state.groups)]
        self.looks_ahead = bool(self.ends)
        self.plain = not (self.begins or self.ends)

    def borders(self, spans: list[tuple[int, int]]) -> tuple[int, int]:
        begin, end = spans[0]
        for group in self.begins:
            if spans[group][0] >= 0:
                begin = spans[group][0]
        for group in self.ends:
            if spans[group][0] >= 0:
                end = spans[group][0]
        return begin, end

    def _behind(self, items: Any) -> bool:
        """Whether the sequence, or a branch of it, begins with a look behind."""
        if not items:
            return False
        opcode, argument = items[0]
        if opcode in (op.ASSERT, op.ASSERT_NOT):
            return argument[0] < 0
        if opcode is op.SUBPATTERN:
            return self._behind(list(argument[3]))
        return opcode is op.BRANCH and any(self._behind(list(branch)) for branch in argument[1])

    def _marker(self, kept: list[int]) -> bytes:
        self._count += 1
        kept.append(self._count)
        return b"()"

    def _no(self, what: str) -> ValueError:
        return ValueError(
            f"RE2 has no {what}, as in {self.pattern!r}: write it without, or read the text by hand"
        )

    def _sequence(self, items: Any, fold: bool, *, head: bool = False, tail: bool = False) -> bytes:
        parts: list[bytes] = []
        items = list(items)
        if head and not (items and items[0][0] in (op.BRANCH, op.SUBPATTERN) and self._behind(items[:1])):
            before = frozenset(range(256))
            start = True
            while items and items[0][0] in (op.ASSERT, op.ASSERT_NOT) and items[0][1][0] < 0:
                opcode, (_, inner) = items.pop(0)
                one = self._one(list(inner), fold)
                if one is None:
                    raise self._no("look behind for more than one character")
                before &= one if opcode is op.ASSERT else frozenset(range(256)) - one
                start = start and opcode is op.ASSERT_NOT
            context = rb"(?:\A|%s)" % _class(before) if start else _class(before)
            if not self._before:
                context = rb"\A" if start else _class(frozenset())
            parts += [context, self._marker(self.begins)]
            head = False
        for number, (opcode, argument) in enumerate(items):
            last = tail and number == len(items) - 1
            parts.append(self._item(opcode, argument, fold, head and number == 0, last))
        return b"".join(parts)

    def _item(self, opcode: Any, argument: Any, fold: bool, head: bool, tail: bool) -> bytes:
        one = self._one([(opcode, argument)], fold) if opcode is not op.SUBPATTERN else None
        if one is not None:
            return _class(one)
        if opcode is op.SUBPATTERN:
            group, add, remove, inner = argument
            flag = _parser.SRE_FLAG_IGNORECASE
            if (add | remove) & ~flag:
                raise self._no("flags within an expression")
            if group is not None:
                self._count += 1
                self._written[group] = self._count
            inside = bool(add & flag) or (fold and not remove & flag)
            return (b"(%s)" if group else b"(?:%s)") % self._sequence(inner, inside, head=head, tail=tail)
        if opcode is op.BRANCH:
            return b"(?:%s)" % b"|".join(self._sequence(b, fold, head=head, tail=tail) for b in argument[1])
        if opcode in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = argument
            body = self._sequence(inner, fold)
            if self._one(list(inner), fold) is None or b"(" in body[:1]:
                body = b"(?:%s)" % body
            return _repeat(
                body, least, None if most is op.MAXREPEAT else most, b"?" if opcode is op.MIN_REPEAT else b""
            )
        if opcode is op.AT:
            return self._at(argument, tail)
        if opcode in (op.ASSERT, op.ASSERT_NOT) and argument[0] > 0 and tail:
            marker = self._marker(self.ends)
            if opcode is op.ASSERT:
                return marker + b"(?:%s)" % self._sequence(argument[1], fold)
            return marker + self._not(list(argument[1]), fold)
        raise self._no(f"{str(opcode).lower()} here")

    def _not(self, items: list[Any], fold: bool) -> bytes:
        """What is outside of a fixed row of characters."""
        one = self._one(items[:1], fold)
        if one is None:
            raise self._no("negative look ahead for more than a row of characters")
        other = rb"\z|%s" % _class(frozenset(range(256)) - one)
        return b"(?:%s)" % (
            other if len(items) == 1 else other + b"|" + _class(one) + self._not(items[1:], fold)
        )

    def _at(self, where: Any, tail: bool) -> bytes:
        lines = bool(self._state & _parser.SRE_FLAG_MULTILINE)
        if where is op.AT_END and not lines:
            if not tail:
                raise self._no("$ before other parts")
            return self._marker(self.ends) + rb"(?:\n?\z)"
        return {
            op.AT_BEGINNING: b"(?m:^)" if lines else rb"\A",
            op.AT_BEGINNING_STRING: rb"\A",
            op.AT_END: b"(?m:$)",
            op.AT_END_STRING: rb"\z",
            op.AT_BOUNDARY: rb"\b",
            op.AT_NON_BOUNDARY: rb"\B",
        }[where]

    def _one(self, items: list[Any], fold: bool) -> Characters | None:
        """The characters of a sequence that is one character wide."""
        if len(items) != 1:
            return None
        opcode, argument = items[0]
        if opcode is op.SUBPATTERN and argument[0] is None and not argument[1] and not argument[2]:
            return self._one(list(argument[3]), fold)
        if opcode is op.ANY:
            return frozenset(range(256)) - (frozenset() if self._state & _parser.SRE_FLAG_DOTALL else {10})
        if opcode in (op.LITERAL, op.NOT_LITERAL):
            argument = [(op.NEGATE, None)] * (opcode is op.NOT_LITERAL) + [(op.LITERAL, argument)]
        elif opcode is not op.IN:
            return None
        return _members(argument, fold)


def _members(items: Any, fold: bool) -> Characters:
    found: set[int] = set()
    for opcode, argument in items:
        if opcode is op.LITERAL:
            found.add(argument)
        elif opcode is op.RANGE:
            found.update(range(argument[0], argument[1] + 1))
        elif opcode is op.CATEGORY:
            found.update(_category(argument))
    if fold:
        found.update(ord(chr(c).swapcase()) for c in tuple(found) if c < 128)
    return frozenset(range(256)) - found if items and items[0][0] is op.NEGATE else frozenset(found)


@cache
def _category(kind: Any) -> Characters:
    digits, blanks = frozenset(b"0123456789"), frozenset(b" \t\n\r\f\v")
    letters = frozenset(c for c in range(128) if chr(c).isalpha())
    sets = {op.CATEGORY_DIGIT: digits, op.CATEGORY_SPACE: blanks, op.CATEGORY_WORD: digits | letters | {95}}
    opposite = {op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT, op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE}
    opposite[op.CATEGORY_NOT_WORD] = op.CATEGORY_WORD
    return sets[kind] if kind in sets else frozenset(range(256)) - sets[opposite[kind]]


@cache
def _class(members: Characters) -> bytes:
    """The set in brackets, by its runs."""
    if not members:
        return rb"[^\x00-\xff]"
    rows, run = [], [min(members), min(members)]
    for c in sorted(members)[1:]:
        if c == run[1] + 1:
            run[1] = c
        else:
            rows.append(run)
            run = [c, c]
    rows.append(run)
    return b"[%s]" % b"".join(rb"\x%02x" % a if a == b else rb"\x%02x-\x%02x" % (a, b) for a, b in rows)


def _repeat(body: bytes, least: int, most: int | None, lazy: bytes) -> bytes:
    made = b""
    while least > _MOST:
        made, least, most = (
            made + body + b"{%d}" % _MOST,
            least - _MOST,
            None if most is None else most - _MOST,
        )
    if most is None:
        return made + body + b"{%d,}" % least + lazy
    made += body + b"{%d,%d}" % (least, min(most, _MOST)) + lazy
    while most > _MOST:
        most -= _MOST
        made += body + b"{0,%d}" % min(most, _MOST) + lazy
    return b"(?:%s)" % made
