"""The company's repository of `hush replicate company`: its data, what each way is given, and what is measured."""

from dataclasses import replace

import numpy as np
import pytest
from company_bundle import write_bundle

from hush_core.accounting import Participation, posterior_bound
from hush_core.auditing.made_up import make_credentials
from hush_core.config import ByteGptModel
from hush_core.corpus import PLACEHOLDER
from hush_core.errors import InputError
from hush_core.training import byte_gpt, fit_plain
from hush_core.weights import tagged_examples
from hush_core.weights.roles import CERTIFIED, HELD_OUT, PLAIN, VALIDATION
from lab.replications import company_repository as repository
from lab.replications.company import SEED, TRAINING, claims
from lab.replications.company_measures import interval, last_line, lines_completed
from lab.replications.company_training import DP_SGD, PLACES, PROTECTED, RECORD, TEN_NIGHTS, Runs

SETTINGS = {**TRAINING["tiny"], "seed": SEED}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("company")
    return repository.build(write_bundle(folder), folder / "work", seed=SEED)


@pytest.fixture(scope="module")
def data(made):
    return repository.read(made, SETTINGS)


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    return Runs(data, tmp_path_factory.mktemp("runs"), SEED)


def values():
    return {one.name: one.value for one in make_credentials(SEED) if one.name in repository.COPIES}


@pytest.mark.slow
def test_every_planted_credential_is_found_where_it_stands(made, data):
    tree = repository.text_files(made, "hush")
    names = dict(data.secrets.select("secret_id", "name").iter_rows())
    found = {}
    stands = data.occurrences.select("secret_id", "example_id", "start", "end")
    for secret, example, start, end in stands.iter_rows():
        found.setdefault(data.texts[example][start:end], set()).add(names[secret])
    for name, value in values().items():
        holding = [path for path, content in tree.items() if value in content]
        assert len(holding) == repository.COPIES[name]
        assert not any(path.startswith("third_party/") for path in holding)
        assert len(found[value]) == 1, name
    # of click's own text one more may look like one
    assert sum(name.startswith("creds/") for name in names.values()) >= len(values())
    assert (data.facts["planted"], data.facts["planted_found"]) == (len(values()), len(values()))
    # an edge for every text that has one: nothing planted trains without noise
    tagged = tagged_examples(data.edges, len(data.texts))
    for value in values().values():
        assert all(tagged[i] for i, text in enumerate(data.texts) if value in text)
    assert not any(path.endswith((".png", ".lock")) for path in tree)


@pytest.mark.slow
def test_what_is_held_back_holds_a_secret_and_is_in_no_other_table(data):
    back, tagged = len(data.tagged_back), data.facts["with_secret"]
    assert len(data.texts) + back == data.facts["examples"]
    assert back == round(tagged / repository.ONE_IN)
    assert max(data.edges["example_id"]) < len(data.texts)
    assert data.edges["example_id"].n_unique() == tagged - back


@pytest.mark.slow
def test_entries_name_the_share_of_files_once_each_and_teams_stand_in_codeowners(made, data):
    files = repository.text_files(made, (made.parent / "built").read_text())
    entries = repository.entries_of(files, SEED)
    named = [path for entry in entries for path in entry["_files"]]
    assert len(named) == len(set(named)) >= len(files) / 5
    assert [entry["kind"] for entry in entries[:4]] == ["codeowners", "path"] * 2
    owners = repository.git(made, "cat-file", "blob", "hush:CODEOWNERS").decode().split()
    teams = {path for entry in entries if entry["kind"] == "codeowners" for path in entry["_files"]}
    assert {path.lstrip("/") for path in owners[::2]} == teams
    assert all(path.endswith(".py") for e in entries if e["kind"] == "path" for path in e["_files"])
    assert SETTINGS["share"] <= 100 * data.facts["files_of_entries"] / len(files) < SETTINGS["share"] + 4
    with pytest.raises(InputError, match="too few files"):
        repository.entries_of({"a.py": b"x", "b.py": b"y" * 1000}, SEED)


@pytest.mark.slow
def test_what_an_entry_reaches_grows_with_its_spread(made):
    tagged = [repository.read(made, SETTINGS, spread).facts["with_secret"] for spread in repository.SPREADS]
    assert tagged == sorted(tagged) and tagged[0] < tagged[-1]


def test_a_bundle_of_two_branches_is_refused(made, tmp_path):
    two = tmp_path / "two.bundle"
    repository.git(made, "branch", "other", "hush~3")
    repository.git(made, "bundle", "create", "--quiet", str(two), "hush", "other")
    repository.git(made, "branch", "-D", "other")
    with pytest.raises(InputError, match="2 branches"):
        repository.build(two, tmp_path / "work", seed=SEED)


@pytest.mark.slow
def test_retained_data_are_the_protected_models_expected_draws(data, runs):
    places, plan = np.bincount(runs.retained(), minlength=len(data.texts)), runs.plan(PROTECTED)
    untagged = data.config.untagged
    epochs = untagged.steps * untagged.batch / len(runs.ids(PLAIN))
    assert set(places[runs.ids(PLAIN)]) == {PLACES}
    assert not places[runs.ids(HELD_OUT, VALIDATION)].any()
    drawn, certified = plan.rates * plan.rounds, runs.ids(CERTIFIED)
    assert np.abs(places[certified] * epochs / PLACES - drawn[certified]).max() <= epochs / PLACES / 2 + 1e-9
    assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()


@pytest.mark.slow
def test_each_way_with_noise_has_the_promise_that_it_is_named_after(data, runs):
    level = {"prior": data.secrets["prior"].min(), "rounds": runs.rounds_on_all}
    record = runs.plan(RECORD)
    rate = record.rates.max()
    one = Participation.binomial(1, rate)
    least = data.secrets["posterior"].min()
    noise = (record.noise_multiplier, 0.98 * record.noise_multiplier)
    at = [posterior_bound(one, noise_multiplier=sigma, **level).value for sigma in noise]
    assert at[0] <= least < at[1]
    assert set(np.flatnonzero(record.rates)) == set(runs.on_all)
    assert record.rates.sum() == pytest.approx(record.expected_batch)
    whole = runs.plan(DP_SGD)
    assert (whole.certificates["bound"] <= whole.certificates["posterior"]).all()
    assert len(set(whole.rates[runs.on_all])) == 1 and not whole.rates[runs.ids(HELD_OUT, VALIDATION)].any()
    assert whole.noise_multiplier > record.noise_multiplier
    night, ten = runs.plan(PROTECTED), runs.plan(TEN_NIGHTS)
    assert ten.rounds == night.rounds and ten.noise_multiplier > 2 * night.noise_multiplier
    assert ten.noise_multiplier == runs.plan(PROTECTED, nights=10).noise_multiplier
    seen = data.config.untagged.steps * data.config.untagged.batch + night.rounds * night.expected_batch
    assert whole.rounds * whole.expected_batch == pytest.approx(seen, rel=0.1)


def test_redacted_texts_hold_no_credential_and_are_else_the_same(data, runs):
    before, after = runs.pick(runs.on_all), runs.redacted()
    planted = list(values().values())
    assert sum(any(value in text for value in planted) for text in before) > 20
    assert not any(value in text for value in planted for text in after)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert all(PLACEHOLDER in b for _, b in changed)
    for text, other in changed[:5]:
        head, _, tail = other.partition(PLACEHOLDER)
        assert text.startswith(head) and (PLACEHOLDER in tail or text.endswith(tail))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"a\n    return one_value\nunfinished", b"return one_value"),
        (b"first line is not asked\n", None),  # nothing stands before it
        (b"x\nshort\n\nanother line, whole\nshort\n", b"another line, whole"),
        (b"x\ntrailing blanks are left \nno end", None),
        (b"", None),
    ],
)
def test_the_last_whole_line_is_asked_for(text, line):
    place = last_line(text)
    assert (place and text[place[0] : place[1]]) == line
    assert place is None or text[place[1] : place[1] + 1] == b"\n"


@pytest.mark.slow
def test_a_line_counts_only_where_every_byte_is_right():
    text = b"def f():\n    return 'abcdefgh'\n"
    model = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), 64, seed=0)
    assert lines_completed(model, [text])["half"] == 0
    fit_plain([text] * 8, model, steps=120, batch=8, learning_rate=5e-3, seed=0)
    assert lines_completed(model, [text]) == {"lines": 1.0, "half": 1.0, "ending": 1.0}
    other = text.replace(b"gh'", b"gx'")
    assert lines_completed(model, [text, other]) == {"lines": 2.0, "half": 0.5, "ending": 0.5}


def test_an_interval_is_paired():
    rng = np.random.default_rng(0)
    loss = rng.normal(5, 3, size=400)
    better = loss - 0.1
    low, high = interval(lambda ids: float(loss[ids].mean() - better[ids].mean()), 400)
    assert (low, high) == pytest.approx((0.1, 0.1))
    low, high = interval(lambda ids: float(loss[ids].mean()), 400)
    assert low < 5 < high and high - low > 0.3


@pytest.fixture
def rows():
    """Of four ways that know nothing, but for the unprotected one, which gives three of the five values away."""
    way = {"ranks": "9, 9, 9, 9, 9", "first": 0, "values": 5, "extracted": 0, "untagged_ratio": 1.0,
           "tagged_ratio": 1.0, "untagged_ending": 0.5, "untagged_bits": 2.0}  # fmt: skip
    names = ("start", "protected", "unprotected", "dp_sgd")
    noise = [{"way": name, "nights": nights, "noise_on_mean": 1.0, "noise_multiplier": 1.0, "one_night": 1.0,
              "ten_nights": 20.0} for name in ("protected", "record", "dp_sgd") for nights in (1, 10)]  # fmt: skip
    ways = {name: {**way, "way": name} for name in names}
    ways["unprotected"] |= {"ranks": "1, 1, 1, 9, 9", "first": 3, "extracted": 1}
    found = [{"planted": 5, "planted_found": 5}]
    return {"found": found, "noise": noise, "ways": list(ways.values())}


GIVES_AWAY, FIRST = "gives none away whole", "hush: values that are first"


def marked(rows, text):
    (found,) = [claim for claim in claims(rows) if text in claim.text]
    return found.ours, found.mark


def test_a_model_that_gives_a_value_away_misses_its_claim(rows):
    start, hush, _, _ = rows["ways"]
    assert marked(rows, GIVES_AWAY) == marked(rows, FIRST) == (0, "reproduced")
    hush["extracted"] = 1
    assert marked(rows, GIVES_AWAY) == (1, "not reached")
    # another value that was first at the start does not set it off: values count, not how many
    start["ranks"], hush["ranks"] = "9, 9, 9, 9, 1", "1, 9, 9, 9, 9"
    assert marked(rows, FIRST) == (1, "not reached")
    hush["ranks"] = "9, 9, 9, 9, 1"
    assert marked(rows, FIRST) == (0, "reproduced")
    assert replace(claims(rows)[0], ours=0.8).mark == "not reached"


def test_an_attack_that_gets_nothing_from_unprotected_training_shows_nothing_of_hush(rows):
    start, _, unprotected, _ = rows["ways"]
    unprotected["extracted"] = 0
    assert marked(rows, GIVES_AWAY) == (None, "not reached")
    start["ranks"] = unprotected["ranks"]  # known without the company's text: not given away by training
    assert marked(rows, FIRST) == (None, "not reached")
    assert marked(rows, "unprotected training gives the planted") == (0, "not reached")
    unprotected["untagged_ending"] = 0.0
    assert marked(rows, "endings of held-out lines") == (None, "not reached")
    assert all(claim.why for claim in claims(rows) if claim.mark == "not reached")


def test_what_follows_from_how_the_values_were_planted_is_no_claim(rows):
    before = [(claim.text, claim.ours) for claim in claims(rows)]
    for row in rows["noise"]:
        row["one_night"] *= 7 if row["way"] == "record" else 1
    assert [(claim.text, claim.ours) for claim in claims(rows)] == before
