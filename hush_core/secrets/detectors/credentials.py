"""Detector `credentials`: the rules of `credential_scanner`, run in-process over whole files; nothing leaves the
machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path

from hush_core.config import CredentialsSecret
from hush_core.corpus import Corpus
from hush_core.corpus.changes import Change
from hush_core.secrets.code import code_version
from hush_core.secrets.detectors import by_line, credential_names, credential_randomness, deadline
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.credential_scanner import (
    RULES_VERSION,
    CredentialScanner,
    free_rules,
    prepare_rules,
)
from hush_core.secrets.detectors.credential_unnamed import counting
from hush_core.secrets.detectors.credential_values import Detection, Values, is_short, is_word
from hush_core.secrets.detectors.credential_versions import (
    INNER,
    Known,
    Nearby,
    compile_gates,
    known,
    nearby,
    next_known,
)
from hush_core.secrets.detectors.scans import Scan
from hush_core.secrets.documentation import check_documentation
from hush_core.secrets.priors import WEAK_BITS, published_bits

Looked = tuple[list[tuple[int, int, str]], Known | None]
"""What is in a text, and what may be said of its next version."""
MOST_INNER, FEW_INNER = 256, 8
"""Contents, and values in other spellings of each, that are kept from the scan on, and so not scanned for again."""


class _Look:
    """The scan as `DetectorContext.scan` keeps it: rules are compiled only if there is something new."""

    threads = True
    LEAST = 0

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._inner: dict[bytes, list[Detection]] = {}

    @cached_property
    def scanner(self) -> CredentialScanner:
        made = CredentialScanner(self._cache)
        compile_gates()  # seconds that count for no content's limit
        return made

    def __call__(self, content: bytes) -> Iterator[tuple[int, int, str]]:
        return iter(counting(content, self._limited(content, 1.0, partial(self._whole, content))[0]))

    def inner(self, content: bytes) -> list[Detection]:
        """The credentials of a content that are not as they are in it, which a scan does not keep."""
        kept = self._inner.get(sha256(content).digest())
        return [d for d in self.scanner.scan(content) if not d.exact] if kept is None else kept

    def follow(
        self,
        texts: Sequence[bytes],
        before: Sequence[int | None],
        changes: Sequence[list[Change] | None] | None = None,
    ) -> Iterator[list[tuple[int, int, str]]]:
        """What is in each text; `before`: the place in `texts` of the version before it; `changes`: where they
        differ."""
        states: list[Known | None] = []
        slow: list[bool] = []
        for text, earlier, near in zip(
            texts, before, nearby(texts, before, self.scanner.pinned_places, changes), strict=True
        ):
            was = states[earlier] if earlier is not None else Known()
            share = deadline.AGAIN if earlier is not None and slow[earlier] else 1.0
            found, state = self._limited(text, share, partial(self._next, text, near, was))
            slow.append(found[:1] == [(0, len(text), deadline.TOO_SLOW)])
            states.append(state)
            yield counting(text, found)

    def _limited(self, text: bytes, share: float, look: Callable[[], Looked]) -> Looked:
        try:
            with deadline.limited(len(text), share):
                return look()
        except deadline.TooSlow:
            return [(0, len(text), deadline.TOO_SLOW)], None

    def _next(self, text: bytes, near: Nearby | None, was: Known | None) -> Looked:
        """What is in a text, given what was known of the version before it; and what is known then."""
        state = next_known(text, near, was) if near is not None and was is not None else None
        return self._whole(text) if state is None else (list(state.rows), state)

    def _whole(self, text: bytes) -> Looked:
        detections, gated = self.scanner.look(text)
        inner = [d for d in detections if not d.exact]
        if 0 < len(inner) <= FEW_INNER and len(self._inner) < MOST_INNER:
            self._inner[sha256(text).digest()] = inner
        found = [(d.start, d.end, d.rule if d.exact else d.rule + INNER) for d in detections]
        return found, known(text, found, gated)


def _scan(corpus: Corpus, context: DetectorContext, look: _Look | None = None) -> Scan:
    """Where something is in each content, kept by content."""
    look = look or _Look(context.cache)
    return context.scan(corpus, "credentials", code_version(), look)


MANY = 4096
"""Contents after whose scan the memory of rules and of lines that were seen goes to the search for values."""


def _free() -> None:
    free_rules()
    for seen in (by_line.kept, credential_names.values_of, credential_randomness.looks_made):
        seen.cache_clear()


def detect(corpus: Corpus, entry: CredentialsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret a distinct value, searched for everywhere in all its spellings."""
    look = _Look(context.cache)
    scan = _scan(corpus, context, look)
    values = Values()
    again: dict[int, None] = {}
    slow: list[int] = []
    for blob, start, end, tag in zip(
        *(c.tolist() for c in (scan.blob, scan.start, scan.end, scan.tag)), strict=True
    ):
        rule = scan.tags[tag]
        if rule == deadline.TOO_SLOW:
            slow.append(blob)
        elif rule.endswith(INNER):
            again[blob] = None
        else:
            values.add(blob, Detection(rule, corpus.contents[blob][start:end], start, end, True), stands=True)
    if slow:
        context.leave_out(corpus, slow)
        yield Finding(name=deadline.TOO_SLOW, bits=0.0, provenance=deadline.TOO_SLOW, blobs=slow)
    for blob in again:
        for found in look.inner(corpus.contents[blob]):
            values.add(blob, found, stands=False)
    if scan.scanned > MANY:
        del look
        _free()
    values.settle()
    named = sorted((f"{values.shown(same)}:{context.identify(same)}", same) for same in values.rules)
    for name, same in named:
        bits = values.bits(same)
        weak = min(published_bits(bits), math.inf if entry.bits is None else entry.bits) < WEAK_BITS
        terms = () if weak and is_word(same) else values.search_terms(same, apart=weak and is_short(same))
        yield Finding(
            name=name,
            bits=bits,
            provenance=f"{RULES_VERSION} {values.shown(same)}",
            spans=values.spans(same),
            copies=False,
            search_terms=tuple(terms),
        )


DETECTOR = Detector(
    "credentials", CredentialsSecret, detect, prepare=prepare_rules, scan=_scan, check=check_documentation
)
