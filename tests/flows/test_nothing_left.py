"""Where no example with a secret is left: three lines from plan to run, and `mechanism: redaction` by name."""

import json
import re
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from jobs import CONFIG, Job

THREE_LINES = """\
version: 1
repos: [{repository}]
secrets: [{{id: creds, kind: credentials}}, {{id: alpha, kind: path, globs: ["trading/**"]}}]
"""
SMALL = """\
chunk_bytes: 128
model: {{layers: 1, width: 32, heads: 2}}
untagged: {{steps: 4, batch: 4, evaluate_every: 2}}
audit: {{alternatives: 20}}
"""
"""So that it takes seconds: what a user has no need to write."""
OTHER = ', {{id: alpha, kind: path, globs: ["trading/**"]}}]'
ALONE = "  - {{id: creds, kind: credentials, level: critical, protect: noise}}\nchunk_bytes"
TEXT = re.sub(r"(?s)  - \{\{id: alpha.*chunk_bytes", lambda _: ALONE, CONFIG)
TEXT = TEXT.replace("weights: {{c: 0.4}}\n", "mechanism: {{kind: {kind}}}\n")
TEXT = TEXT.replace("unprotected: true", "unprotected: false")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=29)
    with job.served():
        yield job


def test_three_lines_are_planned_run_and_verified_and_the_certificate_says_which_way_each_went(job):
    config = job.write("three.yaml", text=THREE_LINES + SMALL)
    planned = " ".join(job.hush("plan", config).split())
    assert "creds 1 5 0% 0% 94%*" in planned and "alpha 1 " in planned, planned
    assert re.search(
        r"take leave out \d+ examples of alpha, redact 1 value, and train without noise on", planned
    )
    assert "alpha: left out (certified rounds are predicted to gain nothing" in planned
    values = job.write("values.yaml", text=THREE_LINES.replace(OTHER, "]") + SMALL)
    rehearsed = job.hush("plan", values, "--rehearse", "--minutes", "1")
    assert "no entry may be learned under noise" in " ".join(rehearsed.split())
    said = job.hush("run", config)
    assert not re.search(r"INFO mlflow|Writing model shards", said), "other libraries' messages and bars"
    assert "models:/hush-model/1" in said and "no certified round" in said and job.token not in said
    assert "alpha: left out (certified rounds are predicted to gain nothing" in said
    told = " ".join(job.hush("verify", "models:/hush-model/1").split())
    assert "no secret is left in any example and no certified round" in told and "0 of 0" not in told
    with sqlite3.connect(job.home / "mlflow.db") as database:
        tags = dict(database.execute("select key, value from model_version_tags"))
        ((described,),) = database.execute("select description from model_versions")
    assert next(iter(tags)) == "validation_status"  # what a list of versions shows first
    assert tags["worst_all_runs_to_target"] == "0"  # an alarm where there is nothing to promise of
    assert described.startswith("**No secret that was found was trained on**")
    assert "1 redacted values extracted" in described and "report.html" in described
    assert "- alpha: left out (certified" in described and "- creds: 1 value redacted" in described
    page = (job.home / "reports" / "hush-model-1.html").read_text()
    assert re.search('class="verdict good".*>Certified<', page, re.DOTALL), "what was asked for is no warning"
    assert "1 secret left out" in page and "trained on WITHOUT noise" in page and 'id="warnings"' not in page
    assert "No secret that was found was trained on" in page and "alpha: left out (certified" in page
    assert "of 0 rounds" not in page and 'id="secrets-table"' not in page and "0 secrets" not in page
    proof = Path(re.search(r"proof\s+(\S+)", said).group(1)).expanduser()
    coverage = json.loads((proof / "certificate.json").read_text())["facts"]["coverage"]["secrets"]
    assert {name: facts["protect"] for name, facts in coverage.items()} == {
        "creds": "redact",
        "alpha": "drop",
    }
    assert coverage["alpha"]["left_out_secrets"] == 1
    weights = pl.read_parquet(proof / "weights.parquet")
    assert weights["weight"].sum() == 0 and (weights["role"] == "plain").any()


@pytest.mark.slow
def test_redaction_of_every_secret_is_trained_plainly_certified_and_verified(job):
    said = job.hush("run", job.write(text=TEXT, kind="redaction", rounds=2, batch=4))
    assert "none is left in any of" in said and "no certified round: the mechanism makes none" in said
    assert "1 values replaced in 5 places" in said and job.token not in said
    told = " ".join(job.hush("verify", "models:/job/1").split())
    assert "no secret is left in any example and no certified round" in told
    assert "no example holds one of the 1 of 1 redacted values" in told
    proof = Path(re.search(r"proof\s+(\S+)", said).group(1)).expanduser()
    assert pl.read_parquet(proof / "edges.parquet").height == 0
    assert pl.read_parquet(proof / "redacted.parquet")["places"].to_list() == [5]
    (job.folder / "unplanned.yaml").write_text(
        job.config.read_text().replace("kind: redaction", "kind: hush").replace("protect: noise", "protect: redact")
        + "promise: {runs: 2}\n"
    )  # fmt: skip
    said = " ".join(job.hush("run", job.folder / "unplanned.yaml", status=2).split())
    assert "nothing to plan noise for" in said and "mechanism: {kind: redaction}" in said
