"""benchmarks/real_repository.py on a small repository: its data, what it calls retained, and a whole quick run."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import real_repository  # noqa: E402
import repository_data as data_module  # noqa: E402
from repository_training import PLACES, PLAIN_ONLY, PROTECTED, QUIET, RETAINED, START, Runs, interval  # noqa: E402

from flows.demo.credentials import make_credentials  # noqa: E402
from flows.demo.history import Commit, Person, write_repository  # noqa: E402
from hush_core.weights import tagged_examples  # noqa: E402
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION  # noqa: E402

SHARE = 20


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """120 of hush's own modules by 60 authors, a lock file and an image; the benchmark's commits on top. Not those
    of the detectors, which show what credentials look like."""
    folder = tmp_path_factory.mktemp("real")
    modules = (path for path in (ROOT / "hush_core").rglob("*.py") if path.parent.name != "detectors")
    sources = sorted(modules, key=lambda path: path.stat().st_size)[-180:-60]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sources}
    people = [Person(f"P{n}", f"p{n}@example.com") for n in range(60)]
    ours = [dict(list(files.items())[n::60]) for n in range(60)]
    commits = [Commit(who, "Write", some) for who, some in zip(people, ours, strict=True)]
    commits.append(Commit(people[0], "Binary", {"logo.png": b"\x89PNG\0\0", "uv.lock": b"hash = 1\n" * 50}))
    write_repository(folder / "origin", commits)
    data_module.build(folder / "origin", folder, "main", seed=7)
    return folder


@pytest.fixture(scope="module")
def data(work):
    return data_module.read(work, SHARE)


def test_every_planted_credential_is_found_where_it_stands(work, data):
    values = {c.name: c.value for c in make_credentials(7) if c.name in data_module.COPIES}
    tree = data_module._text_files(work / "repository.git", "hush")
    names = dict(data.secrets.select("secret_id", "name").iter_rows())
    found = {}
    for secret, example, start, end in data.occurrences.select(
        "secret_id", "example_id", "start", "end"
    ).iter_rows():
        found.setdefault(data.texts[example][start:end], set()).add(names[secret])
    for name, value in values.items():
        holding = [path for path, content in tree.items() if value in content]
        assert len(holding) == data_module.COPIES[name]
        assert not any(path.startswith("third_party/") for path in holding)
        assert len(found[value]) == 1, name
    assert sum(name.startswith("creds/") for name in names.values()) == len(values)
    # an edge for every text that has one: nothing planted trains without noise
    tagged = tagged_examples(data.edges, len(data.texts))
    for value in values.values():
        assert all(tagged[i] for i, text in enumerate(data.texts) if value in text)
    assert not any(path.endswith((".png", ".lock")) for path in tree)


def test_what_is_held_back_holds_a_secret_and_is_in_no_other_table(data):
    assert len(data.texts) + len(data.tagged_back) == data.facts["examples"]
    assert (
        data.facts["held_back"]
        == len(data.tagged_back)
        == round(data.facts["with_secret"] / data_module.ONE_IN)
    )
    assert max(data.edges["example_id"]) < len(data.texts)
    assert data.edges["example_id"].n_unique() == data.facts["with_secret"] - data.facts["held_back"]


def test_entries_name_the_share_of_files_and_each_share_is_part_of_the_next(work):
    jobs = {share: data_module.load_config(work / f"share-{share}.yaml") for share in data_module.SHARES}
    owners = (work / "repository.git", "hush:CODEOWNERS")
    lines = data_module._git(owners[0], "cat-file", "blob", owners[1]).decode().splitlines()
    authors = data_module._authors(
        work / "repository.git", "hush~3", set(data_module._text_files(*owners[:1], "hush~3"))
    )
    for share, job in jobs.items():
        entries = [entry for entry in job.secrets if entry.kind != "credentials"]
        named = [
            line.split()[0]
            for e in entries
            if e.kind == "codeowners"
            for line in lines
            if line.endswith(e.teams[0])
        ]
        named += [glob for e in entries if e.kind == "path" for glob in e.globs]
        named += [f"/{path}" for e in entries if e.kind == "contributors" for path in authors[e.emails[0]]]
        assert len(named) == len(set(named))
        assert share <= 100 * len(named) / 120 < share + 4
        assert {e.id for e in entries} <= {e.id for e in jobs[max(jobs)].secrets}


def test_retained_data_are_the_protected_models_expected_draws(data, tmp_path):
    data = real_repository._quick(data)
    runs = Runs(data, tmp_path, SHARE, 0)
    places = np.bincount(runs.retained(), minlength=len(data.texts))
    untagged, plan = data.config.untagged, runs.plan
    epochs = untagged.steps * untagged.batch / len(runs.ids(PLAIN))
    assert set(places[runs.ids(PLAIN)]) == {PLACES}
    assert not places[runs.ids(HELD_OUT, VALIDATION)].any()
    drawn = plan.rates * plan.rounds
    certified = runs.ids(CERTIFIED)
    assert np.abs(places[certified] * epochs / PLACES - drawn[certified]).max() <= epochs / PLACES / 2 + 1e-9
    # tagged text is drawn as often, on average, as untagged text in the plain phase
    assert drawn.sum() == pytest.approx(epochs * len(certified), rel=0.05)
    assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()


def test_an_interval_is_paired():
    rng = np.random.default_rng(0)
    loss = rng.normal(5, 3, size=400)
    better = loss - 0.1
    low, high = interval(lambda ids: float(loss[ids].mean() - better[ids].mean()), 400)
    assert (low, high) == pytest.approx((0.1, 0.1))
    low, high = interval(lambda ids: float(loss[ids].mean()), 400)
    assert low < 5 < high and high - low > 0.3


def test_a_quick_run_writes_every_row_and_goes_on_where_it_stopped(work, tmp_path, monkeypatch, capsys):
    out, trained = tmp_path / "real.json", [START, PLAIN_ONLY, PROTECTED, RETAINED, QUIET]
    given = (
        f"--repo {work}/origin --work {work} --shares {SHARE} --out {out} --quick --only".split() + trained
    )
    monkeypatch.setattr(sys, "argv", ["real_repository.py", *given])
    real_repository.main()
    (result,) = json.loads(out.read_text())
    rows = {row["model"]: row for row in result["models"]}
    assert list(rows) == trained
    before = rows[PLAIN_ONLY]
    assert before["tagged"]["gain_over_plain"] == 0
    assert rows[START]["untagged"]["bits_per_byte"] > before["untagged"]["bits_per_byte"]
    assert all(len(row["ranks"][0]) == len(data_module.COPIES) for row in rows.values())
    assert "protected / retained" in capsys.readouterr().out
    done = {path: path.stat().st_mtime_ns for path in work.rglob("done.json")}
    assert len(done) == len(rows)
    real_repository.main()
    assert {path: path.stat().st_mtime_ns for path in work.rglob("done.json")} == done
    assert json.loads(out.read_text()) == [result]


def test_without_a_repository_it_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["real_repository.py"])
    real_repository.main()
    assert "needs --repo" in capsys.readouterr().out
