"""`hush run` with other mechanisms: a table of units in, a verified model out, and the history counts it."""

import json
import random

import polars as pl
import pytest
from jobs import Job

from hush_core.certificate import read_certificate

CONFIG = """\
version: 1
tables: [{{path: mails.jsonl, unit: sender}}]
levels: {{high: 1.0e-3}}
secrets:
  - {{id: senders, kind: unit, level: high, protect: noise}}
chunk_bytes: 64
mechanism: {{{mechanism}}}
model: {{layers: 1, width: 16, heads: 2}}
train: {{rounds: 2, batch: 4}}
audit: {{alternatives: 20}}
tracking: {{experiment: job, model: job}}
"""
WORDS = ["buy", "sell", "gas", "power", "lunch", "meet", "plan"]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    made = Job(tmp_path_factory.mktemp("units"), seed=3)
    chance = random.Random(3)
    with open(made.folder / "mails.jsonl", "w") as file:
        for _ in range(80):
            text = " ".join(chance.choices(WORDS, k=chance.randint(2, 25)))
            row = {"sender": f"sender-{min(int(chance.expovariate(0.2)), 11)}", "text": text}
            file.write(json.dumps(row) + "\n")
    with made.served():
        yield made


def newest_certificate(job):
    folders = sorted(job.home.glob("store/objects/*/*.d"), key=lambda p: p.stat().st_mtime)
    return [p for p in folders if (p / "certificate.json").is_file()][-1]


@pytest.mark.slow
def test_units_are_drawn_whole_and_later_runs_count_them(job):
    said = job.hush("run", job.write("units.yaml", text=CONFIG, mechanism="kind: user_wise, records: 3"))
    assert "user-wise DP-SGD: whole units, 3 records a round" in said
    checked = " ".join(job.hush("verify", "models:/job/1").split())
    assert "verified" in checked and "by mechanism user_wise, records 3" in checked
    first = newest_certificate(job)
    facts = read_certificate(first).facts.plan
    assert facts.mechanism.records == 3 and facts.capacities is None
    bounds, weights = (pl.read_parquet(first / f"{name}.parquet") for name in ("bounds", "weights"))
    assert weights["weight"].is_in([0.0, 1.0]).all() and 0 < weights["weight"].sum() < weights.height
    assert (bounds["bound"] <= bounds["posterior"]).all()

    group = "kind: group_privacy, records: 2, select: lowest_perplexity"
    said = job.hush("run", job.write("group.yaml", text=CONFIG, mechanism=group))
    assert "at most 2 examples of a secret (lowest perplexity)" in said
    assert "verified" in job.hush("verify", "models:/job/2")
    second = pl.read_parquet(newest_certificate(job) / "bounds.parquet")
    assert (second["earlier_runs"] == 1).all(), "the run of whole units counts for every unit"


def test_a_plan_of_a_mechanism_without_noise_is_refused(job):
    dropping = job.write("dropping.yaml", text=CONFIG, mechanism="kind: dropping")
    assert "makes no noise" in " ".join(job.hush("plan", dropping, status=2).split())


@pytest.mark.slow
def test_a_promise_of_two_runs_of_whole_units_is_kept_by_both(job):
    """Planted: the history counts a unit's mails in place of its item, and leaves the second run nothing."""
    promised = CONFIG.replace("model: job", "model: nightly") + "promise: {{runs: 2}}\n"
    promised = promised.replace("mails.jsonl", "nightly.jsonl")
    rows = [{"sender": f"sender-{n % 5}", "text": f"mail {n} of {n % 5}"} for n in range(40)]  # no two alike
    (job.folder / "nightly.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = job.write(
        "nightly.yaml", text=promised, mechanism="kind: user_wise, records: 2, select: longest"
    )
    for name in ("history", "work"):  # a promise counts from its own first run; a ledger alone is one too
        if (folder := job.home / "store" / name).exists():
            folder.rename(folder.with_name(f"{name} before"))
    noise = []
    for night in (1, 2):
        with open(job.folder / "nightly.jsonl", "a") as file:
            file.write(json.dumps({"sender": "sender-1", "text": f"new in night {night}"}) + "\n")
        job.hush("run", config)
        told = " ".join(job.hush("verify", f"models:/nightly/{night}").split())
        assert "every target is kept over all runs" in told and f"{2 - night} are left" in told
        noise.append(read_certificate(newest_certificate(job)).facts.plan.noise_multiplier)
    bounds = pl.read_parquet(newest_certificate(job) / "bounds.parquet")
    assert (bounds["earlier_runs"] == 1).all() and (bounds["all_runs"] <= bounds["posterior"]).all()
    assert 0.8 < noise[1] / noise[0] < 1.25, "each night's share is about the same"
