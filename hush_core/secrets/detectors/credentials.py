"""Detector `credentials`: pinned rules, run in-process over whole files; nothing leaves the machine.

The 488 rules of kingfisher-secret-scanner (betterleaks' and veles' among them), and our own (`credential_rules`)
for formats that they miss and for random-looking values with a name such as `api_key`. The scanner's validator and
revoker contact providers: they are never imported here. No inline comment (`gitleaks:allow`, …) hides anything:
the scanner is built without a context policy, and what an allowlist hides would be trained on unlabelled.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hush_core.config import CredentialsSecret
from hush_core.corpus import Corpus
from hush_core.corpus.changes import Change
from hush_core.files import private_folder, users_cache
from hush_core.progress import Progress
from hush_core.secrets.code import code_version
from hush_core.secrets.detectors import by_line, credential_names, credential_randomness, deadline
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.credential_catalogues import is_catalogue, is_text
from hush_core.secrets.detectors.credential_joined import whole_values
from hush_core.secrets.detectors.credential_languages import IS_LOCAL
from hush_core.secrets.detectors.credential_passwords import head_lines
from hush_core.secrets.detectors.credential_public import is_placeholder
from hush_core.secrets.detectors.credential_rules import Gated, all_findings, compiled_for
from hush_core.secrets.detectors.credential_stated import why_public
from hush_core.secrets.detectors.credential_unnamed import counting
from hush_core.secrets.detectors.credential_values import (
    PRIVATE_KEY,
    Detection,
    Values,
    is_short,
    is_word,
    key_blocks,
)
from hush_core.secrets.detectors.credential_versions import (
    INNER,
    Known,
    Nearby,
    compile_gates,
    known,
    nearby,
    next_known,
)
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.detectors.scans import Scan
from hush_core.secrets.documentation import check_documentation
from hush_core.secrets.guessing.words import word_bits
from hush_core.secrets.kept import keep_in
from hush_core.secrets.priors import WEAK_BITS, published_bits

RULES_VERSION = f"kingfisher-secret-scanner {version('kingfisher-secret-scanner')}"

_HELPER_IS_SECRET = re.compile(r"secret|token|passphrase|consumer-key|application-key|\bapi-key\b")
_HELPER_IS_PUBLIC = re.compile(r"key-id|client-id|app-id|public|-name|-url|-host|domain|account|repository")


class CredentialScanner:
    """All rules, compiled once (about three seconds of processor time; from `cache` a tenth).

    Args:
        cache: the private folder of an extraction, where compiled rules are kept for the next if the user's own
            cache cannot hold them; None: nowhere.
        progress: called before and after they are compiled, if nothing is kept.
    """

    def __init__(self, cache: Path | None = None, progress: Progress | None = None) -> None:
        self._native, self._public_helpers = _rules(cache, progress)
        self.provenance = RULES_VERSION

    def scan(self, content: bytes) -> list[Detection]:
        """Every credential in one whole file, sorted by place; overlaps are kept."""
        found = self.look(content)[0]
        kept = set(counting(content, [(d.start, d.end, d.rule) for d in found]))
        return [d for d in found if (d.start, d.end, d.rule) in kept]

    def look(self, content: bytes) -> tuple[list[Detection], Gated]:
        """`scan`, and what our gates saw."""
        found = set()
        for f in deadline.pinned(self._native.scan, content):
            if not f.visible and f.rule_id in self._public_helpers:
                continue
            start, end = f.location["start_offset"], f.location["end_offset"]
            value = f.secret.encode("utf-8", "surrogatepass")
            exact = content[start:end] == value
            if not exact and not f.is_base64_encoded:
                value, exact = content[start:end], True
            if _placeholder(f.rule_id, value, content[max(0, start - 64) : start]):
                rejected("a placeholder in an address", value)
            elif f.rule_id == PRIVATE_KEY and exact and value.count(b"-----BEGIN") > 1:
                blocks = list(key_blocks(content, start, end))
                found |= {Detection(PRIVATE_KEY, content[a:b], a, b, True) for a, b in blocks}
            elif value.strip():
                found.add(Detection(f.rule_id, value, start, end, exact))
        taken = [(d.start, d.end) for d in found]
        own, parts, gated = all_findings(content, taken)
        found |= {Detection(rule, content[start:end], start, end, True) for rule, start, end in own}
        found = whole_values(found, parts)
        reasons = {d: reason for d in found if (reason := why_public(content, d))}
        texts = {d for d in found if d not in reasons and is_text(d.value)}
        gated.unsettled.extend(d.start for d in texts)
        if texts and is_catalogue(head_lines(content)):
            reasons |= dict.fromkeys(texts, "a text of a translated program: most of the file is such")
        for detection, reason in reasons.items():
            rejected(reason, detection.value)
        return sorted(found - reasons.keys(), key=lambda d: (d.start, d.end, d.rule)), gated

    def pinned_places(self, text: bytes) -> list[int]:
        """Where the pinned rules see something, placeholders included."""
        return [found.location["start_offset"] for found in deadline.pinned(self._native.scan, text)]


_NO_PASSWORD = re.compile(
    rb"(?i)(?:pass|pwd|guest|x-(?:access-token|oauth-basic|token-auth)|user(?:name)?|test|p|(?:my|fake|dummy|sample)[_-]?(?:secret|password|pass|token)|xxx+|\*+|pass(?:%[0-9A-Fa-f]{2}pass)+)"
)
_USER = re.compile(rb"//([^/:@\s]{1,60}):\Z")


def _placeholder(rule: str, value: bytes, before: bytes) -> bool:
    """A URL whose password says "password", or repeats the user: `guest:guest` of manuals is nobody's.

    Nor is a header's value that says what is to be put there."""
    if rule.endswith("curl-auth-header"):
        return is_placeholder(value)
    if not rule.endswith("credential-uri"):
        return False
    user = _USER.search(before)
    if user is not None and user[1].startswith(b"["):  # an address of IPv6
        return True
    if _NO_PASSWORD.fullmatch(value) or is_placeholder(value) or IS_LOCAL.fullmatch(value):
        return True
    return user is not None and user[1] == value


COMPILE = "compile the rules for credentials, once"
_COMPILING = threading.Lock()


def _rules(cache: Path | None = None, progress: Progress | None = None) -> tuple[Any, frozenset[str]]:
    """The scanner, and the rules whose findings are public; who asks while it is compiled waits for it."""
    with _COMPILING:
        if not _COMPILED:
            kept = cache is not None and any(_folder(cache).glob("*.vscdb"))
            say = partial(progress, COMPILE) if progress and not kept else lambda done, total: None
            say(0, 1)
            _COMPILED.append(_compiled(cache))
            say(1, 1)
        return _COMPILED[0]


_COMPILED: list[tuple[Any, frozenset[str]]] = []


def _compiled(cache: Path | None) -> tuple[Any, frozenset[str]]:
    return _compiled_in(None if cache is None else _folder(cache))


def _folder(cache: Path) -> Path:
    return _users() or private_folder(private_folder(cache) / "rules")


def _prepare(cache: Path | None) -> None:
    """Compile the rules. Where scans are kept there may be nothing new, and what is new has them loaded."""
    if cache is not None and (cache / "scans").is_dir():
        keep_in(_folder(cache))
    else:
        _rules(cache)


def _users() -> Path | None:
    """Where all homes of this user keep them."""
    return users_cache(f"rules-{compiled_for()}")


def _compiled_in(folder: Path | None) -> tuple[Any, frozenset[str]]:
    import kingfisher_sdk

    # kingfisher names the file after its rules and checks it: what is damaged is compiled again
    keep_in(folder)
    rules = kingfisher_sdk.Rules(cache=folder is not None, cache_dir=folder)
    hidden = (r["id"] for r in rules.metadata() if not r["visible"])
    public = frozenset(r for r in hidden if not _HELPER_IS_SECRET.search(r) or _HELPER_IS_PUBLIC.search(r))
    return kingfisher_sdk.Scanner(rules, base64=True), public


def compile_rules() -> Path | None:
    """Have all rules, gates and tables of words made in the user's cache, where the first scan finds them; None
    where that cannot be trusted."""
    folder = _users()
    if folder is not None:
        _compiled_in(folder)
        compile_gates()
        word_bits()
    return folder


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
"""After a scan of so many contents the memory of rules, and of lines that were seen, goes to the search for values.
To load the rules again takes a third of a second."""


def _free() -> None:
    with _COMPILING:
        _COMPILED.clear()
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
    "credentials", CredentialsSecret, detect, prepare=_prepare, scan=_scan, check=check_documentation
)
