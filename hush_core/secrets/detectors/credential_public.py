"""What looks like a credential and is public by its form: recognised by what is there, whatever the value is.

Each of these was a false positive in public repositories and is a kind, not a list of values. They are fingerprints
of certificates, pins of actions, what protocols show to everybody, links to pages, names in camel case, placeholders.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import base64
import json
import re

from hush_core import linear
from hush_core.secrets.detectors.credential_der import is_public_der
from hush_core.secrets.detectors.credential_randomness import SHA1_DIGITS, looks_made, surprise
from hush_core.secrets.detectors.credential_symbols import is_key_id, is_mangled
from hush_core.secrets.detectors.credential_words import words
from hush_core.secrets.guessing.published import is_published
from hush_core.secrets.guessing.words import word_bits

_DIGEST = re.compile(rb"(?i)(?:sha-?(?:1|224|256|384|512)|md5|blake2[bs])[-/:=~]")
_PIN = linear.compile(rb"[\w.-]+/[\w./-]+@\Z")
_SUBJECT = re.compile(rb"\b(?:CN|OU)=[^\n]{0,120}\Z")
_COMMIT = re.compile(rb"(?i)[0-9a-f]{40}|[0-9a-f]{64}")
_VERSION_NAME = linear.compile(
    rb"(?:(?<![A-Za-z])(?:version|tag|ref|VERSION|TAG|REF)|(?<![A-Z])(?:Version|Tag|Ref))[\"']?[ \t]*[:=][ \t]*[\"']?\Z"
)
_ADDRESS = re.compile(rb"0x(?:[0-9A-Fa-f]{40}|[0-9A-Fa-f]{8,16}(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?))")
_POD = linear.compile(rb"[a-z]{3,}[a-z0-9-]*-[0-9bcdf]{8,10}-[bcdfghj-np-tv-xz2456789]{5}")
"""What Kubernetes calls the processes of a deployment."""
_HASHED_NAME = re.compile(rb"[A-Za-z0-9+/]{27}=")
_ENCRYPTED = linear.compile(rb"(?:^|[^\w-])secure[\"']?:[ \t]*[\"']?\Z")
ENCRYPTED_BYTES = 100
"""What is encrypted for a build (`secure:`) is longer; a key or a password there is shorter."""
_BLOCKS = re.compile(rb"(?:[A-Za-z0-9+/]{64}){1,8}|[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{107}=")
"""Base64 of 48, 64, 80 or 96 bytes and more: whole blocks of AES, as a build's service encrypts."""
_VOLUME = re.compile(rb"[A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}")
_LOWER = linear.compile(rb"[A-Za-z_.-]*[a-z]")
_CAMEL = linear.compile(
    rb"_{0,2}(?:(?:[a-z]+|[A-Z][a-z]+)(?:[A-Z][a-z]+)*[0-9]{0,2}|[A-Z]{1,2})"
    rb"(?:[._-](?:(?:[a-z]+|[A-Z][a-z]+)(?:[A-Z][a-z]+)*[0-9]{0,2}|[A-Z]{1,2}))*"
)
_PART = (
    rb"(?:[A-Z]?[a-z]{2,}+[0-9]{0,3}+|[A-Z]{1,4}(?=[A-Z][a-z]|[^A-Za-z]|\Z)[0-9]{0,3}+"
    rb"|[a-z][0-9]{0,2}+(?=[A-Z_.-]|\Z))"
)
_NUMBERED = re.compile(rb"_{0,2}+" + _PART + rb"++(?:[._-]" + _PART + rb"++)*+")
_LONG_PARTS = re.compile(rb"[A-Z]?[a-z]{2,}")
CAMEL_SURPRISE, NUMBERED_SURPRISE = 5.4, 4.7
"""Bits a character of their words distinguish names from random letters; with digits between these more strictly."""
_SHOWN = linear.compile(
    rb"(?i)(?:sec[-_]websocket[-_](?:key|accept)[\"'`\])]{0,3}[ \t]*(?:=>|[:=,(])[ \t]*[\[(]?[\"'`]?"
    rb"|\b(?:c?nonce|opaque|rawId|userHandle|authenticatorData|attestationObject|clientDataJSON)[\"']?[ \t]*[:=][ \t]*(?:[\w.]{1,32}\()?[\"']?"
    rb"|\bchallenge[\"']?[ \t]*[:=][ \t]*[\w.]{1,32}\([\"']?"
    rb"|\|1\|[A-Za-z0-9+/]{27}=\||https?://[^\s\"'`]{1,48}\#!"
    rb"|[?&](?:amp;)?(?:list|v|[a-z]{1,3}clid|utm_[a-z]{1,16}|trackingid|formkey|igshid|ved|search|rev|commit|ref|oldid)="
    rb"|\bx-amz-(?:cf-id|id-2|request-id)[\"']?[ \t]*:[ \t]*[\"']?|\bx-(?:amzn-)?request-?id[\"']?[ \t]*:[ \t]*[\"']?"
    rb"|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD) /|<UserSecretsId>[ \t]*|\b(?:kid|jti)[\"']?[ \t]*[:=][ \t]*[\"']?"
    rb"|badge\.svg\?token=|site-verification[\"']?(?:[ \t]+content)?[ \t]*[:=][ \t]*[\"']?"
    rb"|\bPublicKeyToken[=>]\^?|\bboundary=[\"']?(?:[ \t]*\+[ \t]*[\"'])?-{0,32}|\b(?:oauth_signature|body_?hash)=[\"']?|\b(?:ts|nonce|hawk[ \t]+id)=[^\n]{0,48}\bmac=[\"']?)\Z"
)
_SECRETLY = re.compile(
    rb"(?i)(?:secret|token|key|pass(?:word|wd|phrase)|pwd|credentials?|signing)[\"'`]?[ \t:=_-]{0,3}\Z"
)
SHOWN = 64
"""Bytes before a value that tell whether it is for all to see."""

_PLACEHOLDER = linear.compile(
    rb"(?i)[\[<({_*+]{0,2}(?:(?:foo|ba[rz]|qu+x){1,3}|replace[ _-]?(?:me|this|it)(?:[ _-](?:with|by|in|for|before|an?|the|your|own|random|secure|strong|long|string|value|secret|key|password|token|production)){0,8}|"  # RFC 3092
    rb"(?:(?:my|your|our|the|an?|some|any|other|another|old|new|good|bad|wrong|invalid|valid|fake|dummy|sample|example[0-9]?|prompt[0-9]?|application|account|consumer|auth|super|very|strong|weak|long|random"
    rb"|secure|unsecure|insecure|unsafe|hard-?coded|proxy|base(?:32|64)|encoded|encrypted|encryption|clear-?text|plain-?text|imaginary|secret|api|access|bearer)"
    rb"%(gap)b{0,2}|(?:test|user|db|admin|root|default|app|refresh|session|client|server|service|auth|jwt)%(gap)b{1,2}){0,6}"
    rb"(?:secret|password|passwd|passphrase|pass|pwd|token|key|credentials?|secure|hidden|masked|hashed|redacted|removed|filtered|username|value)"
    rb"(?:%(gap)b(?:here|value|string))?)[\]>)}_*]{0,2}" % {b"gap": rb"(?:[ _.-]|%20|\+)"}
)
MAX_PLACEHOLDER = 64
_LOGIN = re.compile(rb"(?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{2,3}={0,2})?")


def is_identifier(token: bytes) -> bool:
    """Whether a token is a name in camel case, in parts or not: words of two letters and more, digits behind them.

    Of random letters and digits one in 6,000 of 20 characters is, of 16 one in 1,200: under a telling name those are
    found as passwords are.

    >>> is_identifier(b"_failOnNullOrEmptyForEach"), is_identifier(b"Message2_O_OneOfCase.gpbUnsetOneOfCase")
    (True, True)
    >>> is_identifier(b"generateOAuth1Header"), is_identifier(b"flagArg1And2AreWords")
    (True, True)
    >>> is_identifier(b"qZxTvLwKdRbYpNsUeHcJmAgfXo"), is_identifier(b"x7Gq0TzLw4RbN9vKpY2c")
    (False, False)
    """
    if not any(65 <= c <= 90 for c in token):
        return False
    most = (
        CAMEL_SURPRISE
        if _CAMEL.fullmatch(token) and _LOWER.match(token)
        else NUMBERED_SURPRISE
        if _NUMBERED.fullmatch(token)
        else 0.0
    )
    return most > 0 and surprise(b" %b " % b" ".join(words(token))) < most


def holds_words(token: bytes) -> bool:
    """Whether four ninths of a long token are words of a language, one of five letters, and the rest acronyms. Of random
    letters and digits one in 100,000 is. A word with a year is one, too, so it is asked only of what no name announces.

    >>> holds_words(b"RoCBertForMaskedLM"), holds_words(b"Kolibri1ForCausalLM"), holds_words(b"x7Gq0TzLw4RbN9vKpY2c")
    (True, True, False)
    """
    parts = words_in(token)
    return max(map(len, parts), default=0) >= 5 and 9 * sum(map(len, parts)) >= 4 * len(token)


def words_in(token: bytes) -> list[bytes]:
    """The parts of a name in camel case that are words of a language, of two letters and more."""
    return [part for part in _LONG_PARTS.findall(token) if part.lower().decode() in word_bits()]


def is_fingerprint(token: bytes, before: bytes) -> bool:
    """Whether a token says that it is a digest (`sha256/…`), or is the commit that an action or a version is pinned to.

    Also whether it is beside the subject of the certificate that it is of, or is a key's fingerprint, an address, or
    a volume's id.
    """
    if is_key_id(token, before) or is_mangled((b"$" if before.endswith(b"$") else b"") + token):
        return True
    if _COMMIT.fullmatch(token):
        version = _VERSION_NAME.search(before) if len(token) == SHA1_DIGITS else None
        if version is not None and not _SECRETLY.search(before, 0, version.start()):
            return True
        return any(form.search(before) for form in (_PIN, _SUBJECT))
    if _ADDRESS.fullmatch(token) or _VOLUME.fullmatch(token) or _POD.fullmatch(token):
        return True
    if before.endswith(b"|1|") and _HASHED_NAME.fullmatch(token):  # ssh's known_hosts
        return True
    if _ENCRYPTED.search(before) and (len(token) >= ENCRYPTED_BYTES or _BLOCKS.fullmatch(token)):
        return True
    return is_digest(token)


def is_digest(token: bytes) -> bool:
    """Whether it says that it is one: `sha256/…`, `SHA256:…`."""
    return _DIGEST.match(token) is not None


def is_shown(before: bytes) -> bool:
    """Whether what is before a value is for all to see: a handshake's header, an address's parameter that names a page.

    A word right before that says a secret follows is believed (`token: https://…`, `secret mac=…`)."""
    shown = _SHOWN.search(before)
    return shown is not None and not _SECRETLY.search(before, 0, shown.start())


def is_placeholder(value: bytes) -> bool:
    """Whether a value says nothing but what it is, or what should be there: `[secure]`, `mysecretpassword`.

    >>> is_placeholder(b"base64EncodedKey"), is_placeholder(b"<your-api-key>"), is_placeholder(b"blue-horse-42")
    (True, True, False)
    """
    return len(value) <= MAX_PLACEHOLDER and _PLACEHOLDER.fullmatch(value) is not None


_PUBLIC_KEY = re.compile(
    rb"(?:MFwwDQYJKoZIhvcNAQEBBQADSwAw|MIGfMA0GCSqGSIb3DQEBAQUAA4GNAD|MII[A-Za-z0-9+/]{2}[A-Za-z0-9+/]ANBgkqhkiG9w0BAQEFAAOCA"
    rb"|MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE|MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE|MCowBQYDK2V[uw]AyEA"
    rb"|AAAA(?:B3NzaC1yc2E|C3NzaC1lZDI1NTE5|E2VjZHNhLXNoYTIt|B3NzaC1kc3M))"
)


def is_public_key(token: bytes) -> bool:
    """Whether base64 begins as a public key does: SubjectPublicKeyInfo of RSA, EC, Ed25519, X25519 (RFC 5280, 8410),
    or OpenSSH's (RFC 4253); or holds what else is public (`is_public_der`).

    >>> is_public_key(b"MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBALK4BUxd"), is_public_key(b"MIICdQIBADANBgkqhkiG9w0BAQEF")
    (True, False)
    """
    return _PUBLIC_KEY.match(token) is not None or is_public_der(token)


_KEY_PARTS = linear.compile(rb"[\"'](?:n|x|y|x5c|x5t)[\"']:[ \t]*\[?[ \t]*[\"']\Z")
KEY_REACH = 150
"""Bytes before a part of a JSON Web Key that hold its type: less than `changes.around` takes in."""


def is_key_part(content: bytes, start: int, before: bytes) -> bool:
    """Whether a value is a public part of a JSON Web Key (RFC 7517): its type is right before.

    >>> is_key_part(b'{"kty": "RSA", "n": "', 21, b'{"kty": "RSA", "n": "')
    True
    """
    return _KEY_PARTS.search(before) is not None and b'"kty"' in content[max(0, start - KEY_REACH) : start]


def is_page(token: bytes) -> bool:
    """Whether it is an address without its scheme, no part of which could be a value: `//youtu.be/wGtS5qQ0bC0`."""
    return token.startswith(b"//") and not any(looks_made(part) for part in token.split(b"/"))


def is_placeholder_login(token: bytes) -> bool:
    """Whether it is base64 of `user:password` as manuals write it, or of `guest:guest`.

    >>> is_placeholder_login(b"dXNlcm5hbWU6cGFzc3dvcmQ="), is_placeholder_login(b"dXNlcjpjb3JyZWN0IGhvcnNl")
    (True, False)
    """
    if len(token) > 200 or not _LOGIN.fullmatch(token):
        return False
    user, colon, password = base64.b64decode(token + b"=" * (-len(token) % 4)).partition(b":")
    return bool(colon) and (is_placeholder(password) or user == password)


def says_placeholder(value: bytes) -> bool:
    """Whether it is base64 of a placeholder, or of an armour with nothing in it.

    >>> says_placeholder(b"c2VjdXJlLXBhc3N3b3Jk"), says_placeholder(b"Y29ycmVjdCBob3JzZSBiYXR0ZXJ5")
    (True, False)
    """
    if len(value) > 200 or not _LOGIN.fullmatch(value):
        return False
    text = base64.b64decode(value + b"=" * (-len(value) % 4)).strip()
    return is_placeholder(text) or _EMPTY.fullmatch(text) is not None


_EMPTY = linear.compile(rb"-----BEGIN [A-Z0-9 ]{3,40}-----\s*-----END [A-Z0-9 ]{3,40}-----")
_BOUNDARY = linear.compile(
    rb"(?i)boundary|place_?holder|\A-{2,8}[0-9a-f]{32}(?:--)?\Z|\A-{6,}[0-9A-Za-z]+(?:--)?\Z"
)


def is_boundary(token: bytes) -> bool:
    """Whether it says that it separates the parts of a message (RFC 2046), `----WebKitFormBoundary7MA4YWxkTrZu0gW`, or
    holds a place."""
    return _BOUNDARY.search(token) is not None


def is_sample_token(value: bytes) -> bool:
    """Whether it is a JSON Web Token of John Doe, subject 1234567890, as jwt.io and the manuals write it, with no other
    claim than theirs."""
    parts = value.split(b".")
    if not value.startswith(b"eyJ") or len(parts) not in (2, 3) or not all(map(_URL_BASE64.fullmatch, parts)):
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return False
    return claims in _SAMPLES


_URL_BASE64 = re.compile(rb"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?")
_SAMPLES = tuple(
    {"sub": "1234567890", "name": "John Doe"} | admin | issued
    for admin in ({}, {"admin": True})
    for issued in ({}, {"iat": 1516239022})
)


def is_everybodys(value: bytes) -> bool:
    """Whether a value is an example of a documentation or a standard: nothing is lost where it comes out."""
    if is_sample_token(value):
        return True
    return 12 <= len(value) <= 8192 and is_published(value.decode("utf-8", "replace"))


_PATH = re.compile(
    rb"/(?:tmp|etc|usr|var|home|opt|root|srv|run|mnt|dev|proc|bin|s?bin|lib(?:64)?|data|app|Users)/[A-Za-z]"
)
_FILE = re.compile(
    rb"\.(?:js|css|png|jpe?g|gif|svg|html?|map|woff2?|ttf|ico|json|ya?ml|py|go|rs|c|h|md|txt|gz|zip|whl|jar|so|dll|lock|xml|proto|java|ts|sh|com|org|net|io)\b"
)


def is_file(token: bytes) -> bool:
    """Whether a token ends as names of files and hosts do."""
    return _FILE.search(token) is not None


def is_path(token: bytes) -> bool:
    """Whether a token begins as a path from the root does, no part of which could be a value: `/tmp/RPM-GPG-KEY-EPEL-7`."""
    return _PATH.match(token) is not None and not any(
        looks_made(part) and (part.isalnum() or looks_made(part) == "mixed") for part in token.split(b"/")
    )
