"""`hush secrets` as a user runs it: the report, what changed since the last one, and what the tracker gets."""

import csv
import re
import sqlite3

import pytest
from jobs import Job, git


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    with Job(tmp_path_factory.mktemp("secrets"), seed=31).served() as job:
        yield job


def ended(output):
    return dict(re.findall(r"Task run '([\w-]+)-\w+' - Finished in state (\w+)", output))


def test_the_report_then_only_what_changed(job):
    output = job.hush("secrets", job.config, "--secret", "owners")
    (folder,) = (job.home / "secrets").glob("job-*")
    names = {path.name for path in folder.iterdir()}
    assert names == {"files.csv", "secrets.sarif", "graph.png", "coverage.json", "baseline.json"}
    assert "owners: in 1 file" in output and "risk/model.py" in output
    logged = {path.name for path in (job.home / "mlartifacts").rglob("*") if path.is_file()}
    assert logged == {"graph.png", "coverage.json", "baseline.json"}
    with sqlite3.connect(next((job.home / "prefect").rglob("prefect.db"))) as database:
        (page,) = (row[0] for row in database.execute("select data from artifact where key = 'hush-secrets'"))
    assert "| `creds` | credentials | 1 |" in page and "risk/model.py" not in page

    repository = job.folder / "repository"
    (repository / "app" / "late.py").write_text(f'TOKEN = "{job.token}"\n')
    git(repository, "rm", "-q", "risk/model.py")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one more place")
    output = job.hush("secrets", job.config)
    with open(folder / "changes.csv", newline="") as file:
        rows = {(r["change"], r["name"].partition("/")[0], r["path"]) for r in csv.DictReader(file)}
    assert rows == {("new", "creds", "app/late.py"), ("gone", "owners", "risk/model.py")}
    assert ended(output)["extract"] == "Completed" and "since the baseline" in output
    assert "owners: protects NOTHING" in output
    changed = (folder / "changes.csv").read_bytes()
    job.hush("secrets", job.config, "--secret", "no-such", status=2)  # a second look, and one that fails
    assert (folder / "changes.csv").read_bytes() == changed

    output = job.hush("secrets", job.config, "--out", job.folder / "elsewhere")
    assert ended(output)["extract"] == "Cached" and "since the baseline" not in output
    assert (job.folder / "elsewhere").stat().st_mode & 0o777 == 0o700
    assert not any(value.decode() in output for value in job.values)


def test_a_folder_that_cannot_be_written_is_told_before_any_work(job):
    for command in ("secrets", "plan"):
        output = job.hush(command, job.config, "--out", "/proc/nowhere", status=2)
        assert output.startswith("hush: --out: /proc/nowhere") and output.count("\n") == 1
    output = job.hush("secrets", job.config, "--baseline", "none.json", status=2)
    assert output.startswith("hush: --baseline") and output.count("\n") == 1


def test_a_baseline_of_another_installation_is_one_line(job):
    (job.folder / "foreign.json").write_text(
        '{"format": "hush baseline", "version": 1, "key": "00", "items": []}'
    )
    output = job.hush("secrets", job.config, "--baseline", job.folder / "foreign.json", status=2)
    (line,) = (line for line in output.splitlines() if line.startswith("hush: "))
    assert "foreign.json" in line and "Hint: " in line and "Traceback" not in output
