"""`hush secrets` as a user runs it: the report, what changed since the last one, and what the tracker gets."""

import csv
import io
import re
import sqlite3

import pytest
from jobs import Job, commit, git, states
from rich.console import Console

from flows.reports.decide import render_reasons, why_at


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    with Job(tmp_path_factory.mktemp("secrets"), seed=31).served() as job:
        yield job


def test_the_report_then_only_what_changed(job):
    output = job.hush("secrets", job.config, "--secret", "owners")
    (folder,) = (job.home / "secrets").glob("job-*")
    names = {path.name for path in folder.iterdir()}
    private = {"files.csv", "secrets.sarif", "whole_coverage.json"}
    assert names == private | {"graph.png", "coverage.json", "baseline.json"}
    assert "owners: in 1 file" in output and "risk/model.py" in output
    logged = {path.name for path in (job.home / "mlartifacts").rglob("*") if path.is_file()}
    assert logged == {"graph.png", "coverage.json", "baseline.json"}
    with sqlite3.connect(next((job.home / "prefect").rglob("prefect.db"))) as database:
        (page,) = (row[0] for row in database.execute("select data from artifact where key = 'hush-secrets'"))
    assert "| `creds` | credentials | 1 |" in page and "risk/model.py" not in page

    repository = job.folder / "repository"
    (repository / "risk/model.py").unlink()
    commit(repository, {"app/late.py": f'TOKEN = "{job.token}"\n'})
    output = job.hush("secrets", job.config)
    with open(folder / "changes.csv", newline="") as file:
        rows = {(r["change"], r["name"].partition("/")[0], r["path"]) for r in csv.DictReader(file)}
    assert rows == {("new", "creds", "app/late.py"), ("gone", "owners", "risk/model.py")}
    assert states(output)["extract"] == ["Completed"] and "since the baseline" in output
    shown = output.partition("Changed")[2]
    assert re.search(r"new .*creds/.*app/late\.py", shown) and re.search(
        r"gone .*owners.*risk/model\.py", shown
    )
    assert "owners: protects NOTHING" in output
    changed = (folder / "changes.csv").read_bytes()
    job.hush("secrets", job.config, "--secret", "creds/none", status=2)  # a second look, and one that fails
    assert (folder / "changes.csv").read_bytes() == changed
    refused = job.hush("secrets", job.config, "--secret", "no-such", "--out", job.folder / "none", status=2)
    assert "no entry is called 'no-such'" in refused and "name an entry (" in refused
    assert not (job.folder / "none").exists(), "all of it is read for a name that no secret can have"

    output = job.hush("secrets", job.config, "--out", job.folder / "elsewhere")
    assert states(output)["extract"] == ["Cached"] and "since the baseline" not in output
    assert (job.folder / "elsewhere").stat().st_mode & 0o777 == 0o700
    assert not any(value.decode() in output for value in job.values)


def test_it_is_a_look_and_never_a_failure(tmp_path_factory):
    """Without a config, on a repository in which nothing can be protected: what is found is told, with its line."""
    folder = tmp_path_factory.mktemp("looks")
    job = Job(folder, seed=32)
    repository = folder / "plain"
    commit(repository, {"src/a.py": "x = 1\n"})
    output = job.hush("secrets", "plain", "--quiet")
    assert "no credential found in 1 file\n" in output and "next: hush init" in output

    weak = 'URL = "postgres://app:Sommer2019!@db.corp:5432/x"\n'
    commit(repository, {"src/db.py": f"\n{weak}", "x.bin": "\0\1"})
    git(folder, "clone", "-q", "--bare", "--no-local", "plain", "bare.git")
    (repository / "hush.yaml").write_text("version: 1\n")
    for named in ("plain/src", "bare.git"):
        output = job.hush("secrets", named, "--quiet")
        assert "1 credential found in 2 files: 1 too weak for noise; hush plan redacts it" in output
        assert "5 of 20 bits" in output and "left out of training" not in output, "a plan redacts it"
        assert "src/db.py:2 " in output and "1 binary" in output and "Sommer" not in output
        assert "1 example with a weak value" in output
        assert "0 of 1 examples hold a secret, before redaction" in output
        assert ("next: hush init" in output) == (named == "bare.git"), "a first config is there already"
    (report,) = (job.home / "secrets").glob("plain-*")
    assert not any(b"Sommer" in path.read_bytes() for path in report.rglob("*") if path.is_file())

    token = "ghp_" + "x7Gq0TzLw4RbN9vKpY2cQm8sXa1dUe5HfJ3k"
    (repository / "src" / "db.py").write_text(f'TOKEN = "{token}"\n{weak}')
    git(repository, "commit", "-q", "-am", "three")
    output = job.hush("secrets", "plain", "--quiet")
    assert "github-pat" in output.partition("Found: 1 value")[2], "beside a weak value, it is not named"
    assert "src/db.py:1 " in output and "for a weak value beside it" not in output, "a plan redacts both"
    shown = job.hush("secrets", "plain", "--quiet", "--secret", "credentials")
    assert "in 1 file" in shown and "src/db.py:1 " in shown and "redacted by hush plan" in shown
    ways = {
        "noise": ("1 too weak to be protected (left out of training", "too weak, 5 of 20 bits",
                  "1 only in text that is left out for a weak value beside it"),
        "drop": ("2 left out of training, as the config asks", "the config asks for it"),
        "redact": ("2 redacted", "Found: 2 values", "places", "0 of 2 examples hold a secret, after redaction"),
    }  # fmt: skip
    for way, said in ways.items():
        config = folder / f"{way}.yaml"
        entry = f"{{id: creds, kind: credentials, protect: {way}}}"
        config.write_text(f"version: 1\nrepos: [{{path: plain}}]\nsecrets: [{entry}]\n")
        screen = job.hush("secrets", config, "--quiet", "--secret", "creds")
        assert all(words in screen for words in said), (way, screen)
        assert screen.count("src/db.py:1 ") == screen.count("src/db.py:2 ") == 2, (
            f"{way}: file and line of each"
        )
        assert token not in screen and "Sommer" not in screen
    git(repository, "reset", "-q", "--hard", "HEAD~1")

    gate = folder / "gate.yaml"
    entry = "{id: creds, kind: credentials, level: 1.0e-4, weak: refuse}"
    gate.write_text(f"version: 1\nrepos: [{{path: plain}}]\nsecrets: [{entry}]\n")
    output = job.hush("secrets", gate, "--quiet")
    assert "creds: `weak: refuse` stops hush plan and hush run" in output
    assert "too weak for noise, refused by hush plan" in output and "left out of training" not in output
    output = job.hush("plan", gate, status=2)
    assert "holds a credential" in output and "too easy to guess to be protected" in output
    gate.write_text(gate.read_text().replace(", weak: refuse", "") + "train: {rounds: 2, batch: 1}\n")
    output = " ".join(job.hush("plan", gate, "--quiet").split())
    assert "0 secrets left, 2 examples after redaction; no noise" in output
    assert "redact 1 value, and train without noise on 2 examples, without" in output
    assert "train.rounds, train.batch: not used, as no certified round is made" in output
    assert "creds: 1 value redacted, in 1 place; a copy that the search did not find" in output


def test_why_names_the_rule_or_the_filter_and_shows_no_value(job):
    """Each line by what takes it: a filter that says nothing, or a value on the screen, fails."""
    lines = {
        f'TOKEN = "{job.token}"': "99 bits, 20 are needed",
        "DB_PASSWORD=tr0ub4dor&3": "5 bits, 20 are needed: too weak for noise",
        "API_KEY=changeme": "placeholder",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b": "digest", "nothing to see": "no rule sees anything",
    }  # fmt: skip
    file = job.folder / "why.env"
    file.write_text("".join(f"{line}\n" for line in lines))
    for number, (line, said) in enumerate(lines.items(), 1):
        screen = Console(file=io.StringIO(), width=120)
        render_reasons(why_at(f"{file}:{number}"), screen)
        output = screen.file.getvalue()
        assert said in " ".join(output.split()), (line, output)
        assert not any(value in output for value in (job.token, "tr0ub4dor", "changeme", "3f786850"))
    assert job.hush("secrets", "--why", f"{file}:{len(lines)}") == output


def test_why_takes_a_place_as_the_report_prints_it(tmp_path_factory):
    """With the config, in its folder or in the repository; the revision's text counts, not the working tree's."""
    folder = tmp_path_factory.mktemp("places")
    job, shop = Job(folder, seed=33), folder / "shop"
    commit(shop, {"src/pw.env": "A=1\nDB_PASSWORD=tr0ub4dor&3\n"})
    (shop / "src" / "pw.env").write_text("")
    place = "shop:src/pw.env:2"
    assert place in job.hush("secrets", "shop", "--quiet")
    output = job.hush("secrets", "shop", "--why", place)
    assert "5 bits, 20 are needed" in " ".join(output.split()) and "tr0ub4dor" not in output
    refused = job.hush("secrets", "--why", place, status=2)
    assert "LABEL:PATH:LINE of a report with that report's config" in refused
    assert "No such file" in job.hush("secrets", "shop", "--why", "shop:src/none.env:2", status=2)
    assert "it has 2 lines" in job.hush("secrets", "shop", "--why", "shop:src/pw.env:3", status=2)
