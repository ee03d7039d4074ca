"""How hard a credential is to guess: bits of its single most likely value, erring low.

A prior that is too small voids the promise, so an estimate may only lower a claim (`docs/guarantee.md`):
bits = min(what the type allows, what the value's own variety allows). The cap of the config comes on top.

What is published is not the estimate, which is a function of the value, but one of a few levels (`published_bits`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

PASSWORD_BITS = 10.0
"""Most a password chosen by a person is worth: its most likely guesses are few."""

WEAK_BITS = 20.0
"""Credentials below this are dropped or refused: no noise level makes a guessable value safe."""

LEVELS = (0.0, 5.0, 10.0, float(WEAK_BITS), 25.0, 34.0, 64.0, 99.0)
"""All that a measured prior can say about its value. 34 is above the default cap, where almost all tokens end."""
LEVEL_BITS = math.log2(len(LEVELS))
"""What seeing the level of a value may help to guess it, charged to every one of them."""

ASSIGNED = "hush.assigned-secret"
"""Our own rule: a random-looking value assigned to a name such as `api_key`."""
ASSIGNED_PASSWORD = "hush.assigned-password"
"""The same where the value may be a person's."""
NEARBY = "hush.nearby-secret"
"""A machine's random value on one line with such a name."""


@dataclass(frozen=True)
class _Type:
    """A known format: fixed prefix, alphabet size after it, characters of checksum, bits known otherwise."""

    prefix: str
    alphabet: int
    checksum: int = 0
    known_bits: float = 0.0


_KNOWN = {
    "aws-access-token": _Type(r"[A-Z0-9]{4}", 32, known_bits=40.0),  # the id names the account
    "aws-secret-access-key": _Type("", 64),
    "github-pat": _Type("ghp_", 62, 6),
    "github-oauth": _Type("gho_", 62, 6),
    "github-app-token": _Type("gh[us]_", 62, 6),
    "github-refresh-token": _Type("ghr_", 62, 6),
    "github-fine-grained-pat": _Type("github_pat_.{22}_", 62, 6),
    "gitlab-pat": _Type("glpat-", 64),
    "gcp-api-key": _Type("AIza", 64),
    "npm-access-token": _Type("npm_", 62, 6),
    "slack-bot-token": _Type(r"xoxb-(?:\d+-)*", 62),
    "slack-user-token": _Type(r"xox[pe]-(?:\d+-)*", 62),
    "slack-webhook-url": _Type(r".*/", 62),
    "stripe-access-token": _Type(r"[sr]k_[a-z]+_", 62),
    "sendgrid-api-token": _Type(r"SG\.", 64),
    "twilio-api-key": _Type("SK", 16),
    "digitalocean-pat": _Type("dop_v1_", 16),
    "pypi-upload-token": _Type("pypi-AgEIcHlwaS5vcmc.{0,60}?", 64),
    "jwt": _Type(r".*\.", 64),  # header and claims can be guessed; the signature cannot
    "heroku-api-key": _Type("", 16),
    "mailchimp-api-key": _Type("", 16),
    "hush.aws-access-key-id": _Type(r"A[KS]IA", 32, known_bits=40.0),
    "hush.discord-webhook": _Type(r".*/", 64),
    "hush.discord-bot-token": _Type(r".*\.", 64),  # id and time can be guessed
    "hush.azure-client-secret": _Type(r".{4}Q~", 64),
    "hush.mailgun-key": _Type("key-", 16),
    "hush.mailchimp-api-key": _Type("", 16, 5),  # not a checksum, but the data centre
    "hush.telegram-bot-token": _Type(r"\d+:AA", 64),
    "hush.new-relic-key": _Type(r"NRA[KL]-", 36),
    "hush.crates-io-token": _Type("cio", 62),
    "hush.django-secret-key": _Type(r"(?:django-insecure-)?", 50),
}
_PASSWORDS = re.compile(r"password|passphrase|credential-uri|connection-string|auth-user|passwd|auth-header")
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$", re.I)
_SEGMENT = re.compile(r"^[A-Za-z0-9]{1,10}[_\-.]")
_RUN = re.compile(r"[A-Za-z0-9+/=_\-]+")
_HEX = re.compile(r"^(?:[0-9a-f]+|[0-9A-F]+)$")


def published_bits(estimate: float) -> float:
    """The highest of LEVELS that `estimate` exceeds by LEVEL_BITS; 0 where there is none.

    Guarantee: an adversary who sees the level guesses the value, on the average over the levels, with probability
    at most 2^-level, if each value has probability at most 2^-estimate (`docs/guarantee.md`, section 1).

    >>> published_bits(33.2), published_bits(150.0), published_bits(7.9), published_bits(102.0)
    (25.0, 99.0, 0.0, 99.0)
    """
    return max((level for level in LEVELS if level + LEVEL_BITS <= estimate), default=0.0)


def claims_most(rule: str) -> tuple[bool, str]:
    """Orders rules by type alone: those of a known format come first."""
    name = rule.partition(".")[2] if rule.startswith("betterleaks.") else rule
    return re.sub(r"\.\d+$", "", name) not in (*_KNOWN, "private-key"), rule


def guess_bits(rule: str, value: bytes) -> float:
    """A cautious (low) min-entropy, in bits, of a credential that `rule` found.

    >>> guess_bits("betterleaks.generic-credential-uri", b"hunter2") <= PASSWORD_BITS
    True
    """
    text = value.decode("utf-8", "replace")
    name = rule.partition(".")[2] if rule.startswith("betterleaks.") else rule
    name = re.sub(r"\.\d+$", "", name)
    if name == "private-key":
        body = re.sub(r"-----[^-]*-----|\\[nrt]|\s", "", text)
        return variety(body[40:]) if len(body) > 64 else variety(body) / 2
    if _PASSWORDS.search(name):
        return min(PASSWORD_BITS, variety(text))
    kind = _KNOWN.get(name)
    match = re.match(kind.prefix, text, re.S) if kind else None
    if kind is None or match is None:
        return _unknown(text, human=rule in (ASSIGNED, NEARBY))
    variable = text[match.end() :]
    if kind.checksum:
        variable = variable[: -kind.checksum]
    uuid = _UUID.match(variable)
    if uuid:
        variable = variable.replace("-", "") if uuid[1] == "4" else ""
    claim = len(variable) * math.log2(kind.alphabet) - kind.known_bits
    return max(0.0, min(claim, variety(variable, word=len(variable) + 1)))


def _unknown(text: str, *, human: bool) -> float:
    """No table entry: the longest run after what looks like a prefix, checksum off, and half of the rest.

    `human`: a person may have made it up (no provider's format was recognised): hex gets no better treatment.
    """
    uuid = _UUID.match(text)
    if uuid:
        return min(122.0, variety(text.replace("-", ""))) if uuid[1] == "4" else 0.0
    while (segment := _SEGMENT.match(text)) and len(text) - segment.end() >= 12:
        text = text[segment.end() :]
    run = max(_RUN.findall(text), key=len, default="")
    machine_hex = bool(_HEX.match(run)) and not human
    if len(run) >= 30 and not _HEX.match(run):
        run = run[4:-6]
    if len(run) < 12:
        return min(PASSWORD_BITS, variety(run))
    return variety(run) / (1 if machine_hex else 2)


def variety(text: str, word: int = 5) -> float:
    """Characters outside words (`word` or more letters of one case), runs and repeats, times entropy: bits.

    >>> variety("aaaaaaaaaaaaaaaa"), variety("abcdefghijklmnop")
    (0.0, 0.0)
    """
    if not _HEX.match(text):
        text = re.sub(rf"[a-z]{{{word},}}|[A-Z]{{{word},}}", "", text)
    kept = "".join(c for i, c in enumerate(text) if i == 0 or abs(ord(c) - ord(text[i - 1])) > 1)
    if len(kept) < 3:
        return 0.0
    trigrams = len({kept[i : i + 3] for i in range(len(kept) - 2)})
    counts = Counter(kept).values()
    entropy = -sum(n / len(kept) * math.log2(n / len(kept)) for n in counts)
    return min(len(kept), trigrams) * max(entropy, 0.0)
