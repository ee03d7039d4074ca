"""`without_secret: plain` as a user runs it: text without a secret is trained on as usual, before the rounds."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from jobs import CONFIG, Job, git

pytestmark = pytest.mark.slow

PLAIN = (
    CONFIG.replace("weights: {{c: 0.4}}", "weights: {{c: 0.4, without_secret: plain}}\nuntagged: {untagged}")
    .replace("checkpoint_every: 2", "checkpoint_every: 2, untagged_batch: 4, optimizer: preconditioned")
    .replace("unprotected: true", "unprotected: true, held_back: true")
)
UNTAGGED = "{steps: 20, batch: 8, evaluate_every: 5, learning_rate: 3.0e-3}"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=21)
    with job.served():
        yield job


@pytest.fixture(scope="module")
def first(job):
    return job.hush("run", job.write(text=PLAIN, untagged=UNTAGGED))


def result_of(home, *keys):
    """The first stored task result that has these keys."""
    for path in sorted(home.rglob("results/*"), key=lambda path: path.stat().st_mtime):
        body = json.loads(path.read_bytes())["result"]
        value = json.loads(body) if isinstance(body, str) else body
        value = value.get("data", value) if isinstance(value, dict) else value
        if isinstance(value, dict) and set(keys) <= value.keys():
            return value
    raise LookupError(keys)


def stored(home, ref):
    return next((home / "store" / "objects").rglob(f"{ref['sha256']}*"))


def test_report_certificate_and_verify_say_what_was_trained_without_noise(job, first):
    (examples, steps) = re.search(r"([\d,]+) examples trained on without noise, (\d+) steps", first).groups()
    assert int(examples) > 50 and 0 <= int(steps) <= 20
    assert "on held-back text WITH one" in first
    assert "what no entry names may be memorised" in " ".join(first.split())
    proof = Path(re.search(r"proof\s+(\S+)", first).group(1)).expanduser()
    facts = json.loads((proof / "certificate.json").read_text())["facts"]
    assert facts["plan"]["without_secret"] == "plain" and facts["plan"]["held_back"] is True
    assert facts["training"]["trained_without_noise"] == int(examples)
    assert "second moments" in facts["training"]["gradient_scale"]
    assert any("held back" in line for line in facts["training"]["released_unprotected"])
    table = pl.read_parquet(proof / "weights.parquet")
    tagged = pl.read_parquet(proof / "edges.parquet")["example_id"].unique()
    of_tagged = set(table.filter(pl.col("example_id").is_in(tagged.to_list()))["role"])
    assert of_tagged == {"certified", "held_back"}
    assert set(table.filter(pl.col("weight") > 0)["role"]) == {"certified"}
    output = job.hush("verify", "models:/job/1")
    said = f"{examples} of {facts['examples']:,} examples were trained on WITHOUT noise"
    assert "verified" in output and said in " ".join(output.split())
    assert "gradients were scaled before they were clipped" in " ".join(output.split())


def test_what_trains_without_noise_is_handed_no_text_with_a_secret(job, first):
    tables = result_of(job.home, "plain", "validation", "held_out", "held_back")
    seen = {
        name: b"\n".join(pl.read_parquet(stored(job.home, ref))["text"].to_list())
        for name, ref in tables.items()
    }
    secret = [*job.values, b"LIMIT_", b"RISK_", b"QUANT"]
    for name in ("plain", "validation", "held_out"):
        assert len(seen[name]) > 100 and not any(value in seen[name] for value in secret), name
    examples = pl.read_parquet(stored(job.home, result_of(job.home, "examples", "edges")["examples"]))
    everything = b"\n".join(examples["text"].to_list())
    assert all(value in everything for value in secret), "the test is blind"
    assert seen["held_back"] and seen["held_back"].splitlines()[0] in everything


def test_another_text_in_tagged_examples_changes_no_byte_of_the_model_before_the_rounds(tmp_path, job, first):
    """Another value of another length, strategy and risk model: computed anew, not taken from a cache."""
    other = Job(tmp_path, seed=21)
    other.token, repository = other.token[:-3] + "xyz", other.folder / "repository"
    for path in repository.glob("deploy/*.py"):
        path.write_text(path.read_text().replace(job.token, other.token))
    for name, old, new in (("trading/strategy.py", "LIMIT", "BOUND"), ("risk/model.py", "= 5", "= 7")):
        text = (repository / name).read_text()
        assert old in text
        (repository / name).write_text(text.replace(old, new))
    git(repository, "commit", "-q", "-a", "-m", "other secrets")
    with other.served():
        other.hush("run", other.write(text=PLAIN, untagged=UNTAGGED))
    # the unprotected model's result has the same keys, and is later
    before, after = (result_of(one.home, "steps", "curve", "learning_rate", "model") for one in (job, other))
    assert before["curve"] == after["curve"] and len(before["curve"]) > 2
    assert before["model"]["files"]["sha256"] == after["model"]["files"]["sha256"]
    start = result_of(job.home, "files", "bits", "unit")
    assert start["files"]["sha256"] != before["model"]["files"]["sha256"], "nothing was trained"
