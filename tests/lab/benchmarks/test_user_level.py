"""lab/benchmarks/user_level_*.py: whose record is whose; a cell end to end by our own steps; what tables say."""

import gzip
import json
import math
import sys
from dataclasses import replace
from email.message import EmailMessage
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab" / "benchmarks"))

import user_level_cells as cells  # noqa: E402
import user_level_data as data  # noqa: E402
import user_level_report as report  # noqa: E402
import user_level_tables as tables  # noqa: E402
from no_preprocessing import measured  # noqa: E402
from user_level_cells import NONE, Cell, Settings  # noqa: E402
from user_level_data import Record, UserData  # noqa: E402

from hush_core.accounting import Participation  # noqa: E402
from hush_core.config import ByteGptModel  # noqa: E402
from hush_core.corpus.records import Records  # noqa: E402
from hush_core.mechanisms import noise_of, scores  # noqa: E402
from hush_core.training import byte_gpt, save_model  # noqa: E402

CHANGES = """2017-08-02  Ada Lovelace  <ada@example.org>

\t* version.h (RELEASE): Set to "development"
\t(VERSION): Set to 2.26.90.

\t* manual/contrib.texi: Update contributors.

2017-07-29  Grace Hopper  <grace@example.org>
\t    Ada Lovelace  <ada@example.org>

\t* both.c: This is of two people.

Tue Jul  1 10:00:00 1997  grace  HOPPER  <gh@example.com>

\t* old.c (main): From another address.

1999-03-02 22:37  Alan Turing  <alan@example.org>
\tCOMMIT: 7ef9556328fd5c2fe1c2d9203a209895b5156a33
\tUpdate version numbers for a release
\t* x: y
"""


def test_an_entry_is_of_the_one_person_its_header_names(tmp_path):
    (tmp_path / "ChangeLog.1.gz").write_bytes(gzip.compress(CHANGES.encode()))
    (tmp_path / "ChangeLog.2").write_text(
        "2020-01-01  Ada LOVELACE  <ada@new.org>\n\n\t* short\n\n\t* long.c: Enough of it.\n"
    )
    found, named, several = data.change_logs(tmp_path.glob("ChangeLog*"))
    users = ["ada lovelace", "ada lovelace", "grace hopper", "alan turing", "ada lovelace"]
    assert [record.user for record in found] == users
    assert found[0].text == b'* version.h (RELEASE): Set to "development"\n(VERSION): Set to 2.26.90.'
    assert found[2].text == b"* old.c (main): From another address."
    assert found[3].text == b"Update version numbers for a release\n* x: y"
    assert several == 1 and not any(b"two people" in record.text for record in found)
    assert {"alan turing", "gh@example.com"} <= named
    assert not any(b"@" in record.text or b"7ef95" in record.text for record in found)


def message(sender: str, body: str, html: bool = False) -> str:
    written = EmailMessage()
    written["From"], written["Subject"] = sender, "of no matter"
    written.set_content(body)
    if html:
        written.add_alternative(f"<p>{body}</p>", subtype="html")
    return written.as_string()


def test_a_mail_is_of_its_sender_and_a_robot_is_nobody(monkeypatch):
    monkeypatch.setattr(data, "BOT_MAILS", 3)
    robot = [message("rss@spam.example", f"a headline of today, number {i}") for i in range(4)]
    mails = [message("Ada <Ada@Example.org>", "how are you, Grace?", html=True)]
    mails += [message("ada@example.org", text) for text in ("a second mail of mine", "short")]
    found = data.mails([*mails, message("", "nobody wrote this mail here"), *robot])
    kept = (b"how are you, Grace?", b"a second mail of mine")
    assert found == [Record("ada@example.org", text) for text in kept]


def test_abstracts_are_of_their_first_author_and_the_start_is_of_others(tmp_path):
    for name, authors in (("new", ["A", "B"] * 20), ("old", ["A", "C"])):
        texts = [f"abstract {i} of {author}" for i, author in enumerate(authors)]
        pl.DataFrame({"abstract": texts, "first_author": authors}).write_parquet(tmp_path / name)
    read = data.read_abstracts(tmp_path / "new", tmp_path / "old", context=12, held_out=4)
    assert read.public == [b"abstract 1 o"]
    assert np.bincount(read.users).sum() == len(read.texts) == 36
    author = {text: text[-1:] for text in read.texts}
    pairs = {(user, author[text]) for text, user in zip(read.texts, read.users, strict=True)}
    assert sorted(user for user, _ in pairs) == [0, 1] and {name for _, name in pairs} == {b"A", b"B"}


def test_what_is_held_out_is_never_trained_on_and_of_users_who_are():
    records = [Record(f"u{i % 7}", f"record{i:03d} of this user".encode()) for i in range(300)]
    found = data.split("x", records, [b"public text"], context=10, held_out=20, most_records=25)
    assert len(found.held_out) == len(found.held_out_users) == 17
    cut = {text[:10] for text in found.texts}
    assert len(found.texts) == 7 * 25 - 17 and np.bincount(found.users).max() <= 25
    assert all(len(text) > 10 for text in found.texts) and all(len(text) <= 10 for text in found.held_out)
    assert cut.isdisjoint(found.held_out)
    owner = {record.text: record.user for record in records}
    pairs = {(owner[text], user) for text, user in zip(found.texts, found.users, strict=True)}
    assert len(pairs) == len({user for _, user in pairs}) == 7
    number = dict(pairs)
    whole = {record.text[:10]: record.user for record in records}
    found_users = [number[whole[text]] for text in found.held_out]
    assert found_users == found.held_out_users.tolist()
    again = data.split("x", records, [], context=10, held_out=20, most_records=25)
    assert again.texts == found.texts and again.held_out == found.held_out
    assert found.edges["secret_id"].to_list() == found.users.tolist()


SETTINGS = Settings(rounds=3, batch=24, context=24, delta=1e-5, clip_norm=1.0, lora=2)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[UserData, Path]:
    """40 users of 1 to 12 records, and an untrained start."""
    records = [
        Record(f"u{user}", f"{'word ' * (1 + place % 5)}{user} {place}".encode())
        for user in range(40)
        for place in range(1 + user % 12)
    ]
    found = data.split("small", records, [b"public"], context=24, held_out=20)
    start = tmp_path_factory.mktemp("start") / "model"
    save_model(byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 24, seed=1), start)
    return found, start


@pytest.fixture(scope="module")
def made(small):
    """(kind, select, records, ε) → the cell and its plan, made once."""
    return cache(partial(_made, small))


def _made(small, kind, select, records, epsilon):
    cell = Cell(kind, select, records, epsilon, 1e-2, 0)
    by_length = partial(scores, small[0].texts, small[0].edges)
    return cell, cells.planned(small[0], cell, SETTINGS, by_length)


@pytest.mark.slow
def test_the_noise_is_that_of_k_items_drawn_at_the_plans_rate(small, made):
    users = np.bincount(small[0].users)
    _, found = made("group_privacy", "random", 4, 3.0)
    assert found.items == np.minimum(users, 4).sum() and found.records == 24
    rate = 24 / found.items
    assert found.plan.rates.max() == pytest.approx(rate)
    for records, right in ((4, True), (3, False)):
        expected = noise_of(Participation.binomial(records, rate), rounds=3, epsilon=3.0, delta=1e-5)
        assert (found.plan.noise_multiplier == pytest.approx(expected, rel=1e-3)) == right
    _, unit = made("user_wise", "random", 4, 3.0)
    of_unit = np.minimum(users, 4).mean()
    assert unit.items == len(users) and unit.plan.expected_batch == round(24 / of_unit)
    assert unit.records == pytest.approx(24, abs=of_unit / 2 + 1e-9), "not the compute of the others"
    drawn = Participation.binomial(1, unit.plan.expected_batch / len(users))
    expected = noise_of(drawn, rounds=3, epsilon=3.0, delta=1e-5)
    assert unit.plan.noise_multiplier == pytest.approx(expected, rel=1e-3)
    assert unit.plan.noise_multiplier < found.plan.noise_multiplier


def test_what_fills_the_items(small, made):
    users, owned = np.bincount(small[0].users), list(zip(small[0].texts, small[0].users, strict=True))
    _, longest = made("group_privacy", "longest", 2, NONE)
    drawn = np.flatnonzero(longest.plan.rates > 0)
    for user in range(len(users)):
        own = [i for i in drawn if small[0].users[i] == user]
        lengths = sorted((len(text) for text, other in owned if other == user), reverse=True)
        assert sorted((len(longest.texts[i]) for i in own), reverse=True) == lengths[:2]
    _, chunks = made("user_wise", "chunks", 10, NONE)
    for i in np.flatnonzero(chunks.plan.rates > 0):
        item = chunks.texts[i]
        joined = b"".join(text for text, other in owned if other == small[0].users[i])
        pieces = item.texts if isinstance(item, Records) else (item,)
        assert b"".join(pieces) == joined and all(len(piece) <= 24 for piece in pieces)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "select"), [("group_privacy", "random"), ("user_wise", "random")])
def test_a_cell_runs_end_to_end(small, made, kind, select):
    cell, plan = made(kind, select, 4, 3.0)
    row = cells.trained(small[0], cell, plan, small[1], SETTINGS)
    again = cells.trained(small[0], cell, plan, small[1], SETTINGS)
    other = cells.trained(small[0], replace(cell, seed=1), plan, small[1], SETTINGS)
    assert {**row, "cpu_seconds": 0} == {**again, "cpu_seconds": 0}
    assert row["bits"] != other["bits"]
    assert row["noise"] == pytest.approx(plan.plan.noise_multiplier / plan.plan.expected_batch)
    none, without = made(kind, select, 4, NONE)
    free = cells.trained(small[0], none, without, small[1], SETTINGS)
    assert free["sigma"] is None and free["bits"] < row["bits"] < 9
    json.dumps(row), json.dumps(free)


@pytest.mark.slow
def test_a_kept_cell_is_not_trained_again(small, tmp_path, monkeypatch):
    bench = tables.Bench(small[0], tmp_path, SETTINGS, steps=((1e-3, 2),))
    cell = Cell("group_privacy", "random", 2, NONE, 1e-2, 0)
    row = bench.row(cell)
    monkeypatch.setattr(tables, "trained", lambda *_: pytest.fail("trained again"))
    later = tables.Bench(small[0], tmp_path, SETTINGS)
    assert later.row(cell) == row
    with pytest.raises(pytest.fail.Exception):
        later.row(replace(cell, seed=1))


def row(
    kind="group_privacy", select="random", records=5, epsilon=3.0, rate=1e-2, seed=0, bits=4.0, chosen=None
):
    return {
        "kind": kind, "select": select, "records": records, "epsilon": epsilon, "learning_rate": rate, "seed": seed,
        "sigma": epsilon and 2.0, "noise": 0.01, "bits": bits, "by_user": bits,
        "chosen_by": bits if chosen is None else chosen,
    }  # fmt: skip


def test_the_rate_is_chosen_by_other_text_than_the_table_is_of():
    rows = [row(bits=4.0, chosen=3.9), row(rate=3e-2, bits=3.5, chosen=4.2), row(records=2, bits=4.4)]
    found = report.Measured.of(rows)
    assert found.cell("group_privacy", "random", 5, 3.0)["bits"] == 4.0
    assert found.cell("group_privacy", "random", 2, 3.0)["seeds"] == 1
    assert found.cell("group_privacy", "random", 10, 3.0) is None


def test_verdicts_need_more_than_chance():
    tried = [row(bits=4.0), row(rate=3e-2, bits=5.0)]
    bits = {2: 3.8, 10: 4.2}
    noisy = [row(records=k, seed=seed, bits=bits[k] + 0.02 * seed) for k in bits for seed in (0, 1)]
    found = report.Measured.of([*tried, *noisy])
    two, ten = (found.cell("group_privacy", "random", k, 3.0) for k in (2, 10))
    # 95 % of Student with 2 degrees of freedom, each pair's variance 0.02²/2
    assert two["half_width"] == pytest.approx(4.30265 * 0.02 / math.sqrt(2) / math.sqrt(2), rel=1e-4)
    assert report.verdict(two, ten).startswith("holds: +0.400")
    assert report.verdict(ten, two).startswith("the other way: -0.400")
    near = {**two, "bits": two["bits"] + 0.01}
    assert report.verdict(two, near).startswith("not told apart")
    assert report.verdict(two, None) == "not measured"
    assert report.verdict_over([(two, near)] * 100 + [(two, None)]).startswith("holds: +0.010 ±")
    said = {(what, e): says for what, e, says in report.findings(found)}
    assert said["Group: best k (smaller for smaller ε)", "3"] == "k = 2"
    assert said["Group: k = 2 before k = 10", "3"].startswith("holds")


@pytest.mark.slow
def test_the_program_saves_noise_and_with_all_weights_one_saves_none():
    rows = measured(15, rounds=20, sweep=(1.0, 0.25))
    for method in ("kl", "blow_up"):
        baseline, whole, less = (one for one in rows if one["method"] == method)
        assert baseline["mechanism"] == "dp_sgd" and baseline["kept"] == whole["kept"] == 1.0
        assert whole["sigma"] == pytest.approx(baseline["sigma"], rel=1e-3)
        assert less["kept"] < 1 and less["sigma"] < whole["sigma"] and less["ratio"] > 1
