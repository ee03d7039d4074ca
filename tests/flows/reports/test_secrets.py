"""A report on a real repository: every file is there, true, comparable with the last one, and without a value."""

from __future__ import annotations

import base64
import copy
import csv
import hashlib
import io
import json
import random
import shutil
import string

import pytest
from extracting import found_in
from jobs import commit
from rich.console import Console

from flows.reports.coverage_notes import coverage_notes
from flows.reports.secrets import FIRST_AT, _show, markdown, render, render_files
from hush_core.config import parse_config
from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.coverage import repeatable
from tasks.publish_secrets import write_report

KEY = b"k" * 32
CANARIES = [
    "ghp_" + "".join(random.Random(i).choices(string.ascii_letters + string.digits, k=36)) for i in range(3)
]
CODENAME = "blackbird-nine"


def reporter(folder):
    """Write a report on a repository with these files; its summary, what was found and the commit."""
    literals = folder / "codenames.txt"
    literals.write_text(CODENAME + "\n")
    repo = folder / "repo"

    def run(files: dict[str, str], out: str = "out", **options):
        head = commit(repo, files)
        data = {
            "version": 1,
            "repos": [{"path": str(repo)}],
            "secrets": [
                {"id": "creds", "kind": "credentials", "level": 1e-3, "weak": "drop"},
                {"id": "names", "kind": "literals", "file": str(literals), "bits": 20, "level": 1e-3},
                {"id": "eu", "kind": "path", "globs": ["trading/**"], "level": 1e-3},
                {"id": "empty", "kind": "path", "globs": ["nowhere/**"], "level": 1e-3},
            ],
            "train": {"rounds": 1, "batch": 1},
            "chunk_bytes": 64,
        }
        found = extract(parse_config(data, where="test", folder=folder), KEY)
        report = found_in(
            found,
            coverage=repeatable(found.coverage),
            skipped={k: v["skipped_files"] for k, v in found.coverage["repositories"].items()},
        )
        summary = write_report(report, key=KEY, out=folder / out, **options)
        return summary, found, head

    return run


@pytest.fixture
def report(tmp_path):
    return reporter(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The summary of a first report on `FILES`, where an earlier one lay, and what was found."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "out").mkdir()
    (folder / "out" / "changes.csv").write_text("of an earlier report")
    return reporter(folder)(FILES)[:2]


@pytest.fixture
def before(first, report, tmp_path):
    """A copy of the first report's folder, with the same files in the repository: what is compared with it."""
    for file in first[0].files.values():
        (tmp_path / "before").mkdir(exist_ok=True)
        shutil.copy(file, tmp_path / "before")
    commit(tmp_path / "repo", FILES)
    return tmp_path / "before" / "baseline.json"


FILES = {
    "a.py": f'T = "{CANARIES[0]}"\n',
    "b.py": f'T = "{CANARIES[1]}"\nproject = "{CODENAME}"\n',
    "copy.txt": CANARIES[0].encode().hex(),
    "trading/eu.py": "edge = 42\n" * 20,
    "clean.txt": "nothing\n" * 20,
    "picture.bin": "\0\1\2",
}


def printed(summary) -> str:
    console = Console(file=io.StringIO(), width=140, highlight=False)
    render(summary, console)
    return console.file.getvalue()


def test_what_is_left_out_for_a_weak_secret_is_named_and_has_not_gone(report, tmp_path):
    url, strong = 'U = "postgres://app:Sommer2019!@db.corp:5432/x"\n', f'"{CANARIES[2]}"\n'
    report(FILES | {"=db.py": strong})
    beside = url.replace("app", CANARIES[2])
    summary, _, _ = report(FILES | {"=db.py": beside, "also.py": url + "# filler\n" * 20})
    rows = list(csv.DictReader(summary.files["dropped.csv"].read_text().splitlines()))
    assert [(r["path"], r["kind"], r["examples"], r["weak"]) for r in rows] == [
        ("'=db.py", "credentials", "1", "true"),
        ("also.py", "credentials", "1", "true"),
        ("'=db.py", "credentials", "1", "false"),
    ]
    changed = list(csv.DictReader(summary.files["changes.csv"].read_text().splitlines()))
    assert [(r["change"], r["path"]) for r in changed] == [("new", "'=db.py"), ("new", "also.py")]
    out = printed(summary)
    assert "Sommer" not in summary.files["dropped.csv"].read_text() + out and "dropped.csv" in out
    assert "1 secret stands only in examples left out" in out
    summary, _, _ = report({"=db.py": "x\n", "also.py": "y\n"})
    changed = list(csv.DictReader(summary.files["changes.csv"].read_text().splitlines()))
    assert [(r["change"], r["kind"], r["path"]) for r in changed] == [
        ("gone", "credentials", "'=db.py"), ("gone", "credentials", "also.py"),
        ("gone", "credentials", "'=db.py"),
    ]  # fmt: skip
    assert "dropped.csv" not in summary.files and not (tmp_path / "out" / "dropped.csv").exists()


def test_random_values_without_a_telling_name_come_last_however_many_examples_they_cost(report):
    value = "qZ7xT0vLw3Kd9RbYpN5sUe2HcJmA8GfX"
    often = {f"{n}.py": f'x = "{value}"\n' for n in range(9)}
    summary, _, _ = report({"z.py": f'T = "{CANARIES[0]}"\n', **often})
    text = printed(summary)
    assert text.index("z.py:1") < text.index("0.py:1"), "a credential by its name waits behind an id"
    assert "Found: 2 values" in text and "last: 1 random without a telling name" in text
    summary, _, _ = report({"z.py": f'T = "{CANARIES[0]}"\n', **dict.fromkeys(often, "")})
    assert "without a telling name" not in printed(summary)


def test_the_first_report_has_every_file_and_no_changes(first):
    summary, found = first
    assert {f.name for f in summary.files["files.csv"].parent.iterdir()} == set(summary.files) == {
        "files.csv", "secrets.sarif", "graph.png", "coverage.json", "whole_coverage.json", "baseline.json",
        "skipped.csv",
    }  # fmt: skip
    skipped = summary.files["skipped.csv"].read_text().splitlines()
    assert skipped == ["source,path,reason", "repo,picture.bin,binary"]
    assert "picture.bin" not in summary.files["coverage.json"].read_text()  # which goes to the tracker
    log = json.loads(summary.files["secrets.sarif"].read_bytes())
    assert len(log["runs"][0]["results"]) == found.edges.height - 1  # the copy in hexadecimal is one finding
    rows = {row.id: row for row in summary.entries}
    creds = rows["creds"]
    assert (creds.secrets, creds.examples, creds.new) == (2, 4, None)  # in hex it stands over a border
    assert rows["creds"].propagated == 2 and rows["eu"].examples == 4
    assert rows["empty"].without_example == 1 and rows["empty"].examples == 0
    (repository,) = summary.repositories
    assert (repository.files, repository.skipped) == (5, {"binary": 1})
    text = printed(summary)
    assert "1 binary" in text and "empty: protects NOTHING" in text and "gone" not in text


def test_credentials_may_well_be_none(first):
    """Any other entry that finds nothing is asked about."""
    summary, _ = first
    coverage = copy.deepcopy(summary.coverage)
    found = coverage["secrets"]["creds"]
    found |= {name: 0 for name, value in found.items() if isinstance(value, int)}
    (note,) = (note for note in coverage_notes(coverage) if note.startswith("creds: "))
    assert note == "creds: no text holds a credential that hush finds, so it protects nothing"


def test_an_entry_that_names_much_of_the_text_is_asked_about(first):
    summary, _ = first
    (repository,) = summary.coverage["repositories"].values()
    for entry in ("creds", "eu"):
        share = summary.coverage["secrets"][entry]["examples"] / repository["examples"]
        asked = any(note.startswith(f"{entry}: 4 of ") for note in coverage_notes(summary.coverage))
        assert asked == (share > 0.25)
    narrow = copy.deepcopy(summary.coverage)
    narrow["repositories"]["repo"]["examples"] *= 100
    assert not any(" examples hold its secrets" in note for note in coverage_notes(narrow))


def test_it_says_by_which_way_examples_were_tagged_and_how_to_leave_importers_off(report):
    files = {"trading/eu.py": "def quote():\n    return 7 * 6\n"}
    files |= {f"{n}.py": f"from trading.eu import quote\n\nprint({n}, quote())\n" for n in range(5)}
    files |= {f"other{n}.py": f"value_{n} = {n}\n" for n in range(3)}
    summary, _, _ = report(files)
    told = "eu: 1 example of its own files; 5 in files that import one of them"
    note = "eu: 5 of its 6 examples are in files that only import one of its own"
    text = printed(summary)
    assert told in text and note in text and "spread: {imports: 0}" in text
    assert "import" not in markdown(summary, None)  # the terminal alone: ways are told by tagged text
    few = copy.deepcopy(summary.coverage)
    few["repositories"]["repo"]["examples"] *= 100
    assert not any("import" in line for line in coverage_notes(few))


def test_which_files_hold_a_secret(first):
    summary, found = first
    with open(summary.files["files.csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    pairs = found.edges.join(found.examples, on="example_id").select("secret_id", "path").unique()
    assert len(rows) == pairs.height and sum(int(row["examples"]) for row in rows) == found.edges.height
    (name,) = {row["name"] for row in rows if row["path"] == "copy.txt"}
    console = Console(file=io.StringIO(), width=140, highlight=False)
    render_files(summary, [name, "eu"], console)
    text = console.file.getvalue()
    assert f"{name}: in 2 files" in text and "copy.txt" in text and "propagated:hex" in text
    assert "eu: in 1 file" in text and "trading/eu.py" in text and "b.py" not in text
    with pytest.raises(InputError, match="no secret or entry is called 'e'"):
        render_files(summary, ["e"], console)


def test_the_page_for_the_ui_has_the_counts_and_no_path(first):
    summary, _ = first
    text = markdown(summary, "http://127.0.0.1:5000/run")
    assert "| `creds` | credentials | 2 | 4 | 0 |\n" in text and "| `repo` | 5 | 12 | 1 binary |" in text
    assert "[MLflow](http://127.0.0.1:5000/run)" in text and "trading" not in text


def test_the_second_report_shows_only_what_changed(report, before):
    changed = {
        "a.py": "\n" * 100 + FILES["a.py"],  # moved only
        "b.py": "project = 1\n",  # a credential and a codename gone
        "=c.py": f'T = "{CANARIES[2]}"\n',
        "trading/us.py": "edge = 43\n",
    }
    summary, _, _ = report(changed, out="second", baseline=before)
    rows = {row.id: (row.new, row.gone) for row in summary.entries}
    assert rows == {"creds": (1, 1), "names": (0, 1), "eu": (1, 0), "empty": (0, 0)}
    with open(summary.files["changes.csv"], newline="") as file:
        table = list(csv.DictReader(file))
    new = {(row["name"].partition("/")[0], row["path"]) for row in table if row["change"] == "new"}
    assert new == {("creds", "'=c.py"), ("eu", "trading/us.py")}
    gone = {(row["name"].partition("/")[0], row["path"]) for row in table if row["change"] == "gone"}
    assert gone == {("creds", "b.py"), ("names", "b.py")}  # named by the files.csv beside the first baseline
    old = set(json.loads(before.read_bytes())["items"])
    assert {row["token"] for row in table if row["change"] == "gone"} < old
    assert "gone" in printed(summary) and "since the baseline" in printed(summary)
    again, _, _ = report(
        {}, out="second", baseline=summary.files["baseline.json"]
    )  # the one that it replaces
    assert all((row.new, row.gone) == (0, 0) for row in again.entries)
    (before.parent / "files.csv").unlink()
    blind, _, _ = report({}, out="third", baseline=before)
    with open(blind.files["changes.csv"], newline="") as file:
        assert [row["path"] for row in csv.DictReader(file) if row["change"] == "gone"] == ["", ""]
    assert again.files["changes.csv"].read_text().count("\n") == 1


def test_nothing_written_or_printed_holds_a_value_or_an_unkeyed_hash(report, before, tmp_path):
    files = {**FILES, "n.py": f'T = "{CANARIES[2]}"\n'}
    summary, _, head = report(files, baseline=before)
    written = [path.read_bytes() for path in (tmp_path / "out").iterdir()]
    assert len(written) == 8
    everything = b"\n".join([*written, printed(summary).encode(), repr(summary).encode()]).lower()
    texts = [text.encode() for text in files.values() if len(text) > 10]
    for clear in [*(c.encode() for c in CANARIES), CODENAME.encode(), *texts]:
        forms = [clear, clear.hex().encode(), *(base64.b64encode(b"." * i + clear)[4:-4] for i in range(3))]
        digests = [hashlib.new(name, clear).digest() for name in ("sha256", "sha1", "md5")]
        digests.append(hashlib.sha1(b"blob %d\0" % len(clear) + clear).digest())
        forms += [d.hex()[:12].encode() for d in digests]
        for form in forms:
            assert form.lower() not in everything
    assert head[:12].encode() not in everything


def test_a_baseline_that_does_not_fit_is_refused_before_anything_is_written(report, tmp_path):
    (tmp_path / "b.json").write_text('{"format": "hush baseline", "version": 7}')
    with pytest.raises(InputError, match="another version"):
        report(FILES, baseline=tmp_path / "b.json")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file_is_one_clear_refusal(report, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="name a folder"):
        report(FILES)


def test_a_lines_number_is_not_folded_away_from_its_file():
    out, place = io.StringIO(), "repository:tests/test_requests.py:2140"
    row = ["credentials/encoded-login-password:317344a0b3a0", place, "too weak for noise, 5 of 20 bits"]
    _show(Console(file=out, width=100), ["what", FIRST_AT, "why"], [], [row], (10, ""))
    assert place in out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_numbers_are_whole_beside_a_long_name_and_a_long_place(width):
    out, place = io.StringIO(), f"repository:{'deep/' * 20}test_requests.py:2140"
    row = ["credentials/encoded-login-password:317344a0b3a0", place, "3", "21,212"]
    heads = ["what", FIRST_AT, "files", "examples or places"]
    _show(Console(file=out, width=width), heads, heads[2:], [row], (10, ""))
    assert "21,212 │" in out.getvalue() and "examples or places ┃" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= width
