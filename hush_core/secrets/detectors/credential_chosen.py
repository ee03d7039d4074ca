"""Which values at the places of passwords a person may have chosen, and which are code, paths and sentences."""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re

from hush_core import linear
from hush_core.secrets.detectors.credential_looks import is_passphrase, is_strong
from hush_core.secrets.guessing.words import word_bits

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
