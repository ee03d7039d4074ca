"""Passwords near a name for one, in any syntax: wrapped, in options, in tuples, on the next line, in a sentence.

What decides is the value: three kinds of characters, and none of the forms of code. So a language, an option or a
constructor that no rule lists is covered. Values of one kind of characters need a rule with a syntax
(`credential_passwords`, `credential_places`).
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

from collections.abc import Iterator

from hush_core import linear
from hush_core.secrets.detectors import deadline
from hush_core.secrets.detectors.by_line import by_line
from hush_core.secrets.detectors.credential_given import given, is_given_words
from hush_core.secrets.detectors.credential_languages import LOCAL_NAMES, RUN, VERBS, in_sentences
from hush_core.secrets.detectors.credential_looks import PHRASE, is_chosen, is_passphrase, is_strong
from hush_core.secrets.detectors.credential_public import is_placeholder, says_placeholder
from hush_core.secrets.detectors.credential_randomness import looks_made
from hush_core.secrets.priors import ASSIGNED, ASSIGNED_PASSWORD

NEAR_GATE = (
    rb"(?:pass(?:word|wd|phrase|code|w\b|\b)|pwd|\bpw\b|psk|secret|cred(?:ential)?s?\b|auth\b|sign in|log ?in\b|sshpass|mysqli|connect\(|/pass?:|/p:|net use|\bzip\b|ldap|\bbind|(?:\b|_)pw\b|[ \t\"'](?:-[uld]|--?user(?:name)?)[ =\"',][^\n]{1,96}[ \t\"']-[pwa]|%b)"
) % LOCAL_NAMES
_NAME = linear.compile(rb"(?i)(?:pass(?:word|wd|phrase|code)|pwd|secret|\bpsk\b|" + LOCAL_NAMES + rb")")
"""Names after which the value may also be on the next lines."""
ABOVE, LINES_ABOVE = 160, 3
"""Bytes and lines above a value in which its name may be: less than `changes.around` takes in."""
MOST_LINE = 2000
_RUN = linear.compile(RUN + rb"{8,128}")
_TEMPLATES = (b"${", b"{{", b"$(", b"#{")
_HEAD = linear.compile(rb"(?:/?[A-Za-z_][\w.-]{0,40}[:=]|--?[a-z][\w-]{0,40}=|-[pPw])")
"""What a run of characters may begin with that is no part of the value: `pw=`, `ada:`, `/p:`, `-p`."""


def near_names(content: bytes, lines: list[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of strong passwords on the lines that hold a name, and on the next three."""
    seen = 0
    for first, last in lines:
        deadline.check()
        line = content[first:last]
        if last - first > MOST_LINE:
            continue
        if b" " not in line and _DENSE.fullmatch(line) and not _WORD.search(line):
            continue  # signs and letters at random, among which a short name occurs by chance
        if first >= seen:
            for rule, start, end in by_line(_on_line, line):
                yield rule, first + start, first + end
            seen = last
        if not _NAME.search(line):
            continue
        at = max(seen, last)
        for _ in range(LINES_ABOVE):
            end = content.find(b"\n", at) + 1 or len(content)
            if end <= at or end - last > ABOVE or content.startswith((b"\n", b"\r\n"), at):
                break
            for rule, start, stop in _below(line, content[last:at], content[at:end]):
                yield rule, at + start, at + stop
            at = end


def _below(line: bytes, between: bytes, value: bytes) -> Iterator[tuple[str, int, int]]:
    """What a line holds below one with a name."""
    alone = _ABOVE_ALONE.search(line + between) and _ALONE.fullmatch(value)
    if alone and _is_given(alone[1]) and not _CLASS.fullmatch(alone[1]):
        yield ASSIGNED_PASSWORD, *alone.span(1)
    if _VALUE_LINE.match(value) and not _of_one_list(line, value):
        yield from by_line(_on_line, value)
        default = _DEFAULT.match(value)
        if default and _SAYS.search(line) and (_is_given(default[1]) or is_given_words(default[1])):
            yield ASSIGNED_PASSWORD, *default.span(1)


def _of_one_list(name: bytes, value: bytes) -> bool:
    """Whether two lines list names of one kind: `'ldap_bind',` and below it `'ldap_close',`, or `'all_parents',`."""
    one, other = _ITEM.fullmatch(name), _ITEM.fullmatch(value)
    if one is None or other is None:
        return False
    return one[1][:4] == other[1][:4] or bool(_SNAKE.fullmatch(one[1]) and _SNAKE.fullmatch(other[1]))


_SNAKE = linear.compile(rb"[a-z]+(?:_[a-z]+)+")
_ITEM = linear.compile(rb"[ \t]*[\"']([A-Za-z]\w{3,63})[\"'],?[ \t\r]*\n?")


_DENSE = linear.compile(rb"[!-u]{56,}[\r\n]*")
_WORD = linear.compile(rb"[a-z]{6}|[A-Z]{6}")
_VALUE_LINE = linear.compile(
    rb"(?i)[ \t]*(?:[-+*][ \t]*)?(?:[\"']?(?:default(?:[ _]?value)?|value|val|content|string|data|text)[\"']?[ \t]*(?:=>|[:=])|<(?:value|string|default|content|data|val)\b[^<>\n]{0,60}>|[\"'`][^\"'`\n]{8,64}[\"'`],?[ \t\r]*(?:\n|\Z))"
)
"""A line that gives a value to the name above it."""
_DEFAULT = linear.compile(
    rb"(?i)[ \t]*[\"']?(?:default(?:[ _]?value)?|value|val)[\"']?[ \t]*(?:=>|[:=])[ \t]*[\"']?([^\s\"'`(){}\[\],;]{6,64}|[a-z]{3,12}(?: [a-z]{3,12}){2,7})[\"']?[ \t]*[),;}]{0,3}[ \t\r]*(?:\n|\Z)"
)
_SAYS = linear.compile(
    rb"(?i)(?:pass(?:word|wd|phrase)|pwd|" + LOCAL_NAMES + rb")[\w-]{0,8}[\"'`]?[ \t]*(?:[:,=]|\r?\n)"
)
_ABOVE_ALONE = linear.compile(
    rb"(?i)(?:[:=][ \t]*[>|][-+]?|(?:pass(?:word|wd|phrase|code)|pwd|\bpw|%b)[\"'`*:?]{0,4})[ \t\r]*\n(?:[ \t]*[=~^-]{3,}[ \t\r]*\n)?\Z"
    % LOCAL_NAMES
)
_ALONE = linear.compile(rb"[ \t]*(?:[-*+>:][ \t]+)?[`\"'*]{0,3}([^\s`\"'*]{6,64})[`\"'*]{0,3}[ \t\r]*\n?")
"""A name above it whose value YAML, or a document, has on the next line, and that line."""
_CLASS = linear.compile(rb"[.#@][\w.#-]+")
"""A class or an id of a page's element, as templates have them on lines of their own."""


def _on_line(line: bytes) -> Iterator[tuple[str, int, int]]:
    """What a line holds, whatever is between it and the name."""
    yield from _phrases(line)
    yield from ((ASSIGNED_PASSWORD, start, end) for start, end in given(line))
    if b"-" in line or b"/" in line:
        yield from _options(line)
    if b"(" in line or b"{" in line:
        yield from _wrapped(line)
    yield from in_sentences(line, lambda value: is_passphrase(value) or is_strong(value))
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
            named = head is not None and (line[head.end() - 1] in b":=" or line[start] in b"-/")
            if is_strong(value) and not named:
                yield (ASSIGNED if looks_made(value) else ASSIGNED_PASSWORD), start, end
                break
            if not head or head.end() == start:
                break
            start = head.end()


_GIVEN = linear.compile(
    rb"[=:>(\"'`\x80-\xff]\Z|[=:][ \t]{0,4}[&!][\w!/-]{1,24}\Z|(?:\A|[ \t])(?:is|was|password|%b)\Z" % VERBS
)
_OPTION = linear.compile(
    rb"(?i)(?:[ \t]-[pwk][ \t]?|[ \t]--?[\w-]{0,24}pass[\w-]{0,12}[ =]|/p(?:ass)?:)[\"']?\Z"
)
_CLOSES = linear.compile(
    rb"[\"'`<;,)}\x80-\xff]|[.!](?:[ \t]|\r?\n|\Z)|[ \t]*(?:#.*|//.*|,|;)?\r?(?:\n|\Z)|[ \t]+-|[ \t]+[a-z_]+="
)
_PASS_BEFORE = linear.compile(
    rb"(?i)(?:pass(?:word|wd|phrase|code)|(?:pass|\bpw|psk)[\"'\]]{0,2}[ \t]*[:=]|pwd|%b)[^\n]{0,40}\Z"
    % LOCAL_NAMES
)


def _phrases(line: bytes) -> Iterator[tuple[str, int, int]]:
    """Passphrases that a line gives to a name for passwords, to the name above it, or to an option."""
    for match in PHRASE.finditer(line):
        start, end = match.span()
        before = line[max(0, start - 48) : start]
        if not is_passphrase(match[0]):
            continue
        given = _GIVEN.search(before.rstrip(b" \t")) and _CLOSES.match(line, end)
        if _OPTION.search(before) or (given and (_PASS_BEFORE.search(before) or _VALUE_LINE.match(line))):
            yield ASSIGNED_PASSWORD, start, end
    for match in _WORDS.finditer(line):
        start, end = match.span(1)
        before = line[max(0, match.start() - 96) : start]
        if is_chosen(match[1]) and (_NAMED_WORDS.search(before[-48:]) or _TAKES_WORDS.search(before)):
            yield ASSIGNED_PASSWORD, start, end


_WORDS = linear.compile(
    rb"(?:[\"'`>]|[:=][ \t]*)([a-z]{3,12}(?: [a-z]{3,12}){2,7})(?:[\"'`<]|[ \t]*\r?(?:\n|\Z))"
)
"""Words with blanks between, in quotes or to the line's end."""
_NAMED_WORDS = linear.compile(
    rb"(?i)(?:pass(?:word|wd|phrase|code)?|pwd|psk|secret(?:[_-]?key)?|(?:\b|[_-])pw|%b)[\w-]{0,8}"
    rb"(?:[\"'\]]?[ \t]*(?:=>|:=|[:=]|\()|[\"'],|[^=\n]{0,16}(?:default|value)[\"']?[ \t]*[:=]|[^=>\n]{0,8}>)[ \t]*[\"'`>]?\Z"
    % LOCAL_NAMES
)
"""The name of a password that is directly before them."""
_TAKES_WORDS = linear.compile(
    rb"(?i)(?:[ \t](?:-[pPwak]|-pw|--?[\w-]{0,24}pass[\w-]{0,12})[ \t=]?|<<<[ \t]*|pass:|\b(?:htpasswd|wpa_passphrase)[ \t][^\n\"']{1,64}"
    rb"|secret\w{0,12}(?:[.:]{1,2}\w{1,16})?\(|(?:login|connect|auth\w{0,16}|sign_?in|log_?on|credentials?)[ \t]*=?\([^()\n]{0,64}[\"'],[ \t]*"
    rb"|(?:pass|pwd)[^\n]{0,24}(?:send_?keys|type|fill|set_?value)\(|(?:pass\w{0,8}|pwd)[\"')\]]{0,3}(?:[ \t]*(?:\|\||\?\?|\?:|\bor\b)[ \t]*|:-|:)|\b(?:requirepass|masterauth)[ \t]+)[\"'`]\Z"
)
"""An option, a call or a command that takes them for a password."""


def _is_given(value: bytes) -> bool:
    """Whether a value is a password where its place says so."""
    if is_placeholder(value) or says_placeholder(value):
        return False
    return is_strong(value) or is_passphrase(value) or (is_chosen(value) and not _NOT_GIVEN.fullmatch(value))


def _options(line: bytes) -> Iterator[tuple[str, int, int]]:
    """Passwords behind an option: one that says so, or a letter beside the option of a user.

    >>> line = b"mongosh --host db3.lan -u marta -p 'Nico!Lukas87'"
    >>> [line[start:end] for _, start, end in _options(line)]
    [b'Nico!Lukas87']
    >>> list(_options(b"docker run -u root -p 8080:80 -w app")), list(_options(b"mkdir -p build2"))
    ([], [])
    """
    users: bool | None = None
    for match in _NET_USE.finditer(line):
        if _is_given(match[1]) or is_given_words(match[1]):
            yield ASSIGNED_PASSWORD, *match.span(1)
    for match in _OPTION_VALUE.finditer(line):
        letter, value = match[1], match[3]
        if letter and users is None:
            users = _USER_OPTION.search(line) is not None
        if letter and not users:
            continue
        plain = letter is None or letter in b"pP" or letter == b"pw"
        if letter is None and is_given_words(value):
            yield ASSIGNED_PASSWORD, *match.span(3)
        elif _is_given(value) and (plain or is_strong(value) or is_passphrase(value)):
            yield (ASSIGNED if looks_made(value) else ASSIGNED_PASSWORD), *match.span(3)


_NET_USE = linear.compile(
    rb"(?i)\bnet(?:\.exe)?[ \t]+use[ \t][^\n]{1,160}/u(?:ser)?:\S{1,64}[ \t]+[\"']?([^\s\"'/*][^\s\"']{5,63})"
)
_OPTION_VALUE = linear.compile(
    rb"(?:\A|[ \t\"'\[(,])(?:-(pw|[pPwWA])(?:[ \t=]|[\"'],[ \t]*[\"']|)"
    rb"|(?:--?|/)([A-Za-z-]{0,24}(?i:pass(?:word|wd|phrase)?|pwd)|(?i:p))(?:[ \t=:]|[\"'],[ \t]*[\"']))"
    rb"[\"']?([^\s\"'`<>|;&$(){}\[\]/=-][^\s\"'`<>|;(){}\[\]]{5,63})"
)
_USER_OPTION = linear.compile(
    rb"(?:\A|[ \t\"',\[])(?:-[uUlD][ \t\"',=]{0,4}[\w.@\\-]|--?(?i:user|login|username)\b|/(?i:u|user):)|sshpass"
)
_NOT_GIVEN = linear.compile(
    rb"(?i)(?:(?:sha|md|aes|des|rsa|ed|hmac|v|python|py|node|php)[-_.]?[0-9].*|.*\.(?:[a-z]{1,5}|p12|p7[bcs])|.*[/:].*|[a-z]+[-_]?[0-9]{1,3}|[a-z0-9]+(?:[-_][a-z]+[0-9]?)+)"
)
"""Algorithms, versions, files, ports and names with a number."""


def _wrapped(line: bytes) -> Iterator[tuple[str, int, int]]:
    """Passwords that a call or a constructor takes on their way to a name: `password: Some("…")`.

    >>> line = b'let root_password = SecretString::new("Nico127_".into());'
    >>> [line[start:end] for _, start, end in _wrapped(line)]
    [b'Nico127_']
    >>> list(_wrapped(b'password = os.environ.get("DB_PASS1")')), list(_wrapped(b'password: t("errors.password2")'))
    ([], [])
    """
    for match in _WRAPPED.finditer(line):
        value = match[2]
        if not _READS.search(match[1]) and _is_given(value) and not _NEVER_WRAPPED.search(value):
            yield (ASSIGNED if looks_made(value) else ASSIGNED_PASSWORD), *match.span(2)


_WRAPPED = linear.compile(
    rb"(?i)(?:pass(?:word|wd|phrase|code)?|pwd|psk|(?:\b|[_-])pw|" + LOCAL_NAMES + rb")[\w-]{0,8}[\"'\]]?"
    rb"(?:[ \t]*:[ \t]*[\w<>\[\]?&*.]{1,24})?[ \t]*(?:=>|:=|[:=])[ \t]*((?:[\w.:<>\[\]?*&]{1,40}[({][ \t]*){1,3})[\w.]{0,2}[\"']([^\s\"'\\]{6,64})[\"']"
)
_READS = linear.compile(
    rb"(?i)(?:get|env|param|input|form|query|request|req\b|find|read|load|field|conf|setting|attr|locat|select|xpath|label|text|trans|i18n|intl|lookup|fetch|require|import|match|replace|split|regex|pattern|test|equal|expect|assert|include|contain|post|args?\b|opt|flag|header|cookie|column|char|error|fail|warn|log|print|message|\bt\(|\b_\(|\b__\()"
)
"""Calls whose argument is a name, a pattern or a message."""
_NEVER_WRAPPED = linear.compile(rb"^[A-Z]+(?:_[A-Z0-9]+)+$|^\w+\.\w+\.|[%{}$^]|^[a-z_]+[0-9]?$")
