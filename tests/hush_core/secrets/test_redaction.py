"""Redaction end to end: every copy found is replaced, and nothing else that training sees depends on the value."""

import base64
import csv
import html
import io
import json
import random
import textwrap
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from extracting import KEY, SOURCE, copied, drawn, job, named

from hush_core.corpus import PLACEHOLDER
from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets import redaction as redaction_module
from hush_core.secrets.coverage import published
from hush_core.secrets.fingerprints import EXACT, FOLDED, slips

CHUNK = 256
HOLE = PLACEHOLDER.decode()
CREDENTIALS = {"id": "creds", "kind": "credentials", "protect": "redact"}
WORDS = {"id": "words", "kind": "rare_words", "bits": 20}


def key_block(seed: int, size: int) -> bytes:
    """A private key as openssl writes it; the first bytes are those of the format."""
    body = base64.b64encode(b"\x30\x82\x04\xa4\x02\x01\x00" + random.Random(seed).randbytes(size))
    lines = b"\n".join(body[i : i + 64] for i in range(0, len(body), 64))
    return b"-----BEGIN RSA PRIVATE KEY-----\n" + lines + b"\n-----END RSA PRIVATE KEY-----\n"


@pytest.fixture
def literals(tmp_path):
    def entry(*lines: bytes, name="names", **keys):
        (tmp_path / f"{name}.txt").write_bytes(b"\n".join(lines) + b"\n")
        file = str(tmp_path / f"{name}.txt")
        return {"id": name, "kind": "literals", "bits": 20, "file": file, "protect": "redact", **keys}

    return entry


@pytest.fixture
def run(make_repo):
    """Extract what one repository holds; `files` may be a list of commits, `tables` files beside it."""
    made = []

    def run(files, secrets, mode="tree", **keys):
        made.append(make_repo(f"r{len(made)}"))
        for commit in files if isinstance(files, list) else [files]:
            made[-1].commit(commit)
        repo = named(made[-1]) | {"mode": mode}
        return extract(job([repo], secrets, chunk_bytes=CHUNK, **keys), KEY)

    return run


def text_of(result, path: str) -> bytes:
    """A file of the training text, put together again."""
    rows = pl.concat([result.examples, result.public]).filter(pl.col("path") == path).sort("start")
    return b"".join(rows["text"])


def seen(result):
    """All that training, planning and publishing get; a commit id is a hash of all text, and is not published."""
    return {
        "examples": result.examples.drop("revision").rows(),
        "public": result.public.drop("revision").rows(),
        "edges": result.edges.rows(),
        "occurrences": result.occurrences.rows(),
        "secrets": result.secrets.drop("name").rows(),
        "redacted": result.redacted.drop("name").rows(),
        "redactions": result.redactions.rows(),
        "coverage": published(result.coverage),
    }


FORMS = {
    "raw": lambda v: b'x = "' + v + b'"',
    "json": lambda v: json.dumps({"k": v.decode()}).encode(),
    "json twice": lambda v: json.dumps(json.dumps(v.decode())).encode(),
    "html": lambda v: html.escape(v.decode()).encode(),
    "url": lambda v: b"http://h/?k=" + quote(v, safe="").encode(),
    "url, small": lambda v: quote(v, safe="").lower().encode() if v.islower() else quote(v).encode(),
    "hex": lambda v: b"h: " + v.hex().encode(),
    "HEX": lambda v: b"h: " + v.hex().upper().encode(),
    "base64": lambda v: b"b: " + base64.b64encode(v),
    "base64, moved by one": lambda v: b"b: " + base64.b64encode(b"u" + v),
    "base64, moved by two": lambda v: b"b: " + base64.b64encode(b"us" + v + b"tail"),
    "base64 for URLs": lambda v: b"b: " + base64.urlsafe_b64encode(b"user:" + v),
    "base64, wrapped": lambda v: textwrap.fill(base64.b64encode(SOURCE[:90] + v).decode(), 60).encode(),
    "joint": lambda v: b'"' + v[:9] + b'"\n    "' + v[9:] + b'"',
    "line break": lambda v: v[:11] + b"\n" + v[11:],
    "capitals": lambda v: v.upper(),
}


@pytest.mark.parametrize("value", [b"codename-zephyr/q&a=7", b"zephyrquartzobsidian"])
def test_every_form_that_the_value_search_finds_is_replaced(run, literals, value):
    written = [SOURCE[:500] + make(value) + b"\n" + SOURCE[500:900] for make in FORMS.values()]
    files = {f"f{n}.txt": text for n, text in enumerate(written)}
    files["other.txt"] = b"another secret stands here: marmalade\n" * 3
    noise = literals(b"marmalade", name="noise", protect="noise")
    result = run(files, [literals(value), noise])
    for n, form in enumerate(FORMS):
        text = text_of(result, f"f{n}.txt")
        assert text.count(PLACEHOLDER) == 1, form
        assert text.startswith(SOURCE[:500]) and text.endswith(b"\n" + SOURCE[500:900]), form
        inner = text[500 : -len(SOURCE[500:900]) - 1]
        left = FORMS[form](value).replace(FORMS[form](value).strip(), b"")
        assert not any(part in inner.lower() for part in (value[:8], value[-8:], left) if part), form
    assert result.redacted["places"].to_list() == [len(FORMS)]
    assert slips(result.examples, result.fingerprints, KEY).is_empty()
    # the control: without redaction every form stands in the text, and the fingerprints know each of them
    control = run(files, [literals(value, protect="noise"), noise])
    assert result.coverage["propagation"]["values"] == control.coverage["propagation"]["values"] - 1 == 1
    assert 1 < result.coverage["propagation"]["patterns"] < control.coverage["propagation"]["patterns"]
    caught = slips(control.examples, result.fingerprints, KEY).join(control.examples, on="example_id")
    cut = control.edges.filter(control.edges["secret_id"] == 0)["example_id"].n_unique()
    assert cut == len(FORMS) and set(caught["path"]) == set(files) - {"other.txt"}


def candidate(n: int) -> dict[str, bytes]:
    """One value, assigned once and copied everywhere: it decides the length of all before and after it."""
    value = drawn(n)
    files = copied(value, b"osprey-nebula")
    line = b'    api_key = "' + value + b'"\n'
    split = b'k = ("%s"\n     "%s")\n' % (value[:11], value[11:])
    return files | {
        "c2.txt": files["c.txt"],
        "split.py": SOURCE[:200] + split + SOURCE[200:900],
        "edge.txt": SOURCE[: CHUNK - 5] + value + SOURCE[CHUNK - 5 : 900],
        "third_party/y.txt": b"self " * 60 + value + b" self" * 60,
        "trading/s.py": b"# " + value + b"\ndef strategy_of_ours(v):\n    return v * 7 + 3\n" * 9,
        "copy.py": b"# pasted\n" + line + b"def strategy_of_ours(v):\n    return v * 7 + 3\n" * 9,
    }


LENGTHS = {"credentials": (36, 51, 22, 120), "patterns": (36, 700, 17)}
"""Of candidates that the rule finds; 700 is longer than two chunks."""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "mode"), [("credentials", "tree"), ("patterns", "tree"), ("patterns", "history")]
)
def test_repositories_that_differ_in_the_value_alone_give_the_same_training_data(
    run, literals, tmp_path, kind, mode
):
    """Beside it stand secrets of other kinds, protected by noise: literals, rare words, files with their copies."""
    others = [
        literals(b"osprey-nebula", protect="noise"),
        WORDS | {"document_frequency": [3, 3]},
        {"id": "files", "kind": "path", "globs": ["trading/**"], "spread": {"imports": 2}},
    ]
    (tmp_path / "patterns.txt").write_text('api_key = "([A-Za-z0-9]+)"\n')
    entry = {"kind": "patterns", "file": str(tmp_path / "patterns.txt"), "bits": 25}
    entry = CREDENTIALS if kind == "credentials" else {"id": "keys", "protect": "redact", **entry}
    results = []
    for n in LENGTHS[kind]:
        commits = [candidate(n), candidate(n) | {"later.py": SOURCE[:700] + drawn(n)}]
        results.append(run(commits, [entry, *others], mode=mode, public=["third_party/**"]))
    first = seen(results[0])
    assert set(results[0].secrets["kind"]) == {"literals", "rare_words", "path"}
    assert first["edges"] and first["redactions"] and any(HOLE.encode() in row[-1] for row in first["public"])
    sizes = {end - start for *_, start, end in first["redactions"]}
    assert max(sizes) == len(PLACEHOLDER) > min(sizes), "one that a border cuts ends with its example"
    for n, result in zip(LENGTHS[kind], results, strict=True):
        assert seen(result) == first
        texts = b"\n".join([*result.examples["text"], *result.public["text"]])
        assert drawn(n) not in texts and drawn(n).hex().encode() not in texts
        assert result.redacted_values["value"].to_list() == [drawn(n)]
        assert slips(result.examples, result.fingerprints, KEY).is_empty()


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1, 40, 177, 190, 611, 1210])
def test_private_keys_of_any_length_leave_the_same_text(run, size):
    """In their armour, and copied without it line by line; the last line is of any length."""
    texts = []
    for seed in (1, 2):
        pem = key_block(seed, 611 if seed == 1 else max(size, 160))
        quoted = b"".join(b"# " + line + b"\n" for line in pem.splitlines()[1:-1])
        files = {
            "k.pem": pem,
            "c.py": SOURCE[:400] + pem + SOURCE[400:900],
            "d.txt": SOURCE[:90] + b"\n\n" + quoted + b"\n" + SOURCE[90:300],
            "e.json": json.dumps({"key": pem.decode()}).encode(),
        }
        result = run(files, [CREDENTIALS])
        body = b"".join(pem.splitlines()[1:-1])
        text = b"\n".join(result.examples["text"])
        assert not any(body[i : i + 12] in text for i in range(0, len(body) - 12))
        texts.append({p: text_of(result, p) for p in ("k.pem", "c.py", "e.json")})
        assert text_of(result, "d.txt").startswith(SOURCE[:90])
        assert text_of(result, "d.txt").endswith(SOURCE[90:300])
    assert texts[0] == texts[1]
    assert texts[0]["c.py"] == SOURCE[:400] + PLACEHOLDER + b"\n" + SOURCE[400:900]


def test_overlaps_and_values_in_values_become_one_placeholder(run, literals):
    values = (b"alpha-bravo-charlie", b"bravo", b"charlie-delta-echo", b"echo-foxtrot")
    files = {
        "inside.txt": b"see alpha-bravo-charlie, and bravo alone.\n",
        "chain.txt": b"<alpha-bravo-charlie-delta-echo-foxtrot>\n",
        "touching.txt": b"bravobravo bravo\n",
        "encoded.txt": b"x " + base64.b64encode(b"alpha-bravo-charlie-delta-echo-foxtrot") + b" y\n",
        "both.txt": b"k=" + base64.b64encode(b"echo-foxtrot-and-more") + b"; bravo\n",
    }
    result = run(files, [literals(*values)])
    got = {path: text_of(result, path) for path in files}
    assert got["inside.txt"] == b"see [REDACTED], and [REDACTED] alone.\n"
    assert got["chain.txt"] == b"<[REDACTED]>\n"
    assert got["touching.txt"] == b"[REDACTED] [REDACTED]\n"
    assert got["encoded.txt"] == b"x [REDACTED] y\n"
    assert got["both.txt"] == b"k=[REDACTED]; [REDACTED]\n"
    held = dict(zip(result.redacted["redacted_id"], result.redacted["places"], strict=True))
    assert held == {0: 3, 1: 6, 2: 2, 3: 3}  # the second is too short to be sought in base64
    reported = sum(entry["redacted_places"] for entry in result.coverage["secrets"].values())
    assert reported == sum(held.values()), "the coverage report and the certificate's table differ"
    at = result.redactions.join(result.examples, on="example_id", suffix="_x")
    assert all(t[a:b] == PLACEHOLDER for t, a, b in at.select("text", "start", "end").iter_rows())


def test_other_secrets_keep_what_is_left_of_them(run, literals):
    """A noise secret that overlaps a redacted value stays tagged; one inside of it has nothing left to protect."""
    files = {
        "over.txt": b"pass: falcon-marmalade-eagle\n",
        "inside.txt": b"pass: marmalade\n",
        "alone.txt": b"pass: falcon-marmalade-eagle and malad\n",
        "copy.txt": b"64: " + base64.b64encode(b"falcon-marmalade-eagle") + b"\n",
        "mine/a.txt": b"marmalade " + SOURCE[:40],
    }
    secrets = [
        literals(b"marmalade"),
        literals(b"falcon-marmalade-eagle", b"malad", name="noise", protect="noise"),
        {"id": "files", "kind": "path", "globs": ["mine/**"]},
    ]
    result = run(files, secrets)
    tagged = result.edges.join(result.secrets, on="secret_id")
    rows = tagged.join(result.examples, on="example_id", suffix="_x")
    held = {(name.partition(":")[0], path) for name, path in rows.select("name", "path").iter_rows()}
    assert held == {
        ("noise/1", "over.txt"), ("noise/1", "alone.txt"), ("noise/1", "copy.txt"), ("noise/2", "alone.txt"),
        ("files", "mine/a.txt"),
    }  # fmt: skip
    assert text_of(result, "over.txt") == b"pass: falcon-[REDACTED]-eagle\n"
    copy = text_of(result, "copy.txt")
    assert copy.startswith(b"64: ZmFsY29u") and b"[REDACTED]\n" in copy
    # "falcon-marmalade-eagle" stands nowhere whole; "malad" does once
    assert result.occurrences.height == 1
    fact = result.coverage["secrets"]
    assert (fact["names"]["redacted_secrets"], fact["names"]["redacted_places"]) == (1, 5)
    assert fact["noise"]["redacted_secrets"] == 0


def test_versions_that_differ_in_a_value_alone_are_one(run, literals):
    """A key that was rotated: two contents in git, one file in training; and its copies are copies."""
    old, new = drawn(36, 1), drawn(51, 2)
    commits = [{"a.env": b"api_key = '%s'\n" % v + SOURCE[:600], "n.txt": b"marmalade\n"} for v in (old, new)]
    result = run(commits, [CREDENTIALS], mode="history")
    files = result.examples.filter(pl.col("path") == "a.env")
    assert files.filter(pl.col("start") == 0).height == 1
    assert result.redacted["places"].to_list() == [1, 1]
    control = run(commits, [literals(b"marmalade", protect="noise")], mode="history")
    assert control.examples.filter((pl.col("path") == "a.env") & (pl.col("start") == 0)).height == 2


def test_whole_words_are_replaced_in_any_spelling_and_nothing_else(run):
    body = SOURCE[:600]
    files = {f"{n}.txt": body + b" Quetzal " + b"x" * n for n in range(3)}
    files["wordy.txt"] = b"quetzals QUETZAL_ (QUETZAL)\n"
    result = run(files, [WORDS | {"document_frequency": [4, 4], "protect": "redact"}])
    assert text_of(result, "wordy.txt") == b"quetzals QUETZAL_ (" + PLACEHOLDER + b")\n"
    assert "quetzal" in [v.lower().decode() for v in result.redacted_values["value"]]
    assert slips(result.examples, result.fingerprints, KEY).is_empty()
    texts = [t.replace(PLACEHOLDER, b"Quetzal") for t in result.examples["text"]]
    left = result.examples.with_columns(text=pl.Series(texts))
    assert set(slips(left, result.fingerprints, KEY).join(left, on="example_id")["path"]) == set(files)


def test_rows_of_a_table_and_quotes_around_them(run, literals, tmp_path):
    value = b'marma"lade, limited'
    rows = [(f"c{n}", f"ticket {n}: {value.decode()}; {n}") for n in range(5)]
    out = io.StringIO()
    csv.writer(out).writerows([("customer", "text"), *rows])
    (tmp_path / "t.csv").write_text(out.getvalue())
    tables = [{"path": str(tmp_path / "t.csv"), "name": "t", "unit": "customer"}]
    units = {"id": "people", "kind": "unit"}
    result = run({"a.txt": b"x\n"}, [literals(value), units], tables=tables)
    texts = result.examples.filter(pl.col("source") == "t")["text"].to_list()
    assert sorted(texts) == [b"ticket %d: [REDACTED]; %d" % (n, n) for n in range(5)]
    assert result.edges.height == 5 and result.redacted["places"].to_list() == [5]


def test_what_is_to_be_left_out_is_whatever_the_length(run, literals):
    files = {
        "a.txt": SOURCE[:700] + b" marmalade " + SOURCE[700:1400],
        "b.txt": b"64: " + base64.b64encode(b"the marmalade") + b"\n",
        "both.txt": b"damson in marmalade-damson\n",
        "n.txt": b"quince\n",
    }
    secrets = [
        literals(b"marmalade", b"damson", name="out", protect="drop"),
        literals(b"quince", name="noise", protect="noise"),
    ]
    result = run(files, secrets)
    assert set(result.dropped["path"]) == {"a.txt", "b.txt", "both.txt"} and result.dropped["weak"].all()
    assert b"marmalade" not in b"".join(result.examples["text"]) and not text_of(result, "b.txt")
    fact = result.coverage["secrets"]["out"]
    assert (fact["left_out_secrets"], fact["left_out_examples"], fact["weak_secrets"]) == (2, 3, 0)
    assert result.secrets["name"].to_list()[0].startswith("noise/")
    whole = [{"id": "files", "kind": "path", "globs": ["a.txt"], "protect": "drop"}, secrets[1]]
    assert not text_of(run(files, whole), "a.txt")
    # what is to be replaced is replaced first; text that is to be left out for the same value still is
    replaced = run(files, [literals(b"marmalade"), *secrets])
    assert not text_of(replaced, "b.txt") and replaced.redactions.is_empty()


def test_a_weak_password_is_redacted_where_noise_would_refuse_it(run):
    files = {"a.py": b'url = "postgres://app:hunter2sesame@db.corp:5432/x"\n' + SOURCE[:300]}
    with pytest.raises(InputError, match="too easy to guess"):
        run(files, [{"id": "creds", "kind": "credentials", "weak": "refuse"}])
    result = run(files, [CREDENTIALS])
    assert b"hunter2" not in b"".join(result.examples["text"])
    assert result.redacted["prior"].min() >= 2**-20


def test_a_job_may_have_nothing_left_for_noise(run, literals):
    result = run({"a.txt": b"see marmalade\n"}, [literals(b"marmalade")])
    assert result.edges.is_empty() and result.secrets.is_empty()
    assert result.examples["text"].to_list() == [b"see [REDACTED]\n"]


def test_other_kinds_refuse_to_be_redacted(run):
    for entry in ({"kind": "path", "globs": ["*"]}, {"kind": "unit"}, {"kind": "removed", "paths": ["*"]}):
        with pytest.raises(InputError, match="no values") as refused:
            run({"a": b"a"}, [{"id": "x", "protect": "redact", **entry}])
        assert "protect" in str(refused.value)


@pytest.mark.parametrize("value", [b"redacted", b"[REDACTED]", b"DACTED]-quince"])
def test_a_value_that_arises_with_the_placeholder_is_refused_without_being_shown(run, literals, value):
    with pytest.raises(InputError, match="cannot be redacted") as refused:
        run({"a.txt": b"marmalade-quince\n"}, [literals(value, b"marmalade")])
    assert "quince" not in str(refused.value) and "names/1" in str(refused.value)


def test_a_copy_that_is_left_is_caught_by_its_fingerprint(run, monkeypatch):
    """The planted mistake: the last place found is not replaced, and nobody looks again."""
    of = redaction_module.Replacements.of

    def but_one(blob, start, end):
        last = np.lexsort((start, blob))[-1]
        kept = (blob != blob[last]) | (start != start[last])
        return of(*(column[kept] for column in (blob, start, end)))

    value = drawn(40)
    files = {
        f"{n}.py": SOURCE[n:400] + b'api_key = "' + value + b'"\n' + SOURCE[400:700] + value for n in range(4)
    }
    monkeypatch.setattr(redaction_module.Replacements, "of", but_one)
    with pytest.raises(InputError, match="cannot be redacted"):
        run(files, [CREDENTIALS])
    monkeypatch.setattr(redaction_module, "_refuse_what_is_left", lambda *_: [])
    result = run(files, [CREDENTIALS])
    assert sum(value in text for text in result.examples["text"]) == 1
    (caught,) = slips(result.examples, result.fingerprints, KEY).rows()
    assert value in result.examples["text"][caught[1]] and caught[0] == 0


def test_fingerprints_tell_nothing_without_their_key_and_their_forms_are_all_kept(run, literals):
    value = b"zephyrquartz"
    result = run({"a.txt": b"zephyrquartz\n"}, [literals(value, b"nowhere-at-all")])
    table = result.fingerprints
    assert not slips(pl.DataFrame({"example_id": [0], "text": [value]}), table, KEY).is_empty()
    assert slips(pl.DataFrame({"example_id": [0], "text": [value]}), table, b"o" * 32).is_empty()
    stored = b"".join(table["mac"]) + str(table.drop("mac").rows()).encode()
    assert value not in stored and value.hex().encode() not in stored
    assert {len(mac) for mac in table["mac"]} == {32}
    again = table.filter(pl.col("kind") == f"{EXACT} {FOLDED}")
    assert set(again["redacted_id"]) == {0, 1} and result.redacted["places"].to_list() == [1, 0]
    texts = {"example_id": [0, 1], "text": [b"ZEPHYRquartz", base64.b64encode(b"--nowhere-at-all--")]}
    assert slips(pl.DataFrame(texts), table, KEY).rows() == [(0, 0), (1, 1)]


def test_a_short_weak_value_left_in_a_longer_word_is_no_slip_and_a_copy_is(run):
    files = {"u.py": b'url = "postgres://app:qrst57wz@db.corp:5432/x"\n', "w.py": b"x = aqrst57wz\n"}
    result = run(files, [CREDENTIALS])
    texts = result.examples["text"].to_list()
    assert b"x = aqrst57wz\n" in texts and not any(b":qrst57wz@" in text for text in texts)
    assert slips(result.examples, result.fingerprints, KEY).is_empty()
    left = {"example_id": [0, 1, 2], "text": [b"x = aqrst57wz", b"x = qrst57wz", b"x = qrst57wz1"]}
    assert set(slips(pl.DataFrame(left), result.fingerprints, KEY)["example_id"]) == {1}
