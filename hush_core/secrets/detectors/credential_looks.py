"""How the passwords look that a person or a generator makes: mixed characters, or several words that name nothing.
And which values at the places of passwords a person may have chosen, and which are code, paths and sentences.

Both are decided by the value alone, so they hold in any syntax and language; what is near a value decides whether
these are asked (`credential_near`, `credential_passwords`, `credential_files`).
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re

from hush_core import linear
from hush_core.secrets.detectors.credential_public import is_file, is_identifier
from hush_core.secrets.detectors.credential_randomness import MIN_RANDOM, surprise
from hush_core.secrets.detectors.credential_words import is_keyword
from hush_core.secrets.guessing.words import OF_TRADE, word_bits

STRONG_SIGN = re.compile(rb"[!@#$%^&*?~]")
_NEVER = linear.compile(
    rb"://|^www\.|\$\{|\{\{|%[sdrvq]|^[$@%#&*!~?]+\w*$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$|^[a-z][a-z0-9_.-]+@[a-z][\w.-]*$|^@?[\w./-]+@[v^~]?[0-9.]+$|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]+)$|::|->|=>|[=!<>]=|&&|\+\+"
    rb"|^\W*[0-9:.,/+tzTZ -]+\W*$|^[0-9]{4}-[0-9]{2}-[0-9]{2}|%[0-9A-Fa-f]{2}.*%[0-9A-Fa-f]{2}|^\w+[?*:]+$|^[a-z]+[0-9]?!$|[?&]\w+=|^/[\w/.#-]*$|/\w*/|\.\.|^#[0-9a-fA-F]{3,8}$|^git@"
    rb"|\.(?:py|js|ts|md|json|ya?ml|txt|html?|go|rs|java|c|h|cpp|png|svg)(?:[#?:].*)?$|^\$[0-9a-z]{1,8}\$|\$[A-Z_]{4,}|^[a-z]+\*[a-z0-9]+$|^(?:sha|md)[0-9]|@[0-9a-f]{7,}$|^[A-Z_0-9@#%&!-]+$|#(?:[0-9]+$|section|L[0-9])|a-z|A-Z|EXAMPLE|X-Amz|^%%|^@[\w-]+/|^s/|^\w+(?:\.\w+)+[!?]$|^(?:[a-z]+)?#[\w-]+$|@(?:localhost|127\.)|@[\w-]+(?:\.[\w-]+)+[:/]|^\*+[A-Za-z_]\w*\.[A-Za-z]|^\*\*\w+\*\*$|^[0-9]+\*\w+\.[A-Za-z]"
)
"""Addresses, packages, templates, operators, dates, escapes, paths, colours and files."""


def is_strong(value: bytes) -> bool:
    """Whether a value mixes its characters as a password does, and as names, addresses and code do not.

    >>> is_strong(b"J7kq2!mWz9Lr4"), is_strong(b"Summer2019!"), is_strong(b"aG5wq8Zt3Lm0p"), is_strong(b"BE-wRg.gU-dO")
    (True, True, True, True)
    >>> is_strong(b"ada@example.org"), is_strong(b"OAuth2Client"), is_strong(b"lodash@4.17.21"), is_strong(b"password1")
    (False, False, False, False)
    >>> is_strong(b"Content-MD5-Header"), is_strong(b"x86_64-Linux-GNU")
    (False, False)
    """
    if not 8 <= len(value) <= 64 or len(set(value)) < 6 or _NEVER.search(value):
        return False
    digit = re.search(rb"[0-9]", value) is not None
    lower, upper = re.search(rb"[a-z]", value) is not None, re.search(rb"[A-Z]", value) is not None
    if digit and (lower or upper) and STRONG_SIGN.search(value):
        return True
    if not (lower and upper and 10 <= len(value) <= MOST_MIXED and _MIXED.fullmatch(value)) or is_identifier(
        value
    ):
        return False
    if digit and value.isalnum():
        return len(value) < MIN_RANDOM and len(TURNS.findall(value)) >= 3 and surprise(value) >= 5.6
    return surprise(value) >= (6.8 if digit else 7.2)


MOST_MIXED = 24
_MIXED = re.compile(rb"[A-Za-z0-9!@#$%^&*?~._+=-]+")
TURNS = re.compile(rb"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")


PHRASE = linear.compile(
    rb"[A-Za-z]{3,12}(?:[-_.][A-Za-z]{3,12}){2,7}[0-9]{0,4}|(?:[A-Z][a-z]{2,11}){3,8}[0-9]{0,4}"
)
_PARTS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_NO_NAMES = frozenset(b"pepper salt seed cookie pin".split())
"""Words that are names of secrets, and things."""
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
    """Whether a value is three words or more, with one sign or a capital between, which do not name things in code.

    Of four words that are drawn from 7,776 one in ten phrases holds a word of code; of longer phrases a third may be.

    >>> is_passphrase(b"pillow-tunnel-anchor-velvet"), is_passphrase(b"WalnutFerryCompass"), is_passphrase(b"fern-key-otter-moss")
    (True, True, True)
    >>> is_passphrase(b"reset-form-field-label"), is_passphrase(b"ResetPasswordForm"), is_passphrase(b"moss-moss-moss")
    (False, False, False)
    """
    if not 14 <= len(value) <= 72 or not PHRASE.fullmatch(value):
        return False
    parts = _PARTS.findall(value)
    signs = {sign for sign in value if sign in b"-_."}
    if len(signs) > 1 or len(set(parts)) < max(3, len(parts) - 2):
        return False
    if not (value.islower() or value.isupper() or all(part.istitle() for part in parts)):
        return False
    of_code = sum([is_of_code(part.lower()) for part in parts])
    return 3 * of_code < len(parts) if signs else not of_code


def is_of_code(word: bytes) -> bool:
    """Whether a word in lower case names something in programs."""
    if word in _NO_NAMES:
        return False
    known = word in _NO_PHRASE or word.rstrip(b"s") in _NO_PHRASE
    return known or is_keyword(word) or word.startswith(b"pass")


SAYS_PASSWORD = linear.compile(
    rb"(?i)pass(?:w(?:or)?d|phrase)?[\"']?\W{0,12}(?:value[ \t]*=[ \t\"']*)?\Z|pwd[\"']?\W{0,12}(?:value[ \t]*=[ \t\"']*)?\Z"
)
_CALLED = linear.compile(
    rb"[A-Za-z@]{0,2}'.*'.*|\w[\w.]*[(\[{<].*|.*[A-Za-z_]\w*\(.*\).*|.*[;,]|[\w.-]+(?:/[\w.-]+)+|(?:v|py|python)?[0-9]+(?:[.:-][0-9]+)*|.*(?:[=<>]=|=>|->|&&|[|][|]|::|\\[nrt]|://).*"
)
"""A call, an index, a path, a version: what programs and lists have behind the names of passwords."""
PROSE = frozenset(
    b"a an the is are was be been to of for in on at by or and not no your you my our his their this that it if with from as must should "
    b"may must needs have can cannot could do does did has have had please enter choose type set use new old current again too at least most than "
    b"invalid wrong incorrect required missing expired changed reset forgot forgotten confirm confirmation mismatch match matches field fields "
    b"string number text input label prompt user username name email login sign log file key secret token default optional le la les el los las der die das "
    b"de du des mot passe contrase palavra senha wachtwoord kennwort passwort losenord haslo il per una ein eine nicht ist".split()
)


def is_chosen(value: bytes) -> bool:
    """Whether a person may have chosen it: letters with digits or signs between or behind; of words in lower case
    several that make no sentence.

    >>> is_chosen(b"P@ssw0rd,1"), is_chosen(b"correct horse battery"), is_chosen(b"S3cr3t Sauce"), is_chosen(b"moss-otter-fern")
    (True, True, True, True)
    >>> is_chosen(b"get_password(a1)"), is_chosen(b"the wrong password"), is_chosen(b"letmein")
    (False, False, False)
    """
    if b" " in value:
        parts = value.split(b" ")
        if any(part.lower().strip(b".,!?:;") in PROSE or b"pass" in part.lower() for part in parts):
            return False
        if re.search(rb"[.:?,]\Z|[<>{}()=$%]", value) or len(value) < 8:
            return False
        drawn = any(
            re.search(rb"[A-Za-z][0-9!@#$^&*]+[A-Za-z]|[A-Za-z]{3,}[0-9@#$^&*]", part) for part in parts
        )
        several = len(parts) >= 3 and re.fullmatch(rb"[a-z]{3,}(?: [a-z]{3,}){2,}", value) is not None
        return drawn or (several and all(part.decode() in word_bits() for part in parts))
    if _CALLED.fullmatch(value) or not re.search(rb"[A-Za-z]", value):
        return False
    return (
        (re.search(rb"[0-9]", value) is not None and len(value) >= 6)
        or is_strong(value)
        or is_passphrase(value)
    )


_NAME_LIKE = linear.compile(
    rb"[A-Za-z_][a-z]*(?:[._-][A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:_[A-Z0-9]+)+|[A-Za-z_]\w*(?:\.\w+)+|[0-9.:,+-]+|[A-Za-z][\w.-]*(?::[\w.-]+)+:v?[0-9][\w.-]*"
)
_NUMBERED = linear.compile(rb"[A-Za-z]+[0-9]{1,2}|(?:0x)?[0-9A-Fa-f]{8}(?:[0-9A-Fa-f]{8})?")
"""A word with a number, or the short form of a public key's fingerprint: no key of a machine."""
_DIGIT, _SYMBOL = re.compile(rb"[0-9]"), re.compile(rb"[^A-Za-z0-9_.-]")
_SIGNED = linear.compile(rb"[A-Za-z]{3}[!@#$%^&*]+\Z")
_LETTERED = linear.compile(rb"[A-Za-z][0-9]+[a-z]")
"""A digit among letters, as who chooses a password writes one: `tr0ut`."""


def _is_numbered(value: bytes) -> bool:
    """Whether it is two words or more with a dot and a digit: `Olivia.Tommy50`, but no file."""
    plain = len(value) >= 8 and value.count(b".") == 1 and b":" not in value
    return plain and bool(_DIGIT.search(value)) and not is_file(value)


def may_be_password(value: bytes, *, human: bool, quoted: bool, settings: bool) -> bool:
    """Whether a person may have chosen a value that is given to a name, in code or in settings.

    human: the name is one of what people choose, and not of a machine's key.
    """
    digit, symbol = bool(_DIGIT.search(value)), bool(_SYMBOL.search(value))
    if human and (quoted or settings) and (is_strong(value) or is_passphrase(value) or _is_numbered(value)):
        return True
    if _NAME_LIKE.fullmatch(value):
        if human and quoted and len(value) >= 8 and _LETTERED.search(value) and b":" not in value:
            return True
        return human and settings and b"." not in value and len(value) >= 6 and quoted | digit
    if settings and human:
        return True
    if not human:
        long = len(value) >= (8 if settings else 12) and (quoted or settings)
        return long and digit and surprise(value) >= 5 and not _NUMBERED.fullmatch(value)
    if quoted:
        return (digit and len(value) >= 6) or (symbol and len(value) >= (6 if _SIGNED.search(value) else 8))
    return digit and len(value) >= 7 and re.fullmatch(rb"[A-Za-z0-9_!@#$%^&*~?-]+", value) is not None
