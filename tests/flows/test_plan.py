"""`hush plan` as a user runs it: the price list, reasons, files, artifact and tracker; no value anywhere."""

import re
import sqlite3

import polars as pl
import pytest
from jobs import Job
from PIL import Image

from flows.remedies import Remedy, _without_importers, share, widest_share
from flows.reports.plan_report import PlanReport, remedies_in_words
from flows.sweep import Point
from hush_core.config import HushConfig, load_config
from hush_core.weights import drowns
from tasks.extraction import Extracted
from tasks.runtime.environment import home
from tasks.runtime.store import Store
from tasks.weighing import Weighed

SWEEP = ("--c", "0.1", "--c", "0.3", "--c", "1")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    with Job(tmp_path_factory.mktemp("plan"), seed=23).served() as job:
        yield job


@pytest.fixture(scope="module")
def planned(job):
    return job.hush("plan", job.config, *SWEEP, "--out", job.folder / "out")


def test_the_frontier_has_every_point_and_one_is_recommended(job, planned):
    table = pl.read_csv(job.folder / "out" / "frontier.csv")
    assert sorted(table["method"].unique()) == ["best", "kl"] and table.height == 6
    assert table["best_point"].sum() == 1 and table.filter("best_point")["method"].item() == "best"
    for method in ("best", "kl"):
        rows = table.filter(pl.col("method") == method).sort("c")
        for column in ("noise_multiplier", "weight_retained", "protected_retained"):
            assert rows[column].is_sorted(), (method, column)
        last = rows.row(-1, named=True)
        assert last["weight_retained"] == 1.0 and last["protected_retained"] == 1.0
    best, paper = (table.filter(pl.col("method") == m).sort("c") for m in ("best", "kl"))
    assert (paper["noise_multiplier"] > 3 * best["noise_multiplier"]).all()
    row = table.filter("best_point").row(0, named=True)
    assert f"weights.c = {row['c']:.3g}: noise multiplier {row['noise_multiplier']:.3g}" in " ".join(
        planned.split()
    )
    assert "rule: the most weight" in planned and "train" not in re.findall(r"Task run '(\w+)-", planned)


def test_it_says_whether_the_plan_is_hopeless_and_what_would_help(job, planned):
    row = pl.read_csv(job.folder / "out" / "frontier.csv").filter("best_point").row(0, named=True)
    config = load_config(job.config)
    rounds, batch = config.train.rounds, config.train.batch
    parameters = config.model.parameters(config.chunk_bytes)
    part = row["noise_multiplier"] / batch * (parameters / rounds) ** 0.5
    said = " ".join(planned.split())
    assert f"σ/B = {row['noise_multiplier'] / batch:.3g}" in said
    assert ("HOPELESS" in said) == (part >= 1) == bool(row["drowned"]), part
    assert ("take none of these, as the noise drowns" in said) == (part >= 1), (
        "what is hopeless is not advised"
    )
    assert ("POOR" in said) == (0.1 <= part < 1)
    helps = re.findall(
        r"(train\.\w+|spread): \S+ σ = ([\d.e+-]+), σ/B = ([\d.e+-]+), noise ([\d.e+-]+) of", said
    )
    assert {"train.batch", "train.rounds"} <= {name for name, *_ in helps}, "a part of 10 % is asked about"
    parts = [float(left) for *_, left in helps]
    assert parts == sorted(parts) and max(parts) <= 0.91 * part, "what changes little is no remedy"
    for name, sigma, ratio, _ in helps:  # another batch is divided by, another number of rounds is not
        divided = float(sigma) / float(ratio)
        assert divided > batch * 1.5 if name == "train.batch" else abs(divided - batch) < 0.05 * batch


def test_where_no_remedy_is_enough_it_says_what_is():
    def told(*left, widest=0.2, mode="plain"):
        found = [
            Remedy(change="train.batch: 9", noise_multiplier=1.0, expected_batch=9, noise_share=one)
            for one in left
        ]
        return remedies_in_words(
            PlanReport.model_construct(
                remedies=found, noise_share=129.0, widest_share=widest, without_secret=mode
            )
        )

    for few in (told(), told(39.0, 60.0)):
        assert "Fewer examples in one secret" in few[-1] and "spread" in few[-1]
    assert len(told(0.8, 39.0)) == 2 == len(told(0.8, 39.0, widest=0.9))
    alone = told(39.0, widest=0.97)[-1]
    assert "97% of what a noisy round draws" in alone and "trained on without noise before them" in alone
    assert "protect: drop" in alone and "without_secret: noise" in alone and "Fewer examples" not in alone
    assert "without_secret: noise" not in told(39.0, widest=0.97, mode="noise")[-1]


@pytest.mark.parametrize(("mode", "left"), [("noise", 4), ("plain", 2)])
def test_importers_that_are_left_off_leave_the_noisy_rounds_where_other_text_has_no_noise(mode, left):
    """A run would train on them as usual, so a remedy that went on drawing them would price another run."""
    store = Store(home().store)
    edges = pl.DataFrame({
        "example_id": [0, 1, 2, 3], "secret_id": [0, 0, 0, 0],
        "reason": ["path", "propagated:near_copy", "propagated:import", "propagated:import"],
    })  # fmt: skip
    weights = pl.DataFrame({"example_id": [0, 1, 2, 3], "weight": [0.5, 1.0, 1.0, 1.0]})
    refs = {
        "edges": store.put_frame(edges, kind="edges"),
        "weights": store.put_frame(weights, kind="weights"),
    }
    config = HushConfig.model_validate({
        "version": 1, "repos": [{"path": "/nowhere", "name": "code"}],
        "secrets": [{"id": "core", "kind": "path", "globs": ["a.py"], "level": 0.01}],
        "weights": {"without_secret": mode}, "train": {"rounds": 5, "batch": 2},
    })  # fmt: skip
    kept, without, largest = _without_importers(
        refs["weights"], Extracted.model_construct(edges=refs["edges"]), config
    )
    assert store.read_frame(without)["example_id"].to_list() == [0, 1]
    drawn = store.read_frame(kept).filter(pl.col("weight") > 0)
    assert drawn.height == left and largest == int(drawn["weight"].sum())
    weighed = Weighed.model_construct(weights=refs["weights"], edges=refs["edges"])
    assert widest_share(Point("best", None, weighed)) == 1.0
    less = Weighed.model_construct(weights=refs["weights"], edges=without)
    assert widest_share(Point("best", None, less)) == pytest.approx(1.5 / 3.5)


def test_the_share_of_noise_is_one_where_it_drowns():
    for sigma in (0.1, 0.9, 1.1, 40.0):
        given = {"rounds": 50, "parameters": 4000}
        part = share(sigma, batch=9, **given)
        assert (part >= 1) == drowns(sigma, expected_batch=9, **given)
    assert share(1.0, batch=9, rounds=50, parameters=None) is None


def test_it_says_what_the_other_choice_for_text_without_a_secret_would_give(planned):
    said = " ".join(planned.split())
    ours, other = (
        re.search(
            rf"without_secret: {mode}: σ = ([\d.]+) on about ([\d,]+) distinct examples(, \d+ more before them)?",
            said,
        )
        for mode in ("noise", "plain")
    )
    assert ours and other and other.group(3) and not ours.group(3)
    # the rounds draw the examples with a secret alone, so each is drawn more often and needs more noise
    assert float(other.group(1)) > float(ours.group(1))


def test_it_says_what_more_runs_would_cost(job, planned):
    """T rounds in each of k runs are k·T rounds of one: in the end √k times the noise, less while rates help."""
    table = pl.read_csv(job.folder / "out" / "runs.csv")
    assert table["runs"].to_list() == [1, 7, 52, 365]
    noise, later = (dict(table.select("runs", f"from_{way}").iter_rows()) for way in ("start", "previous"))
    frontier = pl.read_csv(job.folder / "out" / "frontier.csv").filter(pl.col("best_point"))
    assert noise[1] == frontier["noise_multiplier"].item()
    assert noise[1] < noise[7] < noise[52] < noise[365]
    assert 0.8 * (365 / 52) ** 0.5 < noise[365] / noise[52] < 1.1 * (365 / 52) ** 0.5
    assert later[1] == noise[1] and all(noise[1] < later[runs] < noise[runs] for runs in (7, 52, 365))
    assert "(train.start: champion): 1: " in " ".join(planned.split())
    assert "σ by the number of runs that the targets hold for: 1: " in " ".join(planned.split())
    with Image.open(job.folder / "out" / "runs.png") as picture:
        assert picture.width == 960


def test_it_says_what_is_lost_and_why(job, planned):
    secrets = pl.read_csv(job.folder / "out" / "secrets.csv")
    lost = pl.read_parquet(job.folder / "out" / "lost.parquet")
    assert secrets.height and secrets["binds"].all() and (secrets["load"] <= secrets["capacity"]).all()
    assert secrets["lost"].sum() == pytest.approx((1 - lost["weight"]).sum(), abs=1e-6)
    assert set(lost["because_of"]) <= set(secrets["name"])
    files = {
        "risk/model.py",
        "trading/strategy.py",
        *(f"deploy/config_{i}.py" for i in range(5)),
        "app/module_3.py",
    }
    assert lost.height and set(lost["path"]) <= files
    assert f"{(lost['weight'] == 0).sum():,} examples never drawn" in planned
    relaxed = pl.read_csv(job.folder / "out" / "reliefs.csv")
    assert relaxed.height and (relaxed["gain"].drop_nulls() <= relaxed["at_most"].max() + 1e-6).all()
    assert re.search(r"raising r of \w+ from 0\.\w+ to 0\.\w+ keeps [\d,]+ more examples?, at σ = ", planned)


def test_people_can_look_at_it(job, planned):
    with Image.open(job.folder / "out" / "frontier.png") as picture:
        assert picture.width == 960
    with sqlite3.connect(next((job.home / "prefect").rglob("prefect.db"))) as database:
        texts = [row[0] for row in database.execute("select data from artifact where key = 'hush-plan'")]
    assert len(texts) == 1 and "weights.c = " in texts[0] and "| c | noise" in texts[0]
    logged = {path.name for path in (job.home / "mlartifacts").rglob("*") if path.is_file()}
    tables = {f"{name}.csv" for name in ("ways", "frontier", "runs", "secrets", "reliefs")}
    assert logged == tables | {"frontier.png", "runs.png"}
    tracked = b"".join(p.read_bytes() for p in (job.home / "mlartifacts").rglob("*") if p.is_file())
    assert not any(path.name.encode() in tracked for path in (job.folder / "repository").rglob("*.py"))


def test_the_second_plan_computes_nothing_and_the_run_takes_its_weights(job, planned):
    output = job.hush("plan", job.config, *SWEEP, "--out", job.folder / "again")
    ended = dict(re.findall(r"Task run '([\w-]+)-\w+' - Finished in state (\w+)", output))
    assert {state for name, state in ended.items() if not name.startswith("publish")} == {"Cached"}
    first, second = (pl.read_csv(job.folder / f / "frontier.csv") for f in ("out", "again"))
    assert first.equals(second)


@pytest.mark.slow
def test_a_sweep_of_noise_multipliers(job):
    asked = (3.0, 6.0)
    output = job.hush("plan", job.config, "--noise", "3", "--noise", "6", "--out", job.folder / "noise")
    own = pl.read_csv(job.folder / "noise" / "frontier.csv").filter(pl.col("method") == "best")
    assert own["noise_asked"].to_list() == list(asked)
    assert (own["noise_multiplier"] <= own["noise_asked"]).all()
    assert own["weight_retained"].is_sorted() and "weights.noise_multiplier = " in output


def test_a_batch_that_cannot_be_drawn_is_told_with_the_largest_that_can(job):
    output = job.hush("plan", job.config, "--c", "0.1", "--batch", "5000", "--out", job.folder / "batch")
    rows = pl.read_csv(job.folder / "batch" / "frontier.csv").filter(pl.col("method") == "best")
    swept, own = rows.sort("c").to_dicts()
    assert swept["noise_multiplier"] is None and f"at most {swept['largest_batch']}" in swept["note"]
    assert 10 < own["largest_batch"] < 5000 and own["c"] == 0.4 and own["best_point"]
    said = " ".join(output.split())
    assert f"train.batch: 5,000 cannot be drawn from these weights; {own['largest_batch']}, the most" in said
    assert "HOPELESS" in said and "take none of these, as the noise drowns" in said
    assert not own["recommended"], "a table does not advise what the screen calls hopeless"
    assert f"weights.c = 0.4: noise multiplier {own['noise_multiplier']:.3g}" in said
    assert f"rounds of B = {own['largest_batch']}" in said
