"""From real repositories to the graph; each test breaks an extraction that misses a way of holding one."""

import base64
import json
import logging
import random

import polars as pl
import pytest
from extracting import ALNUM, CREDENTIALS, KEY, held, job, token

from hush_core.errors import InputError
from hush_core.secrets import extract, source_revisions
from hush_core.secrets.graph import EDGES, EXAMPLES, OCCURRENCES, SECRETS, SecretGraph
from hush_core.secrets.priors import LEVELS


def draw(n: int, seed: int = 0, alphabet: str = ALNUM) -> str:
    return "".join(random.Random(f"{n}/{seed}").choices(alphabet, k=n))


def test_a_secret_where_a_border_would_be_moves_the_border(make_repo):
    repo = make_repo()
    text = b"x" * 49 + b"\n" + token().encode() + b"\n" + b"y" * 60
    repo.commit({"a.txt": text})
    result = extract(job([repo], [CREDENTIALS]), KEY)
    assert held(result) == {("repo", "a.txt", 42): "credentials:betterleaks.github-pat"}
    assert result.occurrences.select("start", "end").rows() == [(8, 48)]
    assert b"".join(result.examples["text"]) == text


def test_a_secret_that_fits_in_no_chunk_labels_all_that_hold_a_part(make_repo):
    repo = make_repo()
    text = b"x" * 49 + b"\n" + token().encode() + b"\n" + b"y" * 60
    repo.commit({"a.txt": text})
    result = extract(job([repo], [CREDENTIALS], chunk_bytes=32), KEY)
    assert [start for _, _, start in held(result)] == [50, 82]
    assert len(result.occurrences) == 0  # it stands wholly in neither
    assert b"".join(result.examples["text"]) == text


def test_copies_are_found_in_every_encoding_path_and_repository(make_repo):
    one, two = make_repo("one"), make_repo("two")
    secret = token()
    key = (
        "-----BEGIN EC PRIVATE KEY-----\n"
        + "\n".join(draw(64, i) for i in range(9))
        + "\n-----END EC PRIVATE KEY-----\n"
    )
    one.commit(
        {
            "found.py": f'T = "{secret}"\n'.encode(),
            "b64.txt": b"blob " + base64.b64encode(bytes(range(128, 169)) + secret.encode()) + b"\n",
            "hex.txt": secret.encode().hex().encode() + b"\n",
            "bare.log": f"x{secret}x\n".encode(),
            "id_ec": key.encode(),
            "crlf.pem": key.replace("\n", "\r\n").encode(),
            "values.yaml": ("k: |\n" + "".join(f"    {line}\n" for line in key.splitlines())).encode(),
            "config.json": json.dumps({"pem": key}).encode(),
            "part.txt": key.splitlines()[5].encode() + b"\n",
            "clean.txt": b"nothing here\n" * 20,
        }
    )
    two.commit({"vendored/found.py": f'T = "{secret}"\n'.encode(), "again.py": f'T = "{secret}"\n'.encode()})
    result = extract(job([one, two], [CREDENTIALS], chunk_bytes=4096), KEY)
    assert len(result.secrets) == 2
    reasons = {(s, p): r for (s, p, _), r in held(result, "creds/betterleaks.github-pat:").items()}
    assert reasons == {
        ("one", "found.py"): "credentials:betterleaks.github-pat",
        ("one", "b64.txt"): "propagated:base64",
        ("one", "hex.txt"): "propagated:hex",
        ("one", "bare.log"): reasons["one", "bare.log"],
        ("two", "vendored/found.py"): "credentials:betterleaks.github-pat",
        ("two", "again.py"): "credentials:betterleaks.github-pat",
    }
    keys = {p: r for (_, p, _), r in held(result, "creds/betterleaks.private-key:").items()}
    assert set(keys) == {"id_ec", "crlf.pem", "values.yaml", "config.json", "part.txt"}
    assert keys["part.txt"] == "propagated:fragment"
    counts = result.coverage["secrets"]["creds"]
    assert counts["edges"] == len(result.edges) == counts["detected"] + counts["propagated"]
    assert counts["propagated"] >= 3


def test_occurrences_point_at_the_value(make_repo, tmp_path):
    repo = make_repo()
    (tmp_path / "names").write_text("Falcon Nine\nNever There\n")
    repo.commit({"a.txt": b"the Falcon Nine and the FALCON NINE\n", "b.txt": f'"{token()}"\n'.encode()})
    secrets = [CREDENTIALS, {"id": "code", "kind": "literals", "file": str(tmp_path / "names"), "bits": 25}]
    result = extract(job([repo], secrets), KEY)
    rows = result.occurrences.join(result.examples, on="example_id", suffix="_x").join(
        result.secrets, on="secret_id"
    )
    spans = {
        (n.partition(":")[0], t[a:b].decode())
        for n, t, a, b in rows.select("name", "text", "start", "end").iter_rows()
    }
    assert spans == {("code/1", "Falcon Nine"), ("creds/betterleaks.github-pat", token())}
    assert held(result, "code/1") == {("repo", "a.txt", 0): "literals"}
    code = result.coverage["secrets"]["code"]
    assert (code["secrets"], code["without_example"], code["edges"]) == (2, 1, 1)
    assert result.secrets.filter(pl.col("kind") == "literals")["bits"].to_list() == [25.0, 25.0]


def test_file_kinds_label_every_chunk_and_exact_copies(make_repo):
    repo, other = make_repo(), make_repo("other")
    long = draw(300).encode()
    repo.commit(
        {
            "lib/a.py": long,
            "lib/open/b.py": b"open\n",
            "CODEOWNERS": b"* @all\n/lib/ @acme/risk\n/lib/open/ @all\n",
            "copy/of_a.py": long,
            "copy/grown.py": long[:128] + b"something else",
            "docs/x.md": b"x\n",
        }
    )
    other.commit({"third/a.py": long, "y.md": b"y\n"})
    exact = {"copies": False}  # test_spreading.py has the others
    secrets = [
        {"id": "p", "kind": "path", "globs": ["lib/**", "!lib/open/**"], "spread": exact},
        {"id": "o", "kind": "codeowners", "teams": ["@Acme/Risk"], "spread": exact},
    ]
    result = extract(job([repo, other], secrets), KEY)
    for name, reason in (("p", "path"), ("o", "codeowners")):
        got = held(result, name)
        assert {k for k, r in got.items() if r == reason} == {
            ("repo", "lib/a.py", s) for s in range(0, 300, 64)
        }
        copies = {("repo", "copy/of_a.py", s) for s in range(0, 300, 64)}
        copies |= {("other", "third/a.py", s) for s in range(0, 300, 64)}
        copies |= {("repo", "copy/grown.py", 0), ("repo", "copy/grown.py", 64)}
        assert {k for k, r in got.items() if r == "propagated:copy"} == copies
    assert result.secrets["bits"].to_list() == pytest.approx([33.2, 33.2])


def test_public_chunks_with_a_secret_stay_protected(make_repo):
    repo = make_repo()
    repo.commit({"vendor/a.py": b"v" * 64 + f'\n"{token()}"\n'.encode() + b"w" * 200, "b.py": b"private\n"})
    result = extract(job([repo], [CREDENTIALS], public=["**/vendor/**", "vendor/**"]), KEY)
    assert set(result.public["path"]) == {"vendor/a.py"}
    assert 0 in result.public["start"] and 64 not in result.public["start"]
    assert ("repo", "vendor/a.py", 64) in held(result)
    assert not any(token()[:12].encode() in t for t in result.public["text"])
    assert "b.py" in set(result.examples["path"])
    total = len(result.public) + len(result.examples)
    assert total == result.coverage["repositories"]["repo"]["chunks"]


def test_weak_credentials_are_refused_with_a_place_or_dropped_with_a_count(make_repo):
    repo = make_repo()
    weak = "Sommer2019!"
    repo.commit(
        {
            "a/settings.py": f'# x\n\nURL = "postgres://app:{weak}@db.corp:5432/x"\n'.encode(),
            "a/notes.txt": f"the plan is {weak}\n".encode(),
            "good.py": f'"{token()}"\n'.encode(),
        }
    )
    with pytest.raises(InputError) as error:
        extract(job([repo], [{**CREDENTIALS, "weak": "refuse"}]), KEY)
    assert error.value.where == "repo:a/settings.py:3"  # where it was detected, not the earlier a/notes.txt
    assert weak not in str(error.value) and "weak: drop" in error.value.hint
    result = extract(job([repo], [CREDENTIALS], public=["a/notes.txt"]), KEY)  # dropped by default
    assert set(result.examples["path"]) == {"good.py"}
    assert len(result.public) == 0
    counts = result.coverage["secrets"]["creds"]
    assert (counts["secrets"], counts["weak_secrets"], counts["weak_examples_dropped"]) == (1, 1, 2)
    assert result.coverage["repositories"]["repo"]["dropped_weak"] == 2
    assert result.examples["example_id"].to_list() == [0]
    dropped = result.dropped.select("source", "path", "start", "end").rows()
    assert dropped == [("repo", "a/notes.txt", 0, 24), ("repo", "a/settings.py", 0, 55)]
    assert weak not in str(result.dropped.to_dict()) and result.dropped["name"][0].startswith("creds/")


@pytest.mark.parametrize(
    ("weak", "elsewhere", "left_out"),
    [
        ("123", "x = 123\n", False),  # a number
        ("ab1c", "utf(ab1c)\n", False),  # letters and digits, under six bytes
        ("abc123", "x = abc123\n", False),  # one of the commonest
        ("qrst57wz", "x = qrst57wz\n", True),  # a copy
        ("qrst57wz", "x = aqrst57wz\n", False),  # part of a longer word
        ("q@57w", "x = q@57w\n", True),
        ("qrst57wz24ab", "x = aqrst57wz24ab0\n", True),  # long enough to be sought wherever it stands
        ("sunshine", "sunshine = ask()\n", False),
        ("integration", "run the integration tests\n", False),  # a word, however long
        ("clientSecret", "f(clientSecret)\n", False),  # two
        ("foo-bar", "run foo-bar now\n", False),
        ("abc123%40%20", "x = abc123\n", False),  # a common one behind escapes
        ("1.1.1", "HTTP/1.1.1\n", False),  # no letter
        ("otter-maple-lamp", "say otter-maple-lamp\n", True),  # a passphrase of three
        ("lxykwzeinnciqz", "x = lxykwzeinnciqz\n", True),  # letters, but no word
    ],
)
def test_a_short_weak_value_is_left_out_where_it_is_a_copy_and_not_where_it_is_a_number(
    make_repo, weak, elsewhere, left_out
):
    repo = make_repo()
    url = f'"postgres://app:{weak}@db.corp:5432/x"\n'
    repo.commit({"u.py": url.encode(), "w.py": elsewhere.encode(), "g.py": f'"{token()}"'.encode()})
    result = extract(job([repo], [{**CREDENTIALS, "weak": "drop"}]), KEY)
    assert set(result.examples["path"]) == ({"g.py"} if left_out else {"g.py", "w.py"})


@pytest.mark.parametrize(
    ("copies", "seen", "entry", "left_out"),
    [
        (7, 1, {}, True),
        (8, 1, {}, False),  # the repository uses it as a name
        (8, 3, {}, True),  # more than one of four is a credential by its place
        (12, 3, {}, False),
        (8, 1, {"protect": "drop"}, True),
    ],
)
def test_copies_of_a_weak_value_stay_only_where_the_repository_mostly_uses_it_as_a_name(
    make_repo, copies, seen, entry, left_out
):
    repo = make_repo()
    urls = {f"u{n}.py": f'"postgres://app{n}:qrst57wz@db{n}.corp:5432/x"\n'.encode() for n in range(seen)}
    names = {f"n{n}.py": f"call {n} of qrst57wz\n".encode() for n in range(copies)}
    repo.commit({**urls, **names, "g.py": f'"{token()}"'.encode()})
    result = extract(job([repo], [{**CREDENTIALS, **entry}]), KEY)
    assert set(result.examples["path"]) == ({"g.py"} if left_out else {"g.py", *names}) - (
        {"g.py"} if entry else set()
    )
    count = result.coverage["secrets"]["creds"]["left_out_examples" if entry else "weak_examples_dropped"]
    assert count == seen + copies * left_out + bool(entry)


def test_a_value_that_nothing_names_is_labelled_however_often_it_stands(make_repo):
    """It has a bound of its own, which says nothing of copies without a label: also in a log that is full of it."""
    node, key = draw(40, 3, "0123456789abcdef").encode(), draw(24, 9).encode()
    log = b"".join(b"%03d: node %s is up\n" % (n, node) for n in range(6))
    again = b"".join(b"%03d: call with %s-\n" % (n, key) for n in range(6))
    repo = make_repo()
    repo.commit(
        {
            "seen.txt": b"key for node %s is new\n" % node,
            "log.txt": log,
            "few.txt": b"%s\n" % node * 4,
            "named.py": b'api_key = "%s"\n' % key,
            "again.txt": again,
        }
    )
    result = extract(job([repo], [{**CREDENTIALS, "weak": "drop"}], prior_cap_bits=99), KEY)
    held = result.edges.join(result.examples, on="example_id")["path"]
    assert set(held) == {"seen.txt", "log.txt", "few.txt", "named.py", "again.txt"}
    redacted = extract(job([repo], [{**CREDENTIALS, "protect": "redact"}], prior_cap_bits=99), KEY)
    assert not any(node in text for text in redacted.examples["text"])  # to be replaced: wherever it stands


def test_of_what_was_measured_only_a_level_is_published(make_repo):
    repo = make_repo()
    values = [draw(n, seed) for n in (18, 20, 22, 26) for seed in range(5)]
    repo.commit({f"{i}.py": f'api_key = "{value}"\n'.encode() for i, value in enumerate(values)})
    result = extract(job([repo], [{**CREDENTIALS, "weak": "drop"}], prior_cap_bits=99), KEY)
    assert len(result.secrets) >= 10 and set(result.secrets["bits"]) <= set(LEVELS)
    assert result.secrets["prior"].to_list() == [2.0**-bits for bits in result.secrets["bits"]]


def test_a_target_at_or_below_the_measured_prior_is_refused(make_repo):
    repo = make_repo()
    repo.commit({"g.py": f'"{token()}"'.encode()})
    secret = {**CREDENTIALS, "bits": 15, "level": 1e-3, "weak": "refuse"}
    with pytest.raises(InputError, match="15 bits"):
        extract(job([repo], [secret]), KEY)


def test_nothing_to_protect_is_an_empty_graph_and_nothing_to_read_an_error(make_repo):
    repo = make_repo()
    repo.commit({"a.py": b"print()\n"})
    found = extract(job([repo], [CREDENTIALS]), KEY)
    assert found.edges.height == found.secrets.height == 0 and found.examples.height == 1
    repo.commit({"a.py": b"\0"})
    with pytest.raises(InputError, match="no file that can be read"):
        extract(job([repo], [CREDENTIALS]), KEY)
    with pytest.raises(InputError, match="identity key"):
        extract(job([repo], [CREDENTIALS]), b"short")


def test_revisions_are_resolved_and_used(make_repo):
    repo = make_repo()
    first = repo.commit({"a.py": f'"{token(1)}"'.encode()})
    repo.git("tag", "v1")
    repo.commit({"a.py": f'"{token(2)}"'.encode()})
    config = job([{"path": str(repo.path), "rev": "v1", "name": "mono"}], [CREDENTIALS])
    assert source_revisions(config) == {"mono": first}
    result = extract(config, KEY)
    assert set(result.examples["revision"]) == {first} and set(result.examples["source"]) == {"mono"}
    assert token(1).encode() in result.examples["text"][0]


def test_the_same_input_gives_identical_frames_and_another_key_other_names(make_repo):
    repo = make_repo()
    repo.commit({f"d/{i}.py": f'a = "{token(i % 5)}"\n'.encode() * 3 for i in range(20)})
    secrets = [CREDENTIALS, {"id": "p", "kind": "path", "globs": ["d/1*"]}]
    stages = []
    one = extract(job([repo], secrets), KEY, lambda *step: stages.append(step))
    two = extract(job([repo], secrets), KEY)
    for name in ("examples", "public", "secrets", "edges", "occurrences"):
        assert getattr(one, name).equals(getattr(two, name))
    assert one.coverage == two.coverage == json.loads(json.dumps(one.coverage))
    other = extract(job([repo], secrets), b"q" * 32)
    names = set(one.secrets["name"]) & set(other.secrets["name"])
    assert names == {"p"} and len(one.secrets) == 6
    assert {s for s, *_ in stages} == {"read", "detect", "propagate"}
    assert all(0 <= done <= total for _, done, total in stages)


def test_no_value_appears_outside_the_text(make_repo, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    repo = make_repo()
    canaries = [token(), "canary codename seven", draw(40, 9), "canaryword", "ORDER-99887766"]
    (tmp_path / "names").write_text(canaries[1] + "\n")
    (tmp_path / "patterns").write_text("ORDER-[0-9]{8}\n")
    (tmp_path / "refused").write_text("(ORDER)-([0-9]+)\n")
    content = f'k = "{canaries[0]}"\n{canaries[1]}\naws_secret_access_key = {canaries[2]}\n'
    files = {"a.py": content, "alpha/risk.py": "def def_canaryword(): ...\n", "use.py": "import alpha.risk\n"}
    files |= {f"w{i}.txt": "canaryword ORDER-99887766\n" for i in range(3)}
    repo.commit({name: text.encode() for name, text in files.items()}, message=canaries[1])
    patterns = {"id": "p", "kind": "patterns", "file": str(tmp_path / "patterns"), "bits": 22}
    secrets = [
        CREDENTIALS,
        {"id": "code", "kind": "literals", "file": str(tmp_path / "names"), "bits": 25},
        {"id": "w", "kind": "rare_words", "document_frequency": [3, 9], "bits": 12},
        {"id": "alpha", "kind": "path", "globs": ["alpha/**"], "spread": {"imports": 2, "copies": True}},
        patterns,
    ]
    result = extract(job([repo], secrets, chunk_bytes=1024), KEY)
    found = result.edges.join(result.secrets, on="secret_id")["name"]
    assert {name.partition("/")[0] for name in found} == {"creds", "code", "w", "alpha", "p"}
    shown = [result.coverage, repr(result), caplog.text, *capfd.readouterr()]
    for name in ("examples", "secrets", "edges", "occurrences", "public"):
        frame = getattr(result, name)
        shown.append(frame.drop("text", strict=False).rows())
    for canary in canaries:
        for form in (canary, canary.encode().hex(), base64.b64encode(canary.encode()).decode().rstrip("=")):
            assert form not in str(shown)
    with pytest.raises(InputError) as error:
        extract(job([repo], [{**CREDENTIALS, "bits": 1, "level": 0.9, "weak": "refuse"}]), KEY)
    assert not any(c in str(error.value) + repr(error.value) for c in canaries)
    with pytest.raises(InputError, match="more than one group") as error:
        extract(job([repo], [patterns | {"file": str(tmp_path / "refused")}]), KEY)
    assert "ORDER" not in str(shown) + str(error.value) + repr(error.value)


def frames() -> dict[str, pl.DataFrame]:
    rows = [(i, "r", "p", "c", 0, 3, "text", b"abc") for i in range(2)]
    return {
        "examples": pl.DataFrame(rows, schema=EXAMPLES, orient="row"),
        "public": pl.DataFrame(schema=EXAMPLES),
        "secrets": pl.DataFrame([(0, "path", "s", 1e-10, 1e-3, 33.2, "x")], schema=SECRETS, orient="row"),
        "edges": pl.DataFrame([(0, 0, "path"), (1, 0, "path")], schema=EDGES, orient="row"),
        "occurrences": pl.DataFrame(schema=OCCURRENCES),
    }


def test_a_good_graph_passes_and_shows_no_text():
    assert "abc" not in repr(SecretGraph(**frames()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("examples", lambda f: f.with_columns(example_id=pl.col("example_id") + 1)),
        ("examples", lambda f: f.drop("text")),
        ("edges", lambda f: f.reverse()),
        ("edges", lambda f: pl.concat([f, f]).sort("example_id")),
        ("edges", lambda f: f.with_columns(secret_id=pl.lit(1, pl.UInt32))),
        ("edges", lambda f: f.with_columns(example_id=pl.col("example_id").cast(pl.Int64))),
        ("secrets", lambda f: f.with_columns(prior=pl.lit(1e-3))),
        ("secrets", lambda f: f.with_columns(prior=pl.lit(None, pl.Float64))),
    ],
)
def test_every_breach_is_seen(name, change):
    broken = frames()
    broken[name] = change(broken[name])
    with pytest.raises(ValueError, match=name):
        SecretGraph(**broken)
