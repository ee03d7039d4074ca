"""How hard a credential is to guess: bits of its single most likely value, erring low.

A prior that is too small voids the promise, so an estimate may only lower a claim (`docs/mathematics.md`). It is
the least of three: what the type allows, what the value's own variety allows, and what is left after `guessing` has
decoded and described it (words, walks over keys, counting, repeats, dates). Published examples are worth nothing.
The cap of the config comes on top.

What is published is not the estimate, which is a function of the value, but one of a few levels (`published_bits`).
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from hush_core.secrets.guessing.byte_lists import listed_bytes
from hush_core.secrets.guessing.decoding import fields, reveal
from hush_core.secrets.guessing.description import LEAST_RUN, Description, describe
from hush_core.secrets.guessing.published import without_published

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
RANDOM_TOKEN = "hush.random-token"
"""A machine's random value that no name announces."""
KEY_BYTES = "hush.key-bytes"
"""A key, or a password, that is spelled byte by byte."""


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
_PASSWORDS = re.compile(r"password|passphrase|credential-uri|auth-user|passwd")
_MAY_HOLD_PASSWORDS = re.compile(r"connection-string|auth-header")
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$", re.I)
_UUIDS = re.compile(
    r"(?<![0-9a-fA-F])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})(?![0-9a-fA-F])"
)
_SEGMENT = re.compile(r"^(?:[a-z]{1,10}|[A-Z]{1,10})\d{0,2}[_\-.]")
_RUN = re.compile(r"[A-Za-z0-9+/=_\-]+")
_JWT = re.compile(r"^(?:[A-Za-z]{1,12} )?ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.")
_HEX = re.compile(r"^(?:[0-9a-f]+|[0-9A-F]+)$")


def published_bits(estimate: float) -> float:
    """The highest of LEVELS that `estimate` exceeds by LEVEL_BITS; 0 without one.

    Guarantee: an adversary who sees the level guesses the value, on the average over the levels, with probability
    at most 2^-level, if each value has probability at most 2^-estimate (`docs/mathematics.md`, section 1).

    >>> published_bits(33.2), published_bits(150.0), published_bits(7.9), published_bits(102.0)
    (25.0, 99.0, 0.0, 99.0)
    """
    return max((level for level in LEVELS if level + LEVEL_BITS <= estimate), default=0.0)


def claims_most(rule: str) -> tuple[bool, str]:
    """Orders rules by type alone: those of a known format come first."""
    return _kind_of(rule) not in (*_KNOWN, "private-key"), rule


SIMPLE_BITS = 5.0
"""What walks, counting, repeats and dates are worth: they are tried first."""
UNMISTAKABLE = 32
"""Characters without an explanation that no person makes up, whatever the rule says that found them."""
_ENDS = 256


def guess_bits(rule: str, value: bytes) -> float:
    """A cautious (low) min-entropy, in bits, of a credential that `rule` found.

    >>> guess_bits("betterleaks.generic-credential-uri", b"hunter2") <= PASSWORD_BITS
    True
    >>> guess_bits("new-rule", b"YWNtZS1jb3JwLXByb2R1Y3Rpb24tZGItMjAyNA==") <= PASSWORD_BITS
    True
    """
    return _bits(_kind_of(rule), rule in (ASSIGNED, NEARBY), value)


@lru_cache(maxsize=1 << 14)
def _bits(name: str, human: bool, value: bytes) -> float:
    if name == KEY_BYTES and (data := listed_bytes(value)) is not None:
        readable = data.decode("latin-1")
        if readable.isprintable() and readable.isascii():
            return min(PASSWORD_BITS, _bits(name, True, data))
        return _unknown(data.hex(), human=True)
    text = value.decode("utf-8", "replace").strip()
    rest = without_published(text)
    if rest != text and _unknown(rest, human=True) <= PASSWORD_BITS:
        return 0.0
    text = rest
    if name == "private-key":
        body = re.sub(r"-----[^-]*-----|\\[nrt]|\s", "", text)
        return _left_bits(body[40:]) if len(body) > 64 else _left_bits(body) / 2
    if _PASSWORDS.search(name):
        return min(PASSWORD_BITS, _unknown(text, human=True))
    jwt = _JWT.match(text)
    if jwt:  # header and claims can be guessed; the signature, if there is one, cannot
        signature = text[jwt.end() :]
        return _left_bits(signature) if len(signature) >= 43 else 0.0
    if _MAY_HOLD_PASSWORDS.search(name):
        bits = _unknown(text, human=True)
        return bits if len(_left(text)[0]) >= UNMISTAKABLE else min(PASSWORD_BITS, bits)
    kind = _KNOWN.get(name)
    match = re.match(kind.prefix, text, re.S) if kind else None
    if kind is None or match is None:
        return _unknown(text, human=human)
    variable = text[match.end() :]
    if kind.checksum:
        variable = variable[: -kind.checksum]
    variable = _UUIDS.sub(_random_digits, variable)
    claim = len(variable) * math.log2(kind.alphabet) - kind.known_bits
    return max(0.0, min(claim, _left_bits(variable)))


def _kind_of(rule: str) -> str:
    name = rule.partition(".")[2] if rule.startswith("betterleaks.") else rule
    return re.sub(r"\.\d+$", "", name).casefold()


def _random_digits(uuid: re.Match[str]) -> str:
    """The digits of a UUID that are drawn: of version 4 all but six bits, of version 7 those after the time."""
    digits = uuid[0].replace("-", "")
    time, drawn = digits[:12], digits[13:16] + digits[17:]
    return {"4": time + drawn, "7": drawn}.get(digits[12], "") if digits[16] in "89abAB" else ""


def _without_prefix(text: str) -> str:
    while (segment := _SEGMENT.match(text)) and len(text) - segment.end() >= 12:
        text = text[segment.end() :]
    return text


def _both_ends(text: str) -> str:
    """Of a long text its two ends; what is not looked at claims nothing."""
    return text if len(text) <= _ENDS else text[: _ENDS // 2] + text[-_ENDS // 2 :]


def _left(text: str) -> tuple[str, Description]:
    """What looks drawn in a value, once it is decoded and described; no more than its two ends."""
    text = without_published(reveal(_UUIDS.sub(_random_digits, text)))
    parts = [describe(part) for part in fields(_both_ends(text))]
    left = "".join(
        c
        for part in parts
        for run in part.left
        for c in run
        if c.isascii() and (len(parts) == 1 or len(run) >= LEAST_RUN)
    )
    bits, plain = sum(part.bits for part in parts), sum(part.plain for part in parts)
    return left, Description(bits, plain, (left,), all(part.simple for part in parts))


def _left_bits(text: str) -> float:
    left, described = _left(text)
    return min(_drawn(left), described.bits)


def _unknown(text: str, *, human: bool) -> float:
    """No table entry: two thirds of what is left after what looks like a prefix; a checksum may be in it.

    `human`: a person may have made it up (no provider's format was recognised): hex gets no better treatment.
    """
    if _UUID.match(text):
        return _left_bits(text)
    left, described = _left(_without_prefix(_UUIDS.sub(_random_digits, text)))
    machine_hex = bool(_HEX.match(left)) and not human
    if len(left) < 12:
        return min(SIMPLE_BITS if described.simple else PASSWORD_BITS, described.bits)
    if len(left) < 24 and left.isdigit():
        return min(WEAK_BITS, _drawn(left))  # numbers of accounts, cards and phones
    return min(_drawn(left), described.bits) / (1 if machine_hex else 1.5)


def _drawn(text: str) -> float:
    """Characters times their entropy in the text itself, which is below that of the alphabet."""
    return min(len(text), _trigrams(text) + 2) * _entropy(text) if len(text) >= 3 else 0.0


def surface_bits(value: bytes) -> float:
    """How random a value looks at first sight, for rules that ask whether it is one: high, cheap, and no prior."""
    text = value.decode("utf-8", "replace")
    uuid = _UUID.match(text)
    if uuid:
        return min(122.0, variety(text.replace("-", ""))) if uuid[1] == "4" else 0.0
    run = max(_RUN.findall(_without_prefix(text)), key=len, default="")
    if len(run) >= 30 and not _HEX.match(run):
        run = run[4:-6]
    if len(run) < 12:
        return min(PASSWORD_BITS, variety(run))
    return variety(run) / 2


def variety(text: str) -> float:
    """Characters outside words (five or more letters of one case), runs and repeats, times entropy: bits.

    >>> variety("aaaaaaaaaaaaaaaa"), variety("abcdefghijklmnop")
    (0.0, 0.0)
    """
    if not _HEX.match(text):
        text = re.sub(r"[a-z]{5,}|[A-Z]{5,}", "", text)
    kept = "".join(c for i, c in enumerate(text) if i == 0 or abs(ord(c) - ord(text[i - 1])) > 1)
    return min(len(kept), _trigrams(kept)) * _entropy(kept) if len(kept) >= 3 else 0.0


def _trigrams(text: str) -> int:
    return len({text[i : i + 3] for i in range(len(text) - 2)})


def _entropy(text: str) -> float:
    return max(0.0, -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()))
