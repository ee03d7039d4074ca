"""A version that is looked at where it changed has what it has when looked at as a whole; and why it may be."""

# ruff: noqa: E501  (tables: one row a secret)

import base64
import random
import re
import string
from re import _constants, _parser

import kingfisher_sdk
import pytest

from hush_core.secrets.detectors import by_line, credential_passwords
from hush_core.secrets.detectors.credential_rules import FAR_GATE
from hush_core.secrets.detectors.credentials import _Look

DRAW = random.Random(7)
LETTERS = string.ascii_letters + string.digits


def drawn(n: int, of: str = LETTERS) -> str:
    return "".join(DRAW.choices(of, k=n))


def code(n: int, first: int = 0) -> list[str]:
    return [f"    result = compute the next of step {k} with the usual way" for k in range(first, first + n)]


TOKEN = "ghp_" + drawn(36)
LONG = drawn(160)
PASSWORD = "Tr0ub4dor&" + drawn(4)
BYTES = DRAW.randbytes(32)
PARTS = {
    "assigned": [f'api_key = "{drawn(24)}"'],
    "prefixed": [f"see {TOKEN} for it"],
    "name above": ["<key>client_secret</key>", f"<string>{drawn(32, '0123456789abcdef')}</string>"],
    "table": ["user,password,role", f"ann,{drawn(20)},admin"],
    "table of two": ["name,secret,x", "ann,short,y", f"bob,{drawn(20)},z"],
    "word after": [f"{drawn(24, '0123456789abcdef')}  # the api key"],
    "chain": ["token = (", *(f'    "{TOKEN[n : n + 4]}" +' for n in range(0, 36, 4)), f'    "{TOKEN[36:]}")'],
    "long chain": ["secret_key = (", *(f'    "{LONG[n : n + 4]}"' for n in range(0, 160, 4)), ")"],
    "appended": ['secret_key = ""', *(f'secret_key += "{LONG[n : n + 8]}"' for n in range(0, 96, 8))],
    "list": ['api_key = "".join([', *(f'    "{LONG[n : n + 3]}",' for n in range(0, 120, 3)), "])"],
    "folded": ["secret_key: >-", *(f"  {LONG[n : n + 8]}" for n in range(0, 160, 8)), "next: of them"],
    "continued": [
        f"export API_KEY={LONG[:8]}\\",
        *(f"{LONG[n : n + 8]}\\" for n in range(8, 152, 8)),
        LONG[152:],
    ],
    "variables": [f'first = "{TOKEN[:20]}"', *code(20, 500), f'second = "{TOKEN[20:]}"', *code(20, 600), "token = first + second"],
    "manifest": [
        "apiVersion: v1", "kind: Secret", "metadata:", "  name: of it", "data:", "  user: YW5u",
        f"  key: {base64.b64encode(LONG[:30].encode()).decode()}",
    ],
    "private key": [
        "-----BEGIN RSA PRIVATE KEY-----",
        *(drawn(64, LETTERS + "+/") for _ in range(40)),
        "-----END RSA PRIVATE KEY-----",
    ],
    "curl": ["curl https://example.org/x \\", "  -H 'Accept: text' \\", "  --data x \\", f"  -u ann:{PASSWORD}"],
    "netrc": ["machine example.org", "login ann", f"password {PASSWORD}"],
    "url": [f"amqp://ann:{PASSWORD}@example.org/x"],
    "putty": ["Private-Lines: 2", drawn(64, LETTERS + "+/"), drawn(64, LETTERS + "+/")],
    "session": ["AWS_SESSION_TOKEN =", "", "", f'  "{drawn(120)}"'],
    "spaced rule": ["# couchbase capella", "# api", "# key", f"x {drawn(64, LETTERS + '+/')}"],
    "bytes": ["var key = []byte{", *("\t" + "".join(f"0x{b:02x}, " for b in BYTES[n : n + 2]) for n in range(0, 32, 2)), "}"],
    "vector": ["var key = []byte{" + "".join(f"0x{b:02x}, " for b in BYTES) + "}", *code(8, 700), "output", drawn(32, "0123456789abcdef")],
    "sentence": [f"数据库密码为“{PASSWORD}”，请勿外传"],
    "sentence of words": ["Das Passwort für den Server lautet „sommer2024“."],
    "fingerprint": [f"sha256 of it: {drawn(64, '0123456789abcdef')}"],
}  # fmt: skip


def text_of(middle: list[str]) -> bytes:
    return "\n".join([*code(25), *middle, *code(60, 100), ""]).encode()


@pytest.fixture(scope="module")
def look():
    return _Look()


def followed(look, texts: list[bytes], before: list[int | None]) -> list[list]:
    """What each version holds when it is looked at as a whole, once it is sure that following them finds it."""
    whole = [list(look(text)) for text in texts]
    assert list(look.follow(texts, before)) == whole
    return whole


def steps():
    """(what, before, now): a line of a secret comes, goes, or changes, or something beside it does."""
    for what, lines in PARTS.items():
        whole = text_of(lines)
        yield what, whole, b"new line of words\n" + whole
        yield what, whole, whole + b"new line of words\n"
        count = len(lines)
        for n in sorted({0, 1, count // 2, count - 2, count - 1} & set(range(count))):
            for other in ([*lines[:n], *lines[n + 1 :]], [*lines[:n], "other words", *lines[n + 1 :]]):
                yield what, text_of(other), whole
                yield what, whole, text_of(other)


def test_a_line_of_a_secret_that_comes_or_goes_is_seen(look):
    pairs = list(steps())
    texts = list(dict.fromkeys(text for _, *pair in pairs for text in pair))
    known = {text: list(look(text)) for text in texts}
    several = [text for _, before, now in pairs for text in (before, now)]
    rows = list(look.follow(several, [None if n % 2 == 0 else n - 1 for n in range(len(several))]))
    wrong = {what for n, (what, _, now) in enumerate(pairs) if rows[2 * n + 1] != known[now]}
    assert not wrong
    found = {what for what, _, now in pairs if known[now]}
    assert set(PARTS) - found == {"fingerprint"}, "a part that is not found even whole shows nothing"


DISTANT = {
    "two lines above": ["datadog secret key", "", "", f"= {drawn(32, '0123456789abcdef')}"],
    "a line above": ["box api key:", f"  '{drawn(32)}'"],
    **{name: PARTS[name] for name in ("name above", "session", "spaced rule", "table", "netrc")},
}


def test_an_edit_at_any_distance_from_a_secret_loses_none(look):
    """Where the value stands in what is looked at around an edit, and the word that makes it a secret beyond it."""
    texts, before, wanted = [], [], []
    for lines in DISTANT.values():
        whole = text_of(lines).decode().split("\n")
        for at in [*range(25 - 12, 25), *range(25 + len(lines), 25 + len(lines) + 12)]:
            edited = [*whole[:at], "zz other words", *whole[at + 1 :]]
            texts += ["\n".join(whole).encode(), "\n".join(edited).encode()]
            before += [None, len(texts) - 2]
            wanted.append(list(look(texts[-1])))
    assert all(wanted)
    assert list(look.follow(texts, before))[1::2] == wanted


def test_a_line_that_makes_a_manifest_of_what_stands_far_below_it_is_seen(look):
    """The value is twenty lines below, out of what is looked at around the change."""
    data = [*(f"    label_{n}: value" for n in range(16)), "data:", "  user: YW5u"]
    value = "  fox: " + base64.b64encode(LONG[:30].encode()).decode()
    texts = [
        text_of(["apiVersion: v1", f"kind: {kind}", "metadata:", *data, value])
        for kind in ("ConfigMap", "Secret")
    ]
    found = followed(look, texts, [None, 0])
    assert found[0] != found[1]


def test_the_first_line_of_a_key_is_seen_far_above_its_body(look):
    """Comments stand between them, out of what is looked at around the change."""
    first, *body = PARTS["private key"]
    below = ["Proc-Type: 4,ENCRYPTED", "", *(f"Comment: {n}" for n in range(12)), "", *body]
    found = followed(look, [text_of([line, *below]) for line in ("words", first)], [None, 0])
    assert not found[0] and found[1]


def test_a_line_that_joins_a_value_over_forty_lines_is_seen(look):
    """What stands above it is by itself no value, and the name of all is out of what is looked at."""
    rest = [f"  {LONG[n : n + 8]}" for n in range(0, 160, 8)]
    texts = [
        text_of(["secret_key: >-", *["  00000000"] * 18, line, *rest, "next: of them"])
        for line in ("two words", "  " + LONG[:8])
    ]
    found = followed(look, texts, [None, 0])
    assert not found[0] and found[1]


def test_only_what_may_have_changed_is_looked_at_as_a_whole(look, monkeypatch):
    texts = [text_of(PARTS["assigned"])]
    for n in range(20):
        texts.append(texts[-1].replace(b"step %d " % (125 + n), b"stage %d " % n))
    whole = []
    own = look.scanner.look
    monkeypatch.setattr(look.scanner, "look", lambda text: whole.append(text) or own(text))
    rows = list(look.follow(texts, [None, *range(20)]))
    assert len(whole) == 1 and all(len(row) == 1 for row in rows)
    assert [list(look(text)) for text in texts] == rows


SMALL = {
    "a token alone": drawn(32),
    "a token among blank lines": f"\n\n {drawn(40)}x \n\n\n",
    "an array of numbers alone": "[" + ",".join(str(37 * n * n % 251) for n in range(1, 65)) + "]",
    "a word": "words\n",
    "a line of settings": "password = correcthorse\n",
    "a file of a tool": "".join(f"db{n}.example.org:5432:app:ann{n}:{drawn(9)}pass\n" for n in range(3)),
    **{what: "\n".join(lines) for what, lines in PARTS.items()},
}


def test_small_files_and_first_versions_have_what_they_have_as_a_whole(look):
    texts = [text.encode() for text in SMALL.values()] + [text_of(lines) for lines in PARTS.values()]
    whole = {text: list(look(text)) for text in texts}
    assert list(look.follow(texts, [None] * len(texts))) == list(whole.values())
    assert not [what for what in list(SMALL)[:3] if not whole[SMALL[what].encode()]]
    longer = b"\n" * 30 + b"\n".join(b"of other words %d" % n for n in range(30))
    for text in texts:
        for chosen in ([text, text + longer], [text + longer, text], [longer + b"\n" + text, text]):
            assert list(look.follow(chosen, [None, 0])) == [list(look(text)) for text in chosen]


def test_a_head_that_says_the_same_has_no_version_looked_at_as_a_whole(look, monkeypatch):
    program = "\n".join(["import os", *(f"def f{n}(x):" for n in range(69)), "password = correcthorse", ""])
    texts = [program.encode()]
    for n in range(8):
        texts.append(texts[-1].replace(b"def f%d(" % n, b"def of_it_%d(" % n))
    found = [list(look(text)) for text in texts]
    monkeypatch.setattr(look.scanner, "look", lambda text: pytest.fail("looked at as a whole"))
    assert list(look.follow(texts, [None, *range(8)])) == found


def test_a_value_in_parts_is_not_scanned_for_again(monkeypatch):
    look = _Look()
    text = text_of(PARTS["chain"])
    inner = [found for found in look.scanner.scan(text) if not found.exact]
    list(look.follow([text], [None]))
    monkeypatch.setattr(look.scanner, "look", lambda text: pytest.fail("scanned again"))
    assert inner and look.inner(text) == inner


def test_settings_that_turn_into_code_and_back(look):
    settings = "\n".join([*(f"option_{n} = value of {n}" for n in range(70)), "password = correcthorse", ""])
    program = "\n".join(["import os", *(f"def f{n}(x):" for n in range(69)), settings]).encode()
    texts = [settings.encode(), program, settings.encode() + b"\nmore = 1\n", program + b"\nmore = 1\n"]
    assert list(look(texts[0])) and not list(look(texts[1]))
    for order in ((0, 1, 2, 3), (1, 0, 3, 2)):
        followed(look, [texts[n] for n in order], [None, 0, 1, 2])


def test_what_a_rule_wants_besides_comes_later(look):
    tool = [f"  --user ann:{PASSWORD}"]
    without, with_ = (
        text_of([*tool, *code(30, 300), "the tool"]),
        text_of([*tool, *code(30, 300), "the tool: wget"]),
    )
    assert list(look(with_)) and not list(look(without))
    for chosen in ([without, with_], [with_, without]):
        followed(look, chosen, [None, 0])


def test_files_whose_lines_have_a_form(look):
    lines = [f"db{n}.example.org:5432:app:ann{n}:{drawn(9)}pass" for n in range(40)]
    before = "\n".join(["name of the file", "in words", *lines, ""]).encode()
    now = "\n".join([*lines, ""]).encode()
    for chosen in ([before, now], [now, before]):
        followed(look, chosen, [None, 0])


def test_a_row_far_below_its_head_is_seen_in_the_next_version(look):
    """The head is unchanged and 40 KB away: only a look at the whole finds the new row's password."""
    rows = [f"h{n},ada,,viewer" for n in range(2500)]
    before = "\n".join(["host,user,password,role", *rows, "end,ada,,x", ""]).encode()
    after = before.replace(b"end,ada,,x", b"end,ada,J7kq2!mWz9Lr4,x")
    first, second = look.follow([before, after], [None, 0])
    assert list(first) == [] and [after[a:b].decode() for a, b, _ in second] == ["J7kq2!mWz9Lr4"]


def test_histories_at_random(look):
    draw = random.Random(3)
    found = 0
    for _ in range(12):
        lines, texts = code(80), []
        for _ in range(12):
            for _ in range(draw.randrange(1, 4)):
                at = draw.randrange(len(lines))
                put = draw.choice(
                    [[], code(draw.randrange(4), draw.randrange(900)), draw.choice(list(PARTS.values()))]
                )
                start = draw.randrange(len(put) + 1)
                lines[at : at + draw.randrange(3)] = put[start : start + draw.randrange(len(put) + 2)]
            texts.append("\n".join([*lines, ""]).encode())
        whole = followed(look, texts, [None, *range(11)])
        assert list(look.follow(texts, [None, 0, 0, 1, None, *range(4, 11)])) == whole
        found += sum(map(bool, whole))
    assert found > 60


def test_a_keys_type_comes_and_goes(look):
    part = f' "n": "{drawn(120)}",'
    with_, without = (
        [*code(2), "{" + kind, ' "e": "AQAB",', part, "}"] for kind in ('"kty": "RSA",', '"x": "RSA",')
    )
    texts = [text_of(with_), text_of(without), text_of(with_)]
    assert [len(rows) for rows in followed(look, texts, [None, 0, 1])] == [0, 1, 0]


def test_wide_lines_of_a_certificate_are_none_in_every_version(look):
    """Its first line, far above, says what they are: where that changes, all of them are looked at."""
    size = b"\x30\x82\x03\x80\x30\x82\x02\x80\xa0\x03\x02\x01\x02\x02\x02ab\x30\x0d."  # of 900 bytes
    head = base64.b64encode(size + b"\n").decode()
    lines = [drawn(98) for _ in range(10)]
    first = [head + drawn(70), drawn(98), head + drawn(70)]
    texts = [text_of([*code(20), one, *lines, *code(20)]) for one in first]
    whole = followed(look, texts, [None, 0, 1])
    assert not whole[0] and len(whole[1]) >= 10 and not whole[2]


def test_variables_put_together_far_below_a_change_are_seen(look):
    """The line that puts them together is as it was; by itself none of them is a value."""
    parts = [TOKEN[:14], TOKEN[14:27], TOKEN[27:]]
    below = [f'six = "{parts[2]}"', *code(20, 600), "full = one + two + six"]
    seconds = ("", parts[1], parts[1] + "x")
    texts = [text_of([f'one = "{parts[0]}"', f'two = "{two}"', *below]) for two in seconds]
    found = followed(look, texts, [None, 0, 1])
    assert not found[0] and found[1]


def test_a_name_above_a_value_is_sought_on_one_short_line(look, monkeypatch):
    """Behind a longer line nothing is read: neither what a version before held, nor the file from its start."""
    top, long = 'primary_key = "hunter2trout9"', "# " + "of the text that is long " * 8
    pair = [long, "value: token=None"]
    texts = [text_of([top, *code(60), *above, *code(60)]) for above in (pair, [long])]
    assert followed(look, texts, [None, 0]) == [[], []]

    read = []
    monkeypatch.setattr(by_line, "MOST", 0)  # nothing is kept
    monkeypatch.setattr(credential_passwords, "_AT", Counted(credential_passwords._AT, read))
    content = text_of(pair * 400)
    assert not list(look(content)) and 0 < sum(read) < 4 * len(content)


class Counted:
    """A pattern that notes how many bytes it was given."""

    def __init__(self, pattern, read):
        self.pattern, self.read = pattern, read

    def finditer(self, text):
        self.read.append(len(text))
        return self.pattern.finditer(text)

    def match(self, text):
        return self.pattern.match(text)


FAR_RULES = {
    "betterleaks.gcp-application-default-credentials": '{ "client_secret": "x", "refresh_token": "y" }',
    "betterleaks.gcp-service-account": '"private_key": "-----BEGIN PRIVATE KEY-----',
    "betterleaks.kubernetes-secret-yaml": "kind: Secret",
    "betterleaks.private-key": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "veles.secrets/codecatalystcredentials": "https://u:p@git.eu.codecatalyst.aws/x",
    "betterleaks.jwt-base64": "ZXlKaGJHY2lPaU",
}
"""Rules that see across any number of lines, and what each sees at least."""
WORDS = set(map(ord, LETTERS))


def _crossing(tree, flags: int) -> int:
    """Most characters of a match that may be line breaks while letters stand between them; 10⁶ for any number."""
    most = 0
    for kind, value in tree:
        if kind is _constants.ANY:
            most += bool(flags & re.S)
        elif kind is _constants.IN:
            most += _breaks_and_words(value)
        elif kind is _constants.NOT_LITERAL:
            most += value != 10
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            _, high, inner = value
            most += _crossing(inner, flags) * min(int(high), 10**6)
        elif kind is _constants.SUBPATTERN:
            most += _crossing(value[3], (flags | value[1]) & ~value[2])
        elif kind is _constants.BRANCH:
            most += max(_crossing(one, flags) for one in value[1])
    return min(most, 10**6)


def _breaks_and_words(items) -> bool:
    """Whether a class holds the line break and a letter or a digit."""

    def holds(c: int) -> bool:
        return any(
            (kind is _constants.LITERAL and value == c)
            or (kind is _constants.RANGE and value[0] <= c <= value[1])
            or (kind is _constants.CATEGORY and re.match({"SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W", "DIGIT": r"\d", "NOT_DIGIT": r"\D"}[str(value).removeprefix("CATEGORY_")], chr(c)))
            for kind, value in items
        ) != any(kind is _constants.NEGATE for kind, _ in items)  # fmt: skip

    return holds(10) and any(map(holds, WORDS))


@pytest.mark.slow
def test_no_other_rule_sees_farther_than_what_is_looked_at_around_a_change():
    far = {}
    rules = kingfisher_sdk.Rules(cache=False)
    for rule in rules.metadata():
        pattern = rules.detail(rule["id"])["pattern"]
        flags = 0
        for group in re.findall(r"\(\?([imsx]+)\)", pattern):
            flags |= sum({"i": re.I, "m": re.M, "s": re.S, "x": re.X}[c] for c in group)
        plain = re.sub(r"\(\?[imsx]+\)", "", pattern).replace("\\z", "\\Z")
        if (reach := _crossing(_parser.parse(plain, flags), flags)) > 1:
            far[rule["id"]] = reach
    assert {rule for rule, reach in far.items() if reach > 130} - {"betterleaks.curl-auth-user"} == set(
        FAR_RULES
    )
    for sees in FAR_RULES.values():
        assert re.search(FAR_GATE, sees.encode())
