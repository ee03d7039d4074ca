"""Bytes of a mail as text, by a charset that the mail declares and that may be false, unknown or hostile."""

from __future__ import annotations

import codecs

_NAMED = (
    "ascii utf-8 utf-7 utf-16 utf-16-be utf-16-le utf-32 utf-32-be utf-32-le big5 big5hkscs gb2312 gbk gb18030 hz "
    "euc_jp euc_jis_2004 euc_kr shift_jis shift_jis_2004 iso2022_jp iso2022_jp_2 iso2022_kr johab koi8-r koi8-u "
    "kz1048 mac-roman mac-cyrillic tis-620 cp437 cp850 cp852 cp855 cp858 cp866 cp874 cp932 cp949 cp950"
)
_ALLOWED = frozenset(
    codecs.lookup(name).name
    for name in (
        *_NAMED.split(),
        *(f"iso8859-{i}" for i in (*range(1, 12), 13, 14, 15, 16)),
        *(f"cp125{i}" for i in range(9)),
    )
)
"""Python also knows "charsets" that take quadratic time (punycode, idna) or run an escape language."""


def decode(content: bytes, charset: str | None) -> str:
    """Text by the declared charset if it is known and fits; else as UTF-8; else as Latin-1, which always fits.

    A wrong guess costs legibility, not protection: secrets are looked for in the text that is trained on.
    """
    for name in (_known(charset), "utf-8"):
        if name is not None:
            try:
                return content.decode(name)
            except (UnicodeError, LookupError):
                continue
    return content.decode("latin-1")


def _known(charset: str | None) -> str | None:
    if charset is None or len(charset) > 40 or not charset.isascii() or not charset.isprintable():
        return None
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return None
    return name if name in _ALLOWED else None
