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
    """About one in 2,500 is a name; more than 20 of 20,000 has probability 5e-5. Text: none of 5,000 were."""
    draw = random.Random(16)
    letters = string.ascii_letters + string.digits
    values = ["".join(draw.choices(letters, k=20)).encode() for _ in range(20_000)]
    assert sum(map(is_identifier, values)) <= 20
    assert not any(map(is_placeholder, values)) and not any(map(is_everybodys, values[:500]))
    long = [base64.b64encode(draw.randbytes(300)) for _ in range(5_000)]
    assert sum(map(holds_text, long)) <= 10
