"""`mechanism: redaction` where no example with a secret is left: trained plainly, certified, verified."""

import re
from pathlib import Path

import polars as pl
import pytest
from jobs import CONFIG, Job

pytestmark = pytest.mark.slow

ALONE = "  - {{id: creds, kind: credentials, level: critical}}\nchunk_bytes"
TEXT = re.sub(r"(?s)  - \{\{id: alpha.*chunk_bytes", lambda _: ALONE, CONFIG)
TEXT = TEXT.replace("weights: {{c: 0.4}}\n", "mechanism: {{kind: {kind}}}\n")
TEXT = TEXT.replace("unprotected: true", "unprotected: false")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=29)
    with job.served():
        yield job


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
    (job.folder / "refused.yaml").write_text(
        job.config.read_text().replace("kind: redaction", "kind: hush").replace(
            "level: critical}", "level: critical, protect: redact}"
        )
    )  # fmt: skip
    said = " ".join(job.hush("run", job.folder / "refused.yaml", status=2).split())
    assert "nothing to plan noise for" in said and "mechanism: {kind: redaction}" in said
