"""Random-looking values that no name announces: what shows that one is data, an id, a digest, an attachment.

A machine makes more ids, digests and encoded bytes than keys, and all look alike. So a value without a telling name
counts only where nothing shows that it is one of those: not its own name, nor its place in a path, nor its
neighbours. A telling name is believed whatever is around (`credential_names` asks it first).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from hush_core import linear
from hush_core.secrets.detectors.credential_public import is_identifier, words_in
from hush_core.secrets.detectors.credential_randomness import MIN_RANDOM, looks_made
from hush_core.secrets.detectors.credential_words import (
    has_strong_keyword,
    is_keyword,
    is_named_id,
    names_an_id,
    words,
)
from hush_core.secrets.detectors.rejected import rejected
from hush_core.secrets.priors import RANDOM_TOKEN

LONGEST_ID = 24
"""Characters of an id: 128 bits at most, in base64 with padding (a UUID, an object's id, a nano id)."""
LONGEST_ALONE = 27
"""The same under the name `id` alone: a K-sortable id has so many, a cuid 25, a ULID 26."""
_PREFIXED = linear.compile(rb"[a-z]{2,12}_[0-9A-Za-z]{10,32}")
_TYPE_ID = linear.compile(rb"[a-z]{2,}(?:_[a-z]+)*_0[0-9a-hjkmnp-tv-z]{25}")
"""Ids that say of what they are: `price_…`; and TypeIDs, whose rest is a time and a random part."""
MANY, COUNTED = 20, 5
"""So many different values of one form in a file, none under a telling name, are data. So are so many that begin
alike at random: credentials are drawn one by one, ids are counted up."""
ABOVE = 200
"""Bytes above the first of many values in which a word may tell what they are."""
NEAR, BEHIND = 300, 100
"""Bytes before a random value that has no name, and behind it, in which a word may say that it is a credential."""
_ELEMENT = linear.compile(rb"[\[{(,][ \t]*[A-Za-z@]{0,2}[\"'`]\Z|(?:\t[^\t\n]{0,80}){5}\t\Z")
"""What is before an element of a list, an argument of a call, or a field of a log."""
_GIVEN = linear.compile(
    rb"(?i:client|connect|login|api|open|unlock|decode|atob|hex|base64|b64|bytes|buffer)\w{0,16}\([^()\n]{0,60}[\"'`]\Z"
    rb"|(?:://[^\s\"'`]{1,100}|[\"'`]--?[A-Za-z][\w-]{0,32})[\"'`],[ \t]*[\"'`]\Z"
)
"""What is before an element all the same: a caller that opens or decodes something, an address, an option."""
WIDE = 100
"""Characters of base64 above and below that make a line part of a block: less than `REACH_DOWN`."""
WIDEST = 8192
"""Of such a line: a longer one is not copied for each value on it."""
BLANKS = 64
"""Most of them beside a value that is a line."""
Row = tuple[int, int, str]
_UUID = re.compile(rb"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PARTS = re.compile(rb"[/._:+-]")
_DIGESTS = linear.compile(rb"[0-9a-f]{32}(?:[0-9a-f]{32})?|[0-9A-F]{32}|[0-9A-F]{8}(?:[0-9A-F]{8})?\Z")
_IN_PARTS = linear.compile(rb"[A-Za-z]?[a-z]*(?:[A-Z][a-z]+[0-9]?|[A-Z]{2,4})+")
"""Digests in a name, and how the rest looks."""
_SEGMENT = linear.compile(
    rb"[a-z]{3,}(?:[._-][a-z]+)*|[A-Z]{3,}(?:_[A-Z]+)*|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}"
)
"""A part of a path that people named, or a host."""
_ADDRESS = re.compile(rb"https?%3[Aa](?:%2[Ff]){2}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+")
_BEFORE, _AFTER = linear.compile(rb"(?:\A|\n)[ \t]*\Z"), linear.compile(rb"[ \t\r]*(?:\n|\Z)")
_LISTED = linear.compile(
    rb"(?:\A|[\[{])(?:[^()\[\]{}=:]{0,100},)?[ \t]*[A-Za-z]{0,2}[\"'`]\Z"
    rb"|(?i:assert\w*|expect\w*|equals?|to_?be|eq|\w*exact)[!]?\((?:[^()]{0,60},)?[ \t]*[A-Za-z]{0,2}[\"'`]\Z"
)
"""What is before an element of a list, or before what a test expects of a call."""


def data_here(content: bytes, start: int, end: int, first: int, last: int, kind: str) -> str:
    """What shows that a value on the line [first, last), which has no telling name, is data; "" if nothing does."""
    token, before = content[start:end], content[max(first, start - 120) : start]
    alone = is_named_id(before) and (end - start <= LONGEST_ALONE or _PREFIXED.fullmatch(token) is not None)
    alone = alone and not any(map(is_keyword, words(token.partition(b"_")[0])))
    if alone or (end - start <= LONGEST_ID and names_an_id(before, digits=True)):
        return "an id, as its name and its length say"
    rest = _UUID.sub(b"/", token)
    named = rest != token and not any(map(looks_made, _PARTS.split(rest)))
    if named and not any(map(is_keyword, words(rest))):
        return "a name or a path with the id of an object"
    if is_name_of_a_resource(token):
        return "a name with a digest"
    if _TYPE_ID.fullmatch(token):
        return "an id, as its form says"
    if is_path_of_words(token) or _ADDRESS.match(token):
        return "a part of a path or an address"
    if kind == "hex" and _LISTED.search(before):
        return "digits in a list, or that a test expects: a digest"
    if _is_wide(content, first, last):
        return "a line of a block of encoded data"
    return ""


def is_name_of_a_resource(token: bytes) -> bool:
    """Whether it is a name in camel case with digests in it or behind it, as clouds name resources.

    >>> [is_name_of_a_resource(t) for t in (b"MyVpcPublicSubnet1SubnetF6608456", b"x7Gq0TzLw4RbN9vK0A1B2C3D")]
    [True, False]
    """
    rest = _DIGESTS.sub(b"", token.rpartition(b":")[2])
    name = rest.strip(b"$_")
    if len(rest) == len(token):
        return False
    return is_identifier(name) or (
        _IN_PARTS.fullmatch(name) is not None and any(len(word) > 4 for word in words_in(name))
    )


def is_path_of_words(token: bytes) -> bool:
    """Whether it is a path, or an address without its scheme: people named one of its parts, or two without a slash
    in front.

    >>> is_path_of_words(b"//boards.corp.io/b/D2SzJKZDS4Z48yeQH"), is_path_of_words(b"/x7Gq0TzLw4RbN9vKpY2c/q8sX==")
    (True, False)
    """
    named = sum(_SEGMENT.fullmatch(part) is not None for part in token.split(b"/"))
    return named >= (1 if token.startswith(b"/") else 2)


def _is_wide(content: bytes, first: int, last: int) -> bool:
    """Whether a line and both beside it are nothing but base64, wider than `WIDE`."""
    if last - first > WIDEST:
        return False
    sides = content[max(0, first - WIDE) : max(0, first - 1)], content[last : last + WIDE - 1]
    line = content[first:last].rstrip(b"\n")
    return all(len(part) >= WIDE - 1 and _BASE64.fullmatch(part) is not None for part in (*sides, line))


def counting(content: bytes, rows: Sequence[Row]) -> list[Row]:
    """Rows without the values that no name announces, if they are elements, or a file has many of their form.

    They are ids, digests or an attachment, unless a word near says what they are, or each is a line.
    This depends on all of a content, so what is known of it for its next version has them.
    """
    mine = [(row, content[row[0] : row[1]]) for row in rows if row[2] == RANDOM_TOKEN]
    if not mine:
        return list(rows)
    forms: dict[tuple, set[bytes]] = defaultdict(set)
    announced = {_form(content[start:end]) for start, end, rule in rows if rule != RANDOM_TOKEN}
    for (start, end, _), value in mine:
        form = _form(value)
        near = form not in forms and _has_keyword(content, start - ABOVE, start)
        if near or _is_a_line(content, start, end):
            announced.add(form)
        forms[form].add(value)
        forms[_head(value)].add(value)
    data = set()
    for row, value in mine:
        form, head = _form(value), _head(value)
        many = len(forms[form]) >= MANY or (head and len(forms[head]) >= COUNTED)
        if form not in announced and (many or _is_element(content, row[0], row[1])):
            why = "one of many values of its form in this file, none under a telling name"
            rejected(why if many else "an element, an argument or a field, with no telling word near", value)
            data.add(row)
    return [row for row in rows if row not in data]


def _is_element(content: bytes, start: int, end: int) -> bool:
    """Whether a value is one of several without a name, and no word near indicates a credential."""
    before = content[max(0, start - NEAR) : start]
    if _ELEMENT.search(before) is None or _GIVEN.search(before) is not None:
        return False
    return not (_has_keyword(content, start - NEAR, start) or _has_keyword(content, end, end + BEHIND))


def _has_keyword(content: bytes, start: int, end: int) -> bool:
    """Whether a telling word is there: in the head of a table, before the bracket of a list, in a sentence."""
    return has_strong_keyword(content[max(0, start) : end])


def _is_a_line(content: bytes, start: int, end: int) -> bool:
    """Whether a value is all that its line holds but for blanks, as in a list of tokens."""
    before, after = content[max(0, start - BLANKS) : start], content[end : end + BLANKS]
    return _BEFORE.search(before) is not None and _AFTER.match(after) is not None


def _form(value: bytes) -> tuple:
    return len(value), looks_made(value)


def _head(value: bytes) -> tuple:
    """The random beginning that ids have in common which are counted up; not a token's header."""
    head = value[:MIN_RANDOM]
    return (head,) if len(value) > MIN_RANDOM and looks_made(head) and not head.startswith(b"eyJ") else ()
