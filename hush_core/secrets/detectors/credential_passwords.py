"""Passwords: values that a person may have chosen, assigned to a telling name in any language's syntax.

A machine's random value is taken for one (`credential_randomness`); anything else is a password, worth ten bits at
most. In settings (nine of ten lines name a value) a word will do; in code it must hold a digit or a symbol.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import re2

from hush_core import linear
from hush_core.secrets.detectors import credential_public as public
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_catalogues import settings_like
from hush_core.secrets.detectors.credential_languages import IS_LOCAL, LOCAL_NAMES
from hush_core.secrets.detectors.credential_looks import may_be_password
from hush_core.secrets.detectors.credential_names import RUN
from hush_core.secrets.detectors.credential_randomness import looks_made
from hush_core.secrets.detectors.credential_words import PASS_ENDS, names_a_digest, names_a_page, words
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.priors import ASSIGNED, ASSIGNED_PASSWORD

_PASS_NAME = (
    rb"(?:pass[ _-]?(?:words?|wd|phrase|code|key)|passw|pass|pwd|psk|secret|token|cred(?:ential)?s?|api[ _-]{0,2}key|requirepass|masterauth|seed|dsn"
    rb"|(?:private|access|encryption|signing|session|master|shared|hmac|auth|account|licen[cs]e|app|client|security|storage|sas|service|preshared|pre_shared|secret)[ _-]{0,2}key"
    rb"|salt|pepper|pin(?:[ _-]?code)?|key|cookie|auth|login_?pass(?:word)?|bindpw|rootpw|userpw|community|pw)"
)
_NAMES = rb"(?:" + _PASS_NAME + rb"|" + LOCAL_NAMES + rb")"
_TAIL = rb"[A-Za-z0-9_.-]{0,24}[\"'`\]\)}\\]{0,3}"
_LONG_SIGNS = rb",?[ \t]{1,4}[\"']?value[\"']?[ \t]{0,4}[:=]|\r?\n[ \t]{0,24}[\"']?value[\"']?:|(?:::?[ \t]?[A-Za-z&*][A-Za-z0-9_.\[\]<>?&*' ]{0,24}=)|===?"
_SIGNS = rb"is:?[ \t]|=>|:=|\?=|\|\|=|->|::|=|:|,|>|\" value=|' value=|[ \t]?<-"
_LAST_SIGNS = rb" As String =|[ \t]\{ get; (?:[a-z ]{0,12}set; )?\} ="
_OPENED = rb"[ \t]{0,16}[\[({]?"
_MARK = rb"(?:[A-Za-z@]{0,2}[\"'`]|\\\")"
_QUOTED = rb"([^\s\"'`\\<][^\s\"'`\\]{3,127})(?:[\"'`]|\\\")"
_UNQUOTED = (
    rb"([^\s\"'`<>;,(){}\[\]]{4,128})"  # all of them, up to 128: what follows is no value, or is behind a blank
    rb"(?=\r?\n|\Z|[;<][^\n]{0,120}(?:\n|\Z)|[ \t]{1,2}(?:[A-Za-z_./-]|\\\r?\n|&&[ \t])"
    rb"|[ \t]{1,4}(?:\r?\n|\Z|[#;<][^\n]{0,120}(?:\n|\Z)|[ \t]{1,2}[A-Za-z_./-]|&[a-z_]+=)|,[a-z_]+=)"
)
_VALUE = _OPENED + rb"(?:" + _MARK + _QUOTED + rb"|" + _UNQUOTED + rb")"
_GIVEN = (
    *((rb"(?:" + _LONG_SIGNS + rb")" + _VALUE), (rb"\([A-Za-z@]{0,2}[\"']" + _QUOTED)),
    *((rb"(?:" + _SIGNS + rb")" + _VALUE), (rb"[ \t]?\|[ \t]?[\"'`]" + _QUOTED)),
    *((rb"[ \t]{1,4}[\"']" + _QUOTED), (rb"(?:" + _LAST_SIGNS + rb")" + _VALUE)),
)  # fmt: skip
PASSWORD = linear.compile(
    rb"(?i)(" + _NAMES + rb")(" + _TAIL + rb")[ \t]{0,16}(?:" + b"|".join(_GIVEN) + rb")"
)
_BARE_GROUPS = (4, 7, 11)
"""The groups whose value is without quotes; the last of those that match is the value."""
_ANY_SIGN = (
    rb"(?:" + b"|".join((_LONG_SIGNS, rb"\(", _SIGNS, rb"[ \t]?\|", rb"[ \t]{1,4}", _LAST_SIGNS)) + rb")"
)
PASSWORD_GATE = _PASS_NAME + _TAIL + rb"[ \t]{0,16}" + _ANY_SIGN + _OPENED + rb"(?:" + _MARK + (
    rb"[^\s\"'`\\<][^\s\"'`\\]{3}|[^\s\"'`<>;,(){}\[\]]{4,128}[ \t]{0,4}(?:\r?\n|\z|[#;<]|[ \t](?:[A-Za-z_./-]|\\\r?\n|&&)|&[a-z]|,[a-z_]+=))"
)  # fmt: skip
LOCAL_GATE = rb"(?:" + LOCAL_NAMES + rb")" + _TAIL + rb"[ \t]{0,16}[=:>(,|]"
_AT = re2.compile(b"(?i)" + _NAMES)
_HUMAN_NAMES = (b"pass", b"psk", b"masterauth", b"secret", b"pw")
_SALTS = (b"salt", b"pepper")
"""Names under which 16 hexadecimal digits are no short form of a fingerprint."""
_HEX16 = re.compile(rb"(?=[A-Fa-f]{0,15}[0-9])(?=[0-9]{0,15}[A-Fa-f])[0-9A-Fa-f]{16}")
_NO_VALUE_TAIL = frozenset(
    b"url uri path file filename dir name names id ids type field fields input label length len size min max regex pattern "
    b"format class policy hint prompt reset change expiry expires expiration ttl timeout header param parameter prefix suffix "
    b"count enabled required valid validator error message msg text help title description desc for manager provider service "
    b"handler store list page form view template link endpoint env var variable index column attr attribute algorithm alg mode "
    b"hash digest fn func callback ref selector version location host port usage set map bits auth requests word "
    b"backend command cmd script placeholder confirmation strength mechanism method source scheme strategy protocol flow realm".split()
)  # fmt: skip
_NOISE = linear.compile(
    rb"(?i)(?:[x*.#_?-]+|none|null|nil|true|false|undefined|string|str|int|bool|bytes|text|optional|required|empty|default|unset|auto|self|this"
    rb"|password|passwd|pass|pwd|secret|token|key|user|username|admin|test|example|foo|bar|baz|value|hidden|masked|redacted|unknown|todo|tbd"
    rb"|(?:your|my|the|some|enter|insert|a)[_-].*|.*(?:placeholder|change[_-]?me|replace[_-]?me|redacted|example|_here|<.*>).*|(?:my|fake|dummy|sample)[_-]?(?:secret|password|pass|token|key|pwd)|env|yes|no|on|off|basic|bearer|digest|inherit|read|write|external|always|never|on_create|wrong|broken|missing|invalid|compat|base(?:16|32|64|85)|urllib2?"
    rb"|(?:required|nullable|sometimes|present|filled|bail|string|confirmed)(?:\|[a-z_]+(?::[\w,.]+)?)+)"
)
_EXPRESSION = linear.compile(
    rb"\$[({]|^\$[A-Za-z_]\w*(?:$|[\[:.\\-])|a-z|A-Z|0-9\]|\{\{|%\(|^%[sdr]|%s|\(\)|::|->|^[@&*/.][A-Za-z_]*[0-9]?$|^/\w+$|^%\w+%$|\.\.\.|^<|^\\|^https?:|^[a-z]+://|/[^/]*/|^--|^[!=]=|[|]{2}|^&\w+=$|^\{[A-Za-z_. ]+\}$|^urn:(?:uuid:|(?:[\w.-]+[:/])*[A-Za-z_.-]*$)|^\.{1,2}/[\w./-]*$|^[A-Za-z_./-]*/$|^[A-Za-z_]\w*\((?:.*\)|\w+=)$|^@\{|^\)[.,;+]|^[A-Za-z_]\w*(?:\.\w+)*\($|^\$[A-Za-z_]\w*\||^\*+[A-Za-z_]\w*\.[A-Za-z]|^\*\*\w+\*\*$|^[0-9]+\*\w+\.[A-Za-z]"
)
_KEY_FILE = linear.compile(
    rb"[A-Za-z][\w.-]*\.(?:pem|key|crt|cer|csr|der|p8|p12|pfx|jks|json|pub|asc|gpg|ya?ml|xml|txt)"
)
"""A file, under a name such as `key`."""
_ALGORITHM_NAME = re.compile(rb"rsa|dss|ecdsa|ssh|sha|aes|hmac|md5|nistp|diffie|curve|chacha")
_ALGORITHM = linear.compile(
    rb"(?:(?:ssh|rsa|dsa|dss|ecdsa|ecdh|ed|curve|diffie|hellman|group|exchange|sk|cert|hmac|sha|md|aes|cbc|ctr|gcm|etm|chacha|poly|nistp|x|v|rsassa|pss)?[0-9]{0,4}"
    rb"[-@.])+(?:ssh|openssh\.com|libssh\.org|sha|nistp|v|cbc|ctr|gcm|rsa|dss)?[0-9]{0,5}"
)
"""A name as SSH has for kinds of keys and ciphers, under `keys`."""
_VARIABLE = linear.compile(rb"[A-Z]{3,}[0-9]?(?:_[A-Z0-9]{1,4})*(?:_[A-Z]{2,})+")
_CLOSED = linear.compile(rb"[\"'`\]\)}]+\Z")
_DIGIT = re.compile(rb"[0-9]")
_WORD = re.compile(rb"(?:[A-Za-z'\x80-\xff-]|\\u[0-9A-Fa-f]{4})+")
_DOTTED = linear.compile(rb"[ \t]*[\w-]+\.[\w.-]*\Z")
"""A name in parts, as messages have: `=` without blanks gives other names one value, as in `PGPASSWORD=x psql`."""
_SENTENCE = re.compile(rb"[ \t]{1,2}(?![A-Za-z][\w.-]{0,40}[ \t]?[=:])(?:[A-Za-z\x80-\xff(]|\\u)")
"""What continues after the word is a message, in whatever language, and not one value; not so where the next word is
a name that is given a value, too."""
_PLAINLY = re.compile(
    rb"(?i)(?:^|[^A-Za-z]|(?:db|database|admin|root|user|my|smtp|mail|ftp|ssh|sql|pg|postgres|redis|store|key|set|account|service))(?:pass(?:word|wd|phrase)|pwd)[\"'`\]\)}\\]{0,4}\Z"
)
"""Names that say nothing but that a password follows: in code, too, a word in quotes is one then."""
_GOES_ON = linear.compile(rb"[\"'`][ \t]+[A-Za-z]")
_ASCII = re.compile(rb"[!-~]")
_ONE_WORD = re.compile(rb"[A-Z]?[a-z]+(?:-[A-Z]?[a-z]+)*")


def _is_word(value: bytes) -> bool:
    """Whether it is a word, or several with hyphens, that does not say itself what it is."""
    return len(value) >= 6 and _ONE_WORD.fullmatch(value) is not None and b"pass" not in value.lower()


_SETTER = re.compile(rb"(?i)(?:set|with|add)_?\w{0,24}\Z")
_LOOSE = (b",", b"is", b"is:", b"==", b"===")
"""Signs after which a word, without a digit or a symbol, is no value."""


_OTHER_WORDS = re.compile(
    rb"(?i)(?:pass(?:ing|ed|es|age|ive|able|port|eng|through)|auth(?:or(?!iz)|entic)|pinn|token(?:iz|is)|pw[a-ce-z])"
)
"""Words that begin as telling ones do."""
_PUBLIC = re.compile(
    rb"(?i)(?:pub(?:lic)?|cache|sort|partition|primary|foreign|routing|shard|lookup|index|group)[_ .-]?\Z"
)


def passwords(
    content: bytes, lines: list[tuple[int, int]], unsettled: list[int] | None = None
) -> Iterator[tuple[str, int, int]]:
    """Values assigned to telling names that need not be a machine's; as few as a settings file holds.

    unsettled: takes in the places of values that count only if the content's head is one of a settings file.
    """
    settings: bool | None = None
    for first, last in lines:
        deadline.check()
        first = _first(content, first, last)
        for rule, start, end, doubtful, loose in by_line(_on_line, content[first:last]):
            if doubtful:
                if settings is None:
                    settings = settings_like(content)
                if unsettled is not None:
                    unsettled.append(first + start)
                if not settings or loose:
                    continue
            yield rule, first + start, first + end


def _on_line(line: bytes) -> Iterator[tuple[str, int, int, bool, bool]]:
    """(rule, start, end) of each value on a line; whether it is one in settings only, and whether it is one in these
    only behind another sign."""
    for match in _named(line):
        deadline.check()
        group = match.lastindex or 0
        value, (start, end) = match[group], match.span(group)
        if reason := _not_given(line, match, value, start):
            rejected(reason, value)
            continue
        if looks_made(value) and RUN.fullmatch(value):
            if public.is_file(value) or public.is_path(value) or public.says_placeholder(value):
                rejected("a file, a path or an encoded placeholder", value)
                continue
            yield ASSIGNED, start, end, False, False
            continue
        quoted = group not in _BARE_GROUPS
        name = match[1].lower()
        human = (
            any(part in name for part in _HUMAN_NAMES)
            or PASS_ENDS.intersection(words(match[2])[-1:])
            or IS_LOCAL.fullmatch(name) is not None
            or (name in _SALTS and _HEX16.fullmatch(value) is not None)
        )
        sign = line[match.end(2) : start].strip(b" \t\"'`")
        reason = _no_password(match, value, human=human, quoted=quoted)
        reason = reason or _no_setting(line, match, sign, quoted=quoted)
        may_be = partial(may_be_password, value, human=human, quoted=quoted)
        if not reason and (len(set(value)) < 4 or not may_be(settings=True)):
            reason = "a word or a name, which a password under this name would not be"
        if reason:
            rejected(reason, value)
            continue
        loose = sign in _LOOSE
        doubtful = not may_be(settings=False) and not (
            quoted
            and not loose
            and _PLAINLY.search(line, max(0, match.end(2) - 64), match.end(2))
            and _is_word(value)
        )
        if doubtful:
            rejected("a word without a digit or a sign, which counts in a file of settings only", value)
        yield ASSIGNED_PASSWORD, start, end, doubtful, loose


def _not_given(line: bytes, match: linear.Match, value: bytes, start: int) -> str:
    """Why the name is not one of a secret, or its value is for all to see; "" if neither."""
    tail = words(match[2])
    if (any(word in _NO_VALUE_TAIL for word in tail) and tail[-1] not in PASS_ENDS) or _PUBLIC.search(
        line, max(0, match.start() - 12), match.start()
    ):
        return "the name is of something else: a path, an id, a length, a public key"
    before = line[max(0, start - public.SHOWN) : start]
    if public.is_shown(before):
        return "what a protocol shows to everybody"
    if names_a_page(before) or names_a_digest(value, before):
        return "a token of a page or a request, or a digest, as its name says"
    if b"EXAMPLE" in value and b"/" not in value:
        return "an example of a manual, as it says"
    if b"..." in value:
        return "cut short by its writer"
    if tail[-1:] in ([b"sha"], [b"md"]) and looks_made(value):
        return "a digest, as its name says"
    if public.is_public_key(value):
        return "a public key"
    if public.is_page(value):
        return "an address without its scheme"
    before = match.string[max(0, match.start() - 1) : match.start()]
    inside = match[1].lower() == b"pin" and before.isalpha() and match[2][:1].islower()  # "alpine"
    if inside or _OTHER_WORDS.match(match[1] + match[2]) or re.match(rb"[a-z][A-Z][a-z]", match[1]):
        return "the name only begins as one of a secret does, or is of two words"
    return ""


def _no_password(match: linear.Match, value: bytes, *, human: bool, quoted: bool) -> str:
    """Why nobody chose a value as a password; "" if somebody may have."""
    algorithm = _ALGORITHM.fullmatch(value) and _ALGORITHM_NAME.search(value)
    if not human and (_KEY_FILE.fullmatch(value) or algorithm or public.is_digest(value)):
        return "a file, an algorithm or a digest"
    if _NOISE.fullmatch(value) or public.is_placeholder(value) or public.says_placeholder(value):
        return "a placeholder"
    if _EXPRESSION.search(value):
        return "a template, an expression or a path"
    name = match[1].lower()
    whole = name + _CLOSED.sub(b"", match[2].lower())
    if value.lower() in (name, whole) or value.lower().rstrip(b"12") == whole.rstrip(b"12"):
        return "its own name"
    if not human and whole == b"key" and _VARIABLE.fullmatch(value):
        return "the name of a variable"
    if len(value) >= 8 and whole.translate(None, b"_-").endswith(value.lower().translate(None, b"_-")):
        return "the end of its own name"
    if name.isascii() and not _ASCII.search(value):
        return "a translation of its name"
    if (
        IS_LOCAL.search(value)
        and not _DIGIT.search(value)
        and (quoted or not value.isascii() or IS_LOCAL.fullmatch(name))
    ):
        return "a translation of its name"
    return ""


def _no_setting(line: bytes, match: linear.Match, sign: bytes, *, quoted: bool) -> str:
    """Why the line does not give the value to the name; "" if it may."""
    start, end = match.span(match.lastindex or 0)
    given = line[match.end(2) : start] == b"=" and not _DOTTED.search(
        line, max(0, match.start() - 256), match.start()
    )
    if not quoted and not given and _WORD.fullmatch(line[start:end]) and _SENTENCE.match(line, end):
        return "the first word of a sentence"
    if match[1].lower() == b"pass" and not match[2] and not sign and _GOES_ON.match(line, end):
        return "something else that is passed"
    if sign == b"(" and not _SETTER.search(line, max(0, match.start() - 32), match.start()):
        return "an argument of a call that sets nothing"
    return ""


_VALUE_LINE = re.compile(rb"[ \t]{0,24}[\"']?value[\"']?:")
ABOVE = 160
"""Longest line above it that is read for the name: no more than `changes.around` takes in."""


def _first(content: bytes, first: int, last: int) -> int:
    """Where the line begins, or the line above where the name of its value is there."""
    if first and _VALUE_LINE.match(content, first, last):
        above = content.rfind(b"\n", max(0, first - ABOVE), first - 1)
        return above + 1 if above >= 0 else 0 if first <= ABOVE else first
    return first


def _named(line: bytes) -> Iterator[linear.Match]:
    """Matches of PASSWORD."""
    at = 0
    for name in _AT.finditer(line):
        if name.start() >= at:
            match = PASSWORD.match(line, name.start())
            if match:
                group = match.lastindex or 0
                named = _AT.match(match[group])  # `"key": "password", "value": …`
                at = match.start(group) if named else match.end()
                yield match
