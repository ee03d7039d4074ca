"""Keys spelled byte by byte and credentials in arrays of bytes are found; vectors, tables, public bytes are not."""

# ruff: noqa: E501  (tables: one row a form)

import itertools
import random

import pytest

from hush_core.secrets.detectors.credential_bytes import SIZES
from hush_core.secrets.detectors.credential_decoded import DECODED_PASSWORD, decoded
from hush_core.secrets.detectors.credential_rules import own_findings
from hush_core.secrets.guessing.byte_lists import listed_bytes
from hush_core.secrets.priors import KEY_BYTES, PASSWORD_BITS, guess_bits

KEY = random.Random(5).randbytes(32)

PAIR = KEY + random.Random(6).randbytes(32)

PASSWORD = b"J7kq2!mWz9Lr4"


def listed(data: bytes, form: str = "0x%02x", between: str = ", ") -> str:
    return between.join(form % byte for byte in data)


def escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


LINES = ",\n\t".join(listed(KEY[n : n + 8]) for n in range(0, 32, 8))

SIGNED = ", ".join(str(byte - 256 if byte > 127 else byte) for byte in KEY)

FOUND = {
    "Go": f"var key = []byte{{{listed(KEY)}}}", "over lines": f"var encryptionKey = [32]byte{{\n\t{LINES},\n}}",
    "Java": f"private static final byte[] KEY = new byte[] {{ {listed(KEY, '(byte)0x%02X')} }};", "signed": f"byte[] seed = {{{SIGNED}}};",
    "argument": f'new SecretKeySpec(new byte[]{{ {listed(KEY, "(byte) 0x%02X")} }}, "AES");', "Kotlin": f"val key = byteArrayOf({listed(KEY, '0x%02X.toByte()')})",
    "Rust": f"let master_key: &[u8] = &[{listed(KEY, '0x%02xu8')}];", "Rust string": f'const SEED: &[u8] = b"{escaped(KEY)}";',
    "C strings": f'char *psk = "{escaped(KEY[:16])}"\n    "{escaped(KEY[16:])}";', "Python": f"SECRET_KEY = {KEY!r}",
    "octal": 'char *key = "' + "".join(f"\\{byte:03o}" for byte in KEY) + '";', "call": f"hmac.New(sha256.New, []byte{{{listed(KEY)}}})",
    "Solana": f"Keypair.fromSecretKey(Uint8Array.from([{listed(PAIR, '%d', ',')}]))", "JSON": '{"privateKey": [\n' + listed(KEY, "   %d", ",\n") + "\n]}",
    "Erlang": f"Key = <<{listed(KEY, '16#%02X')}>>", "Delphi": f"Key: array[0..31] of Byte = ({listed(KEY, '$%02X')});",
    "pairs": f"psk: {listed(KEY, '%02x', ':')}", "spaces": f'encryption_key = "{listed(KEY, "%02x", " ")}"', "alone": f"[{listed(PAIR, '%d', ',')}]",
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_a_key_is_found_whole_and_claims_what_its_bytes_are_worth(what):
    text = FOUND[what].encode()
    found = [(rule, text[start:end]) for rule, start, end in own_findings(text, [])]
    assert [rule for rule, _ in found] == [KEY_BYTES]
    data = listed_bytes(found[0][1])
    assert data.startswith(KEY)
    assert guess_bits(*found[0]) > 99


@pytest.mark.parametrize("size", sorted(SIZES | {15, 20, 31, 65, 256}))
def test_only_the_sizes_of_keys_count(size):
    text = f"aes_key = [{listed(random.Random(size).randbytes(size))}]\n".encode()
    assert bool(list(own_findings(text, []))) == (size in SIZES)


@pytest.mark.parametrize(
    "data", [bytes(32), bytes(range(32)), bytes(range(0, 256, 8)), bytes([7, 200] * 16), KEY[:4] * 8]
)
def test_counted_sorted_and_repeated_bytes_are_no_key(data):
    assert list(own_findings(f"key = [{listed(data)}]\n".encode(), [])) == []


@pytest.mark.parametrize(
    "text",
    [
        f"iv := []byte{{{listed(KEY[:16])}}}", f"public_key = bytes([{listed(KEY)}])", f"table = [{listed(KEY)}]",
        f"{{key: []byte{{{listed(KEY)}}},\n plaintext: []byte{{{listed(KEY[::-1])}}}}}", f"// RFC 7748\nkey = [{listed(KEY)}]",
        f"key fingerprint: {listed(KEY, '%02x', ':')}", f"key_icon = [{listed(KEY * 8)}]", f"key = [{listed(KEY, '%d')}, 300]",
    ],
)  # fmt: skip
def test_vectors_public_bytes_and_tables_are_no_keys(text):
    assert [rule for rule, *_ in own_findings(text.encode(), []) if rule == KEY_BYTES] == []


@pytest.mark.parametrize(
    "form", ["password = bytearray([%s])", "const password = String.fromCharCode(%s)", "char pwd[] = {%s};"]
)
def test_a_password_that_is_spelled_in_numbers_claims_no_more_than_one(form):
    text = (form % listed(PASSWORD, "%d")).encode()
    [(rule, start, end)] = own_findings(text, [])
    assert listed_bytes(text[start:end]) == PASSWORD
    assert guess_bits(rule, text[start:end]) <= PASSWORD_BITS


WORDS = b"the quick brown fox runs over a lazy dog and then away again, "


def array(text: bytes) -> bytes:
    return b"".join(
        b"  " + b"".join(b"0x%02x, " % byte for byte in text[at : at + 12]) + b"\n"
        for at in range(0, len(text), 12)
    )


def lines_of(content: bytes) -> list[tuple[int, int]]:
    ends = [0, *itertools.accumulate(map(len, content.splitlines(keepends=True)))]
    return list(itertools.pairwise(ends))


def test_each_byte_of_an_array_is_decoded_once_however_many_lines_it_has():
    looked = []

    def find(text):
        looked.append(len(text))
        return ()

    text = WORDS * 60
    content = array(text) + b"}\n\n{\n" + array(text)
    assert list(decoded(content, lines_of(content), find)) == []
    assert 2 * len(text) <= sum(looked) < 3 * len(text)


def test_a_password_in_the_midst_of_an_array_is_one_finding_over_its_lines():
    content = b"char x[] = {\n" + array(WORDS + b"password=J7kq2!mWz9Lr4 ") + b"};\n"

    def find(text):
        at = text.find(b"J7kq2!mWz9Lr4")
        return [("hush.assigned-password", at, at + 13)] if at >= 0 else []

    ((rule, start, end),) = decoded(content, lines_of(content), find)
    assert rule == DECODED_PASSWORD and content[start:end].count(b"\n") > 5
