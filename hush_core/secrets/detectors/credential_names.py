"""What names tell: a machine's random value near a telling name, after a prefix, or by itself.

Names are read word by word, in camel, snake, kebab or spaced writing: `apiKeyProd`, `SECRET_KEY`, `stripe secret`.
What a word just before the value denies ("sha256", "public", "checksum") is not a credential.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from hush_core import linear
from hush_core.secrets.detectors import credential_public as public
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_blocks import in_block, widened
from hush_core.secrets.detectors.credential_der import in_certificate, is_public_armour
from hush_core.secrets.detectors.credential_randomness import (
    SHA1_DIGITS,
    SHA256_DIGITS,
    holds_text,
    looks_made,
    says_text,
    stands_alone,
    surprise,
)
from hush_core.secrets.detectors.credential_symbols import is_handshake
from hush_core.secrets.detectors.credential_unnamed import data_here
from hush_core.secrets.detectors.credential_words import (
    DENYING,
    STRONG,
    has_strong_keyword,
    is_named_id,
    names_a_digest,
    names_a_page,
    names_an_id,
    own_verdict,
    verdict,
    words,
)
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.priors import ASSIGNED, NEARBY, RANDOM_TOKEN

BEFORE, AFTER = 120, 32
"""Most bytes from a telling word to a value: before it (on its line, or on the line above), and after it."""
MAX_VALUE = 8192
MOST_OWN = 128
"""Bytes of a value that its own name speaks for: an id and a digest are short, of a long value other names may speak."""

_NO_NAMES = frozenset(b"value string default data content v b str text f r u".split())
"""Words that may be between a name on the line above and its value."""

RUN = re.compile(rb"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/.~-]{16,}={0,2}")
_DATA_URI = linear.compile(
    rb"(?:;base64,|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-[a-z0-9-]+ |sha(?:1|256|384|512)[-:=~](?:\\?[\"'])?|h1:|urn:uuid:|[?&]v=)\Z"
)
_DIGEST_BEHIND = linear.compile(
    rb"\\?[\"'`]?[ \t]*,[ \t]*(?:\w{1,16}[ \t]*[=:][ \t]*)?\\?[\"'`](?i:sha|md)-?[0-9]"
)
"""`("…", "sha256")`"""
_IS_NAME = linear.compile(rb"[ \t]*(?::?=(?!=)|\()")
"""What follows a name that is given a value, or called."""
_IS_KEY = linear.compile(rb"[\"'][ \t]*(?::|=>)")
_IN_CAMEL_CASE = linear.compile(rb"[a-z]{2,}(?:[A-Z][a-z]+){2,}[A-Z]{0,5}")
"""What follows the key of an object, and how its name looks."""
_PREFIX = re.compile(rb"[A-Za-z]{1,12}[0-9]{0,2}(?:[_-][A-Za-z0-9]{1,8}){0,2}[_.:~+-]")


def machine_values(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """Values that look like a machine's: near a telling name, after a prefix, or of all kinds of characters."""
    for first, last in lines:
        deadline.check()
        above = max(0, first - REACH_UP)
        look = values_of if last - above <= MOST_KEPT else values_of.__wrapped__
        found = look(content[above : last + REACH_DOWN], first - above, last - above)
        for rule, start, end, by_itself in found:
            if not (by_itself and in_certificate(content, first, last)):
                yield rule, start + above, end + above


REACH_UP, REACH_DOWN = 160, 120
"""Bytes above and below a line on which its values depend: of the lines beside it, and KEY_REACH."""
MOST_KEPT = 512


@lru_cache(1 << 14)
def values_of(text: bytes, first: int, last: int) -> list[tuple[str, int, int, bool]]:
    """(rule, start, end) of the values on a line of a text; and whether no name announces one, so that it is no value in a
    certificate. Kept, as the next version has nearly all lines of the one before."""
    line = text[first:last]
    if (
        _BODY.fullmatch(line)
        and _BODY_ABOVE.search(text, max(0, first - 82), first)
        and _PREFIX.match(line.lstrip(b"/")) is None
        and _above(text, first, last, named=False) is not True
    ):
        return []  # `_judge` takes such a run for one of a block, unless the line above names it
    found = (_judge(text, first, last, run) for run in by_line(_made_runs, line))
    return [one for one in found if one]


_BODY = re.compile(rb"[A-Za-z0-9+/]{40,80}={0,2}\n")
_BODY_ABOVE = re.compile(rb"\n[A-Za-z0-9+/]{59,79}[A-Za-z0-9/=]\n\Z")
"""A line of a PEM file's body, and one above it."""


class _Run(NamedTuple):
    """A run of characters in a line that looks made. made, made_body: of its core, and of that without a prefix."""

    start: int
    end: int
    token: bytes
    core: bytes
    prefix: bytes
    made: str
    made_body: str


def _made_runs(line: bytes) -> Iterator[_Run]:
    """The runs that may be a machine's values by their own characters."""
    for match in RUN.finditer(line):
        deadline.check()
        start, end = match.span()
        token = match[0]
        if end - start > MAX_VALUE or (
            b"." in token and len(token.translate(None, _NUMERIC)) * 3 < len(token)
        ):
            continue
        core = token.strip(b"=._-~/")
        matched = _PREFIX.match(core)
        prefix = matched[0] if matched else b""
        made, made_body = looks_made(core), looks_made(core[len(prefix) :]) if prefix else ""
        if not (made or made_body):
            continue
        if _DATA_URI.search(line[max(0, start - BEFORE) : start]):
            rejected("embedded data, a public key or a digest, by what is before it", token)
        elif not _says_public(token, core):
            yield _Run(start, end, token, core, prefix, made, made_body)


_DRAWN = linear.compile(rb"(?:[MmLlHhVvCcSsQqTtAaZz]{0,2}-?[0-9]{1,4}(?:\.[0-9]{1,6})?){4,}[Zz]?")
"""Letters for moves, with their lengths between, as SVG has them."""
_PUBLIC_BY_ITSELF = (
    ("the name of a file or a host", lambda token, core: public.is_file(token)),
    ("a version", lambda token, core: _VERSION.match(core) is not None),
    ("a name in camel case", lambda token, core: public.is_identifier(core) or public.holds_words(core)),
    ("a public key", lambda token, core: public.is_public_key(token)),
    ("an address without its scheme", lambda token, core: public.is_page(token)),
    ("a public block of PEM", lambda token, core: is_public_armour(token)),
    ("a placeholder's login", lambda token, core: public.is_placeholder_login(token)),
    ("what separates the parts of a message", lambda token, core: public.is_boundary(token)),
    ("an encoded placeholder", lambda token, core: public.says_placeholder(token)),
    ("a path", lambda token, core: public.is_path(token)),
    ("cut short by its writer", lambda token, core: b"..." in token),
    ("a path that is drawn", lambda token, core: _DRAWN.fullmatch(token) is not None),
    ("a domain", lambda token, core: b"xn--" in token),
    ("an example of a manual, as it says", lambda token, core: b"EXAMPLE" in token and b"/" not in core),
)
"""Filters of a run by itself: what it is, and whether it is that."""


def _says_public(token: bytes, core: bytes) -> bool:
    """Whether a run says by itself that it is no value."""
    for reason, is_one in _PUBLIC_BY_ITSELF:
        if is_one(token, core):
            rejected(reason, token)
            return True
    return False


def _public_here(content: bytes, first: int, last: int, run: _Run) -> str:
    """What a run is for all to see, by its own name and what is beside it; "" if that does not say."""
    start, end, token, made = run.start + first, run.end + first, run.token, run.made
    before = content[max(first, start - BEFORE) : start]
    digits = made in ("hex", "uuid", "plain")
    if _IS_NAME.match(content, end) or (_IS_KEY.match(content, end) and _is_in_camel_case(token)):
        return "a name that is given a value"
    if content[start - 1 : start] == b"\\" and end - start >= 40:
        return "a line of a block that is written with \\n"
    if public.is_fingerprint(token, before):
        return "a digest, a commit, an address or the id of a key"
    inside = content[start - 1 : start] == b"%" and _shown_whole(content, start, end, first, last)
    if inside or public.is_shown(before):
        return "what a protocol shows to everybody"
    if is_handshake(token, before, content[end : min(last, end + AFTER)]):
        return "a recorded handshake"
    if (digits and is_named_id(before)) or names_an_id(before, digits=digits):
        return "an id, as its name says"
    if names_a_page(before) or names_a_digest(token, before):
        return "a token of a page or a request, or a digest, as its name says"
    return ""


def _is_in_camel_case(token: bytes) -> bool:
    """Whether it is made of words in camel case, two of them of a language."""
    return (
        _IN_CAMEL_CASE.fullmatch(token) is not None
        and sum(len(word) > 2 for word in public.words_in(token)) > 1
    )


def _judge(content: bytes, first: int, last: int, run: _Run) -> tuple[str, int, int, bool] | None:
    if reason := _public_here(content, first, last, run):
        return rejected(reason, run.token)
    start, end, token, core, prefix, made, made_body = run
    start, end, body = start + first, end + first, core[len(prefix) :] if prefix else b""
    before = content[max(first, start - BEFORE) : start]
    said = verdict(before[-BEFORE:] + (prefix if not made else b""))
    if said and end - start <= MOST_OWN and (made or not verdict(prefix)):
        said = own_verdict(before)
    if said is None and start - first < 80:
        said = _above(content, first, last, named=bool(set(words(before)) - _NO_NAMES))
    if said is None:
        if _DIGEST_BEHIND.match(content, end, last) or public.is_key_part(content, start, before):
            return rejected("a digest, or the public part of a key", token)
        after = words(content[end : min(last, end + AFTER)])
        if any(word in STRONG for word in after) and not any(word in DENYING for word in after):
            return (NEARBY, *widened(content, start, end, first, last), False)
    if said:
        glue = before[max(0, len(before) - 8) :].rstrip(b"\"'` \t")[-1:]
        assigned = glue in (b"=", b":", b">", b",", b"(", b"[") or not before.strip()
        return ASSIGNED if assigned else NEARBY, *widened(content, start, end, first, last), False
    if said is False and (made or made_body) != "mixed":
        return rejected("a digest or an id, as a word before it says", token)
    if (start - first < 24 and in_block(content, first, last)) or content[start - 1 : start] == b"\\":
        return rejected("a line of a block of encoded data", token)
    if says_text(content[start:end]) or holds_text(content[start:end]):
        return rejected("encoded text", token)
    kind = made_body or made
    if reason := data_here(content, *widened(content, start, end, first, last), first, last, made):
        return rejected(reason, token)
    glued = bool(prefix) and prefix[-1:] in b"_-:~." and not DENYING & set(words(prefix))
    if glued and prefix.endswith(b"-") and made_body == "hex" and len(body) in (SHA1_DIGITS, SHA256_DIGITS):
        return rejected("a digest behind a prefix", token)
    sized = 20 <= len(body or core) <= 400 or (glued and len(body) >= 16)
    if kind == "mixed" and sized and said is None and _plain(core):
        return (RANDOM_TOKEN, *widened(content, start, end, first, last), True)
    if said is None and made and stands_alone(content, start, end, first, last, token, made):
        return RANDOM_TOKEN, start, end, True
    if glued and said is None and made_body and len(body) >= (32 if made_body in ("hex", "uuid") else 24):
        return (RANDOM_TOKEN, *widened(content, start, end, first, last), True)
    return rejected("no name says what it is, and it does not look random enough by itself", token)


def _shown_whole(content: bytes, start: int, end: int, first: int, last: int) -> bool:
    """Whether the value that a run behind `%2F` is part of is for all to see."""
    whole = widened(content, start, end, first, last)[0]
    return public.is_shown(content[max(first, whole - public.SHOWN) : whole])


def _plain(core: bytes) -> bool:
    """No path: few slashes, and no parts that people wrote."""
    digits = len(_DIGITS.findall(core))
    if digits * 10 > len(core) * 7 or (digits < 2 and surprise(core) < 7) or _VERSION.match(core):
        return False
    if core.count(b"/") > max(2, len(core) // 12) or core.count(b".") > max(3, len(core) // 24):
        return False
    return not any(
        len(part) > 5 and surprise(part) < (4.8 if len(part) > 7 else 4.2)
        for part in re.split(rb"[/._-]", core)
    )


_NUMERIC = b"0123456789.-"
_DIGITS = re.compile(rb"[0-9]")
_HEAD = re.compile(rb"[A-Za-z_ ,\"-]+\r?")
_VERSION = re.compile(rb"v?[0-9]{1,4}\.[0-9]{1,4}\.[0-9]")


def _above(content: bytes, first: int, last: int, *, named: bool) -> bool | None:
    """What the line above says, if it is short and names something: `<key>token</key>`, `password:`, a table's head.

    named: the value's own line has names; then only the head of a table counts.
    """
    end = content.rfind(b"\n", 0, max(0, first - 1)) + 1
    line = content[end : max(0, first - 1)]
    if not 0 < len(line) <= 100:
        return None
    commas = line.count(b",")
    if commas > 1 and commas == content.count(b",", first, last) and _HEAD.fullmatch(line):
        return True if STRONG & set(words(line)) else None
    if named:
        return None
    said = (words(_TAG.sub(b" ", line)) or words(b" ".join(_OPENS.findall(line))))[-2:]
    if not has_strong_keyword(b" ".join(said)):
        return False if any(word in DENYING for word in said) else None
    return verdict(b" ".join(said))


_TAG, _OPENS = re.compile(rb"</?[A-Za-z]+>"), re.compile(rb"<[A-Za-z]+>")
