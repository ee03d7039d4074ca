"""How much work an expression of Python's `re` can make: an upper bound, read off the expression itself.

A backtracking matcher takes, from one start, at most as many steps as there are ways to walk the expression. Where
the bytes after a repeat tell that it has ended, there is one way; where they do not, each length is one. The bound
is on attempts that fail: one that succeeds moves on by what it has read.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

INFINITE = float("inf")
PER_START, PER_CALL, LONG = 512, 1 << 18, 4096
"""Most steps from one start of a search; of one match on `LONG` characters (a quadratic one takes 16 million)."""
_UNIVERSE = frozenset(range(0x300)) | {-1}  # -1: all characters beyond
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_UNROLLED = 16

# A sequence is None (the end) or (item, the rest). An item is (opcode, argument, ignores case).
Chain = tuple[tuple[Any, Any, bool], "Chain"] | None


class Proof:
    """Bounds for one expression. `many` stands for the length of the text."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        tree = _parser.parse(pattern, flags)
        self.text = isinstance(pattern, str)
        self.dots = bool(tree.state.flags & _parser.SRE_FLAG_DOTALL)
        self.lines = bool(tree.state.flags & _parser.SRE_FLAG_MULTILINE)
        self.start = self._chain(tree, bool(tree.state.flags & _parser.SRE_FLAG_IGNORECASE), None)
        self.many: float = INFINITE
        self.widths = [
            0,
            *(INFINITE if w is None or w[1] >= 1 << 16 else w[1] for w in tree.state.groupwidths[1:]),
        ]

    def searches(self) -> bool:
        """Whether a search takes a number of steps linear in the text: no more than PER_START from any start, or no
        two attempts read the same, and each is linear in what it reads."""
        return self._bound(self.start, INFINITE) <= PER_START or (self._apart() and self.matches(whole=False))

    def _apart(self) -> bool:
        """Whether an attempt begins only where no other can read on: at the text's start, at a line's start and on
        that line, or with a character that none reads later."""
        if self.start is None:
            return True
        (opcode, argument, fold), rest = self.start
        if (opcode is op.AT and argument is op.AT_BEGINNING_STRING) or (
            argument is op.AT_BEGINNING and not self.lines
        ):
            return True
        if opcode is op.AT and argument is op.AT_BEGINNING:
            return not {10} & self._read(rest)
        begins = self._characters(opcode, argument, fold)
        return begins is not None and not begins & self._read(rest)

    def _read(self, chain: Chain) -> frozenset[int]:
        """All characters that the sequence may read."""
        found: set[int] = set()
        for opcode, argument, fold in _items(chain):
            if opcode in (op.SUBPATTERN, op.ATOMIC_GROUP):
                found |= self._read(self._inside(opcode, argument, fold, None))
            elif opcode is op.BRANCH:
                found.update(*(self._read(self._chain(branch, fold, None)) for branch in argument[1]))
            elif opcode in _REPEATS:
                found |= self._read(self._chain(argument[2], fold, None))
            elif opcode in (op.ASSERT, op.ASSERT_NOT):
                wide = self._single(argument[1], fold) is None
                found |= self._read(self._chain(argument[1], fold, None)) if wide else set()
            elif opcode is not op.AT:
                found |= self._characters(opcode, argument, fold) or _UNIVERSE
        return frozenset(found)

    def matches(self, *, whole: bool) -> bool:
        """Whether one match at a given place (of the whole text) takes a number of steps linear in its length."""
        end = ((op.AT, op.AT_END_STRING, False), None)
        return self._bound(self._joined(self.start, end) if whole else self.start, LONG) <= PER_CALL

    def _bound(self, chain: Chain, many: float) -> float:
        self.many = many
        self._memo: dict[int, tuple[Chain, float]] = {}
        return self._steps(chain)

    def _chain(self, tree: Iterable[tuple[Any, Any]], fold: bool, rest: Chain) -> Chain:
        for opcode, argument in reversed(list(tree)):
            rest = ((opcode, argument, fold), rest)
        return rest

    def _joined(self, chain: Chain, end: Chain) -> Chain:
        return end if chain is None else (chain[0], self._joined(chain[1], end))

    def _steps(self, chain: Chain) -> float:
        if chain is None:
            return 0
        known = self._memo.get(id(chain))
        if known is None:
            known = self._memo[id(chain)] = chain, self._counted(chain)
        return known[1]

    def _counted(self, chain: Any) -> float:
        (opcode, argument, fold), rest = chain
        if opcode in _REPEATS:
            return self._repeat(chain)
        if opcode is op.SUBPATTERN or opcode is op.ATOMIC_GROUP:
            return self._steps(self._inside(opcode, argument, fold, rest))
        if opcode is op.BRANCH:
            ways = [self._chain(branch, fold, rest) for branch in argument[1]]
            costs = [(self._first(way), self._steps(way)) for way in ways]
            met = set().union(*(first for first, _ in costs))
            worst = max((sum(cost for first, cost in costs if c in first) for c in met), default=0)
            return len(ways) + worst
        if opcode in (op.ASSERT, op.ASSERT_NOT):
            return 1 + self._steps(self._chain(argument[1], fold, None)) + self._steps(rest)
        if opcode is op.GROUPREF:
            return 1 + min(self.many, self.widths[argument]) + self._steps(rest)
        if opcode is op.GROUPREF_EXISTS:
            return INFINITE
        return 1 + self._steps(rest)

    def _inside(self, opcode: Any, argument: Any, fold: bool, rest: Chain) -> Chain:
        if opcode is op.ATOMIC_GROUP:
            return self._chain(argument, fold, rest)
        _, add, remove, inner = argument
        flag = _parser.SRE_FLAG_IGNORECASE
        return self._chain(inner, bool(add & flag) or (fold and not remove & flag), rest)

    def _repeat(self, chain: Any) -> float:
        (opcode, (least, most, inner), fold), rest = chain
        most = self.many if most is op.MAXREPEAT else min(most, max(self.many, least))
        if most == 0:
            return self._steps(rest)
        single = self._single(inner, fold)
        if single is not None:
            if self._never_fails(rest) and (least <= 1 or self.many == INFINITE):
                return least + 1 if self.many == INFINITE else most + 1
            if self.many == INFINITE and self._gives_back_one(single, rest):
                return least + 2
            after = self._steps(rest)
            apart = opcode is op.POSSESSIVE_REPEAT or not (single & self._first(rest))
            return 1 + (
                most + (most - least) * self._entry(rest) + after
                if apart
                else most + _times(most - least + 1, after)
            )
        once = self._chain(inner, fold, None)
        if opcode is op.POSSESSIVE_REPEAT:
            return self._rounds(most, once) + self._steps(rest)
        ends = self.many == INFINITE and self._never_fails(rest) and not self._empty(once)
        if ends and (least <= 1 or self._deterministic(once)):
            # what has been read is a match; only the least number of rounds may fail
            return 1 + _times(least, self._steps(once))
        after = self._first(rest)
        apart = not self._empty(once) and not self._first(once) & after
        if apart and self._one_way(inner, fold, self._first(once) | after):
            return self._rounds(most, once) + _times(most, self._entry(rest)) + self._steps(rest)
        if most > _UNROLLED:
            return INFINITE
        again = rest if most == 1 else ((opcode, (max(0, least - 1), most - 1, inner), fold), rest)
        return 1 + self._steps(self._chain(inner, fold, again)) + (0 if least else self._steps(rest))

    def _gives_back_one(self, single: frozenset[int], rest: Chain) -> bool:
        """Whether nothing but a look for none of other characters follows: true one character before the end."""
        if rest is None or rest[1] is not None or rest[0][0] is not op.ASSERT_NOT or rest[0][1][0] < 0:
            return False
        denied = self._single(rest[0][1][1], rest[0][2])
        return denied is not None and not denied & single

    def _rounds(self, most: float, once: Chain) -> float:
        """Steps of all rounds of a repeat that reads in one way: each character is taken in by one of them, the
        last round fails, and what a round tries in vain before it takes something in is tried in each."""
        vain = 0.0
        if not self._deterministic(once):
            many, memo = self.many, self._memo
            self.many, self._memo = INFINITE, {}
            vain = self._steps(once)
            self.many, self._memo = many, memo
        return _times(most, 2 + vain) + self._steps(once)

    def _one_way(self, inner: Any, fold: bool, after: frozenset[int]) -> bool:
        """Whether the repeated part can be read in one way, whatever of `after` follows it."""
        chain = self._chain(inner, fold, ((op.IN, [("set", after)], False), None))
        return self._deterministic(chain)

    def _deterministic(self, chain: Chain) -> bool:
        while chain is not None:
            (opcode, argument, fold), rest = chain
            if opcode is op.SUBPATTERN:
                chain = self._inside(opcode, argument, fold, rest)
                continue
            if opcode is op.BRANCH:
                ways = [self._chain(branch, fold, rest) for branch in argument[1]]
                firsts = [self._first(way) for way in ways]
                if sum(map(len, firsts)) != len(frozenset().union(*firsts)):
                    return False
                return all(map(self._deterministic, ways))
            if opcode in _REPEATS and opcode is not op.POSSESSIVE_REPEAT:
                least, most, inner = argument
                once = self._chain(inner, fold, None)
                if least != most and (self._empty(once) or self._first(once) & self._first(rest)):
                    return False
                if self._single(inner, fold) is None and not self._one_way(
                    inner, fold, self._first(once) | self._first(rest)
                ):
                    return False
            elif opcode in (op.GROUPREF, op.GROUPREF_EXISTS):
                return False
            chain = rest
        return True

    def _single(self, inner: Any, fold: bool) -> frozenset[int] | None:
        """The characters of a repeated part that is one character wide."""
        if len(inner) != 1:
            return None
        opcode, argument = inner[0]
        if opcode is op.SUBPATTERN:
            flag = _parser.SRE_FLAG_IGNORECASE
            return self._single(argument[3], bool(argument[1] & flag) or (fold and not argument[2] & flag))
        return self._characters(opcode, argument, fold)

    def _characters(self, opcode: Any, argument: Any, fold: bool) -> frozenset[int] | None:
        if opcode is op.IN:
            return self._set(argument, fold)
        if opcode in (op.LITERAL, op.NOT_LITERAL):
            found = self._set([(op.LITERAL, argument)], fold)
            return found if opcode is op.LITERAL else _UNIVERSE - found | {-1}
        return _UNIVERSE - ({10} if not self.dots else set()) if opcode is op.ANY else None

    def _set(self, items: Any, fold: bool) -> frozenset[int]:
        found: set[int] = set()
        negated = False
        for opcode, argument in items:
            if opcode == "set":
                return argument
            if opcode is op.NEGATE:
                negated = True
            elif opcode is op.LITERAL:
                found.add(argument if argument < 0x300 else -1)
            elif opcode is op.RANGE:
                found.update(range(argument[0], min(argument[1], 0x2FF) + 1))
                if argument[1] >= 0x300:
                    found.add(-1)
            else:
                found |= _category(argument, self.text)
        if fold:
            for c in [c for c in found if c >= 0]:
                found.update(
                    ord(x) if ord(x) < 0x300 else -1 for x in chr(c).swapcase() if self.text or c < 128
                )
        return frozenset(_UNIVERSE - found | {-1}) if negated else frozenset(found)

    def _first(self, chain: Chain) -> frozenset[int]:
        """The characters that may stand where the sequence begins; all, if it may match nothing."""
        if chain is None:
            return _UNIVERSE
        (opcode, argument, fold), rest = chain
        found = self._characters(opcode, argument, fold)
        if found is not None:
            return found
        if opcode in (op.SUBPATTERN, op.ATOMIC_GROUP):
            return self._first(self._inside(opcode, argument, fold, rest))
        if opcode is op.BRANCH:
            return frozenset().union(*(self._first(self._chain(b, fold, rest)) for b in argument[1]))
        if opcode in _REPEATS:
            least, _, inner = argument
            once = self._chain(inner, fold, None)
            begins = self._first(once) if not self._empty(once) else _UNIVERSE
            return begins if least else begins | self._first(rest)
        if opcode is op.AT and argument in (op.AT_END_STRING, op.AT_END):
            ends = argument is op.AT_END_STRING and not (self.lines and argument is op.AT_END)
            return frozenset() if ends else frozenset({10})
        if opcode is op.ASSERT and argument[0] == 1:
            return self._first(self._chain(argument[1], fold, None)) & self._first(rest)
        if opcode is op.ASSERT_NOT and argument[0] == 1:
            denied = self._single(argument[1], fold)
            return (
                self._first(rest) - denied if denied is not None and -1 not in denied else self._first(rest)
            )
        return self._first(rest) if opcode in (op.AT, op.ASSERT, op.ASSERT_NOT) else _UNIVERSE

    def _empty(self, chain: Chain) -> bool:
        """Whether the sequence may match nothing."""
        return all(self._may_be_empty(item) for item in _items(chain))

    def _may_be_empty(self, item: Any) -> bool:
        opcode, argument, fold = item
        if opcode in _REPEATS:
            return argument[0] == 0 or self._empty(self._chain(argument[2], fold, None))
        if opcode in (op.SUBPATTERN, op.ATOMIC_GROUP):
            return self._empty(self._inside(opcode, argument, fold, None))
        if opcode is op.BRANCH:
            return any(self._empty(self._chain(branch, fold, None)) for branch in argument[1])
        return opcode in (op.AT, op.ASSERT, op.ASSERT_NOT, op.GROUPREF)

    def _never_fails(self, chain: Chain) -> bool:
        """Whether the sequence matches at any place, if only nothing."""
        return all(self._surely(item) for item in _items(chain))

    def _surely(self, item: Any) -> bool:
        opcode, argument, fold = item
        if opcode in _REPEATS:
            return argument[0] == 0
        if opcode in (op.SUBPATTERN, op.ATOMIC_GROUP):
            return self._never_fails(self._inside(opcode, argument, fold, None))
        if opcode is op.BRANCH:
            return any(self._never_fails(self._chain(branch, fold, None)) for branch in argument[1])
        return False

    def _entry(self, chain: Chain) -> float:
        """Steps until the sequence fails at its first character: as many as it may begin in ways."""
        if chain is None:
            return 0
        (opcode, argument, fold), rest = chain
        if opcode in (op.SUBPATTERN, op.ATOMIC_GROUP):
            return self._entry(self._inside(opcode, argument, fold, rest))
        if opcode is op.BRANCH:
            return sum(self._entry(self._chain(branch, fold, rest)) for branch in argument[1])
        if opcode in _REPEATS:
            begins = self._entry(self._chain(argument[2], fold, None))
            return begins + (0 if argument[0] else self._entry(rest))
        if opcode in (op.ASSERT, op.ASSERT_NOT):
            return 1 + self._steps(self._chain(argument[1], fold, None)) + self._entry(rest)
        return 1 + (self._entry(rest) if opcode is op.AT else 0)


def _items(chain: Chain) -> Iterator[Any]:
    while chain is not None:
        yield chain[0]
        chain = chain[1]


def _times(count: float, steps: float) -> float:
    return 0 if not steps or not count else count * steps


@cache
def _category(kind: Any, text: bool) -> frozenset[int]:
    """\\w and its like; what a string's may be beyond is taken to be in both a class and its opposite."""
    import re

    name = {op.CATEGORY_DIGIT: "d", op.CATEGORY_SPACE: "s", op.CATEGORY_WORD: "w"}.get(kind)
    name = name or {op.CATEGORY_NOT_DIGIT: "D", op.CATEGORY_NOT_SPACE: "S", op.CATEGORY_NOT_WORD: "W"}[kind]
    look = re.compile(f"\\{name}", 0 if text else re.A)
    return frozenset(c for c in range(0x300) if look.match(chr(c))) | {-1}
