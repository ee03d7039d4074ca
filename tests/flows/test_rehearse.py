"""`hush plan --rehearse` and `hush run --plan` as a user runs them: table, picture, resume, and the run."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from jobs import CONFIG, Job, states
from PIL import Image

from flows.rehearse import taken_point
from hush_core.config import Changes, parse_config
from hush_core.weights import taking, values_redacted

PLAIN = CONFIG.replace("weights: {{c: 0.4}}", "weights: {{c: 0.4, without_secret: plain}}").replace(
    "pretrain: {{steps: 2, batch: 4}}",
    "pretrain: {{steps: 2, batch: 4}}\nuntagged: {{steps: 4, batch: 4, evaluate_every: 2}}",
)
EFFORT = ("--rehearse", "--trials", "3", "--examples", "48")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    with Job(tmp_path_factory.mktemp("rehearse"), seed=29).served() as job:
        job.config = job.write(text=PLAIN, rounds=8)
        yield job


@pytest.fixture(scope="module")
def rehearsed(job):
    return job.hush("plan", job.config, *EFFORT, "--out", job.folder / "out")


def test_what_was_measured_decides_what_the_config_leaves_open_and_nothing_else():
    """The law is not asked: a gain on stand-ins makes rounds, none leaves out; values and a person's word stay."""
    files = {"kind": "path", "globs": ["a/**"]}
    asked = parse_config(
        {"version": 1, "repos": ["."], "secrets": [{"id": "creds", "kind": "credentials"}, {"id": "team", **files},
         {"id": "kept", "protect": "drop", **files}]},
        where="job.yaml", folder=Path("."),
    )  # fmt: skip
    settled = asked.with_chosen({"weights.without_secret": "plain"})
    point = Changes(c=0.1, rounds=9, batch=4)
    pays, pays_not = (taken_point(asked, settled, point, gained) for gained in (0.01, 0.001))
    assert pays.protect == {"team": "noise"}
    assert (pays.c, pays.rounds, pays.without_secret) == (0.1, 9, "plain")
    left_out = Changes(protect={"team": "drop"}, without_secret="plain")
    assert pays_not == left_out, "no numbers of rounds not made"
    ran = pays.applied_to(asked)
    assert [entry.protect for entry in ran.secrets] == ["auto", "noise", "drop"]
    assert ran.without_secret == "plain"
    asks = asked.model_copy(update={"secrets": taking(asked, {"team": "noise"}).secrets})
    assert taken_point(asks, settled, point, 0.0).rounds == 9, "who asks for rounds gets the best of them"


@pytest.mark.parametrize("weak", ["drop", "refuse"])
def test_a_rehearsed_plan_with_rounds_of_all_text_leaves_values_to_redaction_and_its_gate(weak):
    creds = {"id": "creds", "kind": "credentials", "weak": weak}
    asked = parse_config(
        {"version": 1, "repos": ["."], "secrets": [creds, {"id": "team", "kind": "path", "globs": ["a/**"]}]},
        where="job.yaml", folder=Path("."),
    )  # fmt: skip
    settled = asked.with_chosen({"weights.without_secret": "noise"})
    ran = taken_point(asked, settled, Changes(c=0.1, rounds=9), 0.01).applied_to(asked)
    assert (ran.without_secret, ran.asks_for_noise) == ("noise", "")
    assert values_redacted(ran).secrets[0].protect == values_redacted(asked).secrets[0].protect
    assert values_redacted(ran).secrets[0].protect == ("redact" if weak == "drop" else "auto")


@pytest.mark.slow
def test_every_plan_stands_in_the_table_and_the_lowest_mean_is_taken(job, rehearsed):
    table = pl.read_csv(job.folder / "out" / "rehearsal.csv")
    assert (table["state"] != "refused").sum() == 3
    assert table["own"].to_list()[0] and table["recommended"].sum() == 1
    own = table.row(0, named=True)
    assert (own["c"], own["batch"], own["untagged_batch"], own["clip_norm"]) == (0.4, 6, 6, 1.0)
    assert own["rounds"] == 48 / (6 + 6), "so many as the examples of the rehearsal pay for"
    done = table.filter(pl.col("state") == "done")
    best = table.filter("recommended").row(0, named=True)
    repeated = done.filter(pl.col("times_rehearsed") == 3)
    assert repeated.height and best["loss"] == repeated["loss"].min()
    assert (table["rounds"] * (table["batch"] + table["untagged_batch"]) <= 48 * 1.5).all()
    assert (table.filter(pl.col("state") != "refused")["noise_multiplier_needed"] > 0).all()
    assert f"predicted {best['loss']:.4f} bits per byte" in " ".join(rehearsed.split())
    with Image.open(job.folder / "out" / "rehearsal.png") as picture:
        assert picture.width == 960
    assert "train" not in states(rehearsed) and not job.versions()


@pytest.mark.slow
def test_it_says_what_more_runs_would_cost_in_loss(job, rehearsed):
    """One run is the recommended point itself, as it was played first; more runs need more noise, never less."""
    table = pl.read_csv(job.folder / "out" / "rehearsal_runs.csv")
    assert table["runs"].to_list() == [1, 7, 52, 365] and table["from_start"].is_sorted()
    best = pl.read_csv(job.folder / "out" / "rehearsal.csv").filter("recommended").row(0, named=True)
    assert table["loss_from_start"][0] == table["loss_from_previous"][0]
    assert f"{table['loss_from_start'][0]:.5f}" == best["losses"].split()[0]
    assert (table["from_previous"] <= table["from_start"]).all()
    assert table["loss_from_previous"].null_count() == 0
    assert "predicted by one draw each, by the number of runs that the targets hold for: 1: " in " ".join(
        rehearsed.split()
    )
    with Image.open(job.folder / "out" / "rehearsal_runs.png") as picture:
        assert picture.width == 960


@pytest.mark.slow
def test_again_nothing_is_played_and_more_trials_go_on(job, rehearsed):
    output = job.hush("plan", job.config, *EFFORT, "--out", job.folder / "again")
    first, second = (pl.read_csv(job.folder / f / "rehearsal.csv") for f in ("out", "again"))
    assert first.equals(second) and "rehearse-plan" not in states(output)
    more = [*EFFORT[:2], "4", *EFFORT[3:]]
    output = job.hush("plan", job.config, *more, "--out", job.folder / "more")
    third = pl.read_csv(job.folder / "more" / "rehearsal.csv")
    keep = ["number", "state", "c", "batch", "rounds", "learning_rate"]
    assert (third["state"] != "refused").sum() == 4
    assert third.head(first.height).select(keep).equals(first.select(keep))


@pytest.mark.slow
def test_the_plan_goes_into_the_run_by_one_flag(job, rehearsed):
    file = job.folder / "out" / "plan.yaml"
    chosen = yaml.safe_load(file.read_text())
    output = job.hush("run", job.config, "--plan", file)
    (folder,) = {p.parent for p in (job.home / "store" / "objects").rglob("certificate.json")}
    plan = json.loads((folder / "certificate.json").read_text())["facts"]["plan"]
    assert (plan["rounds"], plan["expected_batch"], plan["clip_norm"]) == tuple(
        chosen[key] for key in ("rounds", "batch", "clip_norm")
    )
    assert plan["c"] == pytest.approx(chosen["c"]) and plan["without_secret"] == "plain"
    row = pl.read_csv(job.folder / "out" / "rehearsal.csv").filter("recommended").row(0, named=True)
    assert plan["noise_multiplier"] == pytest.approx(row["noise_multiplier_needed"], rel=0.01)
    assert f"{chosen['learning_rate']:g}" in output


@pytest.mark.slow
def test_no_value_and_no_tagged_path_leaves_the_store(job, rehearsed):
    shared = [
        *(job.home / "mlartifacts").rglob("*"),
        *(job.home / "prefect").rglob("*"),
        job.home / "mlflow.db",
    ]
    shared += [*(job.folder / "out").iterdir(), *(job.home / "store" / "results").rglob("*")]
    files = [path for path in shared if path.is_file()]
    assert len(files) > 6
    for path in files:
        data = path.read_bytes()
        assert not any(value in data for value in job.values), path
    assert not any(value.decode() in rehearsed for value in job.values)
    tables = rehearsal_tables(job)
    assert len(tables) == 4
    for path in tables:
        texts = b"".join(pl.read_parquet(path)["text"])
        assert b"RISK_" not in texts and b"LIMIT_" not in texts and b"QUANT" not in texts
        assert not any(value in texts for value in job.values)


def rehearsal_tables(job):
    """The tables that the rounds were rehearsed with, by the records of the steps that made them."""
    records = (path.read_text() for path in (job.home / "store" / "results").rglob("*") if path.is_file())
    hashes = {h for r in records for h in re.findall(r"rehearsal_\w+\W+sha256\W+([0-9a-f]{64})", r)}
    return [next((job.home / "store" / "objects").rglob(f"{h}.parquet")) for h in hashes]
