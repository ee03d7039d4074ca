"""A promise whose later runs go on from the promoted model: few rounds each, every earlier release counted in, and
none at all in a night in which no text of a secret is new.

A real repository, store, tracker and review.
"""

import json
from pathlib import Path

import pytest
from jobs import Job, git
from many_runs import drawn, run_all

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
  - {{id: alpha, kind: path, globs: ["trading/**"], level: high}}
  - {{id: creds, kind: credentials, level: critical}}
chunk_bytes: 128
weights: {{c: 0.4, without_secret: plain}}
promise: {{runs: {runs}}}
model: {{layers: 1, width: 32, heads: {heads}}}
pretrain: {{steps: 1, batch: 4}}
untagged: {{steps: 2, batch: 4, learning_rate: 0.001, evaluate_every: 1}}
train: {{rounds: 12, batch: 1, checkpoint_every: 2, start: champion, later_rounds: {later}}}
audit: {{alternatives: 2, unprotected: false}}
tracking: {{experiment: job, model: job}}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Five commits to a protected file, b0 to b4; in the last but one the credential is gone. After each
    another, q0 to q4, to untagged text and to the name of a protected file."""
    job = Job(tmp_path_factory.mktemp("champion"), seed=31)
    repository = job.folder / "repository"

    def commit(branch):
        (repository / f"app/new_{branch}.py").write_text(f"VALUE = '{branch}'\n" * 30)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "more")
        git(repository, "branch", branch)

    for number in range(5):
        if number == 3:
            git(repository, "rm", "-q", "-r", "deploy")
        with (repository / "trading/strategy.py").open("a") as file:
            file.write(f"LATER_{number} = {number}\n")
        commit(f"b{number}")
        (repository / "trading/strategy.py").rename(repository / "trading/limits.py")
        commit(f"q{number}")
        (repository / "trading/limits.py").rename(repository / "trading/strategy.py")
    (repository / "app/moved.py").write_text("\n" + (repository / "trading/strategy.py").read_text())
    (repository / "trading/strategy.py").write_text("NOTHING_LEFT_OF_IT_HERE = 1\n")
    commit("moved")
    return job


@pytest.fixture(scope="module")
def told(job):
    """What each run reported, in order. The second goes on from a model that nobody promoted; the fourth from
    that of a quiet night, which it first meets tampered with, and finds no credential."""

    def config(name, rev, later=2, heads=2, runs=4):
        return job.write(f"{name}.yaml", 12, 1, TEXT, rev=rev, later=later, heads=heads, runs=runs)

    order = [
        (config("first", "b0"), False),
        (config("first", "b0"), False),
        (config("second", "b1"), "promote"),  # nothing was promoted yet
        (config("wide", "b2", heads=4), False),
        (config("third", "b2"), "promote"),
        (config("quiet", "q2"), "promote"),
        (config("third", "b2"), "tamper"),
        (config("fourth", "b3"), "mend"),
        (config("fourth", "b3"), False),
        (config("quiet", "q2"), False),
        (config("fifth", "b4"), False),
        (config("spent", "q3"), False),
        (config("moved", "moved"), False),
    ]
    return [*run_all(job, order), job.hush("plan", config("spent", "q3"), "--c", "0.4")]


@pytest.fixture(scope="module")
def refuted(job, told):
    """What came of everything when an audit had refuted the first model; and then in a home that has the audit in
    the registry alone."""

    def config(name, rev):
        return job.write(f"{name}.yaml", 12, 1, TEXT, rev=rev, later=2, heads=2, runs=4)

    versions = [(told[n]["model_uri"], False) for n in (FIRST, SECOND, QUIET, SPENT)]
    versions[-1] = (versions[-1][0], "forget")
    before = [(told[SECOND]["model_uri"], False), (config("first", "b0"), "refute")]
    again = [(config("first", "b0"), False), (config("third", "b2"), False), (config("after", "q4"), False)]
    return [
        *run_all(job, [*before, *versions, *again]),
        job.hush("plan", config("after", "q4"), "--c", "0.4"),
        job.hush("runs"),
        json.loads(job.hush("runs", "--json")),
    ]


FIRST, SECOND, THIRD, FOURTH = FINISHED = (0, 2, 4, 8)
QUIET, SPENT = 5, 11


def certificate(told, place):
    return Path(told[place]["certificate_dir"])


def facts(told, place):
    return read_certificate(certificate(told, place)).facts


def test_the_first_run_has_all_rounds_and_the_later_ones_few_on_top_of_the_model_before(told):
    assert [told[n]["rounds"] for n in FINISHED] == [12, 2, 2, 2]
    names = [facts(told, n).run for n in FINISHED]
    # the fourth begins with the model of the quiet night, in which are the third's releases
    assert [facts(told, n).training.started_from for n in FINISHED] == [None, *names[:3]]
    # nobody had promoted the first; the second, the third and the quiet one were
    from_run = f"run {names[0][:12]}"
    assert [told[n]["goes_on_from"] for n in FINISHED] == [
        None, from_run, told[SECOND]["model_uri"], told[QUIET]["model_uri"],
    ]  # fmt: skip
    for place, name in zip(FINISHED[1:], names, strict=False):
        counted = read_tables(certificate(told, place))["runs.parquet"]
        assert name in counted["key"].to_list() and counted["rounds"].to_list().count(12) == 1


def test_a_file_that_moved_out_of_its_globs_is_not_learned_without_noise(told):
    """With one line break before it; refused by the secret's name and the file."""
    said = told[SPENT + 1]
    assert "app/moved.py" in said and "earlier runs protected it as alpha" in said and "protect: drop" in said


def test_a_later_run_begins_with_the_weights_of_the_model_before(told):
    """Its loss before any of its own training is that model's on the same held-out text."""
    before = told[FIRST]["losses"]["protected"]
    assert told[SECOND]["losses"]["champion"] == pytest.approx(before, rel=0.05)
    assert told[SECOND]["losses"]["champion"] < told[FIRST]["losses"]["pretrained"]


def test_the_bounds_of_all_runs_are_those_of_an_independent_computation_and_spend_the_targets(told):
    runs = [drawn(certificate(told, place)) for place in FINISHED]
    for number, place in enumerate(FINISHED[:3]):
        for row in told[place]["rows"]:
            so_far = [run[row["name"]] for run in runs[: number + 1]]
            exact = posterior_of_runs(so_far, prior=row["prior"]).value
            assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02 and row["earlier_runs"] == number
            assert row["all_runs"] <= row["target"]
    assert max(row["all_runs"] / row["target"] for row in told[FOURTH]["rows"]) > 0.95, "noise is wasted"


def test_what_only_earlier_runs_name_stays_in_the_promise_as_the_model_may_tell_it(told):
    by_name = {row["name"]: row for row in told[FOURTH]["rows"]}
    (gone,) = (row for name, row in by_name.items() if name.startswith("retired/"))
    (then,) = (row for row in told[THIRD]["rows"] if row["name"].startswith("creds/"))
    assert gone["name"][-12:].startswith(then["name"][-6:]) or then["name"][-6:] in gone["name"]
    assert gone["earlier_runs"] == 3 and gone["examples"] == 0
    assert gone["all_runs"] == pytest.approx(then["all_runs"], rel=0.02) and gone["bound"] == gone["prior"]


def test_the_reviewer_reads_the_bounds_of_all_runs_and_not_of_the_last_alone(told):
    says = (
        f"the model goes on from {told[SECOND]['model_uri']}, so no bound of this run alone is of the model"
    )
    assert (
        says in told[THIRD]["description"] and "every bound of all runs so far" in told[THIRD]["description"]
    )
    assert "so no bound" not in told[FIRST]["description"]
    lines = verdict(verify_target(str(certificate(told, THIRD))))
    assert any("of the model itself the bounds of all runs are the promise" in line for line in lines)


def test_a_promoted_model_whose_files_are_others_is_refused(told):
    assert "does not verify" in told[7] and "not the model that was certified" in told[7]


def test_another_model_than_the_one_before_is_refused(told):
    assert "is not the model that the config describes" in told[3]


def test_a_run_done_again_is_read_from_the_cache_though_its_own_version_is_champion_now(told):
    assert told[6]["reused"] and told[6]["model_uri"] == told[THIRD]["model_uri"]
    assert told[1]["reused"] and told[1]["model_uri"] == told[FIRST]["model_uri"]
    assert told[9]["reused"] and told[9]["model_uri"] == told[QUIET]["model_uri"]


def test_the_run_after_the_last_is_refused(told):
    assert "4 runs of this store have released what was promised for 4" in told[10]


def test_a_night_without_new_text_of_a_secret_makes_no_certified_round_and_spends_nothing(told):
    """Untagged text changed, and a protected file was renamed."""
    quiet, before = facts(told, QUIET), told[THIRD]
    assert (quiet.plan.rounds, quiet.plan.noise_multiplier, quiet.training.rounds_released) == (0, None, 0)
    assert quiet.runs_on_this_data == 3 and quiet.training.started_from == facts(told, THIRD).run
    counted = read_tables(certificate(told, QUIET))["runs.parquet"]["key"].to_list()
    assert sorted(counted) == sorted(facts(told, n).run for n in (FIRST, SECOND, THIRD))
    for row, then in zip(told[QUIET]["rows"], before["rows"], strict=True):
        assert row["name"] == then["name"] and row["bound"] == row["prior"] and row["earlier_runs"] == 3
        assert (
            row["all_runs"] == pytest.approx(then["all_runs"], rel=0.02) and row["all_runs"] <= row["target"]
        )
    # the one after it counts it among nothing: three earlier runs, and noise for one more
    assert {row["earlier_runs"] for row in told[FOURTH]["rows"]} == {3}
    assert quiet.run not in read_tables(certificate(told, FOURTH))["runs.parquet"]["key"].to_list()


def test_such_a_night_trains_the_untagged_text_on_top_of_the_champion(told):
    champion, quiet = (
        read_certificate(certificate(told, n)).model_files["model.safetensors"] for n in (THIRD, QUIET)
    )
    assert champion != quiet and told[QUIET]["untagged_steps"] is not None
    assert told[QUIET]["trained_without_noise"] > told[THIRD]["trained_without_noise"]
    assert told[QUIET]["goes_on_from"] == told[THIRD]["model_uri"]


def test_such_a_night_is_told_in_report_registry_review_and_verification(told):
    says = "no text of a secret is new since the runs before"
    assert says in told[QUIET]["screen"] and says in told[QUIET]["description"]
    assert "3 of 4 promised runs made, 1 left" in told[QUIET]["description"]
    assert "3 of 4 made, and this one is none of them" in told[QUIET]["screen"]
    lines = " ".join(verdict(verify_target(str(certificate(told, QUIET)))))
    assert (
        "no certified round" in lines and "none of the 4 that were planned for, of which 3 were made" in lines
    )
    chain = verify_target(str(certificate(told, QUIET)), after=str(certificate(told, THIRD))).chain
    assert chain.startswith("every run that")
    chain = verify_target(str(certificate(told, FOURTH)), after=str(certificate(told, QUIET))).chain
    assert chain.startswith("every run that")


def test_a_plan_tells_that_a_run_now_would_make_no_certified_round(told):
    assert "4 of 4 promised runs were made; no text of a secret is new since" in " ".join(told[-1].split())


def test_such_nights_go_on_when_all_runs_are_spent(told):
    assert told[SPENT]["rounds"] == 0 and told[SPENT]["earlier_runs"] == 4
    assert facts(told, SPENT).training.started_from in {facts(told, n).run for n in (THIRD, FOURTH)}
    for row, then in zip(told[SPENT]["rows"], told[FOURTH]["rows"], strict=True):
        assert row["all_runs"] == pytest.approx(then["all_runs"], rel=0.02)


def test_what_goes_on_from_a_refuted_model_is_refuted_with_it(told, refuted):
    """The second goes on from the first; the quiet night and the spent one from what went on from that."""
    assert refuted[0] == ["", "approve"], "nothing was wrong before the audit"
    first, *later = refuted[2:6]
    name = facts(told, FIRST).run[:12]
    assert "REFUTED: an attack" in first[0]
    for verified, approved in later:
        assert f"REFUTED with run {name}: this model goes on from earlier runs" in verified
        assert "a refuted model cannot be approved" in approved


def test_no_run_follows_a_refuted_one_whatever_is_promoted(told, refuted):
    """The champion is of the second run by now, and the night has no text of a secret."""
    assert f"an audit refuted run {facts(told, FIRST).run[:12]} of this promise" in refuted[8]
    assert "no other may follow" in " ".join(refuted[9].split())


def test_a_job_that_ended_in_a_refuted_model_is_not_answered_with_it_again(refuted):
    assert all("of this promise, which has ended with that" in told for told in refuted[6:8])


def test_a_refuted_run_is_marked_among_those_that_are_counted(told, refuted):
    screen, counted = refuted[10], refuted[11]["result"]
    name = facts(told, FIRST).run
    assert (
        f"run {name[:12]} was refuted" in screen
        and "an attack found more than the certificate allows" in screen
    )
    said = {run["key"]: run["refuted"] for run in counted["runs"]}
    assert [key for key, words in said.items() if words] == [name]
    assert len(said) == len((*FINISHED, QUIET, SPENT)), "quiet nights are listed, too"
    assert screen.count("REFUTED") == 2 and not counted["unasked"]  # its row, and the audit's own words
