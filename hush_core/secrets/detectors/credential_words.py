"""What the words around a value say: that a credential is near, that it is not one, or nothing."""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re

from hush_core import linear

_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_KEYWORDS = frozenset(
    b"key keys apikey secret secrets token tokens tok password passwords passwd passphrase passcode pass pwd pw psk "
    b"auth authorization oauth authtoken bearer cred creds credential credentials credentialed salt pepper dsn licence license "
    b"cookie cookies session sessionid sessid sid webhook webhooks signing sig jwt hmac mnemonic "
    b"seed private privkey pk sk sas connstr api access vault "
    b"encryption encrypt cipher aes master csrf xsrf otp totp pin pincode kek dek signkey keystore truststore "
    b"appsecret clientsecret secretkey accesskey privatekey accesstoken pat pats consumer activation serial".split()
)
KEYWORD_ENDS = tuple(b"key token secret password passwd passphrase pwd apikey auth dsn cred".split())
_NO_KEYWORDS = frozenset(b"monkey turkey hotkey hockey donkey jockey whiskey bypass compass keyboard".split())
DENYING = frozenset(
    b"sha md checksum checksums digest digests hash hashes hashed integrity fingerprint thumbprint commit revision rev "
    b"etag cksum rsa ed dss ecdsa crc blake sum chksum pubkey publickey publishable gitsha git tree blob oid "
    b"guid uuid ulid nonce cnonce opaque iv ciphertext signature bitcoin monero ethereum".split()
)  # fmt: skip
PASS_ENDS = frozenset((b"password", b"passwd", b"pass", b"pwd", b"passphrase"))
"""Last words of a name that is a password's, whatever the words before are: `keystorePassword`."""
STRONG = frozenset(
    b"key keys apikey secret secrets token tokens password passwd passphrase pass pwd psk auth authorization cred creds credential "
    b"credentials bearer salt dsn cookie session webhook jwt hmac private seed totp mfa licence license".split()
)

_STRONG_PARTS = linear.compile(rb"(?i)" + b"|".join(sorted(STRONG | {*KEYWORD_ENDS})))
_PARTS_OF_WORDS = linear.compile(rb"(?i)text|tag|" + b"|".join(sorted(_KEYWORDS | DENYING | {*KEYWORD_ENDS})))
"""Most texts hold none of these, which is quicker to see than their words."""

_SIGN = rb"\\?[\"'\]]{0,2}[ \t]*(?:[:=]|=>)[ \t]*(?:[\w.]{0,32}[(\[])?\\?[\"']?\Z"
"""What is between a name and its value: also a call on its way, or the bracket of a list."""
_OWN_NAME = linear.compile(rb"(?<![\w.-])([A-Za-z_][\w.-]*)" + _SIGN)
_IDS = frozenset(b"id ids jid gid uid pid".split())
_PAIR = linear.compile(
    rb"(?<![\w.-])([A-Za-z_][\w.-]{0,40})[\"']?(?:=|[ \t]*:[ \t]*)(?:[\"']?([^\s,;&\"'{}\[\]()=:]{1,64}={0,2})[\"']?[ \t]*[,;&]"
    rb"|[\"']?([^\s,;&\"'{}\[\]()=:]{0,63}\w)[ \t]|\"([^\"\n]{1,120})\"[ \t]*[,;&])"
)
"""A name with a value of its own, which ends before the next."""
_POINTS = frozenset((b"key", b"name", b"id", b"field", b"type", b"k"))
"""Names whose value is a name itself; and what is no value."""
_SWITCH = re.compile(rb"(?i)true|yes|on|[0-9]")


def _unless_keyword(pair: re.Match[bytes]) -> bytes:
    """Nothing in place of a name that has a value of its own: what it says is about that value."""
    value = pair[2] or pair[3] or pair[4]
    named = b"://" not in value and has_strong_keyword(value)
    if pair[1].lower() in _POINTS or _SWITCH.fullmatch(value) or named:
        return pair[0]
    return b""


def own_verdict(before: bytes) -> bool | None:
    """`verdict` where a value may have a name of its own.

    Then another name that has its own value says nothing of it, unless that value is a name itself; nor does what is
    in brackets that are closed. The name of an id says nothing.

    >>> own_verdict(b"serial: "), own_verdict(b"serial=06c9f4c44,type=sat,wwn=")
    (True, None)
    >>> own_verdict(b"name: api_key, value="), own_verdict(b"api_key: prod, value=")
    (True, None)
    """
    own = _OWN_NAME.search(before)
    if own is None:
        return verdict(before)
    named = words(own[1])
    if named and named[-1] in _IDS and not any(map(is_keyword, named)):
        return None
    return verdict(_PAIR.sub(_unless_keyword, before[max(before.rfind(b"],"), before.rfind(b"},")) + 1 :]))


_ID_ALONE = linear.compile(rb"(?:^|[^\w.-])_?[Ii][Dd]" + _SIGN)


def is_named_id(before: bytes) -> bool:
    """Whether the value's name is `id` and no more."""
    return _ID_ALONE.search(before) is not None


_ID_NAME = linear.compile(
    rb"(?<![\w.-])(?:--([\w-]{1,48})[ \t=][\"']?\Z|([A-Za-z_][\w.-]{0,48})" + _SIGN + rb")"
)
_ID_ENDS = frozenset((b"id", b"ids", b"identifier"))
_OF_KEYS = frozenset((b"key", b"keys", b"kms"))
_PAGE_TOKEN = linear.compile(
    rb"(?i)(?<![\w-])(?:--)?(?:(?:next|previous)[_-]?(?:page|sync|continuation)?|continuation|starting|change|lock|sync|idempotency|paging|pagination"
    rb"|client[_-]?request)[_-]?token[\"'\]]{0,2}(?:[ \t]*(?:[:=,(>]|=>)[ \t]*|[ \t])[\"']?\Z"
)
"""The whole name: `password_change_token` opens something."""
_HEX = re.compile(rb"[0-9A-Fa-f]{8,64}")
_TYPE_NAME = linear.compile(
    rb"(?i)(?:[\"']\w{1,32}::\w{1,48}::[\w:]{1,64}[\"']|\bserial[ _]?number[\"']?)[ \t]*[:=][ \t]*[\"']?\Z"
)


def names_an_id(before: bytes, *, digits: bool) -> bool:
    """Whether a value's own name, or option, says that it is the id of something that is no secret: `environmentId`,
    `--comment-id`, `TargetKeyId`. digits: the value is hexadecimal; else only the id of a key, a client or a request is believed,
    as others may hold what opens something.

    >>> [names_an_id(b, digits=True) for b in (b'"policyId": "', b"--comment-id ", b"session_id=", b"secret_id: ", b"bid: ")]
    [True, True, False, False, False]
    >>> [names_an_id(b, digits=False) for b in (b'"policyId": "', b"keyId: ", b"accessKeyId: ")]
    [False, True, False]
    """
    name = _ID_NAME.search(before)
    named = words((name[1] or name[2]) if name else b"")
    if not named or named[-1] not in _ID_ENDS:
        return False
    if named[-2:-1] in ([b"client"], [b"request"]):
        return True
    if any(is_keyword(w) and w not in _OF_KEYS for w in named):
        return False
    return named[-2:-1] == [b"key"] or (digits and len(named) > 1)


def names_a_page(before: bytes) -> bool:
    """Whether the name is of a token for the next page of a list, or for a request that is sent again: `NextToken`."""
    return b"oken" in before[-16:].lower() and _PAGE_TOKEN.search(before) is not None


def names_a_digest(value: bytes, before: bytes) -> bool:
    """Whether a value is hexadecimal digits under the name of a type, `"AWS::EC2::KeyPair"`, or a certificate's number."""
    named = _HEX.fullmatch(value) is not None and (b"::" in before or b"umber" in before[-16:])
    return named and _TYPE_NAME.search(before) is not None


def words(text: bytes) -> list[bytes]:
    """The words of names in a text, in lower case.

    >>> words(b"awsSecret_KEY: myHTTPToken")
    [b'aws', b'secret', b'key', b'my', b'http', b'token']
    """
    return [word.lower() for word in _WORDS.findall(text)]


def is_keyword(word: bytes) -> bool:
    """Whether a word near a value suggests that it is a credential."""
    return word in _KEYWORDS or (word.endswith(KEYWORD_ENDS) and word not in _NO_KEYWORDS)


def has_strong_keyword(text: bytes) -> bool:
    """Whether one of the words of a text names a credential and nothing else.

    >>> [has_strong_keyword(text) for text in (b"myApiKey", b"access to the API", b"keyboard")]
    [True, False, False]
    """
    if _STRONG_PARTS.search(text) is None:
        return False
    return any(word in STRONG or word.endswith(KEYWORD_ENDS) for word in words(text))


_HOST = linear.compile(rb"://[A-Za-z0-9.-]+(?::[0-9]+)?/")


def verdict(before: bytes) -> bool | None:
    """What the words before a value say, the nearest first: True telling, False denying, None nothing. The name of a host
    says nothing."""
    if _PARTS_OF_WORDS.search(before) is None:
        return None
    named = words(_HOST.sub(b"://", before))
    for n in range(len(named) - 1, -1, -1):
        if named[n] in DENYING or named[n : n + 2] in ([b"cipher", b"text"], [b"e", b"tag"]):
            return False
        if is_keyword(named[n]):
            of_key = named[n] in (b"key", b"keys") and named[n - 1] in _BEFORE_KEY
            return not (n and (of_key or named[n - 1] in (b"public", b"pub", b"ssh")))
    return None


_BEFORE_KEY = frozenset(b"foreign partition sort cache unique idempotency".split())
