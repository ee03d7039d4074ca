"""`hush secrets --review` in a terminal: dear values first, one key each, no value outside of the terminal."""

import json
import os
import pty
import re
from types import SimpleNamespace

import pytest
import warm
from jobs import Job, commit
from terminal import shown
from waiting import PATIENCE

from flows.reports.decide import open_values
from hush_core.config.decisions import ValueDecision, decisions_file, read_decisions, write_decision
from hush_core.errors import InputError

WEAK, EXAMPLE = "Sommer2019!", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decide")
    job = Job(folder, seed=33)
    repository = folder / "plain"
    ini = f"password = {WEAK}\n" + "option = value\n" * 400
    commit(repository, {"src/db.ini": ini, "docs.md": f"export GITHUB_TOKEN={EXAMPLE}\n"})
    (folder / "look.yaml").write_text(
        "version: 1\nrepos: [{path: plain}]\nsecrets: [{id: creds, kind: credentials}]\n"
    )
    (folder / "answered.py").write_text(PROGRAM)
    return job


PROGRAM = """
import sys, click
keys = iter(sys.argv.pop())
click.getchar = lambda: next(keys)  # the real one drops what was typed before it asks
from flows.cli import main
main()
"""


def reviewed(job, keys, line=""):
    """What a terminal shows of a review that is answered with these keys, and once with a line."""
    ours, theirs = pty.openpty()
    command = ["secrets", "look.yaml", "--review", "--quiet", keys]
    child = warm.start("answered", command, cwd=job.folder, env=job.environment, streams=(theirs,) * 3)
    os.close(theirs)
    os.write(ours, line.encode())
    seen = shown(ours)
    assert child.wait(PATIENCE) == 0, seen
    return seen


def test_each_new_value_is_asked_for_once_and_what_is_no_secret_is_none_next_time(job):
    file = decisions_file(job.folder / "look.yaml")
    seen = reviewed(job, "vpu")
    first, second = (seen.index(place) for place in ("src/db.ini:1", "docs.md:1"))
    assert first < second, "what costs examples comes first"
    assert seen.count(WEAK) == 1 and EXAMPLE not in seen, "only v shows a value"
    assert "password = ••••••••" in seen and "export GITHUB_TOKEN=••••••••" in seen, "the line, masked"
    assert "placeholder: no secret from the next run on; text that holds it is trained on as it is" in seen
    lines = file.read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["placeholder", "public"]
    assert all(re.fullmatch(r"[0-9a-f]{12} \w+ \d{4}-\d\d-\d\d looked at \(\S+\)", line) for line in lines)
    assert WEAK not in file.read_text()
    written = [
        path.read_bytes() for path in job.home.rglob("*") if path.is_file() and path.suffix != ".parquet"
    ]
    assert not any(WEAK.encode() in content for content in written)

    output = job.hush("secrets", "look.yaml", "--quiet")
    assert "no credential found" in output and "2 values called a placeholder or public by a person" in output
    assert lines[0].split()[0] in output
    assert "0 values without a decision" in reviewed(job, "q")


def test_a_credential_stays_one_and_the_unsure_come_last(job):
    """What the table names a value by is what the decision names; SARIF has its line and column."""
    file = decisions_file(job.folder / "look.yaml")
    file.write_text("")
    reviewed(job, "nq")
    assert [one.verdict for one in read_decisions(file).values()] == ["unsure"]
    seen = reviewed(job, "Cq", "the build's own\n")
    assert seen.index("docs.md") < seen.index("src/db.ini"), "one that was looked at waits behind the new"
    assert [(one.verdict, one.reason) for one in read_decisions(file).values()][1:] == [
        ("credential", "the build's own")
    ]
    output = job.hush("secrets", "look.yaml", "--quiet", "--out", job.folder / "report")
    assert "2 credentials found" in output and all(digits in output for digits in read_decisions(file))
    result, weak = json.loads((job.folder / "report" / "secrets.sarif").read_text())["runs"][0]["results"]
    assert "its text is" in weak["message"]["text"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (1, len("export GITHUB_TOKEN=") + 1)
    assert "endColumn" not in region, "it would tell the value's length"


def test_a_random_value_without_a_telling_name_is_asked_about_after_those_with_one(tmp_path):
    file = tmp_path / "files.csv"
    rows = [("hush.random-token", 90), ("hush.assigned-secret", 2), ("hush.assigned-password", 3)]
    lines = [f"creds/{rule}:{n:012x},credentials,r,{n}.py,1,{cost}" for n, (rule, cost) in enumerate(rows)]
    file.write_text("\n".join(["name,kind,source,path,line,examples", *lines]))
    waiting = open_values(SimpleNamespace(files={"files.csv": file}), {})
    assert [one.path for one in waiting] == ["2.py", "1.py", "0.py"]


def test_without_a_terminal_nothing_is_asked_and_no_work_is_done(job):
    output = job.hush("secrets", "look.yaml", "--review", status=2)
    assert output.startswith("hush: --review: there is no terminal") and output.count("\n") == 1


def test_a_later_line_counts_and_a_wrong_one_is_named_and_not_shown(tmp_path):
    file = tmp_path / "job.decisions"
    for verdict in ("credential", "public"):
        write_decision(file, ValueDecision("a7b3ade17ded", verdict, "2026-11-26", "for\n two reasons"))
    assert str(read_decisions(file)["a7b3ade17ded"]) == "a7b3ade17ded public 2026-11-26 for two reasons"
    file.write_bytes(file.read_bytes().rstrip(b"\n"))  # as an editor may leave it
    write_decision(file, ValueDecision("b7b3ade17ded", "unsure", "2026-11-26", "later"))
    assert len(read_decisions(file)) == 2
    file.write_text(f"# ours\n\n{WEAK} public 2026-11-26 no digits\n")
    with pytest.raises(InputError, match="job.decisions:3") as caught:
        read_decisions(file)
    assert WEAK not in str(caught.value)
