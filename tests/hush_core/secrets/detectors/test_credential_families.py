"""Families of credentials with random values: every byte is labelled, parts together, in linear time."""

# ruff: noqa: E501  (tables: one row a form)

import base64
import random
import string
import time

import pytest

from hush_core.secrets.detectors.credential_files import ENCODED_PASSWORD, FILE_PASSWORD
from hush_core.secrets.detectors.credential_randomness import looks_made, surprise
from hush_core.secrets.detectors.credential_rules import all_findings, own_findings
from hush_core.secrets.detectors.credential_values import Values, readings
from hush_core.secrets.detectors.credential_words import is_keyword, verdict, words
from hush_core.secrets.detectors.credentials import CredentialScanner, Detection
from hush_core.secrets.priors import ASSIGNED, PASSWORD_BITS, RANDOM_TOKEN, WEAK_BITS, guess_bits

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def draw(alphabet: str, n: int, seed: object = 0) -> str:
    return "".join(random.Random(f"{alphabet}{n}{seed}").choices(alphabet, k=n))


def covered(content: str, value: str) -> bool:
    """Whether every byte of the value's last place is in a span of our own rules."""
    text = content.encode()
    start = text.rindex(value.encode())
    held = bytearray(len(value.encode()))
    own, joined, _ = all_findings(text, [])
    places = [(a, b) for _, a, b in own] + [place for j in joined for place in j.places]
    for a, b in places:
        for at in range(max(a, start), min(b, start + len(held))):
            held[at - start] = 1
    return all(held)


@pytest.mark.parametrize(
    "form",
    [
        "pat-na1-{u}", "tskey-auth-k{b11}CNTRL-{b32}", "CFPAT-{b43}", "squ_{h40}", "ya29.a0{b140}", "GOCSPX-{b28}",
        "access_token$production${h16}${h32}", "LTAI5t{b18}", "AKCp8{b68}", "sq0csp-{b43}", "ops_eyJ{b300}",
        "acme_live_{b32}", "zq_{h40}", "sl.{b140}", "FLWSECK-{h32}-X", "dt0c01.{b24}.{b64}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "line", ["x = '{}'", "thing: {}", 'f(1, "{}")', "<a>{}</a>", "see {} there", "Y := `{}`"]
)
def test_prefixed_values_whatever_the_variable_is_called(form, line):
    parts = {
        f"{c}{n}": draw({"b": ALNUM, "h": HEX}[c], n, form + line)
        for c in "bh"
        for n in (11, 16, 18, 24, 28, 32, 40, 43, 64, 68, 140, 300)
    }
    uuid = draw(HEX, 32, form + line)
    value = form.format(u=f"{uuid[:8]}-{uuid[8:12]}-4{uuid[13:16]}-a{uuid[17:20]}-{uuid[20:]}", **parts)
    assert covered(f"import os\n{line.format(value)}\nz = 1\n", value)


NAMED = [
    'apiKey: "{}"', "CLIENT_SECRET={}", "session-token => '{}'", 'encryption_key := "{}"', "  auth_token: {}",
    '<add key="SigningKey" value="{}"/>', "  <key>AuthToken</key>\n  <string>{}</string>", "setx ACCESS_TOKEN \"{}\"",
    '(def secret-key "{}")', "curl -H 'X-Api-Key: {}' x", "./run --access-token {} -v", "GET /v1?token={}&page=2",
    "        - name: APP_SECRET\n          value: {}", 'props.put("app.secret", "{}");', "name,api_key,on\nacme,{},1",
    "| webhook secret | `{}` |", "# the master key is {}", 'os.environ["SIGNING_SECRET"] = "{}"', "ARG LICENSE_KEY {}",
]  # fmt: skip


@pytest.mark.parametrize("line", NAMED)
@pytest.mark.parametrize(
    ("alphabet", "n"), [(HEX, 32), (HEX, 64), (ALNUM, 24), (ALNUM + "-_", 43), (ALNUM + "+/", 360)]
)
def test_values_without_a_prefix_by_their_names_in_any_syntax_and_length(line, alphabet, n):
    value = draw(alphabet, n, line).replace("-", "a").replace("=", "b")
    assert covered(f"import os\n{line.format(value)}\nz = 1\n", value)


PASSWORD = "Tr0ub4dor&3x"
FILES = {
    "netrc": "machine a.test\n  login bob\n  password {}\n", "pgpass": "db.test:5432:orders:app:{}\n",
    "wp-config": "define( 'DB_PASSWORD', '{}' );\n", "ado": 'cs="Server=db;User ID=sa;Password={};"\n',
    "jdbc": "jdbc:mysql://db.test/x?user=app&password={}\n", "maven": "<server><password>{}</password></server>\n",
    "url": "redis://:{}@cache.test:6379/0\n", "redis": "bind 0.0.0.0\nrequirepass {}\n", "sql": "CREATE USER b IDENTIFIED BY '{}';\n",
    "ansible": "h1 ansible_password={} ansible_user=b\n", "ldif": "dn: cn=b\nuserPassword: {}\n", "sasl": "[smtp.test]:587 bob:{}\n",
    "chap": "# secrets\nbob * {} *\n", "sshpass": "sshpass -p '{}' ssh h\n", "curl": "curl -u bob:{} https://a.test\n",
    "cisco": "username bob password 0 {}\n", "kubernetes": "kind: Secret\nstringData:\n  p: {}\n", "env": "DB_PASSWORD={}\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_passwords_in_tools_own_files_are_found_and_weak(kind):
    value = PASSWORD.replace("&", "9") if kind == "jdbc" else PASSWORD
    content = FILES[kind].format(value)
    assert covered(content, value)
    text = content.encode()
    for rule, start, end in own_findings(text, []):
        assert guess_bits(rule, text[start:end]) <= PASSWORD_BITS < WEAK_BITS


def test_logins_in_base64_are_labelled_as_they_stand():
    login = base64.b64encode(f"bob:{PASSWORD}".encode()).decode()
    content = f'{{"auths": {{"r.test": {{"auth": "{login}"}}}}}}\n'
    ((rule, start, end),) = own_findings(content.encode(), [])
    assert (rule, content[start:end]) == (ENCODED_PASSWORD, login)
    data = base64.b64encode(PASSWORD.encode()).decode()
    manifest = f"kind: Secret\ndata:\n  p: {data}\nother:\n  q: {data}\n".encode()
    assert [manifest[a:b].decode() for _, a, b in own_findings(manifest, [])] == [data]


SPLIT = [
    'x = "{}" + "{}"', 'x = ("{}"\n     "{}")', 'x = "{}" \\\n    "{}"', 'x = "".join(["{}", "{}"])', 'x = "{}"\nx += "{}"',
    'a = "{}"\nb = "{}"\nx = a + b', "const x = '{}' +\n  '{}';", "x = '{}' . '{}';", 'x := "{}" +\n\t"{}"', "x = '{}' .. '{}'",
    'x = "{}" & _\n    "{}"', "export X={}\\\n{}", "x: >-\n  {}\n  {}\n", 'A="{}"\nB="{}"\nexport X="${{A}}${{B}}"', 'X="{}"\nX+="{}"',
    'x = "%s%s" % ("{}", "{}")', 'new StringBuilder("{}").append("{}")', "SELECT '{}' || '{}';", 'x <- paste0("{}", "{}")', "x: |\n  {}\n  {}\n",
]  # fmt: skip


@pytest.mark.parametrize("form", SPLIT)
@pytest.mark.parametrize("cut", [7, 15, 30])
def test_values_in_parts_are_one_value_and_all_parts_are_labelled(form, cut):
    value = "gsk_" + draw(ALNUM, 44, form)
    content = f"import os\n{form.format(value[:cut], value[cut:])}\nz = 1\n"
    for part in (value[:cut], value[cut:]):
        assert covered(content, part)
    _, joined, _ = all_findings(content.encode(), [])
    assert value.encode() in {j.value for j in joined}


def test_prose_in_parts_and_lists_of_words_are_no_values():
    for text in (
        'raise ValueError("the number 12345 of items is "\n    "wrong: 67890 were expected")\n',
        'names = ["alpha1", "beta2", "gamma3"]\n', "total = first + second\n", "text: >-\n  some words\n  and more 12\n",
    ):  # fmt: skip
        assert all_findings(text.encode(), [])[:2] == ([], [])


@pytest.mark.parametrize(
    "line",
    [
        "sha256:{h64}", 'integrity="sha512-{b88}"', "github.com/x/y v1.2.3 h1:{b43}=", "commit {h40}", "  rev: {h40}",
        "uses: actions/checkout@{h40}", "url(data:image/png;base64,{b88})", "ssh-ed25519 {b68} me", "checksum = \"{h64}\"",
        "id: {h32}", "assertAlmostEqualListsOfItems2(x)", "from hush_core.secrets.detectors.v2Beta import x1",
        "password = os.environ['X']", "token = get_token(user_id=1)", "api_key: ${API_KEY}", "secret: {{ vault_secret }}",
        "public_key = {h64}", "key: v1.26.0-0.20240101120000-abcdef123456",
    ],
)  # fmt: skip
def test_digests_names_and_templates_are_no_credentials(line):
    for field in ("h32", "h40", "h64", "b43", "b68", "b88"):
        alphabet = HEX if field[0] == "h" else ALNUM
        line = line.replace("{" + field + "}", draw(alphabet, int(field[1:])))
    assert list(own_findings(f"# text\n{line}\n# end\n".encode(), [])) == []


def test_randomness_tells_values_from_names():
    rng = random.Random(7)
    drawn = ["".join(rng.choices(ALNUM, k=24)) for _ in range(500)]
    names = ["assertAlmostEqualsList", "HTTPConnectionPoolKey", "test_parse_header_2_lines"]
    names += ["getElementsByTagName", "k8s_pod_template_v1beta"]
    assert sum(looks_made(v.encode()) != "" for v in drawn) >= 495  # a miss in a thousand, a hundred taken
    assert not any(looks_made(n.encode()) for n in names)
    assert max(surprise(n.encode()) for n in names) < min(surprise(v.encode()) for v in drawn)
    regular = (b"A1B2C3D4E5F6G7H8I9J0", b"abcdefgh12345678", b"aaaaaaaaaaaaaaaaaaaa1B")
    assert not any(map(looks_made, regular))


def test_words_of_names_decide_the_nearest_first():
    assert words(b"stripeSecretKEY_2") == [b"stripe", b"secret", b"key"]
    said = [verdict(b"api_key = "), verdict(b"token_sha256: "), verdict(b"color = "), verdict(b"public key ")]
    assert said == [True, False, None, False] and not is_keyword(b"monkey")


def test_a_part_is_no_finding_of_its_own_and_the_whole_is_not_weak():
    value = draw(HEX, 64)
    content = f'SECRET_KEY = "{value[:14]}" + "{value[14:]}"\n'.encode()
    found = CredentialScanner().scan(content)
    assert {(d.value.decode(), d.exact) for d in found} == {(value, False)}
    assert all(guess_bits(d.rule, d.value) > WEAK_BITS for d in found)
    assert value not in repr(found) and value[:14] not in repr(found)


def test_what_only_encodes_another_value_is_none_of_its_own():
    token = "ghp_" + draw(ALNUM, 36)
    plain, other = token.encode(), draw(ALNUM, 40).encode()
    values = Values()
    values.add(0, Detection("betterleaks.github-pat", plain, 0, 40, True), stands=True)
    for n, form in enumerate(
        (base64.b64encode(b"xy" + plain), plain.hex().encode(), b"prefix" + plain, other)
    ):
        values.add(n + 1, Detection(RANDOM_TOKEN, form, 0, len(form), True), stands=True)
    values.settle()
    assert set(values.rules) == {plain, other}
    assert any(plain in text for text in readings(base64.b64encode(b"z" + plain)))


def test_a_machines_value_is_not_weak_for_a_rule_that_speaks_of_passwords():
    value = draw(ALNUM, 40).encode()
    values = Values()
    for rule in ("betterleaks.generic-credential-uri", FILE_PASSWORD):
        values.add(0, Detection(rule, value, 0, 40, True), stands=True)
    assert values.bits(value) == guess_bits(ASSIGNED, value) > WEAK_BITS
    values.add(0, Detection(FILE_PASSWORD, PASSWORD.encode(), 50, 62, True), stands=True)
    assert values.bits(PASSWORD.encode()) <= PASSWORD_BITS


HOSTILE = [
    b"a", b'"', b"\\", b'"a" + ', b'"ab1" + "cd2"', b"'ab1','cd2',", b"password=", b'token = "', b"x://a:bcd@e ", b"${A}${B}",
    b"=ab + cd\n", b"abcd1\\\n", b"k: |\n abcd1\n efgh2\n", b"machine a login b password c ", b"kind: Secret\ndata:\n a: YWJjZGVm\n",
    b"a1B2c3D4e5F6g7H8i9J0 ", b'x += "ab1"\n', b'.append("ab1")', b'"""\n', b'name="key" value="',
]  # fmt: skip


def least_time(piece: bytes, size: int) -> float:
    """Processor seconds for `size` bytes of a repeated text, the least of three."""
    content, runs = (piece * (size // len(piece) + 1))[:size], []
    for _ in range(3):
        began = time.process_time()
        all_findings(content, [])
        runs.append(time.process_time() - began)
    return min(runs)


@pytest.fixture(scope="module")
def plain():
    return least_time(b"a line of plain text without anything\n", 1 << 16)


@pytest.mark.few(5)
@pytest.mark.parametrize("piece", HOSTILE)
def test_four_times_the_hostile_text_takes_about_four_times_the_time(plain, piece):
    """A quadratic rule would take sixteen times as long; one that reads the same lines again and again, thousands."""
    short, long = least_time(piece, 1 << 14), least_time(piece, 1 << 16)
    assert long < max(0.1, 9 * short) and long < max(0.1, 3000 * plain)
