"""The rules find what they must, hide nothing on a comment's word, and stay quiet on the standard library."""

import base64
import random
import string
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples, some

from hush_core.secrets.detectors import credential_passwords, credential_rules, credential_scanner
from hush_core.secrets.detectors.credential_joined import Joined, whole_values
from hush_core.secrets.detectors.credential_rules import own_findings
from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.detectors.credential_values import (
    PRIVATE_KEY,
    Detection,
    canonical,
    key_body,
    key_lines,
)
from hush_core.secrets.priors import (
    ASSIGNED,
    ASSIGNED_PASSWORD,
    NEARBY,
    PASSWORD_BITS,
    RANDOM_TOKEN,
    WEAK_BITS,
    guess_bits,
)

ALNUM = string.ascii_letters + string.digits


def draw(n: int, alphabet: str = ALNUM, seed: int = 0) -> str:
    return "".join(random.Random(f"{n}{alphabet}{seed}").choices(alphabet, k=n))


def pem(seed: int = 0, lines: int = 12) -> str:
    body = "\n".join(draw(64, seed=100 * seed + i) for i in range(lines))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{draw(20, seed=seed)}\n-----END RSA PRIVATE KEY-----"


@pytest.fixture(scope="module")
def scanner() -> CredentialScanner:
    return CredentialScanner()


@pytest.mark.parametrize(
    "comment", ["gitleaks:allow", "kingfisher:ignore", "betterleaks:allow", "noqa", "nosec"]
)
def test_no_comment_hides_a_credential(scanner, comment):
    token = "ghp_" + draw(36)
    for content in (f'a = "{token}"  # {comment}\n', f'# {comment}\na = "{token}"\n'):
        (found,) = scanner.scan(content.encode())
        assert (found.value, found.exact) == (token.encode(), True)
        assert content.encode()[found.start : found.end] == token.encode()


def test_an_aws_pair_gives_two_secrets_and_ids_of_accounts_none(scanner):
    key_id = "AKIA" + draw(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    secret = draw(40)
    content = f"aws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n"
    assert {d.value.decode() for d in scanner.scan(content.encode())} == {key_id, secret}
    alone = scanner.scan(f"aws_secret_access_key = {secret}\n".encode())
    assert [d.value.decode() for d in alone] == [secret]


def test_inside_base64_the_outer_region_is_labelled(scanner):
    token = "ghp_" + draw(36)
    content = b"data: " + base64.b64encode(f'token = "{token}"'.encode()) + b"\n"
    (found,) = scanner.scan(content)
    assert (found.value.decode(), found.exact) == (token, False)
    assert (found.start, found.end) == (6, len(content) - 1)


def test_random_values_with_telling_names_and_nothing_else(scanner):
    hexadecimal = draw(32, "0123456789abcdef")
    hits = scanner.scan(f'API_KEY: "{hexadecimal}"\nconfig["client_secret"] = \'{draw(30)}\'\n'.encode())
    assert [(d.rule, d.value.decode()) for d in hits] == [(ASSIGNED, hexadecimal), (ASSIGNED, draw(30))]
    quiet = 'token = "access_token_placeholder"\npassword = "your_password"\nsecret = get_it(x)\n'
    assert scanner.scan(quiet.encode()) == []


def test_a_private_key_is_one_secret_however_it_is_written(scanner):
    key = pem()
    written = [key, key.replace("\n", "\r\n"), key.replace("\n", "\n    "), key.replace("\n", "\\n")]
    bodies = set()
    for text in written:
        (found,) = scanner.scan(f"x\n{text}\ny\n".encode())
        assert found.rule == PRIVATE_KEY
        bodies.add(canonical(found.rule, found.value))
    assert len(bodies) == 1
    assert canonical(PRIVATE_KEY, pem(1).encode()) not in bodies
    assert len(key_lines(key.encode())) == 12 and key_body(key.encode()).isalnum()


def test_a_key_behind_one_that_is_cut_short_or_named_in_a_sentence_is_found_whole(scanner):
    key, cut = (
        pem(),
        "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(draw(64, seed=n) for n in range(3)) + "\n...\n",
    )
    named = "Keys begin with `-----BEGIN RSA PRIVATE KEY-----`. If with `-----BEGIN PRIVATE KEY-----`:\n"
    for before, others in ((cut, [cut]), (cut + cut, [cut, cut]), (named, []), (named + cut, [cut])):
        found = [d.value.decode() for d in scanner.scan(f"x\n{before}{key}\ny\n".encode())]
        assert [value for value in found if "BEGIN" in value] == [*others, key]
    for joint in ("\n// ", "<br>", '\\n" +\n  "', "\r\n"):
        written = key.replace("\n", joint)
        found = [d.value.decode() for d in scanner.scan(f"x\n{cut}{written}\ny\n".encode())]
        assert [value for value in found if "BEGIN" in value] == [cut, written], joint
    assert not scanner.scan(f"x\n{named}y\n".encode())


def test_findings_show_no_value(scanner):
    token = "ghp_" + draw(36)
    assert token not in repr(scanner.scan(f'"{token}"'.encode()))


def test_few_findings_on_the_standard_library(scanner):
    root = Path(sysconfig.get_path("stdlib"))
    files = [p for p in root.rglob("*.py") if "-packages" not in str(p) and "/test" not in str(p)]
    assert len(files) > 300, sys.version
    found = [(p.name, d.rule) for p in files for d in scanner.scan(p.read_bytes())]
    assert len(found) <= 12, found  # about one a MB: recall has this price


def gated(content: bytes) -> list[tuple[int, int]]:
    found = []
    for first, last in credential_rules.gates_in(content).get(credential_rules.PASSWORD, []):
        first = credential_passwords._first(content, first, last)
        named = credential_passwords._named(content[first:last])
        found += [(first + m.start(), first + m.end()) for m in named]
    return found


def ungated(content: bytes) -> list[tuple[int, int]]:
    return [m.span() for m in credential_passwords.PASSWORD.finditer(content)]


PARTS = [
    "api_key", "SECRET", "passwd", "Token", "private-key", "_x.y", '"]', "'", '"', "`", " = ", ":", "=>", ":=", ",",
    "\t", "\n", "\r\n", ";", "\\", " ", draw(3), draw(4), draw(20), draw(257), "é", "\x0b", "\x0c", "\x85",
]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(st.lists(st.sampled_from(PARTS), max_size=24))
def test_the_gate_loses_no_line_with_an_assigned_value(parts):
    content = "".join(parts).encode()
    lines = {content.count(b"\n", 0, start) for start, _ in gated(content)}
    assert lines == {content.count(b"\n", 0, start) for start, _ in ungated(content)}


def test_the_gate_on_assignments_of_every_shape():
    names = ["api-key", "API key", "secret", "password", "auth_token", "access-key", "encryptionKey"]
    content = "".join(
        f"{name}{tail}{sign}{mark}{draw(24)}{mark}{end}"
        for name in names
        for tail in ("", "_of.x", '"]')
        for sign in ("=", " : ", " => ", ":=", ", ")
        for mark in ("", '"', "`")
        for end in ("\n", ";\n", " # x\n")
    ).encode()
    found = gated(content)
    assert found == ungated(content)
    assert len(found) > 200


HEX = "0123456789abcdef"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
TOKEN = ALNUM + "-_"
BOT = base64.b64encode(b"123456789012345678").decode()
PUBLISHED = {
    "hush.aws-access-key-id": "AKIA" + draw(16, BASE32),
    "hush.discord-webhook": f"https://discord.com/api/webhooks/{'123456789' * 2}/{draw(68, TOKEN)}",
    "hush.discord-bot-token": f"{BOT}.{draw(6, TOKEN)}.{draw(38)}",
    "hush.azure-client-secret": f"{draw(3)}8Q~{draw(34, TOKEN + '.~')}",
    "hush.mailgun-key": "key-" + draw(32, HEX),
    "hush.mailchimp-api-key": draw(32, HEX) + "-us12",
    "hush.telegram-bot-token": f"7123456789:AA{draw(33, TOKEN)}",
    "hush.new-relic-key": "NRAK-" + draw(27, BASE32),
    "hush.crates-io-token": "cio" + draw(32),
}


@pytest.mark.parametrize("rule", PUBLISHED)
@pytest.mark.parametrize("line", ["# staging runs on {}, mind", "x={}", "{}", "f('{}')", '  "y": "{}",'])
def test_published_formats_are_found_whatever_stands_around_them(scanner, rule, line):
    value = PUBLISHED[rule]
    content = f"a\n{line.format(value)}\nb\n".encode()
    start = content.index(value.encode())
    found = scanner.scan(content)
    assert any(d.start <= start and start + len(value) <= d.end for d in found), found
    own = list(own_findings(content, []))
    assert own[0] == (rule, start, start + len(value))
    assert WEAK_BITS < guess_bits(rule, value.encode()) <= 8 * len(value)


@pytest.mark.parametrize("rule", PUBLISHED)
def test_what_is_part_of_something_longer_is_no_token(rule):
    for content in ("x" + PUBLISHED[rule] + draw(60), PUBLISHED[rule][: len(PUBLISHED[rule]) * 2 // 3]):
        assert rule not in [own for own, _, _ in own_findings(content.encode(), [])] or "://" in content


def test_the_key_of_the_documentation_is_none(scanner):
    assert scanner.scan(b"aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n") == []


@pytest.mark.parametrize(
    "line", ["SECRET_KEY = '{}'", "SECRET_KEY={}", 'secretKey: "{}"', "secret-key: '{}'"]
)
def test_djangos_key_is_a_key_in_spite_of_its_symbols(scanner, line):
    value = draw(50, string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)")
    (found,) = scanner.scan(f"{line.format(value)}\n".encode())
    assert (found.rule, found.value.decode()) == ("hush.django-secret-key", value)
    assert guess_bits(found.rule, found.value) > 100


@pytest.mark.parametrize(
    "line",
    ["DB_PASSWORD={}", "password: '{}'", 'dbPassword = "{}";', "export API_KEY='{}'", "  secret: {}\r"],
)
def test_a_password_with_symbols_is_found_and_weak(scanner, line):
    value = "k7!Zr2@vQ9%tLw4&"
    (found,) = scanner.scan(f"{line.format(value)}\n".encode())
    assert (found.rule, found.value.decode()) == (ASSIGNED_PASSWORD, value)
    assert guess_bits(found.rule, found.value) <= PASSWORD_BITS


@pytest.mark.parametrize(
    "line",
    [
        "password = %(db_password1)s", "PASSWORD=$(get secret9)", "secret = a1+b2*cc3/dd4()",
        "password=$DB_PASSWORD_1", "token = self.TOKEN_V2_HEADER", "api_key = '<YOUR_API_KEY_1>'",
        "token: next_token_of_line_2",
    ],
)  # fmt: skip
def test_templates_names_and_expressions_are_no_passwords(scanner, line):
    assert scanner.scan(f"{line}\n".encode()) == []


@pytest.mark.parametrize(
    "line", ["# the API key is {}", "TODO: rotate the auth token {} soon", "run with `{}` (session key)"]
)
def test_a_machines_value_near_a_telling_name(scanner, line):
    value = draw(40)
    (found,) = scanner.scan(f"x\n{line.format(value)}\n".encode())
    assert (found.rule, found.value.decode()) == (NEARBY, value)
    assert guess_bits(found.rule, found.value) > WEAK_BITS
    far = line.format(" " * 121 + value + " " * 33).encode()
    assert [d.rule for d in scanner.scan(far)] == [RANDOM_TOKEN]
    assert scanner.scan(line.format("test_that_tokens_2_of_lines_are_joined").encode()) == []


def test_own_rules_leave_alone_what_the_pinned_ones_have():
    value = PUBLISHED["hush.mailgun-key"].encode()
    content = b"api_key = '" + value + b"'\n"
    start, end = content.index(value), content.index(value) + len(value)
    assert list(own_findings(content, [(start, end)])) == []
    assert list(own_findings(content, [(start + 4, end)])) == [("hush.mailgun-key", start, end)]


def test_a_token_of_8_kb_is_found_and_what_is_longer_is_not_one(scanner):
    token = random.Random(3).choices("abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVW23456789", k=9_000)
    for before in ("Authorization: Bearer ", 'curl -H "X-Api-Key: ', "https://a.b/c?token=", "AVNS_"):
        for length, found in ((100, 1), (5_000, 1), (8_100, 1), (9_000, 0)):
            text = f"{before}{''.join(token[:length])}\n".encode()
            assert len(scanner.scan(text)) == found, (before, length)


def test_a_hostile_line_takes_linear_time():
    for piece in (
        b"token ",
        b"A" * 20 + b" token ",
        b"secret=",
        b"MTIz" * 6 + b".",
        b"key-0 ",
        b"1234567890:AA",
    ):
        content = piece * (100_000 // len(piece))
        assert len(list(own_findings(content, []))) < 100_000  # returns at all: one long line


PLACES = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda row: (row[0], sum(row)))


@given(
    st.sets(st.tuples(PLACES, st.sampled_from(["rule", PRIVATE_KEY]))),
    st.lists(st.lists(PLACES, min_size=1, max_size=3).map(tuple), max_size=5),
)
def test_a_part_is_no_value_of_its_own_but_a_private_key_is(places, parts):
    found = {Detection(rule, b"", *place, True) for place, rule in places}
    joined = [Joined("in parts", b"%d" % number, of) for number, of in enumerate(parts)]
    expected = set(found)
    for one in joined:
        expected = {
            d for d in expected
            if d.rule == PRIVATE_KEY or not any(a <= d.start and d.end <= b for a, b in one.places)
        } | {Detection(one.rule, one.value, *place, False) for place in one.places}  # fmt: skip
    assert whole_values(found, joined) == expected


@pytest.mark.parametrize("shared", some([True, False], 1))
def test_compiled_rules_are_kept_in_a_private_folder_and_find_the_same(
    tmp_path, monkeypatch, scanner, shared
):
    """Two scanners: the second takes what the first left, and leaves it as it is. In the cache of all homes,
    or in the home's own folder where others may write to that cache."""
    text = b'x = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"\npassword = "hunter2x"\n'
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    cache.chmod(0o700 if shared else 0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    written, said = set(), []
    for home in ("one", "other" if shared else "one"):
        monkeypatch.setattr(credential_scanner, "_COMPILED", [])
        asked = CredentialScanner(tmp_path / home, lambda *at: said.append(at))
        assert asked.scan(text) == scanner.scan(text)
        (kept,) = cache.glob("hush/rules-*/*.vscdb") if shared else (tmp_path / home / "rules").iterdir()
        written.add(kept.stat().st_mtime_ns)
    assert len(written) == 1
    assert said == [(credential_scanner.COMPILE, done, 1) for done in (0, 1)], "the wait is announced, once"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
