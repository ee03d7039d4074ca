"""A credential in the name of a file stands in no report and in no message."""

import json
import random

import pytest
from extracting import ALNUM, CREDENTIALS, KEY, job, token

from hush_core.errors import InputError
from hush_core.secrets import extract
from hush_core.secrets.report.paths import masked
from tasks.publish_secrets import write_report

TOKEN = token(1)
STRIPE = "sk_live_" + "".join(random.Random(2).choices(ALNUM, k=24))


def test_no_file_of_a_report_shows_it(make_repo, tmp_path):
    repo = make_repo()
    names = [f"backup-{TOKEN}.txt", f"keys/{STRIPE}/a.py", f"{TOKEN}"]
    for name in names:
        repo.commit({name: f'token = "{TOKEN}"\n'.encode()})
    result = extract(job([repo], [CREDENTIALS]), KEY)
    summary = write_report(
        examples=result.examples, secrets=result.secrets, edges=result.edges, occurrences=result.occurrences,
        dropped=result.dropped, coverage=result.coverage, key=KEY, out=tmp_path / "out",
    )  # fmt: skip
    files = [p for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert len(files) >= 5
    assert not any(value.encode() in p.read_bytes() for p in files for value in (TOKEN, STRIPE))
    listed = (summary.files["files.csv"]).read_text()
    assert listed.count("[credential ") == 3 and "backup-[credential " in listed
    results = json.loads(summary.files["secrets.sarif"].read_text())["runs"][0]["results"]
    assert len(results) == 3


def test_a_refusal_lists_every_value_that_blocks_and_where(make_repo):
    repo = make_repo()
    repo.commit(
        {
            f"backup-{TOKEN}.py": b"x = 1\nurl = 'mysql://root:hunter2horse@db.acme.com/x'\n",
            "b/settings.py": b"\n\nurl = 'postgres://root:letmein99@db.acme.com/x'\n",
        }
    )
    with pytest.raises(InputError) as error:
        extract(job([repo], [CREDENTIALS | {"weak": "refuse"}]), KEY)
    text = str(error.value)
    assert "b/settings.py:3" in text and "entry creds" in text and " bits" in text
    assert "backup-[credential].py:2" in text and "(and 1 more)" in text
    assert not any(value in text for value in (TOKEN, "hunter2horse", "letmein99"))


def test_names_that_are_none_stay_as_they_are():
    for path in (
        "src/main/java/com/acme/Model.java",
        "a/9f8b2c7d1e4f60a1b2c3d45e6f70819f8b2c7d1e.json",
        "x" * 300,
    ):
        assert masked(path) == masked(path, KEY) == path
