"""One raw mail as author's addresses, subject and inline plain text.

The standard library parses each block of headers. The walk through the parts is here, since its full parser
follows nested parts as deep as a mail says, at a cost of depth times length.
"""

from __future__ import annotations

import binascii
import codecs
import email.errors
import email.header
import email.parser
import email.policy
import email.utils
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message

from hush_core.corpus.documents.columns import LABEL_LIMIT
from hush_core.corpus.documents.document import normal_address

DEPTH = 20
PARTS = 1000
_HEADER_BYTES = 1 << 18
_VALUE = 2000  # characters of a header that the standard parsers get to see: some are quadratic in it
_HEAD_END = re.compile(rb"\A\r?\n|\r?\n\r?\n")
_LAST_BREAK = re.compile(rb"\r?\n\Z")
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_ARCHIVED = re.compile(
    r'\s*"?([^\s"()<>]+) at ([^\s"()<>]+)"?(?:\s+\([^<>]*\))?\s*'
)  # Mailman's public archives

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


@dataclass(frozen=True)
class Mail:
    """What of a mail is used.

    Attributes:
        authors: normal addresses of all From headers; "" among them for one that cannot be read.
        text: subject, an empty line, the inline text/plain parts.
        left_out: how many parts are not in the text.
        malformed: whether it has too many parts or headers, or a broken encoding.
    """

    authors: frozenset[str] = frozenset()
    text: str = field(default="", repr=False)
    left_out: int = 0
    malformed: bool = False


def read_mail(raw: bytes) -> Mail:
    """Read a mail without its `From ` line; never raises on what it holds, time is linear in its length."""
    head, body = _split_head(raw)
    if len(head) > _HEADER_BYTES:
        return Mail(malformed=True)
    top = _headers(head)
    texts, left_out, parts = [], 0, 0
    for message, content in itertools.islice(_leaves(top, body), PARTS + 1):
        parts += 1
        try:
            text = _plain_text(message, content) if message is not None else None
        except binascii.Error:
            return Mail(_authors(top), malformed=True)
        if text is None:
            left_out += 1
        elif text.strip():
            texts.append(text.strip("\r\n").rstrip())
    if parts > PARTS:
        return Mail(_authors(top), malformed=True)
    subject = _decoded_words(_values(top, "subject")[:1])
    return Mail(_authors(top), "\n\n".join(filter(None, [subject, *texts])), left_out)


def _leaves(top: Message, body: bytes) -> Iterator[tuple[Message | None, bytes]]:
    """Each part that is no multipart, in order, with its undecoded content; None for headers that are too long."""
    pending: list[tuple[Message | None, bytes, int]] = [(top, body, 0)]
    while pending:
        message, content, depth = pending.pop()
        if message is None or message.get_default_type() == "message/rfc822":
            yield None, b""  # a mail inside a digest: someone else's words
            continue
        kind, boundary = _kind(message)
        if not kind.startswith("multipart/") or depth == DEPTH:
            yield message, content
            continue
        children: list[tuple[Message | None, bytes, int]] = []
        for part in itertools.islice(_between(content, boundary), PARTS + 1):
            head, inner = _split_head(part)
            child = _headers(head) if len(head) <= _HEADER_BYTES else None
            if child is not None and kind == "multipart/digest":
                child.set_default_type("message/rfc822")
            children.append((child, inner, depth + 1))
        if not children:
            yield message, content
        pending.extend(reversed(children))


def _between(content: bytes, boundary: str) -> Iterator[bytes]:
    """The parts between lines of `--boundary`, up to `--boundary--` or the end."""
    if not boundary or not boundary.isascii():
        return
    line = re.compile(
        rb"^--" + re.escape(boundary.encode("ascii")) + rb"(--)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE
    )
    start = None
    for found in line.finditer(content):
        if start is not None:
            yield _LAST_BREAK.sub(b"", content[start : found.start()])
        start = found.end()
        if found[1]:
            return
    if start is not None:
        yield content[start:]


def _split_head(raw: bytes) -> tuple[bytes, bytes]:
    end = _HEAD_END.search(raw)
    return (raw[: end.start()], raw[end.end() :]) if end else (raw, b"")


def _headers(head: bytes) -> Message:
    parser = email.parser.HeaderParser(policy=email.policy.compat32)
    return parser.parsestr(decode(head, None).replace("\0", ""))


def _values(message: Message, name: str) -> list[str]:
    """The values of a header, unfolded and cut at the length that is safe to parse."""
    return [_FOLD.sub("", str(value)[: 2 * _VALUE])[:_VALUE] for value in message.get_all(name, [])]


def _kind(message: Message) -> tuple[str, str]:
    """(content type, boundary), both possibly ""."""
    if any(len(str(v)) > _VALUE for v in message.get_all("content-type", [])):
        return "", ""
    try:
        return message.get_content_type(), message.get_boundary() or ""
    except Exception:  # the standard parser fails in many ways on parameters made to break it
        return "", ""


def _plain_text(message: Message, content: bytes) -> str | None:
    """The decoded text of an inline text/plain part; None for any other part; binascii.Error on bad base64."""
    disposition = (_values(message, "content-disposition") or [""])[0].partition(";")[0].strip().casefold()
    if _kind(message)[0] != "text/plain" or disposition not in ("", "inline"):
        return None
    transfer = (_values(message, "content-transfer-encoding") or [""])[0].strip().casefold()
    if transfer == "quoted-printable":
        content = binascii.a2b_qp(content)
    elif transfer == "base64":
        content = binascii.a2b_base64(content + b"==")  # too much padding is ignored, too little is common
    elif transfer not in ("7bit", "8bit", "binary", ""):
        return None
    try:
        charset = message.get_content_charset()
    except Exception:  # as in _kind
        charset = None
    return decode(content, charset)


def _decoded_words(values: list[str]) -> str:
    """A header's text with =?charset?…?= decoded, on one line."""
    if not values:
        return ""
    try:
        words = email.header.decode_header(values[0])
    except (email.errors.HeaderParseError, ValueError):
        words = [(values[0], None)]
    text = "".join(w if isinstance(w, str) else decode(w, charset) for w, charset in words)
    return " ".join(text.split())


def _authors(message: Message) -> frozenset[str]:
    """Of every From header every address; encoded words stay undecoded, so that no name can pose as an address."""
    found: set[str] = set()
    for value in message.get_all("from", []):
        text = _FOLD.sub("", str(value)) if len(str(value)) <= _VALUE else ""
        if archived := _ARCHIVED.fullmatch(text):
            found.add(normal_address(f"{archived[1]}@{archived[2]}"))
            continue
        try:
            addresses = [address for _, address in email.utils.getaddresses([text])]
        except (ValueError, IndexError, RecursionError):
            addresses = [""]
        found |= {normal_address(a) if "@" in a and len(a) <= LABEL_LIMIT else "" for a in addresses or [""]}
    return frozenset(found)


def decode(content: bytes, charset: str | None) -> str:
    """Text by the charset that a mail declares, which may be false or hostile, if it is known and fits; else as
    UTF-8; else as Latin-1, which always fits.

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
