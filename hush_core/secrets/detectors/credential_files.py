"""Credentials where tools keep them (`credential_places`), judged value by value; manifests and files of one value."""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

from hush_core import linear
from hush_core.secrets.detectors import credential_public as public
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.credential_der import is_public_armour
from hush_core.secrets.detectors.credential_languages import IS_LOCAL
from hush_core.secrets.detectors.credential_looks import SAYS_PASSWORD, is_chosen, is_passphrase, is_strong
from hush_core.secrets.detectors.credential_names import MAX_VALUE, RUN
from hush_core.secrets.detectors.credential_places import ABOVE, PLACES, PlaceRule
from hush_core.secrets.detectors.credential_randomness import looks_made, surprise
from hush_core.secrets.detectors.credential_symbols import is_key_id
from hush_core.secrets.detectors.credential_words import is_keyword, names_a_digest, names_a_page, words
from hush_core.secrets.detectors.rejected import rejected

FILE_SECRET, FILE_PASSWORD = "hush.file-secret", "hush.file-password"
ENCODED_SECRET, ENCODED_PASSWORD = "hush.encoded-login", "hush.encoded-login-password"


_KUBERNETES = re.compile(rb"(?m)^[ \t\"'{]*kind[\"']?:[ \t]*[\"']?Secret\b")
_DATA = re.compile(rb"(?m)^([ \t]*)[\"']?(stringData|data)[\"']?:[ \t{]*\r?$")
_ENTRY = linear.compile(
    rb"[ \t]+[\"']?[A-Za-z0-9_.-]{1,253}[\"']?:[ \t]*[\"']?([^\s\"'#|>{]{3,})[\"']?,?[ \t\r]*$"
)
KUBERNETES_GATE = rb"kind[\"']?:[ \t]*[\"']?Secret[\"'\s]"
_TEMPLATE = linear.compile(
    rb"\$[({]|(?<![A-Za-z0-9])\$[A-Za-z_]\w*\\?$|\$[A-Z_]{2,}\\?$|\{\{|\{\$|%\(|^%[sdrv]|%s|<%|^<|^\*+$|^[xX.]+$|^@|\{[A-Za-z_.0-9]*\}|^%|\.\.\.|^urn:(?:uuid:|(?:[\w.-]+[:/])*[A-Za-z_.-]*$)|^`[A-Za-z_][\w.-]*`$|^`[^`]*$"
)
_PLACEHOLDER = re.compile(
    rb"(?i)(?:passw(?:or)?d|pass|pwd|passwd|secret|token|user|guest|root|key|none|null|true|false|nil|your.*|my.?pass(?:word)?|xxx.*|\*+|import|string|str|required|optional|example|changeme|hash|value|self|int|text|bytes|bool|env|prompt|password_?here|test|(?:my|fake|dummy|sample)[_-]?(?:secret|password|pass|token|key|pwd)|rsa:[0-9]+|(?:pass|env|file|fd):.*)"
)


def lined_files(content: bytes) -> Sequence[int]:
    """Numbers of the places whose form two of the first lines have, comments left out (or the only one)."""
    return _lined_heads(content[:2048])


@lru_cache(1 << 10)
def _lined_heads(text: bytes) -> Sequence[int]:
    """`lined_files` of what begins so; kept, as most versions of a file begin alike."""
    written = (line for line in text.split(b"\n", 24)[:24] if not line.lstrip().startswith((b"#", b";")))
    head = list(islice(filter(bytes.strip, written), 4))
    if not head or max(map(len, head)) > 400 or not any(map(_is_lined, head)):
        return ()
    lined = ((number, place.compiled) for number, place in enumerate(PLACES) if place.lined)
    return tuple(
        number
        for number, pattern in lined
        if sum([pattern.match(line) is not None for line in head]) >= min(2, len(head))
    )


@lru_cache(1 << 12)
def _is_lined(line: bytes) -> bool:
    return _lined().match(line) is not None


def in_files(
    content: bytes, number: int, lines: list[tuple[int, int]], *, alone: bool = False
) -> Iterator[tuple[str, int, int]]:
    """Values of PLACES[number] on the lines that its gate names.

    alone: also where the content lacks what it must hold besides, as another version of it may have that.
    """
    place = PLACES[number]
    if place.with_ and not alone and not place.beside.search(content):
        return
    for first, last in lines:
        deadline.check()
        if place.above:
            first = content.rfind(b"\n", 0, max(0, first - ABOVE)) + 1
        for match in _matches(place, content, first, last):
            group = match.lastindex or 1
            value, (start, end) = match[group], match.span(group)
            before = content[max(first, start - public.SHOWN) : start]
            if reason := _no_secret(value, before):
                rejected(reason, value)
                continue
            if (_TYPE.search(before) or content[end : end + 1] == b"(") and public.is_identifier(value):
                rejected("a variable behind its type, or a function that is called", value)
                continue
            if place.after_name and _CHAIN.match(content, end):
                rejected("a name whose methods are called on the next lines", value)
                continue
            if place.chosen:
                if is_chosen(value):
                    yield FILE_PASSWORD, start, end
                else:
                    rejected("a word, code, a path or a sentence, which a person hardly chose", value)
            elif place.encoded:
                rule = _encoded(value)
                if rule:
                    yield rule, start, end
            elif place.secret or looks_made(value):
                yield FILE_SECRET, start, end
            elif (
                not place.after_name
                or _dense(value)
                or is_strong(value)
                or is_passphrase(value)
                or (SAYS_PASSWORD.search(content, match.start(), start) and is_chosen(value))
            ):
                yield FILE_PASSWORD, start, end
            else:
                rejected("a name or a word: no digit and no sign of a password", value)


def _no_secret(value: bytes, before: bytes) -> str:
    """Why a value at a place of credentials is not one; "" if it may be one."""
    if len(value) > MAX_VALUE:
        return "longer than a credential is"
    if _TEMPLATE.search(value):
        return "a template"
    if _PLACEHOLDER.fullmatch(value) or public.is_placeholder(value) or public.says_placeholder(value):
        return "a placeholder"
    if before.endswith(b":") and b"//" in before and IS_LOCAL.fullmatch(value):
        return "the word for a password in another language, in an address"
    if public.is_shown(before) or public.is_public_key(value) or is_key_id(value, before):
        return "public: a key's public part, its id, or what a protocol shows"
    if names_a_page(before) or names_a_digest(value, before) or (b"EXAMPLE" in value and b"/" not in value):
        return "a token of a page or a request, a digest, or an example, as its name or itself says"
    if _CAPITALS.fullmatch(value):
        return "a name in capitals, in place of a value"
    return "an address" if _HOST.fullmatch(value) else ""


_SECRET_OPTION = re.compile(
    rb"(?i)(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key(?!-?ids?\b))"
    rb"(?![a-z]*-?(?:words?|opt|out|form|alg|size|gen|file|type|ring|server|path|dir|url)\b)[a-z0-9-]{0,12}\Z"
)
"""The name of an option, of 60 letters at most, that takes a secret, and not its file or length."""


def _matches(place: PlaceRule, content: bytes, first: int, last: int) -> Iterator[linear.Match]:
    if not place.option:
        yield from place.compiled.finditer(content, first, last)
        return
    while match := place.compiled.search(content, first, last):
        option = _SECRET_OPTION.search(match[1])
        first = match.end() if option else match.start() + 1
        if option:
            yield match


def kubernetes(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Every value under `data` and `stringData` of a manifest with `kind: Secret`."""
    if not _KUBERNETES.search(content):
        return
    documents = [match.start() for match in _DOCUMENT.finditer(content)]
    for block in _DATA.finditer(content):
        begin, end = _document(documents, block.start(), len(content))
        if not _KUBERNETES.search(content, begin, end):
            continue
        at, indent = block.end() + 1, len(block[1])
        while at < len(content):
            deadline.check()
            end = content.find(b"\n", at)
            end = len(content) if end < 0 else end
            line = content[at:end]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            match = _ENTRY.match(line) if len(line) <= MAX_VALUE else None
            coded = block[2] == b"data"
            if match and not _nothing(line, match[1], encoded=coded):
                rule = (
                    _encoded(match[1], pair=False) if coded else FILE_SECRET if looks_made(match[1]) else ""
                )
                yield rule or FILE_PASSWORD, at + match.start(1), at + match.end(1)
            at = end + 1


_CAPITALS = linear.compile(rb"[A-Z]{2,}(?:_[A-Z]{2,})+,?")
_HOST = linear.compile(rb"https?://[\w.-]+(?::[0-9]{2,5})?/?|//[\w.-]+(?:\.[a-z]{2,}|:[0-9]{2,5})/?")
"""An address, where nobody logs in."""
_SWITCH = re.compile(rb"(?i)true|false|yes|no|on|off|null|none")
_TYPE = linear.compile(rb"[a-z0-9][A-Z][A-Za-z]*[ \t]+(?:[a-z]\w*[ \t]*=[ \t]*)?\Z")
"""A type in camel case, before the name of a variable or what is assigned to it."""
_CHAIN = linear.compile(rb"\s{0,8}?\n[ \t]{1,64}\.[A-Za-z_]\w{0,64}\(")
"""What follows a name whose methods are called on the next lines."""
_DOCUMENT = linear.compile(rb"(?m)^(?:---(?:\s|$)|[ \t]*```)")
_LOGIN_NAME = linear.compile(
    rb"(?i)[ \t]+[\"']?[a-z0-9_.-]{0,64}(?:user(?:name)?|login|email|host(?:name)?|port|db|database|type|provider)[\"']?:"
)


_PLAIN_NAME = re.compile(rb"[A-Za-z0-9_.@:/-]+\s*")


def _document(starts: list[int], at: int, size: int) -> tuple[int, int]:
    """From where to where the document of a file goes that holds a place: between `---`, or the fences of a manual."""
    n = bisect_right(starts, at)
    return starts[n - 1] if n else 0, starts[n] if n < len(starts) else size


def _nothing(line: bytes, value: bytes, *, encoded: bool) -> bool:
    """Whether an entry is a template, a placeholder, or a short plain name under a name that says it is one."""
    if _TEMPLATE.search(value) or public.is_placeholder(value) or public.says_placeholder(value):
        return True
    if is_public_armour(value) if encoded else _HOST.fullmatch(value) or _SWITCH.fullmatch(value):
        return True
    name = _LOGIN_NAME.match(line)
    if name is None or len(value) >= 12 or any(map(is_keyword, words(name[0]))):
        return False
    try:
        plain = base64.b64decode(value, validate=True) if encoded else value
    except (binascii.Error, ValueError):
        return False
    return _PLAIN_NAME.fullmatch(plain) is not None


_PUTTY = re.compile(rb"(?m)^Private-Lines: [0-9]{1,4}\r?\n")
_PUTTY_LINE, _PUTTY_LINES = re.compile(rb"[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z)"), 400
PUTTY_GATE = rb"^Private-Lines: [0-9]"


def putty(content: bytes) -> Iterator[tuple[str, int, int]]:
    """The private part of PuTTY's key files."""
    for match in _PUTTY.finditer(content):
        end = match.end()
        for _ in range(_PUTTY_LINES):
            line = _PUTTY_LINE.match(content, end)
            if line is None:
                break
            end = line.end()
        value = content[match.end() : end].rstrip()
        if value:
            yield "hush.putty-private-key", match.end(), match.end() + len(value)


def alone(content: bytes) -> Iterator[tuple[str, int, int]]:
    """A file that is nothing but one random value: a master key, a cookie, a token."""
    value = content.strip()
    if len(value) <= 600 and b"\n" not in value:
        match = RUN.fullmatch(value)
        if match and looks_made(value) and len(value) not in (40, 64):
            start = content.find(value)
            yield FILE_SECRET, start, start + len(value)


def _encoded(value: bytes, *, pair: bool = True) -> str:
    """The rule for base64 of `user:password` (or of anything readable), or ""."""
    try:
        text = base64.b64decode(value + b"=" * (-len(value) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return ""
    if pair and (b":" not in text or not text.isascii() or not text.decode("ascii").isprintable()):
        return ""
    part = text.partition(b":")[2] if pair else text.strip()
    if not pair and not text.isascii():
        return ENCODED_SECRET
    if _TEMPLATE.search(part) or not part or (pair and public.is_placeholder(part)):
        return ""
    return ENCODED_SECRET if looks_made(part) or len(part) > 64 else ENCODED_PASSWORD


def _dense(value: bytes) -> bool:
    """No name or word: a digit or a symbol in it, and little of it in words."""
    if len(value) < 6 or not re.search(rb"[0-9]|[^A-Za-z0-9_./-]", value):
        return False
    if re.search(rb"^[./~]|[()]|/[^/]*/|::|\.(?:[a-z]{2,4}|p12|p7[bcs])$", value):
        return False
    return surprise(value) >= 4.4 or re.search(rb"[!@#$%^&*?]|[A-Za-z]{3,}[0-9]{2,}\Z", value) is not None


@cache
def _lined() -> linear.Linear:
    """What any of the lined places matches."""
    return linear.compile(b"|".join(place.pattern for place in PLACES if place.lined))
