"""A promise whose later runs go on from the promoted model: few rounds each, every earlier release counted in, and
none at all in a night in which no text of a secret is new.

A real repository, store, tracker and review.
"""

import json
from pathlib import Path

import pytest
from jobs import Job, git
from many_runs import branches, drawn, run_all

from flows.reports.verification import verdict
from flows.verify import verify_target
from hush_core.certificate import read_certificate, read_tables
from hush_core.certificate.recheck import posterior_of_runs

TEXT = """\
version: 1
repos: [{{path: {repository}, rev: {rev}}}]
levels: {{critical: 1.0e-4, high: 1.0e-3}}
public: ["third_party/**"]
secrets:
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high, protect: noise}}
  - {{id: creds, kind: credentials, level: critical, protect: noise}}
chunk_bytes: 128
weights: {{c: 0.4, without_secret: plain}}
promise: {{runs: 2}}
model: {{layers: 1, width: 32, heads: 2}}
pretrain: {{steps: 1, batch: 4}}
untagged: {{steps: 2, batch: 4, learning_rate: 0.001, evaluate_every: 1}}
train: {{rounds: 12, batch: 1, checkpoint_every: 2, start: champion, later_rounds: 2}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Three commits to a protected file, b0 to b2; in the second the credential is gone. After each another, q0 to
    q2, to untagged text and to the name of a protected file."""
    job = Job(tmp_path_factory.mktemp("champion"), seed=31)
    repository = job.folder / "repository"

    for number in range(3):
        if number == 1:
            git(repository, "rm", "-q", "-r", "deploy")
        with (repository / "trading/strategy.py").open("a") as file:
            file.write(f"LATER_{number} = {number}\n")
        branches(job, [f"b{number}"])
        (repository / "trading/strategy.py").rename(repository / "trading/limits.py")
        branches(job, [f"q{number}"])
        (repository / "trading/limits.py").rename(repository / "trading/strategy.py")
    (repository / "app/moved.py").write_text("\n" + (repository / "trading/strategy.py").read_text())
    (repository / "trading/strategy.py").write_text("NOTHING_LEFT_OF_IT_HERE = 1\n")
    branches(job, ["moved"])
    with job.served():
        yield job


FIRST, QUIET, SECOND, AFTER_THE_LAST, SPENT, MOVED = 0, 1, 3, 6, 7, 8
AGAIN = {2: FIRST, 4: QUIET, 5: SECOND}


def config(job, name, rev):
    return job.write(f"{name}.yaml", 12, 1, TEXT, rev=rev)


@pytest.fixture(scope="module")
def told(job):
    """What each run reported, in order. The quiet night goes on from a model that nobody promoted; the second from
    that of the quiet night, and finds no credential."""
    order = [
        (config(job, "first", "b0"), False),
        (config(job, "quiet", "q0"), "promote"),  # nothing was promoted yet
        (config(job, "first", "b0"), False),
        (config(job, "second", "b1"), "promote"),
        (config(job, "quiet", "q0"), False),
        (config(job, "second", "b1"), False),
        (config(job, "last", "b2"), False),
        (config(job, "spent", "q1"), False),
        (config(job, "moved", "moved"), False),
    ]
    return [*run_all(job, order), job.hush("plan", config(job, "spent", "q1"), "--c", "0.4")]


@pytest.fixture(scope="module")
def refuted(job, told):
    """What came of everything when an audit had refuted the first model; and then in a home that has the audit in
    the registry alone."""
    first, second = config(job, "first", "b0"), config(job, "second", "b1")
    versions = [(told[FIRST]["model_uri"], False), (told[SECOND]["model_uri"], False)]
    versions.append((told[SPENT]["model_uri"], "forget"))
    before = [(told[SECOND]["model_uri"], False), (first, "refute")]
    again = [(first, False), (second, False), (after := config(job, "after", "q2"), False)]
    return [
        *run_all(job, [*before, *versions, *again]),
        job.hush("plan", after, "--c", "0.4"),
        job.hush("runs"),
        json.loads(job.hush("runs", "--json")),
    ]


def certificate(told, place):
    return Path(told[place]["certificate_dir"])


def facts(told, place):
    return read_certificate(certificate(told, place)).facts


def test_the_first_run_has_all_rounds_and_the_second_few_on_top_of_the_model_before(told):
    assert [told[n]["rounds"] for n in (FIRST, QUIET, SECOND)] == [12, 0, 2]
    first = facts(told, FIRST).run
    # the second begins with the model of the quiet night, in which are the first's releases
    assert [facts(told, n).training.started_from for n in (FIRST, QUIET, SECOND)] == [None, first, first]
    # nobody had promoted the first; the quiet one was
    assert [told[n]["goes_on_from"] for n in (FIRST, QUIET, SECOND)] == [
        None, f"run {first[:12]}", told[QUIET]["model_uri"],
    ]  # fmt: skip
    counted = read_tables(certificate(told, SECOND))["runs.parquet"]
    assert first in counted["key"].to_list() and counted["rounds"].to_list().count(12) == 1


def test_a_file_that_moved_out_of_its_globs_is_not_learned_without_noise(told):
    """With one line break before it; refused by the secret's name and the file."""
    said = told[MOVED]
    assert "app/moved.py" in said and "earlier runs protected it as alpha" in said and "protect: drop" in said


def test_a_later_run_begins_with_the_weights_of_the_model_before(told):
    """Its loss before any of its own training is that model's on the same held-out text."""
    before = told[FIRST]["losses"]["protected"]
    assert told[QUIET]["losses"]["champion"] == pytest.approx(before, rel=0.05)
    assert told[QUIET]["losses"]["champion"] < told[FIRST]["losses"]["pretrained"]


def test_the_bounds_of_all_runs_are_those_of_an_independent_computation_and_spend_the_targets(told):
    runs = [drawn(certificate(told, place)) for place in (FIRST, SECOND)]
    for number, place in enumerate((FIRST, SECOND)):
        for row in (row for row in told[place]["rows"] if not row["name"].startswith("retired/")):
            so_far = [run[row["name"]] for run in runs[: number + 1]]
            exact = posterior_of_runs(so_far, prior=row["prior"]).value
            assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02 and row["earlier_runs"] == number
            assert row["all_runs"] <= row["target"]
    assert max(row["all_runs"] / row["target"] for row in told[SECOND]["rows"]) > 0.95, "noise is wasted"


def test_what_only_earlier_runs_name_stays_in_the_promise_as_the_model_may_tell_it(told):
    (gone,) = (row for row in told[SECOND]["rows"] if row["name"].startswith("retired/"))
    (then,) = (row for row in told[FIRST]["rows"] if row["name"].startswith("creds/"))
    assert gone["name"][-12:].startswith(then["name"][-6:]) or then["name"][-6:] in gone["name"]
    assert gone["earlier_runs"] == 1 and gone["examples"] == 0
    assert gone["all_runs"] == pytest.approx(then["all_runs"], rel=0.02) and gone["bound"] == gone["prior"]


def test_the_reviewer_reads_the_bounds_of_all_runs_and_not_of_the_last_alone(told):
    says = (
        f"the model continues from {told[QUIET]['model_uri']}, so no bound of this run alone is of the model"
    )
    description = told[SECOND]["description"]
    assert says in description and "every bound of all runs so far" in description
    assert "so no bound" not in told[FIRST]["description"]
    lines = verdict(verify_target(str(certificate(told, SECOND))))
    assert any("the promise for the model itself is the bounds of all runs" in line for line in lines)


def test_a_run_done_again_is_read_from_the_cache_though_its_own_version_is_champion_now(told):
    for place, made in AGAIN.items():
        assert told[place]["reused"] and told[place]["model_uri"] == told[made]["model_uri"]


def test_the_run_after_the_last_is_refused(told):
    assert "2 runs of this store have released what was promised for 2" in told[AFTER_THE_LAST]


def test_a_night_without_new_text_of_a_secret_makes_no_certified_round_and_spends_nothing(told):
    """Untagged text changed, and a protected file was renamed."""
    quiet, before = facts(told, QUIET), told[FIRST]
    assert (quiet.plan.rounds, quiet.plan.noise_multiplier, quiet.training.rounds_released) == (0, None, 0)
    assert quiet.runs_on_this_data == 1 and quiet.training.started_from == facts(told, FIRST).run
    counted = read_tables(certificate(told, QUIET))["runs.parquet"]["key"].to_list()
    assert counted == [facts(told, FIRST).run]
    for row, then in zip(told[QUIET]["rows"], before["rows"], strict=True):
        assert row["name"] == then["name"] and row["bound"] == row["prior"] and row["earlier_runs"] == 1
        assert (
            row["all_runs"] == pytest.approx(then["all_runs"], rel=0.02) and row["all_runs"] <= row["target"]
        )
    # the one after it counts it among nothing: one earlier run, and noise for one more
    assert {row["earlier_runs"] for row in told[SECOND]["rows"]} == {1}
    assert quiet.run not in read_tables(certificate(told, SECOND))["runs.parquet"]["key"].to_list()


def test_such_a_night_trains_the_untagged_text_on_top_of_the_model_before(told):
    before, quiet = (
        read_certificate(certificate(told, n)).model_files["model.safetensors"] for n in (FIRST, QUIET)
    )
    assert before != quiet and told[QUIET]["untagged_steps"] is not None
    assert told[QUIET]["trained_without_noise"] > told[FIRST]["trained_without_noise"]


def test_such_a_night_is_told_in_report_registry_review_and_verification(told):
    says = "no text of a secret is new since the runs before"
    assert says in told[QUIET]["screen"] and says in told[QUIET]["description"]
    assert "1 of 2 promised runs made, 1 left" in told[QUIET]["description"]
    assert "1 of 2 made, and this one is not one of them" in told[QUIET]["screen"]
    lines = " ".join(verdict(verify_target(str(certificate(told, QUIET)))))
    assert "no certified round" in lines and "none of the 2 that were planned for, of which 1" in lines
    for place, after in ((QUIET, FIRST), (SECOND, QUIET)):
        chain = verify_target(str(certificate(told, place)), after=str(certificate(told, after))).chain
        assert chain.startswith("every run that")


def test_a_plan_tells_that_a_run_now_would_make_no_certified_round(told):
    assert "2 of 2 promised runs were made; no text of a secret is new since" in " ".join(told[-1].split())


def test_such_nights_go_on_when_all_runs_are_spent(told):
    assert told[SPENT]["rounds"] == 0 and told[SPENT]["earlier_runs"] == 2
    assert facts(told, SPENT).training.started_from == facts(told, SECOND).run
    assert told[SPENT]["goes_on_from"] == told[SECOND]["model_uri"]
    for row, then in zip(told[SPENT]["rows"], told[SECOND]["rows"], strict=True):
        assert row["all_runs"] == pytest.approx(then["all_runs"], rel=0.02)


def test_what_goes_on_from_a_refuted_model_is_refuted_with_it(told, refuted):
    """The second goes on from the first, by way of the quiet night; the spent one from the second."""
    assert refuted[0] == ["", "approve"], "nothing was wrong before the audit"
    first, *later = refuted[2:5]
    name = facts(told, FIRST).run[:12]
    assert "REFUTED: an attack" in first[0]
    for verified, approved in later:
        assert f"REFUTED with run {name}: this model continues earlier runs" in verified
        assert "a refuted model cannot be approved" in approved


def test_no_run_follows_a_refuted_one_whatever_is_promoted(told, refuted):
    """The champion is of the second run by now, and the night has no text of a secret."""
    assert f"an audit refuted run {facts(told, FIRST).run[:12]} of this promise" in refuted[7]
    assert "no other may follow" in " ".join(refuted[8].split())


def test_a_job_that_ended_in_a_refuted_model_is_not_answered_with_it_again(refuted):
    assert all("of this promise, which has ended with that" in told for told in refuted[5:7])


def test_a_refuted_run_is_marked_among_those_that_are_counted(told, refuted):
    screen, counted = refuted[9], refuted[10]["result"]
    name = facts(told, FIRST).run
    assert (
        f"run {name[:12]} was refuted" in screen
        and "an attack found more than the certificate allows" in screen
    )
    said = {run["key"]: run["refuted"] for run in counted["runs"]}
    assert [key for key, words in said.items() if words] == [name]
    assert len(said) == 4, "quiet nights are listed, too"
    assert screen.count("REFUTED") == 2 and not counted["unasked"]  # its row, and the audit's own words
