"""What is public by its form is no credential, and its neighbours in form still are.

Each row of NEITHER is a kind of line that was reported falsely in public repositories; each of BOTH differs from
one of them in what makes it a credential. A rule that is dropped fails NEITHER, one that takes too much fails BOTH.
"""

# ruff: noqa: E501  (tables: one row a kind)

import base64
import random
import string

import pytest

from hush_core.secrets.detectors.credential_public import (
    holds_text,
    is_everybodys,
    is_identifier,
    is_placeholder,
)
from hush_core.secrets.detectors.credentials import CredentialScanner

RANDOM = "x7Gq0TzLw4RbN9vKpY2cQm8sXa1d"
HEX = "3b7c91e0d5a24f68b1c7d9e2f4a60835c1e7b924"

NEITHER = {
    "pin of an action": f'uses: "example/configure-credentials@{HEX}" # v6',
    "pin of a certificate": '.add("example.com", "sha256/Vjs8r4z+80wjNcr1YKepWQboSIRi63WsWXhIMN+eWys=")',
    "thumbprint beside a subject": f"| `CN=Example Signing CA, O=Example Inc` | `{HEX.upper()}` |",
    "nonce of a challenge": f'WWW-Authenticate: Digest nonce="{HEX[:32]}"',
    "handshake": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "link to a list": "[talk](https://www.youtube.com/playlist?list=PLFrwDVdSrYE6dy14XCmUtRAJuhCxuzJp0)",
    "name in camel case": "private BoolOption _failOnNullOrEmptyForEach; // token",
    "cut short by its author": '--api-key "MlVtVjBZ...ZSYlduYnF1djh3NG5FQQ"',
    "name with digits": "if (flagArg1And2AreWords) { token = generateOAuth1Header(x) }",
    "what describes itself": 'auth: { apiKey: "base64EncodedKey" }\nPASSWORD=some-super-secret-password\n',
    "public key in DER": "publicKey=MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBALK4BUxdDltRRE5zXx7Gq0TzLw4RbN9vKpY2cQm8sXa1d",
    "public key of SSH": "signing_key: AAAAC3NzaC1lZDI1NTE5AAAAIx7Gq0TzLw4RbN9vKpY2cQm8sXa1dVt5ReW0pLzK3jHq",
    "page under a telling word": "* API token [talk](https://youtu.be/wGtS5qQ0bC0)",
    "identifier of a response": f"X-Amz-Cf-Id: {RANDOM}",
    "token of a badge": "[![cov](https://codecov.io/gh/a/b/graph/badge.svg?token=x7Gq0TzLw4)](https://codecov.io)",
    "word that begins as a telling one": '// e.g. passing "type.corp.io/rpc.Origin1" will return',
    "function of that name": 'assert tc.auth_password("bad-server1", "hello")',
    "sentence with the words of netrc": "# the default password upon installation is blank",
    "file of a build": 'deps = ["assets/ArtifactKey-zVSjHejk.js","assets/Token-CaWhPp9oQ3x7Gq0TzLw4.js"]',
    "parameter behind a template": "client_secret=<SECRET>&email=<EMAIL>&password=<PASS>\n",
    "example of a standard": "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "metasyntactic words": "route = 'nats://foo:bar@corp.de:4245' # password: foobar",
    "placeholder in a login": "Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=",
    "placeholder in a URL": "proxy = 'http://username:password@proxy.corp:8030'",
    "name of a mechanism": "mongodb://db.corp/x?authMechanism=SCRAM-SHA-256",
    "permissions of a workflow": "secrets: inherit\n",
    "key of a cache": "cache_key: windows-2022-msvc-cl1\n",
    "serialised object": f'kDefaults = "{base64.b64encode(bytes([10, 25]) + b"google/protobuf/any.proto" + bytes(range(128, 170))).decode()}"',
    "block of strings": "\n".join(f'+ "{RANDOM}{RANDOM}{line:02}kQ9zXw\\n"' for line in range(6)),
    "example of a manual": "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;",
}  # fmt: skip
BOTH = {
    "action's input": f'token: "{RANDOM}" # v6',
    "key after a digest's name": f'sha256_secret = "{RANDOM}"',
    "key beside a subject": f"CN=Example; api_key={RANDOM}",
    "nonce's key": f"define('NONCE_KEY', '{RANDOM}');",
    "key in a link": f"https://api.corp.com/v1?access_token={RANDOM}",
    "unknown parameter": f"https://api.corp.com/v1?zx={RANDOM}",
    "letters alone": 'secret_key = "qZxTvLwKdRbYpNsUeHcJmAgfXo"',
    "login": "Authorization: Basic " + base64.b64encode(b"deploy:tr0ub4dor&3").decode(),
    "password in a URL": "proxy = 'http://deploy:tr0ub4dor3@proxy.corp:8030'",
    "secret of a workflow": "client_secret: Cl1ent$ecret!\n",
    "key of an account": f"account_key: {RANDOM}\n",
    "one string": f'data = "{RANDOM}"',
    "password that begins as a description": 'PASSWORD="super-strong-horse-battery1"\n',
    "password of words and digits": 'password: "pass123word"\n',
    "private key in DER": f"privateKey=MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8{RANDOM}",
    "path with a value under a telling word": f"* API token https://api.corp.de/hook/{RANDOM}",
    "token beside a badge": f"badge_token = '{RANDOM}'",
    "metasyntactic word and more": "route = 'nats://foo:bar7k@corp.de:4245'",
    "function of SQL": "INSERT INTO mysql.user VALUES ('app', PASSWORD('tr0ub4dor&3'));",
    "line of netrc": "default login anonymous password tr0ub4dor3\n",
    "session behind a request's id": f"X-Request-Id: 5\nX-Session-Token: {RANDOM}",
    "id and key in base64": 'x = "'
    + base64.b64encode(f"{RANDOM[:20]}:{RANDOM[::-1]}".encode()).decode()
    + '"',
}


@pytest.fixture(scope="module")
def scanner():
    return CredentialScanner()


@pytest.mark.parametrize("kind", NEITHER)
def test_public_forms_are_no_credentials(scanner, kind):
    assert not scanner.scan(f"a = 1\n{NEITHER[kind]}\nb = 2\n".encode())


@pytest.mark.parametrize("kind", BOTH)
def test_their_neighbours_still_are(scanner, kind):
    assert scanner.scan(f"a = 1\n{BOTH[kind]}\nb = 2\n".encode())


def test_random_values_are_neither_names_nor_placeholders_nor_text():
    """About one in 6,000 is a name; more than 12 of 20,000 has probability 5e-5. Text: none of 5,000 were."""
    draw = random.Random(16)
    letters = string.ascii_letters + string.digits
    values = ["".join(draw.choices(letters, k=20)).encode() for _ in range(20_000)]
    assert sum(map(is_identifier, values)) <= 12
    assert not any(map(is_placeholder, values)) and not any(map(is_everybodys, values[:500]))
    long = [base64.b64encode(draw.randbytes(300)) for _ in range(5_000)]
    assert sum(map(holds_text, long)) <= 10


def test_names_and_descriptions_of_any_length_take_linear_time():
    """Returns at all: an expression that splits a run of letters in every way takes years for these."""
    for token in (b"a" * 8000 + b"A-!", b"A" * 8000 + b"b!", b"aB" * 4000 + b"!", b"a1B2" * 2000 + b"!"):
        assert not is_identifier(token)
    for token in (b"key" * 21 + b"!", b"an" * 32, b"secret " * 9, b"my" * 31 + b"x!"):
        assert not is_placeholder(token)
