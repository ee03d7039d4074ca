r"""Detector `patterns`: the user's own regular expressions, one a line, in RE2's syntax.

    # key ids of the old vault; what group 1 matches is the secret
    vault: \bvk-([0-9a-f]{12})\b
    ^ORDER-[0-9]{4,8}$

A line is a pattern, or a name, a colon, blanks and a pattern; a name is lower-case (`[a-z][a-z0-9_-]*`).
A pattern that would itself begin so (`password: .*`) needs a name in front of it. Blank lines and lines that
begin with `#` are passed over (`\#` or `[#]` matches one); blanks at the ends of a line do not count (`\x20`
matches one). `^` and `$` match at every line (`\A` and `\z` at the content's ends). There is at most one group;
`(?:…)` does not count.

Every distinct match is a secret of its own, and is searched for everywhere, as literals are.

A pattern may itself be confidential (a codename): no message, repr or log holds any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import re2

from hush_core.config import PatternsSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding, Span
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.literals import MIN_BYTES, text_of
from hush_core.secrets.propagation.value_search import SearchTerm

MAX_MATCHES = 10_000
"""Matches of one pattern in one file; a pattern that matches more often describes no secret."""

_NAMED = re.compile(r"([a-z][a-z0-9_-]{0,63}):[ \t]+(.*)")
_AROUND = (b"", b"\n", b"a", b" ")  # all that RE2's assertions can distinguish on one side of a place


@dataclass(frozen=True)
class Pattern:
    """One checked pattern. name: the user's, else `line-N`; line: where it is in its file."""

    name: str
    line: int
    _compiled: Any = field(repr=False)


def read_patterns(path: Path) -> list[Pattern]:
    """The patterns of a file, in its order; the module's docstring says how it is written.

    Raises:
        InputError: the file cannot be read, is no UTF-8 or holds no pattern; RE2 refuses a pattern, it can
            match the empty string, or its name is taken. Names file and line, never the pattern.
    """
    patterns: dict[str, Pattern] = {}
    for number, line in enumerate(text_of(path, "patterns").split("\n"), start=1):
        source = line.strip(" \t\r")
        if not source or source.startswith("#"):
            continue
        named = _NAMED.fullmatch(source)
        name, source = (named[1], named[2]) if named else (f"line-{number}", source)
        where = f"{path}:{number}"
        if name in patterns:
            what = f"has the same name as line {patterns[name].line}"
            raise InputError(where, what, "give every pattern a name of its own")
        patterns[name] = Pattern(name, number, _compile(source, where))
    if not patterns:
        raise InputError(str(path), "holds no pattern", "write one pattern a line")
    return list(patterns.values())


def find(
    patterns: Sequence[Pattern], content: bytes, where: str = "content", most: int = MAX_MATCHES
) -> Iterator[tuple[int, int, int]]:
    """(pattern number, start, end) of every match in one whole file: of group 1 where that matches bytes,
    else of the whole match. By pattern, then by place.

    The search for the next match begins where the last range ends, so ranges of one pattern never overlap,
    and what is behind group 1 may serve two matches. Where lines end with CR LF the content is searched
    as it is and with LF alone, so that `$` and `\\n` find their places in both; ranges may then overlap.

    One search is linear in the content's size, whatever the pattern. There are at most `most` + 1 of them a
    pattern (twice that with CR LF), each from the last match to where the pattern can no longer continue. So all
    are linear, unless the pattern keeps looking far ahead of every match. The worst seen, `a.*z|a` on one line of
    a million `a`, took 24 s before it was refused.

    Args:
        where: the file's name, for the message.
        most: refuse a pattern that matches more often in this content.

    Raises:
        InputError: a pattern matches more than `most` times. Nothing is cut short in silence.
    """
    spans = [(content, None)]
    if b"\r\n" in content:
        data = np.frombuffer(content, np.uint8)
        gone = np.append((data[:-1] == 13) & (data[1:] == 10), False)
        spans.append((content.replace(b"\r\n", b"\n"), np.flatnonzero(~gone)))
    for number, pattern in enumerate(patterns):
        found = set()
        for text, places in spans:
            for start, end in _matches(pattern, text, where, most):
                found.add((start, end) if places is None else (int(places[start]), int(places[end - 1]) + 1))
        for start, end in sorted(found):
            yield number, start, end


def detect(corpus: Corpus, entry: PatternsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret a distinct match, named after the first pattern that matches it; in the order of keyed names.

    Raises:
        InputError: as `read_patterns` and `find`, or a match is too short to be searched for. Never shows one.
    """
    patterns = read_patterns(entry.file)
    layout, blobs = corpus.layout, corpus.read.tolist()
    found: dict[bytes, tuple[str, list[Span]]] = {}
    for done, blob in enumerate(blobs):
        if done % 512 == 0:
            context.progress("detect", done, len(blobs))
        content, file = corpus.contents[blob], int(layout.files_of_blob(blob)[0])
        where = f"{corpus.trees[int(corpus.tree[file])].source}:{corpus.file(file).path}"
        for number, start, end in find(patterns, content, where):
            pattern, value = patterns[number], content[start:end]
            if len(value) < MIN_BYTES:
                what = f"pattern {pattern.name!r} (line {pattern.line}) matches fewer than {MIN_BYTES} bytes"
                raise InputError(where, what, "make the pattern, or its group, match more")
            spans = found.setdefault(value, (pattern.name, []))[1]
            spans.append(Span(blob, start, end, value=True))
    context.progress("detect", len(blobs), len(blobs))
    named = [(f"{name}:{context.identify(value)}", value, spans) for value, (name, spans) in found.items()]
    for name, value, spans in sorted(named, key=lambda one: one[:2]):  # that of the values would tell of them
        search_terms = SearchTerm(value, any_case=True, reason="patterns")
        yield Finding(name=name, spans=spans, search_terms=(search_terms,), copies=False)


DETECTOR = Detector("patterns", PatternsSecret, detect, check=lambda config, entry: read_patterns(entry.file))


def _matches(pattern: Pattern, content: bytes, where: str, most: int) -> Iterator[tuple[int, int]]:
    # Not re2.Set for many patterns at once: when its automaton outgrows its memory it reports no match.
    place = 0
    for count in range(most + 1):
        match = pattern._compiled.search(content, place)
        if match is None:
            return
        if count == most:
            raise InputError(
                where,
                f"holds more than {most} matches of pattern {pattern.name!r} (line {pattern.line})",
                "make the pattern narrower, or leave the file out",
            )
        start, end = match.span(1) if pattern._compiled.groups else (-1, -1)
        if start == end:  # group 1 took no part, or matched nothing
            start, end = match.span()
        yield start, end
        place = end


def _compile(source: str, where: str) -> Any:
    options = re2.Options()
    options.log_errors = False  # the library would print the pattern
    try:
        re2.compile(source.encode("utf-8"), options)  # without the prefix first: it must fix nothing
        compiled = re2.compile(b"(?m)" + source.encode("utf-8"), options)
    except re2.error as error:
        detail = error.args[0] if error.args else b""
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        reason = text.partition(":")[0]  # what follows quotes the pattern
        hint = "use RE2's syntax: no look-around, no backreferences, at most 1000 repeats"
        raise InputError(where, f"RE2 refuses the pattern ({reason})", hint) from None
    if compiled.groups > 1:
        raise InputError(where, "the pattern has more than one group", "write (?:…) for all but the secret's")
    for before, after in product(_AROUND, repeat=2):
        if compiled.fullmatch(before + after, len(before), len(before)) is not None:
            raise InputError(where, "the pattern matches the empty string", "make it match at least a byte")
    return compiled
