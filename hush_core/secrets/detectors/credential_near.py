"""Passwords near a name for one, in any syntax: wrapped, in options, in tuples, on the next line, in a sentence.

What decides is the value: three kinds of characters, and none of the forms of code. So a language, an option or a
constructor that no rule lists is covered. Values of one kind of characters need a rule with a syntax
(`credential_passwords`, `credential_places`).
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_languages import LOCAL_NAMES, RUN, VERBS, said
from hush_core.secrets.detectors.credential_public import is_identifier, is_placeholder, says_placeholder
from hush_core.secrets.detectors.credential_randomness import MIN_RANDOM, looks_made, surprise
from hush_core.secrets.detectors.credential_words import tells
from hush_core.secrets.guessing.words import OF_TRADE
from hush_core.secrets.priors import ASSIGNED, ASSIGNED_PASSWORD

NEAR_GATE = (
    rb"(?:pass(?:word|wd|phrase|code|w\b|\b)|pwd|\bpw\b|psk|secret|cred(?:ential)?s?\b|auth\b|sign in|log ?in\b|sshpass|mysqli|/pass?:|/p:|net use|\bzip\b|ldap|\bbind|"
    + LOCAL_NAMES
    + rb")"
)
_NAME = linear.compile(rb"(?i)(?:pass(?:word|wd|phrase|code)|pwd|secret|\bpsk\b|" + LOCAL_NAMES + rb")")
"""Names after which the value may also be on the next lines."""
ABOVE, LINES_ABOVE = 160, 3
"""Bytes and lines above a value in which its name may be: less than `changes.around` takes in."""
MOST_LINE = 2000
_RUN = linear.compile(RUN + rb"{8,128}")
_TEMPLATES = (b"${", b"{{", b"$(", b"#{")
_HEAD = linear.compile(rb"(?:/?[A-Za-z_][\w.-]{0,40}[:=]|--?[a-z][\w-]{0,40}=|-[pPw])")
"""What a run of characters may begin with that is no part of the value: `pw=`, `ada:`, `/p:`, `-p`."""
_STRONG_SIGN = re.compile(rb"[!@#$%^&*?~]")
_NEVER = linear.compile(
    rb"://|^www\.|\$\{|\{\{|%[sdrvq]|^[$@%#&*!~?]+\w*$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|^[a-z][a-z0-9_.-]+@[a-z][\w.-]*$|^@?[\w./-]+@[v^~]?[0-9.]+$|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]+)$|::|->|=>|[=!<>]=|&&|\+\+"
    rb"|^\W*[0-9:.,/+tzTZ -]+\W*$|^[0-9]{4}-[0-9]{2}-[0-9]{2}|%[0-9A-Fa-f]{2}.*%[0-9A-Fa-f]{2}|^\w+[?*:]+$|^[a-z]+[0-9]?!$|[?&]\w+=|^/[\w/.#-]*$|/\w*/|\.\.|^#[0-9a-fA-F]{3,8}$|^git@"
    rb"|\.(?:py|js|ts|md|json|ya?ml|txt|html?|go|rs|java|c|h|cpp|png|svg)(?:[#?:].*)?$|^\$[0-9a-z]{1,8}\$|\$[A-Z_]{4,}|^[a-z]+\*[a-z0-9]+$|^(?:sha|md)[0-9]|@[0-9a-f]{7,}$|^[A-Z_0-9@#%&!-]+$|#(?:[0-9]+$|section|L[0-9])|a-z|A-Z|EXAMPLE|X-Amz|^%%|^@[\w-]+/|^s/|^\w+(?:\.\w+)+[!?]$|^#[\w-]+$|@(?:localhost|127\.)"
)
"""Addresses, packages, templates, operators, dates, escapes, paths, colours and files."""


def is_strong(value: bytes) -> bool:
    """Whether a value mixes its characters as a password does, and as names, addresses and code do not.

    >>> is_strong(b"J7kq2!mWz9Lr4"), is_strong(b"Summer2019!"), is_strong(b"aG5wq8Zt3Lm0p")
    (True, True, True)
    >>> is_strong(b"ada@example.org"), is_strong(b"OAuth2Client"), is_strong(b"lodash@4.17.21"), is_strong(b"password1")
    (False, False, False, False)
    """
    if not 8 <= len(value) <= 64 or len(set(value)) < 6:
        return False
    digit = re.search(rb"[0-9]", value) is not None
    lower, upper = re.search(rb"[a-z]", value) is not None, re.search(rb"[A-Z]", value) is not None
    if not digit or not (lower or upper):
        return False
    if _STRONG_SIGN.search(value):
        return _NEVER.search(value) is None
    if not (lower and upper and 10 <= len(value) < MIN_RANDOM and value.isalnum()):
        return False
    return len(_TURNS.findall(value)) >= 3 and surprise(value) >= 5.6 and not is_identifier(value)


_TURNS = re.compile(rb"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")


_PHRASE = linear.compile(rb"[A-Za-z]{3,12}(?:[-_.][A-Za-z]{3,12}){2,7}[0-9]{0,4}")
_PARTS = re.compile(rb"[A-Za-z]+")
_OF_CODE = frozenset(
    b"and any are attr attribute but button callback change check class click code color column command component content context count "
    b"create credentials custom delete description dialog edit enable enabled encode encrypt entry error event exception exists expired "
    b"field file filter find forgot form format from function generate get group handler hashed header help history icon index info "
    b"input invalid item label length level list load manager message method mode model module new not number object old option "
    b"page param parameter parse path pattern policy prefix profile prompt protected provider query read recovery remove request "
    b"required reset response result save screen select set settings show size state status string style suffix table tag task text "
    b"the title toggle type update upload validate validation validator value variable verify version view weak window with write wrong your "
    b"account application auto base begin block body bytes cancel case char client company complete data date day documents domain end "
    b"enter example external first free full general global home hours hour internal key language last left library line link main max "
    b"media min name names network null off only open output pass passes passed person plain policies post print python random raw "
    b"reader real references report reports run schema scripts search secure send sent show simple source special start stop store "
    b"strength subject success support system templates that this time timeout top translation true false unit unknown user usr util utils "
    b"valid values when width without work java javax com net org spring framework apache google microsoft".split()
)
_NO_PHRASE = _OF_CODE | frozenset(word.encode() for word in OF_TRADE)


def is_passphrase(value: bytes) -> bool:
    """Whether a value is three words or more with one sign between, none of which names things in code.

    Of four words that are drawn from 7,776 one in ten phrases holds a word of code: those are lost.

    >>> is_passphrase(b"pillow-tunnel-anchor-velvet"), is_passphrase(b"reset-form-field-label")
    (True, False)
    """
    if not 14 <= len(value) <= 72 or not _PHRASE.fullmatch(value):
        return False
    parts = _PARTS.findall(value)
    if len({sign for sign in value if sign in b"-_."}) != 1 or len(set(parts)) < len(parts):
        return False
    if not (value.islower() or value.isupper() or all(part.istitle() for part in parts)):
        return False
    return not any(
        low in _NO_PHRASE or low.rstrip(b"s") in _NO_PHRASE or tells(low) or b"pass" in low
        for low in (part.lower() for part in parts)
    )


def near_names(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of strong passwords on the lines that hold a name, and on the next three."""
    seen = 0
    for first, last in lines:
        deadline.check()
        if last - first > MOST_LINE or _is_ascii85(content[first:last]):
            continue
        if first >= seen:
            for rule, start, end in by_line(_on_line, content[first:last]):
                yield rule, first + start, first + end
            seen = last
        if not _NAME.search(content, first, last):
            continue
        at = max(seen, last)
        for _ in range(LINES_ABOVE):
            end = content.find(b"\n", at) + 1 or len(content)
            if end <= at or end - last > ABOVE or content.startswith((b"\n", b"\r\n"), at):
                break
            if _VALUE_LINE.match(content, at, end):
                for rule, start, stop in by_line(_on_line, content[at:end]):
                    yield rule, at + start, at + stop
            at = end


def _is_ascii85(line: bytes) -> bool:
    """Whether a line is signs and letters at random, among which a short name occurs by chance."""
    return _DENSE.fullmatch(line) is not None and _WORD.search(line) is None


_DENSE = linear.compile(rb"[!-u]{56,}[\r\n]*")
_WORD = linear.compile(rb"[a-z]{6}|[A-Z]{6}")
_VALUE_LINE = linear.compile(
    rb"(?i)[ \t]*(?:[-+*][ \t]*)?(?:[\"']?(?:default(?:[ _]?value)?|value|val|content|string|data|text)[\"']?[ \t]*(?:=>|[:=])|<(?:value|string|default|content|data|val)\b[^<>\n]{0,60}>|[\"'`][^\"'`\n]{8,64}[\"'`],?[ \t\r]*(?:\n|\z))".replace(
        rb"\z", rb"\Z"
    )
)
"""A line that gives a value to the name above it."""


def _on_line(line: bytes) -> Iterator[tuple[str, int, int]]:
    """What a line holds, whatever is between it and the name."""
    yield from _phrases(line)
    yield from said(line, is_passphrase)
    if not _STRONG_SIGN.search(line) and not _TURNS.search(line):
        return
    for run in _RUN.finditer(line):
        start, end = run.span()
        if end - start == 128 or line[end : end + 1] == b"(" or line[max(0, start - 2) : start] in _TEMPLATES:
            continue
        while end > start and line[end - 1] in b".:":
            end -= 1
        for _ in range(3):
            value = line[start:end]
            if value.startswith((b"//", b"http")) or is_placeholder(value) or says_placeholder(value):
                break
            head = _HEAD.match(line, start, end)
            if is_strong(value) and not (head and _assigns(line[start : head.end()])):
                yield (ASSIGNED if looks_made(value) else ASSIGNED_PASSWORD), start, end
                break
            if not head or head.end() == start:
                break
            start = head.end()


_GIVEN = linear.compile(
    rb"[=:>(\"'`\x80-\xff]\Z|[=:][ \t]{0,4}[&!][\w!/-]{1,24}\Z|(?:\A|[ \t])(?:is|" + VERBS + rb")\Z"
)
_OPTION = linear.compile(rb"(?i)(?:[ \t]-[pwk][ \t]?|[ \t]--?[\w-]{0,24}pass[\w-]{0,12}[ =]|/p(?:ass)?:)\Z")
_CLOSES = linear.compile(
    rb"[\"'`<;,)}\x80-\xff]|[.!](?:[ \t]|\r?\n|\Z)|[ \t]*(?:#.*|//.*|,|;)?\r?(?:\n|\Z)|[ \t]+-"
)
_PASS_BEFORE = linear.compile(
    rb"(?i)(?:pass(?:word|wd|phrase|code)|(?:pass|\bpw)[\"'\]]{0,2}[ \t]*[:=]|pwd|"
    + LOCAL_NAMES
    + rb")[^\n]{0,40}\Z"
)


def _phrases(line: bytes) -> Iterator[tuple[str, int, int]]:
    """Passphrases that a line gives to a name for passwords, to the name above it, or to an option."""
    for match in _PHRASE.finditer(line):
        start, end = match.span()
        before = line[max(0, start - 48) : start]
        if not is_passphrase(match[0]):
            continue
        given = _GIVEN.search(before.rstrip(b" \t")) and _CLOSES.match(line, end)
        if _OPTION.search(before) or (given and (_PASS_BEFORE.search(before) or _VALUE_LINE.match(line))):
            yield ASSIGNED_PASSWORD, start, end


def _assigns(head: bytes) -> bool:
    """Whether what is before a value names it, so that it is no part of the value."""
    return head[-1:] in b":=" or head[:1] in b"-/"
