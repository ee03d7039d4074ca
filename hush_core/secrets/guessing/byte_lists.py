r"""Bytes as programs spell them: lists of numbers, escapes in strings, pairs of hexadecimal digits."""

# ruff: noqa: E501  (patterns: one row a form)

import re

from hush_core import linear

NUMBER = rb"(?:0x[0-9A-Fa-f]{1,2}|16#[0-9A-Fa-f]{1,2}|\$[0-9A-Fa-f]{2}|&[hH][0-9A-Fa-f]{1,2}|0?[0-9A-Fa-f]{2}[hH]|[0-9]{1,3})"
"""One byte in C, Go, Java, Rust, Erlang, Pascal, Basic, assembly, or decimal."""
ITEM = (
    rb"[\"']?(?:\((?:unsigned )?(?:s?byte|char|u?int8(?:_t)?|u8)\)[ \t]?\(?)?-?"
    + NUMBER
    + rb"(?:[_']?u8|[uU][yY]?|\)?\.to(?:U?Byte|_u8)\(\)|\))?[\"']?"
)
BETWEEN = rb"(?:[ \t]*[,;]\s{0,40}(?:(?://|#)[^\n]{0,60}\n\s{0,40}|/\*[^*\n]{0,60}\*/\s{0,40})?|[ \t]{1,4}|[ \t\r]{0,4}\n[ \t]{0,24}(?:-[ \t]{1,4})?)"
"""What is between two: a comma or a semicolon and a comment, blanks, or the next line of YAML's lists."""
ESCAPED = rb"(?:\\x[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}|\\[abefnrtv0\\'\"]|[ !#-&(-\[\]-~])"
PAIRS = rb"[0-9A-Fa-f]{2}(?:[: -][0-9A-Fa-f]{2}){15,63}"
_ITEM = re.compile(
    rb"(-?)(?:(?:0x|16#|\$|&[hH])([0-9A-Fa-f]{1,2})|0?([0-9A-Fa-f]{2})[hH]|(?<![A-Za-z0-9])([0-9]{1,3})(?=[_']?u8|[\"'uU,)\s.;]|\Z))"
)
_COMMENT = linear.compile(rb"(?://|#)[^\n]{0,60}\n|/\*[^*\n]{0,60}\*/")
_NOTHING_ELSE = linear.compile(rb"(?:[\s,;()\"'-]|_?u8|[uU][yY]?|\.to(?:U?Byte|_u8))*")
_CAST = re.compile(rb"\([A-Za-z0-9_ ]+\)")
_ESCAPE = re.compile(
    rb"\\x([0-9A-Fa-f]{2})|\\u00([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})|\\([abefnrtv0\\'\"])|([\"'][^\\\"']{0,40}[\"'])|([ -~])"
)
_NAMED = dict(zip(b"abefnrtv0\\'\"", b"\x07\x08\x1b\x0c\n\r\t\x0b\0\\'\"", strict=True))
_PAIRS = re.compile(PAIRS)


def listed_bytes(text: bytes) -> bytes | None:
    r"""The bytes that a list, a string with escapes or pairs of digits spell; None for any other text.

    >>> listed_bytes(b"0x57, 0xab,\n 3, (byte)0x0F, -1, 0xEFu8").hex()
    '57ab030fffef'
    >>> listed_bytes(rb"\x57\xab\n!\0Z\101"), listed_bytes(b"57:ab:" * 15 + b"00:ff")[-2:], listed_bytes(b"a word")
    (b'W\xab\n!\x00ZA', b'\x00\xff', None)
    """
    if _PAIRS.fullmatch(text):
        return bytes.fromhex(re.sub(rb"[: -]", b"", text).decode())
    if b"\\" in text:
        return bytes(_escaped(text))
    text = _CAST.sub(b"", _COMMENT.sub(b"\n", text))
    if not _NOTHING_ELSE.fullmatch(_ITEM.sub(b"", text)):
        return None
    values = []
    for sign, hexadecimal, suffixed, decimal in _ITEM.findall(text):
        value = int(decimal) if decimal else int(hexadecimal or suffixed, 16)
        if value > 255:
            return None
        values.append((-value if sign else value) % 256)
    return bytes(values) if len(values) > 1 else None


def _escaped(text: bytes) -> list[int]:
    values = []
    for two, four, octal, letter, between, plain in _ESCAPE.findall(text):
        if two or four:
            values.append(int(two or four, 16))
        elif octal:
            values.append(int(octal, 8))
        elif letter:
            values.append(_NAMED[letter[0]])
        elif plain and not between:
            values.append(plain[0])
    return values
