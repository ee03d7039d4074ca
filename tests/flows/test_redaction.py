"""`hush run` with redacted values, as a user runs it: the report, what verify finds, and where the value is."""

import json
import re
import sqlite3

import polars as pl
import pytest
from jobs import CONFIG, Job, commit

REDACTED = CONFIG.replace(
    "kind: credentials, level: critical, protect: noise",
    "kind: credentials, level: critical, protect: redact",
).replace("unprotected: true", "unprotected: false")
assert REDACTED.count("redact") == 1


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("redaction"), seed=41)
    copies = {
        "app/hex.py": f"K = bytes.fromhex('{job.token.encode().hex()}')\n",
        "app/split.py": f'K = "{job.token[:20]}" \\\n    "{job.token[20:]}"\n',
    }
    commit(job.folder / "repository", copies)
    job.write(text=REDACTED, rounds=2, batch=4)
    with job.served() as job:
        yield job


def holding(job, *, private):
    """Files that hold the token, in clear or in hexadecimal; tables are read, as they are compressed."""
    wanted = (job.token.encode(), job.token.encode().hex().encode())
    store = job.home / "store"
    places = [p for p in job.home.rglob("*") if p.is_file() and (store in p.parents) == private]
    found = []
    for path in places:
        text = path.read_bytes()
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            text += b"\n".join(b"\n".join(frame[c]) for c, t in frame.schema.items() if t == pl.Binary)
            text += str(frame.to_dicts()).encode()
        if any(form in text for form in wanted):
            found.append(path)
    return found


def verify_line(job, uri):
    """What it says of the audit: quoted as code, as the words of an audit may come from a registry."""
    lines = job.hush("verify", uri).splitlines()
    (line,) = (line for line in lines if line.startswith(("`audit of", "WARNING: `audit of")))
    return line


@pytest.mark.slow
def test_a_redacted_value_is_nowhere_but_in_the_table_that_the_attack_needs(job):
    output = job.hush("run", job.config)
    assert job.token not in output
    assert re.search(
        r"redacted +1 values replaced in 7 places, each bound is its prior; of 1 attacked 0 extracted", output
    )
    assert holding(job, private=False) == []
    (kept,) = holding(job, private=True)
    assert pl.read_parquet(kept).columns == ["redacted_id", "value"]
    with sqlite3.connect(job.home / "mlflow.db") as database:
        metrics = dict(database.execute("select key, value from metrics"))
    assert metrics["redacted"] == 1 and metrics["redacted_places"] == 7
    assert metrics["extracted_redacted"] == 0

    (uri,) = set(re.findall(r"models:/job/\d+", output))
    verified = job.hush("verify", uri)
    assert "1 value redacted, in 7 places" in verified
    assert "no example holds one of the 1 of 1 redacted values" in verified
    decision = ("--decision", "approve", "--reason", "x", "--reviewer", "me")
    assert "approved by me" in job.hush("review", uri, *decision)
    with sqlite3.connect(next((job.home / "prefect").rglob("prefect.db"))) as database:
        (page,) = (row[0] for row in database.execute("select data from artifact where key = 'hush-review'"))
    assert (
        "attack exposure of redacted values: 0 of 1 succeeded" in page and "the examples are the same" in page
    )

    audited = job.hush("audit", uri, "--alternatives", "300")
    assert "written out, redacted values" in audited and "not refuted" in verify_line(job, uri)
    assert job.token not in audited and job.codename not in audited and holding(job, private=False) == []
    again = job.hush("audit", uri, "--alternatives", "300")
    assert again.count("Task run 'audit_rank-") == 4, (
        "each of redacted values and of others, before and after"
    )
    assert again.count("Cached(type=COMPLETED)") >= 8
    assert "is not in the registry" in job.hush("audit", "models:/job/9", status=2)

    report = job.hush("secrets", job.config, "--out", job.folder / "out")
    assert "creds: 1 value redacted, in 7 places" in report and job.token not in report
    rows = pl.read_csv(job.folder / "out" / "redacted.csv")
    assert sorted(rows["path"]) == [
        "app/hex.py",
        "app/split.py",
        *(f"deploy/config_{i}.py" for i in range(5)),
    ]
    assert job.token not in str(rows.to_dicts())
    (run,) = json.loads((job.folder / "out" / "secrets.sarif").read_text())["runs"]
    notes = [result for result in run["results"] if result["ruleId"].startswith("redacted.")]
    uris = [note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for note in notes]
    assert sorted(uris) == sorted(rows["path"]) and job.token not in json.dumps(run)


@pytest.mark.slow
def test_without_redaction_the_value_is_trained_on(job):
    """The control: the same job by noise has the token in its examples."""
    config = job.write("noise.yaml", text=CONFIG, rounds=2, batch=4)
    job.hush("plan", config, "--c", "0.5")
    kept = holding(job, private=True)
    assert any("text" in pl.read_parquet(path).columns for path in kept if path.suffix == ".parquet")


def test_a_job_with_nothing_left_for_noise_is_planned_as_ordinary_training(job):
    secrets = re.search(r"secrets:\n(?:  - .*\n)+", REDACTED)[0]
    only = "secrets:\n" + "".join(line + "\n" for line in secrets.splitlines() if "id: creds" in line)
    config = job.write("only.yaml", text=REDACTED.replace(secrets, only), rounds=2, batch=4)
    output = " ".join(job.hush("plan", config).split())
    assert "creds: redacted (the config says so)" in output
    assert (
        "take redact 1 value, and train without noise on" in output
        and "rounds, train.batch, weights.c: not used" in output
    )
    assert "redacted" in job.hush("secrets", config)
