"""Credentials in text that is encoded: base64 (of gzip, too), hexadecimal or URL escapes, two deep.

A gate sees runs that decode to readable text: no digest and no key does (of 18 random bytes one in 10⁶). What is
decoded goes through the same rules; a run that holds a credential is one.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from urllib.parse import unquote_to_bytes

from hush_core import linear
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.priors import PASSWORD_BITS, RANDOM_TOKEN, guess_bits

DECODED_SECRET, DECODED_PASSWORD = "hush.decoded-secret", "hush.decoded-password"
Find = Callable[[bytes], Iterable[tuple[str, int, int]]]
_GROUP = (
    rb"[CIJKLMNOPQRSTUVWXYZa-f][CDEFGHSTUVWXijklmnyz0123][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
)
"""Base64 of three readable characters: in each the first two bits are 0; the third separates signs from letters."""
DECODED_GATE = (
    rb"(?:H4sI[A-Za-z0-9+/]{20}|(?:" + _GROUP + rb"){6}|(?:[2-7][0-9A-Fa-f]){20}|%(?:22|27)[ +]?(?:%3[aA]|:)"
    rb"|(?i:pass(?:word|wd)?|pwd|secret)%3[dD]|(?:0x[2-7][0-9A-Fa-f],[ \t]{0,4}){7})"
)
_RUN = linear.compile(rb"[A-Za-z0-9+/_-]{20,}={0,2}")
_ESCAPED = linear.compile(rb"[A-Za-z0-9_.~!*'()%+:,-]*%[0-9A-Fa-f]{2}[A-Za-z0-9_.~!*'()%+:,-]*")
_BYTES = linear.compile(rb"(?:0x[0-9A-Fa-f]{2}[, \t\r\n]{0,40}){8,}")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2})+")
_BYTE = re.compile(rb"0x([0-9A-Fa-f]{2})")
DEEP, MOST, LEAST_READABLE = 2, 1 << 16, 0.95
GZIP = b"\x1f\x8b\x08"
_UNREADABLE = bytes(set(range(256)) - set(range(32, 127)) - set(b"\t\r\n"))


def decoded(content: bytes, lines: list[tuple[int, int]], find: Find) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of encoded runs that hold a credential. find: the rules, which look at decoded text."""
    seen = looked = 0
    for first, last in lines:
        for run in (_RUN, _ESCAPED) if content.find(b"%", max(first, 0), last) >= 0 else (_RUN,):
            for match in run.finditer(content, max(first, 0), last):
                deadline.check()
                start, end = match.span()
                if end - start > MOST or start < seen:
                    continue
                for rule in by_line(_held(find), match[0]):
                    seen = end
                    yield rule, start, end
        for match in _BYTES.finditer(content, max(first, looked), last):
            deadline.check()
            start = match.start()
            # an array goes over many lines; each of its bytes is looked at once
            looked = _BYTES.match(content, start, min(start + MOST, len(content))).end()
            rule = _holds(content[start:looked], find, DEEP)
            if rule:
                yield rule, start, looked
            if looked >= last:
                break


@cache
def _held(find: Find) -> Callable[[bytes], Iterable[str]]:
    """What gives the rule for a run, or nothing."""
    return lambda run: filter(None, [_holds(run, find, DEEP)])


def _holds(run: bytes, find: Find, deep: int) -> str:
    """The rule for a run by what it holds; "" if that is nothing."""
    for text in readable(run):
        rules = [(rule, text[start:end]) for rule, start, end in find(text) if rule != RANDOM_TOKEN]
        if rules:
            weak = all(guess_bits(rule, value) <= PASSWORD_BITS for rule, value in rules)
            return DECODED_PASSWORD if weak else DECODED_SECRET
        if deep > 1:
            for match in _RUN.finditer(text):
                rule = _holds(match[0], find, deep - 1)
                if rule:
                    return rule
    return ""


def readable(run: bytes) -> Iterator[bytes]:
    """What a run says if it encodes readable text.

    >>> list(readable(b"cGFzc3dvcmQ9SjdrcTIhbVd6OQ")), list(readable(b"6F2BA1C1" * 8))
    ([b'password=J7kq2!mWz9'], [])
    """
    if b"0x" in run[:2]:
        text = bytes(int(byte, 16) for byte in _BYTE.findall(run))
        if _is_text(text):
            yield b"password = " + repr(text.decode("ascii", "replace")).encode()
        return
    if b"%" in run:
        text = unquote_to_bytes(run.replace(b"+", b" "))
        if text != run and _is_text(text):
            yield text
        return
    if _HEX.fullmatch(run):
        text = bytes.fromhex(run.decode())
        if _is_text(text):
            yield text
            return
    plain = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    if len(plain) % 4 != 1:
        try:
            text = base64.b64decode(plain + b"=" * (-len(plain) % 4))
            if text.startswith(GZIP):
                text = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(text, MOST)
        except (binascii.Error, zlib.error):
            return
        if _is_text(text):
            yield text


def _is_text(text: bytes) -> bool:
    return len(text) >= 8 and len(text.translate(None, _UNREADABLE)) >= LEAST_READABLE * len(text)
