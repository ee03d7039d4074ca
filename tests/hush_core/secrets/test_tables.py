"""Tables beside repositories: real parquet, mbox and ChangeLog files, against a brute force over documents."""

import hashlib
import hmac
import random
import string
import typing
from pathlib import Path

import polars as pl
import pytest
from extracting import KEY
from extracting import held as held_by
from extracting import job as job_of

from hush_core.config import Table, load_config
from hush_core.corpus.documents import DOCUMENT_SKIP_REASONS, Format, read_documents
from hush_core.errors import InputError
from hush_core.secrets import extract, source_revisions

CHUNK = 64
UNIT = {"id": "who", "kind": "unit"}


def job(secrets, repos=(), tables=(), **keys):
    listed = [{**t, "path": str(t["path"])} for t in tables]
    return job_of(repos, secrets, tables=listed, **keys)


def keyed(value: str) -> str:
    return hmac.new(KEY, value.encode(), hashlib.sha256).hexdigest()[:12]


def held(result, secret):
    return set(held_by(result, secret))


def every(*sources):
    """(source, path, text, unit) of whole files."""
    return [(s, p, t, u) for s, files in sources for p, t, u in files]


def documents(table: dict, label: str):
    options = {k: v for k, v in table.items() if k not in ("path", "name")}
    found = read_documents(Path(table["path"]), max_bytes=1 << 20, where="test", **options)
    return label, [(d.name, d.text, d.unit) for d in found]


def brute_force(files, unit):
    """All chunks of the unit's documents, and all chunks with the same bytes (last ones as part of equal files)."""

    def keys(text):
        for start in range(0, len(text), CHUNK):
            piece = text[start : start + CHUNK]
            whole = len(piece) == CHUNK or len(text) < CHUNK
            yield start, (piece if whole else (start, text))

    own = {key for _, _, text, u in files if u == unit for _, key in keys(text)}
    return {(s, p, start) for s, p, text, _ in files for start, key in keys(text) if key in own}


def pool(seed: int):
    chance = random.Random(seed)
    blocks = ["".join(chance.choices(string.ascii_lowercase + " ", k=CHUNK)) for _ in range(6)]

    def text() -> str:
        return (
            "".join(chance.choices(blocks, k=chance.randint(0, 3))) + chance.choice(["", "tail one", "t2!"])
            or "x"
        )

    return chance, text


def mbox(path: Path, mails: list[tuple[str, str, str]]) -> Path:
    parts = [f"From x Mon Jan  1 00:00:00 2024\nFrom: N <{a}>\nSubject: {s}\n\n{b}\n\n" for a, s, b in mails]
    path.write_text("".join(parts))
    return path


def changelog(path: Path, entries: list[tuple[str, str]]) -> Path:
    lines = [f"2024-01-{i:02d}  N  <{a}>\n\n\t* {t}\n\n" for i, (a, t) in enumerate(entries, 1)]
    path.write_text("".join(lines))
    return path


def test_user_level_edges_equal_a_brute_force_over_the_documents(make_repo, tmp_path):
    chance, text = pool(5)
    rows = {
        "key": [f"t/{i}" for i in range(40)],
        "customer": [chance.randint(1, 9) for _ in range(40)],
        "body": [text() for _ in range(40)],
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "tickets.parquet")
    people = [f"p{i}@mail.example" for i in range(5)]
    mails = [(p.upper() if i % 2 else p, "s", text()) for i, p in enumerate(people * 3)]
    logs = [(chance.choice(people), text()) for _ in range(6)]
    tables = [
        {"path": tmp_path / "tickets.parquet", "text": "body", "unit": "customer", "id": "key"},
        {"path": mbox(tmp_path / "list.mbox", mails), "name": "list"},
        {"path": changelog(tmp_path / "ChangeLog", logs)},
    ]
    repo = make_repo()
    stands = {f"f{i}.py": text().encode() for i in range(10)}
    repo.commit(stands)
    files = every(
        ("repo", [(p, t, None) for p, t in stands.items()]),
        documents(tables[0], "tickets.parquet"),
        documents(tables[1], "list"),
        documents(tables[2], "ChangeLog"),
    )
    result = extract(job([UNIT], [repo], tables), KEY)
    units = {u for *_, u in files if u is not None}
    assert len(units) >= 9 + 5 and any(s == "list" and u == people[0] for s, _, _, u in files)
    assert set(result.secrets["name"]) == {f"who/{keyed(u)}" for u in units}
    for unit in units:
        assert held(result, f"who/{keyed(unit)}") == brute_force(files, unit), unit
    rebuilt = {}
    for source, path, part in result.examples.select("source", "path", "text").iter_rows():
        rebuilt[source, path] = rebuilt.get((source, path), b"") + part
    assert rebuilt == {(s, p): t for s, p, t, _ in files if t}
    assert set(result.examples.filter(source="list")["language"]) == {"text"}
    revisions = source_revisions(job([UNIT], [repo], tables))
    assert revisions["list"] == hashlib.sha256((tmp_path / "list.mbox").read_bytes()).hexdigest()
    assert dict(result.examples.select("source", "revision").unique().iter_rows()) == revisions
    one = extract(job([{**UNIT, "table": "list"}], [repo], tables), KEY)
    assert set(one.secrets["name"]) == {f"who/{keyed(p)}" for p in people}
    only_list = [(s, p, t, u if s == "list" else None) for s, p, t, u in files]
    assert held(one, f"who/{keyed(people[1])}") == brute_force(only_list, people[1])


@pytest.mark.parametrize("formats", [("sha1",), ("sha256",), ("sha1", "sha256")])
def test_equal_texts_hold_the_secrets_of_all_whose_they_are(make_repo, tmp_path, formats):
    """One content wherever it stands, its last and shorter chunk included."""
    text = "same " * 30
    for name, who in (("one.jsonl", "ann"), ("two.jsonl", "bob")):
        (tmp_path / name).write_text(f'{{"text": "{text}", "who": "{who}"}}\n')
    repos = [make_repo(f"repo-{name}", f"--object-format={name}") for name in formats]
    repos[-1].commit({"copy.txt": text.encode()}, who="quant@example.org")
    for repo in repos[:-1]:
        repo.commit({"other.txt": b"nothing of it\n"})
    tables = [{"path": tmp_path / n, "unit": "who"} for n in ("one.jsonl", "two.jsonl")]
    quant = {"id": "quant", "kind": "contributors", "emails": ["quant@example.org"]}
    result = extract(job([UNIT, quant], repos, tables), KEY)
    places = {(repos[-1].path.name, "copy.txt"), ("one.jsonl", "line-1"), ("two.jsonl", "line-1")}
    wanted = {(s, p, start) for s, p in places for start in range(0, len(text), CHUNK)}
    assert len(text) % CHUNK and len(result.secrets) == 3
    for secret in (f"who/{keyed('ann')}", f"who/{keyed('bob')}", "quant"):
        assert held(result, secret) == wanted


def test_values_are_found_in_documents_and_path_globs_match_their_names(make_repo, tmp_path):
    token = "ghp_" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))
    (tmp_path / "names").write_text("codename zephyr\n")
    mails = [
        ("a@b.example", "s", "about Codename ZEPHYR"),
        ("c@b.example", "s", f"key = {token}"),
        ("d@b.example", "s", "-"),
    ]
    log = changelog(tmp_path / "ChangeLog", [("a@b.example", "codename zephyr is gone")])
    repo = make_repo()
    repo.commit({"a.py": b"# codename zephyr\n", "b.py": b"pass\n"})
    secrets = [
        {"id": "code", "kind": "literals", "file": str(tmp_path / "names"), "bits": 25},
        {"id": "creds", "kind": "credentials"},
        {"id": "third", "kind": "path", "globs": ["message-3"]},
    ]
    tables = [{"path": mbox(tmp_path / "m.mbox", mails)}, {"path": log}]
    result = extract(job(secrets, [repo], tables, chunk_bytes=1024), KEY)
    by_entry = {n.partition("/")[0]: {(s, p) for s, p, _ in held(result, n)} for n in result.secrets["name"]}
    assert by_entry == {
        "code": {("m.mbox", "message-1"), ("ChangeLog", "line-1"), ("repo", "a.py")},
        "creds": {("m.mbox", "message-2")},
        "third": {("m.mbox", "message-3")},
    }


def test_what_is_skipped_is_counted_and_not_trained_on(tmp_path):
    frame = pl.DataFrame(
        {"text": ["kept", None, "", "x" * 300, "nobody's"], "who": ["a", "a", "a", "b", None]}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    result = extract(
        job([UNIT], tables=[{"path": tmp_path / "t.parquet", "unit": "who"}], max_file_bytes=200), KEY
    )
    facts = result.coverage["repositories"]["t.parquet"]
    assert set(facts["skipped"]) == set(DOCUMENT_SKIP_REASONS)
    assert {k: n for k, n in facts["skipped"].items() if n} == {
        "null_text": 1, "empty": 1, "too_large": 1, "no_unit": 1,
    }  # fmt: skip
    assert (facts["mode"], facts["files"], facts["chunks"], facts["units"]) == ("table", 1, 1, 1)
    assert result.examples["text"].to_list() == [b"kept"] and len(result.secrets) == 1


def test_detectors_of_histories_read_the_repositories_only(make_repo, tmp_path):
    table = {"path": mbox(tmp_path / "m.mbox", [("quant@example.org", "s", "a mail of theirs")])}
    repo = make_repo()
    repo.commit({"a.py": b"QUANT = 5\n", "old.py": b"OLD = 1\n"}, who="quant@example.org")
    repo.commit({"b.py": b"x\n"})
    repo.git("rm", "-q", "old.py")
    repo.commit({"copy.py": b"OLD = 1\n", "CODEOWNERS": b"/b.py @acme/all\n"})
    owners = {"id": "o", "kind": "codeowners", "teams": ["@acme/all"]}
    removed = {"id": "r", "kind": "removed", "paths": ["old.py"]}
    for attribute in ("file", "commit", "blame"):
        people = {"id": "q", "kind": "contributors", "emails": ["quant@*"], "attribute": attribute}
        result = extract(job([people, owners, removed], [repo], [table]), KEY)
        assert ("repo", "a.py", 0) in held(result, "q")
        assert held(result, "o") == {("repo", "b.py", 0)} and held(result, "r") == {("repo", "copy.py", 0)}
        assert not result.edges.join(result.examples, on="example_id")["source"].str.contains("mbox").any()
    for secret in (people, removed):
        with pytest.raises(InputError, match="reads a history .* and tables have none") as error:
            extract(job([UNIT, secret], tables=[table]), KEY)
        assert "quant" not in str(error.value)
    result = extract(job([UNIT, owners], tables=[table]), KEY)
    assert result.coverage["secrets"]["o"]["without_example"] == 1


def test_no_unit_and_no_value_appears_outside_the_text(tmp_path, capfd):
    who, value = "canary.person@secret.example", "canary codename seven"
    (tmp_path / "names").write_text(value + "\n")
    table = {"path": mbox(tmp_path / "m.mbox", [(who, "s", f"of {value}"), ("b@c.example", "s", "-")])}
    code = {"id": "code", "kind": "literals", "file": str(tmp_path / "names"), "bits": 25}
    result = extract(job([UNIT, code], tables=[table]), KEY)
    shown = [result.coverage, repr(result), *capfd.readouterr()]
    shown += [
        getattr(result, n).drop("text", strict=False).rows()
        for n in ("examples", "secrets", "edges", "occurrences")
    ]
    jsonl = tmp_path / "t.jsonl"
    jsonl.write_text(f'{{"text": "{value}", "who": "{who}"}}\n{{"text": "{value}", "who": ["{who}"]}}\n')
    for broken, level in (({"path": jsonl, "unit": "who"}, 1e-3), (table, 1e-11)):
        with pytest.raises(InputError) as error:
            extract(job([{**UNIT, "level": level}], tables=[broken]), KEY)
        shown += [str(error.value), repr(error.value)]
    for canary in (who, value, who.partition("@")[0], hashlib.sha256(who.encode()).hexdigest()[:12]):
        assert canary not in str(shown)


def test_a_name_of_a_unit_is_the_same_everywhere_and_rows_may_move(tmp_path):
    """Repeatable; and the order of the secrets says nothing about who stood first."""
    rows = [("a", "one"), ("b", "two"), ("c", "three"), ("a", "four")]
    names = []
    for i, order in enumerate((rows, rows[::-1])):
        path = tmp_path / f"{i}.csv"
        path.write_text("who,text\n" + "".join(f"{w},{t}\n" for w, t in order))
        names.append(
            extract(job([UNIT], tables=[{"path": path, "unit": "who"}]), KEY).secrets["name"].to_list()
        )
    assert names[0] == names[1] == sorted(f"who/{keyed(w)}" for w in "abc")


def test_the_config_takes_paths_from_its_folder_and_knows_every_format(tmp_path):
    (tmp_path / "job.yaml").write_text(
        "version: 1\ntables: [{path: data/t.parquet, text: [title, body]}]\n"
        "secrets: [{id: u, kind: unit, table: t.parquet, level: 0.1}]\ntrain: {rounds: 1, batch: 1}\n"
    )
    (table,) = load_config(tmp_path / "job.yaml").tables
    assert table.path == tmp_path / "data" / "t.parquet" and table.text == ("title", "body")
    assert table.label == "t.parquet"
    formats = next(t for t in typing.get_args(Table.model_fields["format"].annotation) if t is not type(None))
    assert set(typing.get_args(formats)) == set(typing.get_args(Format))


def test_a_table_that_is_gone_or_whose_rows_belong_to_nobody_is_refused_when_it_is_read_too(tmp_path):
    """A command refuses both before it reads (tests/flows/test_bad_configs.py)."""
    table = {"path": tmp_path / "t.jsonl"}
    with pytest.raises(InputError, match="is not a file"):
        source_revisions(job([UNIT], tables=[table]))
    table["path"].write_text('{"text": "hello"}\n')
    with pytest.raises(InputError, match=r"'t.jsonl' has none.*set `unit:`"):
        extract(job([UNIT], tables=[table]), KEY)
