"""Values that the config calls documentation are no secrets in their files, and only if they stand nowhere else."""

import base64
import json
import random
import string

import pytest
from extracting import CREDENTIALS, KEY, job, named

from flows.reports.coverage_notes import coverage_notes
from hush_core.secrets import extract
from hush_core.secrets.coverage import published
from tests.hush_core.conftest import Repo

EXAMPLE, REAL = ("ghp_" + "".join(random.Random(s).choices(string.ascii_letters, k=36)) for s in "ba")
FILLER = "def step(value):\n    return value + 1\n" * 4
MANUAL = {"docs/manual.md": f"export GITHUB_TOKEN={EXAMPLE}\n", "deploy/run.py": f'TOKEN = "{REAL}"\n'}


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """Extract a repository of these files; `documentation` and further keys go to the entry."""

    def run(files, documentation=(), **entry):
        repo = Repo(tmp_path_factory.mktemp("of") / "repo")
        files = {name: (text + FILLER).encode() for name, text in files.items()}
        repo.commit(files | {"vault/x.py": b"LIMIT = 3\n"})
        secrets = [
            {**CREDENTIALS, "documentation": documentation, **entry},
            {"id": "vault", "kind": "path", "globs": ["vault/"], "bits": 20},
        ]
        return extract(job([named(repo)], secrets), KEY)

    return run


@pytest.fixture(scope="module")
def names(extracted):
    """The names of the two values of MANUAL: (the example's, the real one's)."""
    by_file = {paths[0]: name for name, paths in creds(extracted(MANUAL)).items()}
    return by_file["docs/manual.md"], by_file["deploy/run.py"]


def creds(result):
    """Name → the files that hold it."""
    rows = result.edges.join(result.secrets, on="secret_id").join(result.examples, on="example_id")
    pairs = rows.filter(rows["kind"] == "credentials").select("name", "path").unique().rows()
    return {name: sorted(path for n, path in pairs if n == name) for name, _ in pairs}


def allowed(name, *paths):
    return {
        "fingerprint": name.rpartition(":")[2],
        "paths": list(paths) or ["docs/**"],
        "why": "the manual's",
    }


def states(result):
    return {k: v for k, v in result.coverage["secrets"]["creds"]["documentation"].items() if v}


def test_an_example_of_a_manual_is_no_secret_and_is_counted_by_name(extracted, names):
    example, real = names
    result = extracted(MANUAL, [allowed(example)])
    assert creds(result) == {real: ["deploy/run.py"]}
    assert result.secrets["name"].to_list() == [real, "vault"]
    assert set(result.occurrences["secret_id"]) == {0}
    assert states(result) == {"left_out": [example]}
    shown = published(result.coverage)  # what the certificate and the reports have
    assert shown["secrets"]["creds"]["documentation"]["left_out"] == [example]
    assert any("1 value called documentation by the config" in note for note in coverage_notes(shown))
    for value in (EXAMPLE, REAL):
        assert value not in json.dumps(shown) + " ".join(coverage_notes(shown))


@pytest.mark.parametrize("written", [str, lambda v: base64.b64encode(v.encode()).decode(), lambda v: v[::-1]])
def test_one_that_stands_in_another_file_too_in_any_encoding_stays_a_secret_everywhere(
    extracted, names, written
):
    example, real = names
    files = MANUAL | {"app/client.py": f"# {written(EXAMPLE)}\n"}
    result = extracted(files, [allowed(example)])
    found = creds(result)
    assert found[real] == ["deploy/run.py"] and found[example] == ["app/client.py", "docs/manual.md"]
    assert states(result) == {"stands_elsewhere": [example]}
    assert any("they stay secrets" in note for note in coverage_notes(published(result.coverage)))


def test_an_equal_file_at_another_path_counts_as_another_place(extracted, names):
    example, _real = names
    files = MANUAL | {"app/copy.md": MANUAL["docs/manual.md"]}
    assert example in creds(extracted(files, [allowed(example)]))
    assert example not in creds(extracted(files, [allowed(example, "docs/**", "app/*.md")]))


def test_paths_of_one_source_allow_nothing_in_another(make_repo):
    """The same path in a public repository and in a private one: `source` says which of them is meant."""
    places = {"manual": "docs/manual.md", "private": "docs/ops.md", "third": "x.py"}
    repos = []
    for label, path in places.items():
        repo = make_repo(label)
        repo.commit(
            {path: (f"export GITHUB_TOKEN={EXAMPLE}\n" * (label != "third") + label + FILLER).encode()}
        )
        repos.append({"path": str(repo.path), "name": label})

    def left_out(*documentation):
        secrets = [
            {**CREDENTIALS, "documentation": list(documentation)},
            {"id": "x", "kind": "path", "globs": ["x.py"], "bits": 20},
        ]
        result = extract(job(repos, secrets), KEY)
        told = result.coverage["secrets"]["creds"].get("documentation", {})
        return result, {state for state, of in told.items() if of}

    (name,) = creds(left_out()[0])
    assert left_out(allowed(name))[1] == {"left_out"}, "without a source the paths hold in each"
    result, state = left_out(allowed(name) | {"source": "manual"})
    assert state == {"stands_elsewhere"} and creds(result) == {name: ["docs/manual.md", "docs/ops.md"]}
    both = [allowed(name) | {"source": "manual"}, allowed(name, "docs/ops.md") | {"source": "private"}]
    assert left_out(*both)[1] == {"left_out"}
    assert left_out(both[0], allowed(name, "docs/ops.md") | {"source": "third"})[1] == {"stands_elsewhere"}


def test_a_weak_password_of_a_manual_costs_no_example_and_a_word_that_is_not_sought_stays(extracted):
    files = {"docs/a.ini": "password = hunter2abc\n", "docs/b.ini": "password = qwerty123\n"}
    before = extracted(files)
    weak = sorted(set(before.dropped.filter(before.dropped["kind"] == "credentials")["name"]))
    assert len(weak) == 2
    after = extracted(files, [allowed(name) for name in weak])
    found = states(after)
    assert len(found["left_out"]) == len(found["not_sought"]) == 1
    assert set(after.dropped.filter(after.dropped["weak"])["name"]) == set(found["not_sought"])


def test_a_fingerprint_that_names_nothing_is_told(extracted):
    result = extracted(MANUAL, [allowed("x:0123456789ab")])
    assert len(creds(result)) == 2 and states(result) == {"not_found": ["0123456789ab"]}
