"""Looking at contents with several threads; what is kept for the next process, and the digest that decides so."""

import ast
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import hyperscan
import numpy as np
import polars as pl
import pytest

from hush_core.corpus import BlobStore
from hush_core.secrets import kept
from hush_core.secrets.code import ROOT, sources
from hush_core.secrets.detectors import credential_rules as rules
from hush_core.secrets.detectors import scans
from hush_core.secrets.detectors.scans import looked_at
from hush_core.secrets.guessing import published
from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch


@pytest.fixture
def contents():
    with BlobStore() as blob_store:
        for i in range(300):
            words = ["alpha-codename" if i % 7 == 0 else "plain", "x" * (i % 50), "ALPHA-\\nCODE" * (i % 3)]
            blob_store.add(b"%040x" % i, "\n".join(words).encode())
        yield blob_store


def test_threads_change_nothing(contents, monkeypatch):
    monkeypatch.setattr(scans, "BATCH_BYTES", 200)
    look = ValueSearch(
        [SearchTerm(b"alpha-codename", any_case=True), SearchTerm(b"alpha-code" * 2, any_case=True)]
    )
    numbers = list(range(0, 300, 2))
    one = list(looked_at(contents, numbers, look, 1))
    assert [number for number, _ in one] == numbers
    assert sum(len(hits) for _, hits in one) > 20
    for workers in (2, 5):
        assert list(looked_at(contents, numbers, look, workers)) == one
    assert list(looked_at(contents, [], look, 2)) == []


def test_a_look_that_does_not_say_so_is_called_by_one_thread(contents):
    callers = set()

    def look(content: bytes) -> list[int]:
        callers.add(threading.get_ident())
        return [len(content)]

    assert len(list(looked_at(contents, range(300), look, 4))) == 300
    assert callers == {threading.get_ident()}


def test_what_goes_wrong_in_a_thread_is_raised(contents):
    class Look:
        threads = True

        def __call__(self, content: bytes) -> list[int]:
            if contents[250] == content:
                raise ZeroDivisionError
            return []

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(looked_at(contents, range(300), Look(), 2))
    assert threading.active_count() == before  # none is left behind


def test_many_patterns_find_what_few_do(monkeypatch):
    search_terms = [
        SearchTerm(b"first-value-of-all", any_case=True),
        SearchTerm(b"two"),
        SearchTerm(b'has "quotes" inside it'),
    ]
    content = (
        b'FIRST-value-\\nof-all two "dHdv" first-value-of-all has \\"quotes\\" inside it hasquotesinsideit'
    )
    few = {(h.index, h.start, h.end, h.form) for h in ValueSearch(search_terms).find(content)}
    monkeypatch.setattr("hush_core.secrets.propagation.seeker.PATTERNS_A_DATABASE", 3)
    assert {(h.index, h.start, h.end, h.form) for h in ValueSearch(search_terms).find(content)} == few
    assert {index for index, *_ in few} == {0, 1, 2} and len(few) >= 4


def test_two_that_scan_at_once_keep_what_both_found(tmp_path):
    """As two workers do that scan a repository each: neither saw the other's rows when it began."""
    names = [bytes([n]) * 16 for n in range(3)]

    def new(number, start):
        columns = {"number": [number], "start": [start], "end": [start + 4], "tag": ["rule"]}
        return pl.DataFrame(columns, schema_overrides={"start": pl.UInt32, "end": pl.UInt32})

    file = tmp_path / "scans" / "x.parquet"
    scans._save(file, new(0, 5), names)
    scans._save(file, new(1, 7), names)
    scans._save(file, new(1, 7), names)
    kept = scans._load(file)
    assert sorted(zip(kept["blob"], kept["start"], strict=True)) == [(names[0], 5), (names[1], 7)]


ROWS = [(rb"key=[0-9]{4}", 3, 0), (rb"^token", 5, hyperscan.HS_FLAG_MULTILINE)]

TEXT = b"a key=1234\ntoken"


@pytest.fixture()
def folder(tmp_path):
    before = list(kept._FOLDER)
    kept.keep_in(tmp_path)
    yield tmp_path
    kept.keep_in(before[0] if before else None)


def test_kept_gates_are_taken_and_damaged_ones_compiled_again(folder, monkeypatch):
    wanted = [(3, 10), (5, 16)]
    assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], whole[32:]):
        file.write_bytes(damaged)
        assert kept.kept(file.name) is None
        assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
        assert file.read_bytes()[:32] == whole[:32] or kept.kept(file.name) is not None
    monkeypatch.setattr(hyperscan, "dumpb", None)  # nothing is compiled, so nothing written
    assert sorted(rules.compiled(ROWS)(TEXT)) == wanted
    with pytest.raises(TypeError):
        rules.compiled([(rb"other", 1, 0)])


def test_gates_that_are_compiled_otherwise_have_another_name(folder, monkeypatch):
    """What is compiled counts, not what it was written from; and how."""
    rules.compiled([(rb"key=[0-9]{4,90}", 3, 0)])
    (file,) = folder.iterdir()
    assert file.stem == rules._name([(rb"key=[0-9]{4,}", 3, 0)])
    monkeypatch.setattr(rules, "_MODE", hyperscan.HS_MODE_STREAM)
    assert file.stem != rules._name([(rb"key=[0-9]{4,}", 3, 0)])


def test_kept_hashes_of_common_passwords_are_the_same_and_a_damaged_file_tells_none(folder, monkeypatch):
    hashes = published._hashes.__wrapped__
    made = hashes("md5")
    (file,) = folder.iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(published.words, "common_passwords", None)  # nothing is hashed
        assert np.array_equal(hashes("md5"), made)
    file.write_bytes(file.read_bytes()[:-8])
    assert np.array_equal(hashes("md5"), made)
    assert published.without_published("5f4dcc3b5aa765d61d8327deb882cf99") == ""


def imports_of(path: Path) -> set[Path]:
    """The files of hush_core that a file imports, at its top or deeper."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = [ROOT.parent.joinpath(*name.split(".")) for name in names]
    files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
    return {file for file in files if file.is_file()}


def test_all_that_a_scan_for_credentials_imports_is_in_the_digest():
    found, new = set(), {ROOT / "secrets" / "detectors" / "credentials.py"}
    while new:
        found |= new
        new = {file for path in new for file in imports_of(path)} - found
    parts = {file.relative_to(ROOT).parts[0] for file in found - set(sources())}
    assert parts <= {
        *["__init__.py", "config", "errors.py", "files.py", "memory.py", "progress.py", "strict_yaml.py"]
    }
    assert len(found & set(sources())) > 60


SCAN = """
import sys
from pathlib import Path
from extracting import CREDENTIALS, KEY, job
from hush_core.secrets import extract
result = extract(job([sys.argv[1]], [CREDENTIALS]), KEY, cache=Path(sys.argv[2]))
print(result.coverage["blobs_scanned"], *(name.split(":")[0] for name in result.secrets["name"]))
"""


def test_a_rule_that_is_new_runs_in_a_home_that_has_scanned_before(make_repo, tmp_path):
    repo = make_repo()
    repo.commit({"a.txt": b"see zorp-5b1d9e0c47a2f836e19b70d4c8a53f62e7b41d09 for it\n"})
    code = shutil.copytree(ROOT, tmp_path / "code" / "hush_core")
    paths = {"PYTHONPATH": f"{code.parent}{os.pathsep}{ROOT.parent / 'tests' / 'support'}"}

    def scanned() -> str:
        command = [sys.executable, "-c", SCAN, str(repo.path), str(tmp_path / "kept")]
        return subprocess.check_output(command, env=os.environ | paths, cwd=tmp_path, text=True)

    assert [scanned(), scanned()] == ["1\n", "0\n"]
    rules = code / "secrets" / "detectors" / "credential_formats.py"
    row = 'Format("hush.zorp", rb"zorp-[0-9a-f]{40}"),'
    rules.write_text(rules.read_text().replace("\n_EXACT = (\n", f"\n_EXACT = (\n    {row}\n"))
    assert scanned() == "1 creds/hush.zorp\n"
