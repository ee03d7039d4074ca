"""What programs make and show: symbols of compilers, ids of public keys, handshakes of WebSockets.

Recognised by the form of the value, and of the line where the value's form alone is not enough.
"""

# ruff: noqa: E501  (patterns: one row a form)

from __future__ import annotations

import re

from hush_core import linear

_MANGLED = re.compile(rb"(?:\$[sS]|_\$[sS]|_T0|_{1,2}ZN?)(?=[A-Za-z]{0,3}[0-9])")
_LENGTH = re.compile(rb"[1-9][0-9]?")
_NAME = re.compile(rb"[A-Za-z_]{3,}")
NAMED, NAMES = 12, 2
"""Letters of names with their length before them, and how many of these names, that make a mangled symbol."""


def is_mangled(token: bytes) -> bool:
    """Whether it is a symbol of Swift or C++ (Itanium's ABI): names, each behind its length.

    >>> is_mangled(b"$s3NIO7Channel_pypypAA15EventLoopFutureCyytG"), is_mangled(b"_ZN4core3fmt9Formatter3padE")
    (True, True)
    >>> is_mangled(b"$s3cr3tPassw0rd4Channel"), is_mangled(b"x7Gq0TzLw4RbN9vKpY2c")
    (False, False)
    """
    if not _MANGLED.match(token):
        return False
    at, letters, names = 0, 0, 0
    while length := _LENGTH.search(token, at):
        name = token[length.end() : length.end() + int(length[0])]
        if len(name) == int(length[0]) and _NAME.fullmatch(name):
            letters, names, at = letters + len(name), names + 1, length.end() + len(name)
        else:
            at = length.end()
    return names >= NAMES and letters >= NAMED


_KEY_ID = re.compile(
    rb"(?:0x)?(?:[0-9A-F]{40}|[0-9a-f]{40}|[0-9A-F]{16}|[0-9a-f]{16}|[0-9A-F]{8}|[0-9a-f]{8})"
)
_NAMES_KEY = linear.compile(
    rb"(?i)(?:--(?:recv|recv-keys?|receive-keys?|locate-keys?|search-keys?|list-keys?|check-sigs|delete-keys?|edit-key|refresh-keys"
    rb"|send-keys?|export|export-secret-keys?|default-key|local-user|recipient|fingerprint|lsign-key|sign-key)(?:[ \t=]+|[\"'],[ \t]*)[\"']?"
    rb"(?:(?:0x)?[0-9A-F]{8,40}[ \t]+){0,16}"
    rb"|(?<![A-Za-z])(?:gpg|pgp|openpgp)[_-]?(?:(?:signing|public|pub)[_-]?)?(?:key(?:[_-]?(?:id|fingerprint|fpr))?|id|fingerprint|fpr)s?[\"']?"
    rb"[ \t]*[:= ][ \t]*[\"']?(?:0x)?)\Z"
)


def is_key_id(token: bytes, before: bytes) -> bool:
    """Whether hexadecimal digits are the id or the fingerprint of an OpenPGP key (RFC 4880), as GnuPG's option or a name says.

    >>> is_key_id(b"0EBFCD88", b"apt-key adv --recv-keys "), is_key_id(b"0EBFCD88", b"gpg_key_password: ")
    (True, False)
    """
    return _KEY_ID.fullmatch(token) is not None and _NAMES_KEY.search(before) is not None


_HANDSHAKE = re.compile(rb"[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{27}=")
_WEBSOCKET = re.compile(rb"(?i)web_?-?socket[-_ ]?(?:key|accept)\b")
_MAC = linear.compile(rb"(?:\A|\n)[ \t#*/>]*mac=[\"']?\Z")
_CODE = re.compile(rb"[A-Za-z0-9+/]{27}=|[A-Za-z0-9+/]{43}=")


def is_handshake(token: bytes, before: bytes, behind: bytes) -> bool:
    """Whether the line says that it is the key of a WebSocket's handshake, or the answer to it.

    These are 16 and 20 bytes in base64 (RFC 6455). Also the code that authenticates a request (`mac="…"` begins the
    line).

    >>> is_handshake(b"HSmrc0sMlYUkAGmm5OPpG2HaGWk=", b'expect(headers["Sec-WebSocket-Accept"]).toBe("', b'")')
    True
    """
    if _HANDSHAKE.fullmatch(token) and (_WEBSOCKET.search(before) or _WEBSOCKET.search(behind)):
        return True
    return _CODE.fullmatch(token) is not None and _MAC.search(before) is not None
