"""The rules for credentials: the pinned scanner's, and our own (`credential_rules`) for what they miss.

kingfisher-secret-scanner has 488 (betterleaks' and veles' among them). Its validator and revoker contact providers:
they are never imported here. It is built without a context policy, so no inline comment (`gitleaks:allow`, …) hides
anything: what an allowlist hides would be trained on unlabelled.
"""

from __future__ import annotations

import re
import threading
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hush_core.files import private_folder, users_cache
from hush_core.progress import Progress
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.credential_catalogues import head_lines, is_catalogue, is_text
from hush_core.secrets.detectors.credential_joined import whole_values
from hush_core.secrets.detectors.credential_languages import IS_LOCAL
from hush_core.secrets.detectors.credential_public import is_placeholder
from hush_core.secrets.detectors.credential_rules import Gated, all_findings, compiled_for
from hush_core.secrets.detectors.credential_stated import why_public
from hush_core.secrets.detectors.credential_unnamed import counting
from hush_core.secrets.detectors.credential_values import PRIVATE_KEY, Detection, key_blocks
from hush_core.secrets.detectors.credential_versions import compile_gates
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.guessing.words import word_bits
from hush_core.secrets.kept import keep_in

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


def prepare_rules(cache: Path | None) -> None:
    """Compile the rules. Where scans are kept there may be nothing new, and what is new has them loaded."""
    if cache is not None and (cache / "scans").is_dir():
        keep_in(_folder(cache))
    else:
        _rules(cache)


def free_rules() -> None:
    """Forget them; to load them again takes a third of a second."""
    with _COMPILING:
        _COMPILED.clear()


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
