"""`mechanism: {kind: correlated}` as a user runs it: planned, trained, certified, registered, verified."""

import json
import re
from pathlib import Path

import pytest
from jobs import CONFIG, Job

pytestmark = pytest.mark.slow

TEXT = CONFIG.replace("weights: {{c: 0.4}}\n", "mechanism: {{kind: correlated, bands: 3}}\n")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=23)
    with job.served():
        yield job


def test_a_run_in_a_cycle_is_planned_trained_and_verified(job):
    config = job.write(text=TEXT, rounds=9, batch=12)
    said = job.hush("plan", config)
    planned = float(re.search(r"noise multiplier[^\d]*([\d.]+)", said).group(1))
    said = job.hush("run", config)
    assert "correlated noise" in said
    proof = Path(re.search(r"proof\s+(\S+)", said).group(1)).expanduser()
    plan = json.loads((proof / "certificate.json").read_text())["facts"]["plan"]
    assert plan["mechanism"]["kind"] == "correlated" and plan["rounds"] == 9
    assert len(plan["strategy"]) == 3 and plan["strategy"][0] == 1
    assert plan["noise_multiplier"] == pytest.approx(planned, rel=0.05)
    told = job.hush("verify", "models:/job/1")
    assert "verified" in told and "second route" in told
    for value in job.values:
        assert value not in b"".join(path.read_bytes() for path in proof.rglob("*") if path.is_file())


def test_a_batch_that_no_cycle_fills_is_refused(job):
    large = job.write("large.yaml", text=TEXT, batch=100_000)
    assert "train.batch" in job.hush("run", large, status=2)
