"""Detector `credentials`: pinned rules, run in-process over whole files; nothing leaves the machine.

The 488 rules of kingfisher-secret-scanner (betterleaks' and veles' among them), and one of our own for
random-looking values assigned to a name such as `api_key`. The scanner's validator and revoker contact
providers: they are never imported here. No inline comment (`gitleaks:allow`, …) hides anything: the scanner
is built without a context policy, and what an allowlist hides would be trained on unlabelled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

from hush_core.secrets.priors import ASSIGNED, guess_bits

PRIVATE_KEY = "betterleaks.private-key"

_HELPER_IS_SECRET = re.compile(r"secret|token|passphrase|consumer-key|application-key|\bapi-key\b")
_HELPER_IS_PUBLIC = re.compile(r"key-id|client-id|app-id|public|-name|-url|-host|domain|account|repository")
_ASSIGNED = re.compile(
    rb"(?i)(?:api_?-?key|secret|passw(?:or)?d|passphrase|(?:auth|access|bearer)_?-?token|token|private_?-?key"
    rb"|access_?-?key)[\w.-]{0,24}[\"'\]]{0,3}[ \t]{0,4}(?:=|:|=>|:=|,)[ \t]{0,4}"
    rb"(?:[\"'`]([^\s\"'`\\]{12,256})[\"'`]|([A-Za-z0-9+/_=-]{20,256})(?=[\s;,]|$))"
)
_ASSIGNED_MIN_BITS = 24.0
_GLUE = re.compile(rb"(?:\\[nrt]|[\s\"'`,\\])+")
_ARMOUR = re.compile(rb"-----[^-]{0,120}-----")


@dataclass(frozen=True)
class Detection:
    """A credential in one file: bytes [start, end) are to be labelled; `value` is what is sought elsewhere.

    `exact` says whether the value itself stands there (it does not where it was found inside base64).
    """

    rule: str
    value: bytes = field(repr=False)
    start: int
    end: int
    exact: bool


class CredentialScanner:
    """All rules, compiled once (about three seconds)."""

    def __init__(self) -> None:
        self._native, self._public_helpers = _compiled()
        self.provenance = f"kingfisher-secret-scanner {version('kingfisher-secret-scanner')}"

    def scan(self, content: bytes) -> list[Detection]:
        """Every credential in one whole file, sorted by place; overlaps are kept."""
        found = set()
        for f in self._native.scan(content):
            if not f.visible and f.rule_id in self._public_helpers:
                continue
            start, end = f.location["start_offset"], f.location["end_offset"]
            value = f.secret.encode("utf-8", "surrogatepass")
            exact = content[start:end] == value
            if not exact and not f.is_base64_encoded:
                value, exact = content[start:end], True
            if value.strip():
                found.add(Detection(f.rule_id, value, start, end, exact))
        taken = [(d.start, d.end) for d in found]
        for match in _ASSIGNED.finditer(content):
            start, end = match.span(1) if match[1] is not None else match.span(2)
            covered = any(s < end and start < e for s, e in taken)
            if not covered and guess_bits(ASSIGNED, content[start:end]) >= _ASSIGNED_MIN_BITS:
                found.add(Detection(ASSIGNED, content[start:end], start, end, True))
        return sorted(found, key=lambda d: (d.start, d.end, d.rule))


def canonical(rule: str, value: bytes) -> bytes:
    """What makes two findings one secret: a private key is the same whatever its line breaks and escapes."""
    if rule != PRIVATE_KEY:
        return value
    return key_body(value) or value


def key_body(value: bytes) -> bytes:
    """A PEM block's body in one piece, without armour, line breaks, escapes and quotes."""
    return _GLUE.sub(b"", _ARMOUR.sub(b"", value))


def key_lines(value: bytes) -> list[bytes]:
    """The lines of a PEM body that tell keys apart: the first is the same for all keys of a format."""
    lines = [p for p in _GLUE.split(_ARMOUR.sub(b"", value)) if re.fullmatch(rb"[A-Za-z0-9+/=]{16,}", p)]
    return lines[1:]


@cache
def _compiled() -> tuple[Any, frozenset[str]]:
    import kingfisher_sdk

    rules = kingfisher_sdk.Rules(cache=False)
    hidden = (r["id"] for r in rules.metadata() if not r["visible"])
    public = frozenset(r for r in hidden if not _HELPER_IS_SECRET.search(r) or _HELPER_IS_PUBLIC.search(r))
    return kingfisher_sdk.Scanner(rules, base64=True), public
