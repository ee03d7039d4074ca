"""Public values by their form and by what is written before them, a row each.

A row takes a whole value, and where it names what is before, the value alone says nothing. Each row has a line in
NEITHER of `test_credential_public.py`, and one in BOTH that differs from it in what makes a credential.
"""

# ruff: noqa: E501  (a table: one row a form)

from __future__ import annotations

from typing import NamedTuple

from hush_core import linear
from hush_core.secrets.detectors.credential_public import is_everybodys, is_identifier
from hush_core.secrets.detectors.credential_values import Detection
from hush_core.secrets.detectors.credential_words import PASS_ENDS, is_keyword, words
from hush_core.secrets.priors import RANDOM_TOKEN

BEFORE = 240
"""Bytes of its line before a value that may say what it is."""
_ALGORITHM = (
    rb"(?:(?:tls|ssl|aes|3?des|desede|rc4|rsa|dsa|[hrep]s|ecdsa|eddsa|ecdhe?|dhe?|psk|sha|md|hmac|gcm|cbc|ctr|ccm|cfb|ofb|ecb|oaep"
    rb"|pss|poly|chacha|pkcs|with|anon|null|ede|hkdf|pbkdf)[0-9]{0,5}|(?:pkcs[157]|no)padding)"
)
_UUID = rb"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"


class Form(NamedTuple):
    """reason: what a value is. value: how it looks, from end to end. before: what its line holds up to it, or nothing."""

    reason: str
    value: linear.Linear
    before: linear.Linear | None = None


def _form(reason: str, value: bytes, before: bytes | None = None) -> Form:
    return Form(reason, linear.compile(value), None if before is None else linear.compile(before + rb"\Z"))


FORMS = (
    _form("a type of media", rb"(?:text|image|audio|video|font|multipart|message|application)/[a-z0-9.+*-]+"),
    _form("the name of an algorithm", rb"(?i:" + _ALGORITHM + rb"(?:[-_/,](?:" + _ALGORITHM + rb"|[0-9]{1,4}))+|(?:pbkdf2with)?hmacsha-?[0-9]{1,3}(?:/[0-9]{3})?|pbkdf2|argon2(?:id?|d)?)"),
    _form("a rule of a form", rb"nullable|confirmed|sometimes|prohibited|(?:required|nullable|sometimes|string)(?:_\w+:[\w,.]+|(?:\|[a-z_]+(?::[\w,.]+)?)+)|(?:required|confirmed|nullable)\|"),
    _form("a pattern", rb"[a-z][\w-]*(?:\.[\w-]+)*\.\*|\^.*(?:\.[+*]|\\[dwsSWD]|\]|\)).*\$"),
    _form("the name of a cluster's secret", rb"[a-z]+(?:-[a-z]+)*/[a-z]+(?:-[a-z]+)*-secrets?", rb"(?i:secret(?:_?name)?[\"'`\])]{0,3}[ \t]*(?:[:=]|=>)[ \t]*[\"'`]?)"),
    _form("names in place of values", rb"(?:[A-Z]+_){1,4}(?:KEY|SECRET|TOKEN|PASSWORD|PASS|PW|ID|NAME|UNAME|USER)(?:[:,/](?:[A-Z]+_){1,4}(?:KEY|SECRET|TOKEN|PASSWORD|PASS|PW))+"),
    _form("code", rb"[\w.$]+=function\b.*"),
    _form("versions of a package", rb"[\^~<>=!]{1,2}v?[0-9]+(?:\.[0-9*x]+)+(?:[ ,|]{1,4}[\^~<>=!]{0,2}v?[0-9]+(?:\.[0-9*x]+)*)*"),
    _form("an alphabet", rb".*(?:abcdefghijklmnopqrstuvwxyz|ABCDEFGHIJKLMNOPQRSTUVWXYZ).*"),
    _form("a mark of a tool for translations", rb"crwdn[se][0-9]+:[0-9]+crwdne[0-9]+:[0-9]+"),
    _form("the last word of a sentence", rb"[A-Za-z]*(?:[\xc3-\xd4][\x80-\xbf][A-Za-z]*)+\."),
    _form("cut short by its writer", rb"[^\s]+(?:\xe2\x80\xa6)"),
    _form("encrypted, as Spring's configuration server marks it", rb"\{cipher\}.*"),
    _form("encrypted, as Spring's configuration server marks it", rb"[A-Za-z0-9+/=]{32,}", rb"\{cipher\}(?:\{\w{1,16}:[^{}]{1,64}\}){0,3}"),
    _form("a picture, a font, a document or an object in base64", rb"(?:iVBORw0KGgo|/9j/[24]|R0lGOD[dl]h|JVBERi0|d09GR|d09GMg|BAtzdHJlYW10eXBl)[\x00-\xff]*|[A-Za-z0-9+/]+AElFTkSuQmCC"),
    _form("compressed data or a picture in digits", rb"(?i:(?:1f8b08|89504e47|ffd8ff|504b0304|25504446)[0-9a-f]{16,})"),
    _form("the id of an object at Twilio", rb"(?:AC|MG|SM|MM|CA|PN|CF|IS|VA|WS)[0-9a-f]{32}"),
    _form("a placeholder's login", rb"(?i:<?(?:user(?:_?name)?|login)>?[:/]<?(?:pass(?:word|wd|phrase)?|pwd|pw)>?)"),
    _form("the message of a variable that is not set", rb"\?.*", rb"\$\{\w{1,64}:?"),
    _form("a digest in the name of a resource", rb"[0-9A-Za-z.]+", rb"\burn:(?:btih|btmh|sha1|md5|ed2k|aich|kzhash|bitprint|tree:tiger):"),
    _form("the signature of a picture's link", rb"[0-9a-f]{32}", rb"[?&](?:amp;)?(?:width|w|quality|q|auto|fit|dpr)=[^\s\"']{0,120}[?&](?:amp;)?s="),
    _form("the id of a project", rb"\{?" + _UUID + rb"\}?", rb"^Project\(\"\{" + _UUID + rb"\}\"\) = \"[^\"\n]{0,100}\", \"[^\"\n]{0,100}\", \"\{?"),
    _form("a salt or text that is encrypted", rb"[A-Za-z0-9+/]+=*", rb"\"cipher\":\"aes\",[^\n]{0,64}\"(?:salt|ct)\":\""),
    _form("what a command runs in a folder", rb"[a-z]+(?:_[a-z0-9]+)+|[.~/$][\w./$~{}-]*", rb"(?:^|[\s(&|`])PWD=(?:[\"']?[\w./$~-]{0,100}[\"']?[ \t]+)?[\"']?"),
    _form(
        "an address of mail under such a name",
        rb"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        rb"(?i:(?:\b|_)(?:from|to|cc|bcc|sender|recipient|e?mail|user(?:name)?|contact|author|owner)[\"']?[ \t]*(?:[:=]|=>)[ \t]*[\"'<]?)",
    ),
)  # fmt: skip
_BY_FORM = linear.compile(b"|".join(b"(?:%s)" % f.value.pattern for f in FORMS if f.before is None))
_BY_PLACE = linear.compile(b"|".join(b"(?:%s)" % f.before.pattern for f in FORMS if f.before is not None))
"""All values that need nothing before them, and all that may be before the others: most values match neither."""
_OWN = linear.compile(rb"([A-Za-z][\w -]{3,80})[\"'`]?[ \t]*(?:=>|[:=])[ \t]*[\"'`]\Z")
"""The name of a value in quotes; it may hold blanks, as a label does."""
_PLAIN = linear.compile(rb"[A-Za-z\x80-\xff]+(?: [A-Za-z\x80-\xff]+)+")
_MESSAGE = linear.compile(rb"(?:[^0-9{}]|\{\w{0,20}\})+")
_SLOT = linear.compile(rb"\{\w{0,20}\}")
_MARKS = tuple(mark.encode() for mark in "。、（）「」！？：")
LEAST_LETTERS = 6
"""Bytes outside ASCII in a text of another script."""


_LIKE_NAMES = ("hush.airtable-old-key", "hush.vault-old-token", "betterleaks.aws-secret-access-key")
"""Rules for forms that names in camel case have, too: `keyOfTheLastRowOfAll`, `b.SourceCustomerKey`."""
_COUNTED = linear.compile(rb"(?:[a-z]{3,}[0-9]){2,}")
"""Words with a number behind each, as lists of samples have them: `key1value1key2value2`."""
LONGEST_DIGITS = 256
"""Of a key in hexadecimal digits; more, with no name, are a message or a file."""
_DIGITS = linear.compile(rb"[0-9A-Fa-f]+")


def why_public(content: bytes, found: Detection) -> str:
    """What shows that everybody may know a value that a rule found; "" if nothing does."""
    value = found.value
    opened = content[found.end : found.end + 1] == b"{" and is_code(value + b"{")
    if opened or is_code(value) or is_everybodys(value):
        return "code, or an example of a documentation or a standard, which everybody knows"
    if value.startswith(b"arn:aws") and b"://" not in value:
        return "the name of a resource at AWS"
    if value == b"tiger" and content.endswith(b"scott:", 0, found.start):
        return "the login of Oracle's manuals"
    if found.rule in _LIKE_NAMES and (
        is_identifier(value.partition(b".")[2] or value) or _COUNTED.fullmatch(value)
    ):
        return "a name in camel case, or words that are counted"
    if found.rule == RANDOM_TOKEN and len(value) > LONGEST_DIGITS and _DIGITS.fullmatch(value):
        return "a message or a file in digits"
    return stated(content, found.start, found.end) if found.exact else ""


def stated(content: bytes, start: int, end: int) -> str:
    """What a value is by its form and by what its line says before it; "" if nothing shows that it is public.

    >>> stated(b'mac = "HmacSHA256"', 7, 17), stated(b'FROM="ada@corp.example"', 6, 22), stated(b'key = "k3TTle"', 7, 13)
    ('the name of an algorithm', 'an address of mail under such a name', '')
    """
    value = content[start:end]
    first = max(0, start - BEFORE)
    before = content[max(first, content.rfind(b"\n", first, start) + 1) : start]
    by_form, by_place = _BY_FORM.fullmatch(value), _BY_PLACE.search(before)
    for form in FORMS if by_form or by_place else ():
        if not (by_form if form.before is None else by_place):
            continue
        if form.value.fullmatch(value) and (form.before is None or form.before.search(before)):
            return form.reason
    if _is_message(value):
        return "a text of another script"
    return "a text that says its own name" if _says_its_name(value, before) else ""


def _is_message(value: bytes) -> bool:
    """Whether it is letters of another script with the signs of its sentences, or Chinese, Japanese or Korean with a slot."""
    if value.isascii() or sum(c > 127 for c in value) < LEAST_LETTERS or not _MESSAGE.fullmatch(value):
        return False
    slot = _SLOT.search(value) is not None and any(0xE3 <= c <= 0xED for c in value)
    return slot or any(mark in value for mark in _MARKS)


def _says_its_name(value: bytes, before: bytes) -> bool:
    """Whether it ends in the name of its own constant, `IsApiKey = "App-IsApiKey"`, or is a label's translation that
    repeats a word of it, `"RabbitMQ Password": "Kata kunci RabbitMQ"`."""
    own = _OWN.search(before) if before[-1:] in (b'"', b"'", b"`") else None
    if own is None:
        return False
    name = own[1].split()[-1]
    head, named = value[: -len(name)], words(name)
    led = head[:-1].isalpha() and head[-1:] in (b"-", b"_", b".", b":")
    if len(named) > 1 and named[-1] not in PASS_ENDS and value.endswith(name) and led:
        return True
    label = {word for word in own[1].split(b" ") if len(word) > 3 and not any(map(is_keyword, words(word)))}
    return b" " in own[1] and _PLAIN.fullmatch(value) is not None and not label.isdisjoint(value.split(b" "))


_CODE = linear.compile(
    rb"GHSA(?:-[2-9cfghjmp-rv-x]{4}){3}|\*?u?int(?:8|16|32|64)|\*(?:string|bool|byte)|-?0x[0-9A-Fa-f]{1,8}"
    rb"|&[a-z]\w*\.[A-Z][a-z]+[A-Z_]\w*|[&*]{1,2}[a-z]\w*(?:\.[A-Z]\w*){1,3}(?:\{\}?,?|,)|!?[A-Za-z_]\w*\?\.[A-Za-z_]\w*|[A-Z]{2,}(?:_[A-Z0-9]+)*_[A-Z]{2,}=|[A-Z]{4,}=[0-9]"
    rb"|\$[A-Z_]+/[\w./:-]+|&[a-z_]+[0-9]?/[0-9]|&[a-z]\w*\.[a-z]+(?:_[a-z]+)+|(?:[a-z]+/)+[a-z]+_[a-z_]+|[a-z]{3,}#[a-z]+(?:_[a-z]+)+|!{3}SET|\$encrypted\$[A-Z0-9$]*"
    rb"|(?:\{[A-Za-z_. ]+\}[:@/._-]?){2,}|\{\.\w+[\[.].*|.*\[(?:a-z|A-Z)(?:A-Z|0-9|_)*\].*|[\w.-]*%~[0-9]"
    rb"|[A-Z]\w+\.\w+(?:/\w+)+@[0-9]{4}-[0-9]{2}-[0-9]{2}(?:-preview)?"
    rb"|[\w.-]+(?:\$[0-9]|%\w+%|%~[0-9])[\w.-]*\.(?:zip|log|t?gz|bz2|xz|7z|tar|deb|rpm|dmg|msi|exe)"
    rb"|#[a-z-]*(?:pass(?:word)?|pwd|token|secret|key)|#(?:[0-9a-f]{6}|[0-9A-F]{6})|[A-Za-z]{6,}\[[a-z]{3,}=[a-z]{3,}\]?|%0\*d[\w.]*"
    rb"|\$[A-Z]+(?:_[A-Z]+)+(?:\$\w+)+|[a-z]{3,}\w*\$[0-9]+\.[a-z]{3,}\w*|[A-Z][a-z]{2,}\w*[A-Z][a-z]{2,}\w*#[a-z]{3,}[A-Z][a-z]{2,}\w*|X(?:-[A-Z][A-Za-z]*[0-9]{0,3}){2,}"
    rb"|(?:/{1,2}[a-z][a-z0-9-]{1,23}){3,}/?"
)


def is_code(value: bytes) -> bool:
    """Whether a whole value is code: a type, a member, a number, a variable, a route, a pattern, an archive, a template,
    a selector, a colour, the name of a header. The id of an advisory is taken for such, and a placeholder in
    exclamation marks.

    >>> is_code(b"&corev1.Secret{"), is_code(b"$TEMP_DIR/file"), is_code(b"!!!Kettle9")
    (True, True, False)
    """
    return _CODE.fullmatch(value) is not None
