"""The rules find what they must, hide nothing on a comment's word, and stay quiet on the standard library."""

from __future__ import annotations

import base64
import random
import string
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush_core.secrets import credentials
from hush_core.secrets.credentials import (
    ASSIGNED,
    PRIVATE_KEY,
    CredentialScanner,
    canonical,
    key_body,
    key_lines,
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
    quiet = 'token = "access_token_placeholder"\npassword = "correct-horse-battery"\nsecret = get_it(x)\n'
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


def test_findings_show_no_value(scanner):
    token = "ghp_" + draw(36)
    assert token not in repr(scanner.scan(f'"{token}"'.encode()))


def test_few_findings_on_the_standard_library(scanner):
    root = Path(sysconfig.get_path("stdlib"))
    files = [p for p in root.rglob("*.py") if "-packages" not in str(p) and "/test" not in str(p)]
    assert len(files) > 300, sys.version
    found = [(p.name, d.rule) for p in files for d in scanner.scan(p.read_bytes())]
    assert len(found) <= 3, found


PARTS = [
    "api_key", "SECRET", "passwd", "Token", "private-key", "_x.y", '"]', "'", '"', "`", " = ", ":", "=>", ":=", ",",
    "\t", "\n", "\r\n", ";", "\\", " ", draw(11), draw(12), draw(20), draw(257), "é", "\x0b", "\x0c", "\x85",
]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(PARTS), max_size=24))
def test_the_gate_loses_no_assigned_value(parts):
    content = "".join(parts).encode()
    whole = [m.span() for m in credentials._ASSIGNED.finditer(content)]
    assert [m.span() for m in credentials._assigned(content)] == whole


def test_the_gate_on_assignments_of_every_shape():
    names = ["api-key", "secret", "password", "auth_token", "access-key"]
    content = "".join(
        f"{name}{tail}{sign}{mark}{draw(24)}{mark}{end}"
        for name in names
        for tail in ("", "_of.x", '"]')
        for sign in ("=", " : ", " => ", ":=", ", ")
        for mark in ("", '"', "`")
        for end in ("\n", ";\n", " x\n", ", y ")
    ).encode()
    found = [m.span() for m in credentials._assigned(content)]
    assert found == [m.span() for m in credentials._ASSIGNED.finditer(content)]
    assert len(found) > 200
