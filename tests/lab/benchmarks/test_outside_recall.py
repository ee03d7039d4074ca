"""lab/benchmarks/outside_*.py: formats are as stated, plantings stand where they say, half a value is not found."""

import base64
import json
import random
import sys
from binascii import crc32
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as s11n
from cryptography.hazmat.primitives.asymmetric import ec, rsa

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab" / "benchmarks"))

import outside_draw as by  # noqa: E402
import outside_files  # noqa: E402
import outside_split  # noqa: E402
import outside_styles  # noqa: E402
from outside_formats import PREFIXED  # noqa: E402
from outside_keys import crc24, key_lines  # noqa: E402
from outside_labelled import part_of, span  # noqa: E402
from outside_planting import (  # noqa: E402
    APART,
    crossed_out,
    git,
    host_files,
    plant,
    repository,
)
from outside_recall import covered, judged, reported_lines, table, wilson  # noqa: E402
from outside_variables import CHOSEN, LONG, NAMED  # noqa: E402

FORMATS = [*PREFIXED, *NAMED, *LONG, *outside_files.TOOL_FILES, CHOSEN]
ENCODED = {"docker-config", "npmrc-auth", "kubernetes-secret", "filezilla", "basic-header"}
ENCODED |= {"smtp-url", "postgres-url"}
COUNTS = {"prefixed": 70, "named": 40, "files": 30, "split": 60, "chosen": 6}


@pytest.fixture(scope="module")
def planted():
    texts = {
        f"src/m{i}.py": "".join(f"def f{j}(v):\n    return v + {i}\n" for j in range(120)) for i in range(20)
    }
    texts |= {f"lib/m{i}.go": "".join(f"\tx{j} := {i}\n" for j in range(200)) for i in range(5)}
    files, plantings = plant(texts, 3, COUNTS)
    return texts, files, plantings


@pytest.mark.slow
def test_every_format_is_stated_and_its_draws_match_it():
    chance = random.Random(1)
    assert len({kind.name for kind in FORMATS}) == len(FORMATS) >= 200
    for kind in FORMATS:
        assert kind.source
        drawn = [kind.draw(chance) for _ in range(4)]
        assert len(set(drawn)) == 4
        for value in drawn:
            assert by.matches(kind.pattern, value), kind.name
            assert not by.matches(kind.pattern, value + " "), kind.name


def test_there_are_many_styles_and_each_writes_its_value_once():
    names = [style.name for style in outside_styles.STYLES]
    assert len(set(names)) == len(names) >= 35
    for style in outside_styles.STYLES:
        text = style.write("api_key", "VALUE")
        assert text.count("\x01VALUE\x02") == 1 and "{v}" not in text and "{n}" not in text


def test_parts_of_a_split_value_give_it_back():
    chance, value = random.Random(2), "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP"
    for form in outside_split.FORMS:
        parts = form.cut(value, chance)
        assert "".join(parts) == value and len(parts) >= 2
        assert form.write("name", parts).count("\x01") == len(parts), form.name


@pytest.mark.slow
def test_plantings_stand_where_they_say(planted):
    texts, files, plantings = planted
    assert len(plantings) == sum(COUNTS.values())
    assert len({planting.value for planting in plantings}) == len(plantings)
    for planting in plantings:
        data = files[planting.path].encode()
        written = b"".join(data[start:end] for start, end in planting.spans).decode()
        if planting.group != "files":
            assert written == planting.value
        elif planting.value not in written:  # encoded: base64 or percent
            assert planting.type in ENCODED
        for start, end in planting.spans:
            first, last = data[:start].count(b"\n") + 1, data[:end].count(b"\n") + 1
            assert planting.lines[0] <= first <= last <= planting.lines[1]
    for path in texts:
        where = sorted(planting.lines for planting in plantings if planting.path == path)
        assert all(b[0] - a[1] >= APART - 1 for a, b in pairwise(where))
    assert plant(texts, 3, COUNTS)[0] == files
    assert plant(texts, 4, COUNTS)[0] != files


def test_crossed_out_files_have_the_same_length_and_no_value(planted):
    _, files, plantings = planted
    crossed = crossed_out(files, plantings)
    assert {path: len(text.encode()) for path, text in crossed.items()} == {
        path: len(text.encode()) for path, text in files.items()
    }
    for planting in plantings:
        data = crossed[planting.path].encode()
        assert all(set(data[start:end]) <= set(b". \n") for start, end in planting.spans)


def test_half_a_value_is_not_found_and_what_is_covered_anyway_does_not_count(planted):
    _, files, plantings = planted
    nothing = {"tagged": {}, "dropped": {}, "values": {}}

    def all_of(share: float, kind: str = "tagged", parts: int | None = None) -> dict:
        ranges: dict = {}
        for p in plantings:
            for start, end in p.spans[:parts]:
                ranges.setdefault(p.path, []).append([start, start + int((end - start) * share)])
        return nothing | {kind: ranges}

    assert set(judged(files, plantings, all_of(1), nothing)) == {"tied"}
    assert set(judged(files, plantings, all_of(1, "dropped"), nothing)) == {"dropped"}
    assert set(judged(files, plantings, all_of(0.5), nothing)) == {"missed"}
    assert set(judged(files, plantings, all_of(1), all_of(1))) == {"missed"}
    one_part = judged(files, plantings, all_of(1, parts=1), nothing)
    assert all((how == "missed") == (len(p.spans) > 1) for how, p in zip(one_part, plantings, strict=True))
    assert covered(b"ab\ncd", (0, 5), [[0, 2], [3, 5]], [])
    assert not covered(b"ab\ncd", (0, 5), [[0, 2], [4, 5]], [])


def test_reported_lines():
    text = "".join(f"line {i:02d}\n" for i in range(30))  # 8 bytes a line
    found = {
        "values": {"a": [[10, 14]]},
        "tagged": {"a": [[8, 16], [60, 124], [124, 188]]},
        "dropped": {"a": [[192, 210]]},
        "lines": {"a": [26]},
    }
    assert reported_lines({"a": text}, found) == {("a", 2), ("a", 16), ("a", 26)}
    assert reported_lines({"b": text}, found) == set()


def test_checksums_and_key_files():
    chance = random.Random(5)
    token = by.checked("ghp_")(chance)
    assert by.base62(crc32(token[4:34].encode()), 6) == token[34:]
    head, claims, _ = by.jwt(chance).split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "HS256", "typ": "JWT"}
    assert "sub" in json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert by.key_file("PRIVATE KEY", 131)(chance).count("\n") > 2


def test_a_repository_comes_back_as_host_files(tmp_path):
    repository(tmp_path / "host", {"a/b.py": "x = 1\n" * 100, "key.pem": "y" * 400, "small.py": "z\n"})
    assert git(tmp_path / "host", "status", "--porcelain") == b""
    assert host_files([tmp_path / "host"], 1) == {"a/b.py": "x = 1\n" * 100}


def test_labels_are_found_by_their_columns_and_split_by_name():
    row = {"LineStart": "2", "LineEnd": "2", "ValueStart": "3", "ValueEnd": "5"}
    text = "é\naébcde\nf\n"
    assert text.encode()[slice(*span(text, row))] == b"cd"
    assert text.encode()[slice(*span(text, row | {"ValueStart": "", "ValueEnd": "-1"}))].decode() == "aébcde"
    parts = [part_of(f"r/{i}.py") for i in range(400)]
    assert 150 < parts.count("tune") < 250


def test_wilson_and_the_table():
    low, high = wilson(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4) and high == pytest.approx(0.9433, abs=1e-4)
    found = {"hush": {"share": 0.5, "interval": (0.4, 0.6)}}
    rows = [{"row": "all", "plantings": 10, "found": found}]
    said = table({"rows": rows, "facts": {"hush": {"false_lines_a_megabyte": 2.0, "seconds": 1.0}}})
    assert "| all | 10 | 50.0 (40–60) |" in said and "| false lines a MB |  | 2.0 |" in said


def pem_of(key, form="PKCS8", password: bytes | None = None) -> str:
    hidden = s11n.BestAvailableEncryption(password) if password else s11n.NoEncryption()
    return key.private_bytes(s11n.Encoding.PEM, getattr(s11n.PrivateFormat, form), hidden).decode()


def certificate_of(public, signed_by) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "host")])
    day = datetime(2026, 1, 1)
    made = x509.CertificateBuilder(name, name, public, 7, day, day + timedelta(1)).sign(
        signed_by, hashes.SHA256()
    )
    return made.public_bytes(s11n.Encoding.PEM).decode()


def request_of(key) -> str:
    made = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, hashes.SHA256())
    return made.public_bytes(s11n.Encoding.PEM).decode()


def public_of(key) -> str:
    return key.public_key().public_bytes(s11n.Encoding.PEM, s11n.PublicFormat.SubjectPublicKeyInfo).decode()


def lines_of(text: str, path: str = "a", before: int = 1) -> set[tuple[str, int]]:
    return {(path, before + i + 1) for i in range(text.count("\n"))}


def test_lines_of_a_private_key_are_told_by_the_key_and_by_nothing_less():
    key = ec.generate_private_key(ec.SECP256R1())
    pem, ssh = pem_of(key), pem_of(key, "OpenSSH")
    for text in (pem, ssh):
        assert key_lines({"a": f'a = 1\nKEY = """{text}"""\nb = 2\n'}) == (lines_of(text), set())
    body = pem.split("\n")[1]
    for text in (public_of(key), pem.replace(body, body[:-4] + "\n"), pem.replace(body, "x" * len(body))):
        assert key_lines({"a": text}) == (set(), set())


def test_a_private_key_counts_in_strings_in_base64_and_of_openpgp():
    pem = rsa.generate_private_key(65537, 1024).private_bytes(
        s11n.Encoding.PEM, s11n.PrivateFormat.TraditionalOpenSSL, s11n.NoEncryption()
    )
    text = pem.decode()
    strings = "\n".join(f'    "{line}\\n"' for line in text.splitlines())
    assert key_lines({"a": f"a = 1\nKEY = (\n{strings}\n)\n"}) == (
        {("a", n) for n in range(3, 3 + text.count("\n"))},
        set(),
    )
    broken = strings.replace("MII", "MIJ", 1)
    assert key_lines({"a": f"a = 1\nKEY = (\n{broken}\n)\n"}) == (set(), set()), (
        "nothing that one can compute with"
    )
    assert key_lines({"a": f"x:\n  tls.key: {base64.b64encode(pem).decode()}\n"}) == ({("a", 2)}, set())
    assert crc24(b"123456789") == 0x21CF02  # the check value of CRC-24/OPENPGP
    body, check = (
        base64.b64encode(bytes(100)).decode(),
        base64.b64encode(crc24(bytes(100)).to_bytes(3, "big")),
    )
    armour = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{}\n={}\n-----END PGP PRIVATE KEY BLOCK-----\n"
    whole = armour.format(body, check.decode())
    assert key_lines({"a": whole}) == ({("a", n) for n in range(1, 6)}, set())
    assert key_lines({"a": whole.replace(body, "B" + body[1:])}) == (set(), set())


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL", "OpenSSH"])
@pytest.mark.parametrize("kind", ["rsa", "ec"])
def test_a_certificate_is_of_a_key_that_gives_its_public_key_and_of_no_other(kind, form):
    made = {
        "rsa": lambda: rsa.generate_private_key(65537, 1024),
        "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
    }
    key, other = made[kind](), made[kind]()
    private, its = pem_of(key, form), certificate_of(key.public_key(), key)
    signed_by_other, signed_for_other = (
        certificate_of(key.public_key(), other),
        certificate_of(other.public_key(), key),
    )
    both = {"k": "\n" + private, "c": "\n" + its}
    assert key_lines(both) == (lines_of(private, "k"), lines_of(its, "c"))
    assert key_lines(both | {"c": "\n" + signed_by_other})[1] == lines_of(signed_by_other, "c")
    assert key_lines(both | {"c": signed_for_other})[1] == set(), "who signs is not whose it is"
    assert key_lines({"c": its}) == (set(), set()), "a certificate alone"
    for shown_of in (request_of, public_of):
        shown, others = shown_of(key), shown_of(other)
        assert key_lines({"k": both["k"], "c": "\n" + shown})[1] == lines_of(shown, "c")
        assert key_lines({"k": both["k"], "c": "\n" + others})[1] == set(), "of another key"
    if form == "PKCS8":
        locked = pem_of(key, form, b"a password")
        assert key_lines({"k": "\n" + locked, "c": its}) == (lines_of(locked, "k"), set()), (
            "nothing is proven"
        )
    changed = its.replace(its.split("\n")[3], its.split("\n")[3][::-1])
    assert key_lines(both | {"c": changed})[1] == set()
