"""`hush plan` on a config with a table and no repository; it is planned anew when the table changes."""

import hashlib
import random
import re
import string

import polars as pl
import pytest
from jobs import Job

pytestmark = pytest.mark.slow

CONFIG = """\
version: 1
tables: [{{path: mails.mbox, name: mails}}]
secrets:
  - {{id: people, kind: unit, table: mails, level: 1.0e-3, protect: noise}}
  - {{id: names, kind: literals, file: codenames.txt, level: 1.0e-3, bits: 20, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4}}
model: {{layers: 1, width: 32, heads: 2}}
train: {{rounds: {rounds}, batch: {batch}}}
tracking: {{experiment: job, model: job}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    job = Job(folder, seed=29)
    chance = random.Random(3)
    mails = []
    for i in range(30):
        body = "\n".join("".join(chance.choices(string.ascii_lowercase, k=60)) for _ in range(4))
        mails.append(f"From x\nFrom: P <p{i % 7}@canary.example>\nSubject: s{i}\n\n{body}\n\n")
    mails[4] += f"about {job.codename}\n\n"
    (folder / "mails.mbox").write_text("".join(mails))
    job.config = job.write("documents.yaml", text=CONFIG, rounds=4, batch=4)
    with job.served():
        yield job


def first_extraction(output):
    """How the first of its runs ended; later ones of the same command find it in the cache."""
    return re.search(r"Task run 'extract-\w+' - Finished in state (\w+)", output)[1]


def test_a_table_alone_is_planned_for_and_its_bytes_are_the_cache_key(job):
    digest = hashlib.sha256((job.folder / "mails.mbox").read_bytes()).hexdigest()
    output = job.hush("plan", job.config, "--c", "0.5", "--out", job.folder / "out")
    secrets = pl.read_csv(job.folder / "out" / "secrets.csv")
    assert secrets.height and secrets["name"].str.contains(r"^(people/[0-9a-f]{12}|names/.*)$").all()
    assert pl.read_csv(job.folder / "out" / "frontier.csv")["best_point"].sum() == 1
    assert "found 8 secrets" in output and first_extraction(output) == "Completed"
    assert digest in {p.read_text().strip() for p in (job.home / "store" / "commits").iterdir()}
    shown = [*(job.home / "mlartifacts").rglob("*"), *(job.home / "prefect").rglob("*")]
    shown += [*(job.folder / "out").iterdir(), job.home / "mlflow.db"]
    for path in (p for p in shown if p.is_file()):
        data = path.read_bytes()
        assert not any(v in data for v in (b"canary.example", digest.encode(), job.codename.encode())), path
    assert "canary.example" not in output and job.codename not in output

    with (job.folder / "mails.mbox").open("a") as file:
        file.write("From x\nFrom: new@canary.example\nSubject: one more\n\nhello\n")
    output = job.hush("plan", job.config, "--c", "0.5", "--out", job.folder / "again")
    assert "found 9 secrets" in output and first_extraction(output) == "Completed"
