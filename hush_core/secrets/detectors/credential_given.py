"""Words that a line gives to the name of a password: `db_pass <- "winter_is_nearly_over"`, `passwd=tea leaves lie`.

Elsewhere words name things, so `credential_looks` asks more of them. Here the name is a password's and nothing else,
the value is whole, and what is asked is only that it is no message, no identifier and no translation of the name.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.detectors.credential_languages import LOCAL_NAMES, QUOTES
from hush_core.secrets.detectors.credential_looks import PROSE, is_of_code
from hush_core.secrets.detectors.credential_public import is_placeholder, says_placeholder

_NAME = (
    rb"(?:(?i:pass(?:word|wd|phrase|code)|pwd|%b)(?:[a-z]|[\xc3-\xd4][\x80-\xbf]){0,3}|(?i:sshpass)|(?:\b|_)(?i:pass|psk|pw)|[a-z](?:Pass|Pw))"
    rb"[0-9]?[\"'`\])}]{0,3}" % LOCAL_NAMES
)
_SIGN = (
    rb"(?:[ \t]*,?[ \t]*[\"']?(?i:value|default|val)[\"']?[ \t]*[:=][ \t]*|[ \t]*(?:<-|=>|:=|\?=|\|\|=|->|:|=)[ \t]*(?:!!str[ \t]+|await[ \t]+|[a-z]{2,3}[ \t]+)?|[ \t]*,[ \t]*|[ \t]+|\([ \t]*|[ \t]{1,2}(?:is|was|lautet|ist|est|es)[ \t]{1,2}"
    rb")"
)
_WRAP = rb"(?:[A-Za-z_][\w.:]{2,24}[({\[][ \t]*){0,2}(?:[$\w.:(\[\])\"']{1,64}[ \t]*(?:\?\?|\|\||\bor\b|\?:)[ \t]*)?"
_WORDS = rb"[A-Za-z\x80-\xff][A-Za-z0-9\x80-\xff]*(?:[ ._!&+-][A-Za-z0-9\x80-\xff]+){0,7}[!?]?"
_OPENS = rb"(?:[A-Za-z@]{0,2}[\"'`]|%[qQ][{(\[]|~s[({]|q{1,2}[{(]|<!\[CDATA\[)"
_GIVEN = linear.compile(rb"%b%b%b%b(%b)(?:[\"'`]|[})\]])" % (_NAME, _SIGN, _WRAP, _OPENS, _WORDS))
_TAGGED = linear.compile(_NAME + rb">(" + _WORDS + rb")</")
_SETTING = linear.compile(
    rb"\A[ \t]*(?:[-*][ \t]+|export[ \t]+|set[ \t]+|ENV[ \t]+)?([\w.-]{0,32})%b[ \t]*(?::=|=|:|\xef\xbc\x9a)[ \t]*(%b)[ \t]*(?:[#;][^\n]*)?\r?\n?\Z"
    % (_NAME, _WORDS)
)
_ESCAPES = rb"(?:\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[0-7]{3}){6,64}"
_ESCAPED = linear.compile(
    rb"%b[ \t]*(?:=>|:=|=|:|,|[ \t])[ \t]*\$?[\"']?(%b)(?:\\0)?(?:[\"']|\s|\Z)" % (_NAME, _ESCAPES)
)
_MESSAGE = frozenset(
    b"invalid wrong required missing must should please incorrect forgot forgotten reset confirm confirmation mismatch match short long weak strong "
    b"enter choose type new old current repeat again change changed optional least characters your user username login sign email name unknown "
    b"default example sample dummy fake none null empty undefined secret secrets token key keys hidden mandatory cannot can could failed fail error "
    b"base64 plain text string number input label title hint show hide visible masked redacted auto self env file path field value".split()
)
"""Words of messages, labels and types, which forms have where a password would be."""
_OF_NAMES, _LONGEST = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", 33
_SMALL = frozenset(b"a an and in is it my not of on or over the to with this that when".split())
_LOCAL, _QUOTES = linear.compile(rb"(?i)" + LOCAL_NAMES), linear.compile(QUOTES)
_PART = re.compile(rb"[A-Z]?[a-z\x80-\xff]+|[A-Z]+(?![a-z])|[0-9]+")
_FILE = linear.compile(
    rb"(?i)\.(?:py|js|ts|md|json|ya?ml|txt|html?|go|rs|java|c|h|cpp|png|svg|pem|key|crt|conf|cfg|ini|local|com|org|net|io|de)\Z"
)


def given(line: bytes) -> Iterator[tuple[int, int]]:
    """Places of the words, or escaped characters, that a line gives to a password's name.

    >>> line = b'db_pass <- "winter_is_nearly_over"'
    >>> [line[start:end] for start, end in given(line)]
    [b'winter_is_nearly_over']
    >>> list(given(b'"password": "Please enter it again"')), list(given(b'password = "user_data"'))
    ([], [])
    """
    for match in (*_GIVEN.finditer(line), *_TAGGED.finditer(line)):
        before = line[max(0, match.start() - _LONGEST) : match.start()]
        translated = re.search(rb"[a-z] \Z", before) and not re.search(rb"[A-Za-z]", match[1])
        if not translated and not _other(before) and is_given_words(match[1]):
            yield match.span(1)
    setting = _SETTING.match(line)
    if setting and not _other(setting[1]) and is_given_words(setting[2], unquoted=True):
        yield setting.span(2)
    for match in _ESCAPED.finditer(line):
        yield match.span(1)


def _other(before: bytes) -> bool:
    """Whether the name, of which this is what is before its last word, says that a message or a form's field follows."""
    begun = before[len(before.rstrip(_OF_NAMES)) :]
    return any(part.lower() in _MESSAGE for part in _PART.findall(begun))


def is_given_words(value: bytes, *, unquoted: bool = False) -> bool:
    """Whether words that are given to the name of a password are one.

    >>> [is_given_words(v) for v in (b"my dog eats pears", b"Olympia_Paul", b"liverpool-fc", b"acht Kerzen brennen still")]
    [True, True, True, True]
    >>> [is_given_words(v) for v in (b"session_id", b"auth.login.password", b"New password", b"Nueva clave", b"Passwort vergessen")]
    [False, False, False, False, False]
    """
    if not 8 <= len(value) <= 64 or is_placeholder(value) or says_placeholder(value) or _FILE.search(value):
        return False
    if _LOCAL.search(value) or _QUOTES.search(value) or b"pass" in value.lower():
        return False
    parts = [part.lower() for part in _PART.findall(value)]
    words = [part for part in parts if not part.isdigit()]
    if (
        any(word in _MESSAGE or (word in PROSE and word not in _SMALL) for word in words)
        or len(set(words)) < 2
    ):
        return False
    signs = {sign for sign in value if sign in b" -_.&!+"}
    of_code = sum(word not in _SMALL and is_of_code(word) for word in words)
    several = len(words) >= 3
    if not re.search(rb"[A-Za-z]", value):
        return several
    if signs == {ord(" ")}:
        return several and 2 * of_code < len(words) and (not unquoted or len(words) <= 6)
    if not signs:
        return several and value[:1].isupper() and 3 * of_code < 2 * len(words)
    if value.islower() and (len(signs) > 1 or signs & {ord("_"), ord(".")}):
        return several and not of_code
    if value.islower():
        return not of_code and (several or len(value) >= 10)
    mixed = any(part[:1].isupper() for part in _PART.findall(value)) and not value.isupper()
    return mixed and not of_code and len(signs) == 1
