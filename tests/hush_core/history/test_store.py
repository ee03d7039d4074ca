"""Who trained on what before: counted by text and by name, whatever was renamed, and never forgotten."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from histories_of_runs import NAMES, counts, history, released, text

from hush_core.config import PathSecret
from hush_core.config.secrets import ENTRIES
from hush_core.errors import InputError
from hush_core.history import RunText
from hush_core.history.bounds import by_settings

KEY_A, KEY_B, KEY_C = "a" * 64, "b" * 64, "c" * 64
ONE = text(b"a", b"b", b"c", b"plain")
MODULE = b"".join(b"def order_%d(book, price):\n    return book.place(%d, price * %d)\n" % (n, n, n * 7)
                  for n in range(40))  # fmt: skip
"""Some 2,500 bytes of a file that is a secret."""


def in_pieces(content, size=256):
    return [content[at : at + size] for at in range(0, len(content), size)]


def all_of(*pieces, name, target=1e-3, **more):
    return text(
        *pieces, names=(("path", name),), edges=[(n, 0) for n in range(len(pieces))], target=target, **more
    )


MOVED = {"names": NAMES[:2], "edges": ((0, 0), (1, 1))}
"""Of ONE's texts `c` is no secret's any more, and stands there still."""


def cut(*pieces, tagged=(), names=(), plain=(), files=None):
    """A run whose examples are `pieces`; `tagged`: (example, secret)."""
    frame = pl.DataFrame(list(tagged), schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    rows = [(n, kind, name, 1e-6, 1e-3) for n, (kind, name) in enumerate(names)]
    secrets = pl.DataFrame(rows, schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row")
    rates = np.where(np.isin(np.arange(len(pieces)), [example for example, _ in tagged]), 0.5, 0.0)
    bare = np.isin(np.arange(len(pieces)), plain)
    return RunText(
        list(pieces), rates, frame, secrets, 2.0, 9, "settings",
        without_noise=[pieces[n] for n in plain], files=files or ["f"] * len(pieces), plain=bare,
    )  # fmt: skip


ALPHA = (("path", "alpha"),)
LATE = ("literals", "names/1:0123456789ab")


TOKEN = b"ghp_q8Zx2LmN5tRw7Kp0VbYc"


def places(*rows):
    kinds = {"secret_id": pl.UInt32, "example_id": pl.UInt32, "start": pl.UInt32, "end": pl.UInt32}
    return pl.DataFrame(list(rows), schema=kinds, orient="row")


LICENCE = b"".join(b"Licence clause %d: redistribution is permitted provided that.\n" % n for n in range(9))
LINES = [f"def compute_{name}(argument): return {name}" for name in ("margin", "spread", "volume", "orders")]
ADDED = {"names": (*NAMES, ("path", "added"))}
VALUE = {"names": (("literals", "l/1:00112233aabb"),), "edges": ((0, 0),)}
FOUND = {"names": (("credentials", "c/github-pat:00112233aabb"),), "edges": ((0, 0),)}
FILE = {"names": (("path", "late"),), "edges": ((0, 0),)}
TAGGED = {"edges": ((0, 0),)}
PLAIN = b"import pandas; return compute_margin(argument) + compute_spread(volume)"


def imported():
    """A file and those that import it: what these are tagged for is not their own text."""
    before = all_of(b"kept", *in_pieces(MODULE), name="alpha")
    reasons = pl.Series("reason", ["path", *["propagated:import"] * len(in_pieces(MODULE))])
    return replace(before, edges=before.edges.with_columns(reasons))


def edited(*values, plain=PLAIN):
    return text(*values, **FILE, without_noise=[plain])


WORDS = places((0, 0, 0, 21))
HALF_KNOWN = text(b"secretword-otherword9", **VALUE, occurrences=WORDS, without_noise=[b"otherword9"])
UNKNOWN = text(b"a", **TAGGED, without_noise=[b"x secretword-otherword9", b"otherword9"])
LATER = cut(b"of al", b"pha x the ", b"token 77", b" end", tagged=[(0, 0), (2, 1)], names=(*ALPHA, LATE))
WHOLE = (b"of al", b"pha x the token 77 end")
PLACE = places((0, 0, 4, 4 + len(TOKEN)))
EARLIER = {
    "only secrets that a batch could hold are trained on":
        ([text(b"a", b"b", b"c", b"plain", rates=[0.5, 0.0, 0.5, 1.0])], ONE, "counts", [1, 0, 1]),
    "by name where all text has changed: of a keyed name the digest counts, as rules, lines and entries move":
        ([ONE], text(b"x", b"y", b"z", names=(("path", "alpha"), ("literals", "tokens/9:0123456789ab"),
                                              ("rare_words", "rare/ba9876543210"))), "counts", [1, 1, 1]),
    "other names and other text":
        ([ONE], text(b"x", b"y", b"z", names=(("path", "beta"), ("codeowners", "alpha"),
                                              ("credentials", "creds/rule:0123456789ac"))), "counts", [0, 0, 0]),
    "by text where all names have changed: the earlier run drew it, tagged or not":
        ([ONE], text(b"new", b"a", b"plain", names=(("path", "beta"), ("path", "gamma"), ("path", "delta"))),
         "counts", [0, 1, 1]),
    "a licence before each file, tagged or not, tells no secret from another":
        ([text(LICENCE + b"a", LICENCE + b"plain", names=NAMES[:1], **TAGGED)],
         all_of(b"\n" + LICENCE + b"b", name="new"), "counts", [0]),
    "a second credential beside the first is not taken for it":
        ([text(MODULE[:900], names=NAMES[1:2], **TAGGED)],
         text(b"TOKEN = 1" + MODULE[:900], names=NAMES[2:3], **TAGGED), "counts", [0]),
    "text that was trained without noise before an entry named it":
        ([text(b"a", **TAGGED, without_noise=[b"plain", b"more"])],
         text(b"a", b"b", b"c", b"plain", **ADDED, edges=((0, 0), (1, 1), (2, 2), (3, 3))),
         "noise_free", [False, False, False, True]),
    "such text is no draw of its secret":
        ([text(b"a", **TAGGED, without_noise=[b"plain", b"more"])],
         text(b"a", b"b", b"c", b"plain", **ADDED, edges=((0, 0), (1, 1), (2, 2), (3, 3))), "counts", [1, 0, 0, 0]),
    "of 40 copies of a licence one is a secret: the others, without noise, say nothing of it":
        ([text(b"licence", **TAGGED, without_noise=[b"licence"] * 39)], text(*[b"licence"] * 40, **TAGGED),
         "noise_free", [False] * 3),
    "a copy of weight 0 that was tagged was no other":
        ([text(b"y", rates=[0.0], edges=((0, 1),), without_noise=[b"y"])], text(b"y", edges=((0, 1),)),
         "noise_free", [False] * 3),
    "a further copy of it that is tagged since was used":
        ([text(b"y", rates=[0.0], edges=((0, 1),), without_noise=[b"y"])], text(b"y", b"y", edges=((0, 1), (1, 1))),
         "noise_free", [False, True, False]),
    "of equal texts one was tagged and one trained on plainly; now two secrets tag them: it was of either":
        ([text(b"x", **TAGGED, without_noise=[b"x"])], text(b"x", b"x", edges=((0, 0), (1, 1))),
         "noise_free", [True, True, False]),
    "an importer that is none any more is not let go":
        ([imported()], text(b"kept", names=NAMES[:1], **TAGGED, without_noise=in_pieces(MODULE)),
         "noise_free", [False]),
    "a text that was untagged too when it was protected is no secret's":
        ([text(b"a", b"b", b"licence", b"licence", names=NAMES[:2], edges=((0, 0), (1, 1), (2, 0)))],
         text(b"a", b"b", b"licence", b"licence", without_noise=[b"licence"], **MOVED), "noise_free", [False] * 2),
    "a value that came with an edit":
        ([cut(b"of al", b"pha x the end", tagged=[(0, 0)], names=ALPHA, plain=[1])], LATER,
         "noise_free", [False] * 2),
    "a value in a file of which nothing was used without noise":
        ([cut(*WHOLE, tagged=[(0, 0)], names=ALPHA)], LATER, "noise_free", [False] * 2),
    "a value that stood over two files":
        ([cut(*WHOLE, tagged=[(0, 0)], names=ALPHA, plain=[1], files=["f", "g"])], LATER,
         "noise_free", [False] * 2),
    "a value that a run named is not taken for one that it did not know: a copy that no search found":
        ([text(b"k = " + TOKEN, **FOUND, without_noise=[TOKEN], occurrences=PLACE)],
         text(b"k = " + TOKEN, **FOUND, occurrences=PLACE), "noise_free", [False]),
    "one run knew the value and used one word of it, the next did not know it and used all":
        ([HALF_KNOWN, UNKNOWN], text(b"secretword-otherword9", **VALUE, occurrences=WORDS), "noise_free", [True]),
    "the same in the other order":
        ([UNKNOWN, HALF_KNOWN], text(b"secretword-otherword9", **VALUE, occurrences=WORDS), "noise_free", [True]),
    "a whole file that is named late and was edited is found by what stands nowhere else":
        ([text(b"a", **TAGGED, without_noise=["\n".join(LINES).encode()])],
         text("\n".join([*LINES[:3], "EDITED = 1"]).encode(), **FILE), "noise_free", [True]),
    "a new file that shares words with text that is untagged still":
        ([text(b"a", **TAGGED, without_noise=[PLAIN])], edited(b"compute_margin compute_spread pandas"),
         "noise_free", [False]),
    "a new file with two words of text that is gone":
        ([text(b"a", **TAGGED, without_noise=[PLAIN])],
         edited(b"pandas and a volume of other words",
                plain=PLAIN.replace(b"pandas", b"").replace(b"volume", b"")), "noise_free", [False]),
}  # fmt: skip
"""(What earlier runs trained on, what a run is given now, and which number of what it counts of them)."""


@pytest.mark.parametrize("case", EARLIER)
def test_what_a_run_counts_of_earlier_ones(store, case):
    before, now, what, wanted = EARLIER[case]
    for run, trained in zip((KEY_A, KEY_B), before, strict=False):
        released(store, run, trained)
    assert getattr(history(store).earlier(KEY_C, now), what).tolist() == wanted


def test_a_run_counts_for_others_and_not_for_itself_and_only_once(store):
    assert counts(store, KEY_A, ONE) == [0, 0, 0]
    for _ in range(3):  # killed and started again
        released(store, KEY_A, ONE)
    assert counts(store, KEY_A, ONE) == [0, 0, 0]
    assert counts(store, KEY_B, ONE) == [1, 1, 1]
    released(store, KEY_B, ONE)
    assert counts(store, KEY_C, ONE) == [2, 2, 2]
    earlier = history(store).earlier(KEY_C, ONE)
    assert (earlier.secrets, earlier.most, earlier.unknown) == (3, 2, 0)


def test_a_run_in_which_no_secret_is_left_comes_before_and_after_others(store):
    """All redacted or left out: such a run behind any other ended in an error."""
    none = text(b"plain", b"more", names=(), edges=(), rates=[0.0, 0.0])
    released(store, KEY_A, ONE)
    assert counts(store, KEY_B, none) == []
    released(store, KEY_B, none)
    assert counts(store, KEY_C, ONE) == [1, 1, 1] and counts(store, KEY_C, none) == []


def test_of_what_a_refuted_run_trained_on_nothing_is_promised_and_of_the_rest_as_before(store):
    released(store, KEY_A, text(b"a", b"b", b"c", b"plain", rates=[0.5, 0.0, 0.5, 1.0]))
    released(store, KEY_B, text(b"a", b"b", b"c", b"plain", rates=[0.0, 0.5, 0.0, 1.0]))
    name = history(store).public_name(KEY_A)
    for refuted, bare in ((set(), [False] * 3), ({name}, [True, False, True]), ({"f" * 64}, [False] * 3)):
        earlier = history(store, refuted=refuted).earlier(KEY_C, ONE)
        assert earlier.noise_free.tolist() == bare and earlier.counts.tolist() == [1, 1, 1]


def test_a_run_that_released_nothing_does_not_count(store):
    released(store, KEY_A, ONE, releases=0)
    history(store).note(KEY_B, ONE)
    assert counts(store, KEY_C, ONE) == [0, 0, 0]


def profiles(store, run, what):
    earlier = history(store).earlier(run, what)
    rows = earlier.profiles.drop("same_promise").rows()
    return earlier.runs.rows(), [(r, j, n, pytest.approx(rate, rel=1e-8)) for r, j, n, rate in rows]


def test_what_each_run_did_to_each_secret_is_told_as_a_binomial_that_dominates(store):
    """Today secret 1 holds `b`, and secret 2 `c`, which the first run tagged otherwise: they count for both."""
    edges = ((0, 0), (1, 0), (2, 1), (3, 2))
    released(store, KEY_A, text(b"a", b"b", b"c", b"d", rates=[0.5, 0.75, 1.0, 0.0], edges=edges), 3)
    released(store, KEY_B, text(b"z", b"y", rates=[0.25, 0.25], edges=((0, 1), (1, 1)), sigma=5.0), 7)
    runs, rows = profiles(store, KEY_C, ONE)
    assert [run[0] for run in runs] == [0, 1] and len({run[1] for run in runs}) == 2
    assert [run[2:] for run in runs] == [(2.0, 9, 3, "settings"), (5.0, 9, 7, "settings")]
    assert not {KEY_A, KEY_B} & {run[1] for run in runs}, "its name is a hash of protected text"
    once = 1 - (0.5 * 0.25) ** 0.5
    assert rows == [(0, 0, 2, once), (0, 1, 2, 1.0), (0, 2, 1, 1.0), (1, 1, 2, 0.25)]
    exact = history(store).earlier(KEY_C, ONE).profiles["rate"]
    assert exact[0] >= once and exact[3] >= 0.25


def test_a_text_counts_once_whether_it_is_found_by_name_or_by_text_and_again_under_an_entry_added_since(
    store,
):
    released(store, KEY_A, ONE)
    more = (*NAMES, ("path", "added"))
    edges = ((0, 0), (1, 1), (2, 2), (0, 3), (3, 3))
    _, rows = profiles(store, KEY_B, text(b"a", b"b", b"c", b"plain", names=more, edges=edges))
    assert rows == [(0, 0, 1, 0.5), (0, 1, 1, 0.5), (0, 2, 1, 0.5), (0, 3, 2, 0.5)]


def test_another_target_or_a_secret_that_was_not_named_is_another_promise(store):
    released(store, KEY_A, ONE)
    again = history(store).earlier(KEY_B, text(b"a", b"b", b"c"))
    assert again.profiles["same_promise"].to_list() == [True, True, True]
    tighter = history(store).earlier(KEY_B, text(b"a", b"b", b"c", target=1e-4))
    assert tighter.profiles["same_promise"].to_list() == [False, False, False]
    fresh = (*NAMES[:2], ("path", "gamma"))
    other = history(store).earlier(KEY_B, text(b"a", b"b", b"c", names=fresh))
    assert other.profiles["same_promise"].to_list() == [True, True, False]


def test_copies_of_a_text_are_as_many_chances(store):
    released(store, KEY_A, text(b"a", b"a", b"a", rates=[0.5, 0.25, 0.25], edges=((0, 0), (1, 0), (2, 0))))
    _, rows = profiles(store, KEY_B, text(b"a", names=(("path", "else"),), edges=((0, 0),)))
    assert rows == [(0, 0, 3, 1 - (0.5 * 0.75**2) ** (1 / 3))]


def test_copies_that_no_entry_names_are_no_secrets(store):
    """A licence in 40 files, one of which is a secret: the other 39 say nothing of it."""
    many = text(*[b"licence"] * 40, edges=((0, 0),))
    released(store, KEY_A, many)
    assert profiles(store, KEY_B, many)[1] == [(0, 0, 1, 0.5)]


def test_a_copy_that_was_tagged_since_counts(store):
    """Three copies drawn, one of them tagged; now two are: as many as are missing, by their rates."""
    released(store, KEY_A, text(b"x", b"x", b"x", rates=[0.25, 0.5, 0.75], edges=((0, 0),)))
    _, rows = profiles(store, KEY_B, text(b"x", b"x", b"x", edges=((0, 0), (1, 0))))
    assert rows == [(0, 0, 2, 1 - (0.75 * 0.25) ** 0.5)]


def test_what_was_found_by_its_text_is_not_forgotten_when_the_text_changes(store):
    """Trained without noise, or drawn untagged; then an entry names it; then the file is edited."""
    released(store, KEY_A, text(b"drawn", edges=(), names=(), without_noise=[b"plain"]))
    named = (("path", "late"), ("path", "later"))
    found = history(store).earlier(KEY_B, text(b"plain", b"drawn", names=named, edges=((0, 0), (1, 1))))
    assert found.noise_free.tolist() == [True, False] and found.counts.tolist() == [0, 1]
    edited = text(b"plain, edited", b"drawn, edited", names=named, edges=((0, 0), (1, 1)))
    again = history(store).earlier(KEY_B, edited)
    assert again.noise_free.tolist() == [True, False] and again.profiles.equals(found.profiles)
    assert again.profiles["same_promise"].to_list() == [False], "nothing was promised then"


def test_one_value_under_two_entries_is_one_identity_and_loses_nothing(store):
    twice = (("credentials", "a/rule:0123456789ab"), ("literals", "b/7:0123456789ab"), ("path", "p"))
    for _ in range(2):  # killed and started again
        released(store, KEY_A, text(b"a", b"b", b"c", names=twice))
    _, rows = profiles(store, KEY_B, text(b"1", b"2", b"3", names=twice))
    assert [row[:3] for row in rows] == [(0, 0, 2), (0, 1, 2), (0, 2, 1)]


def counted_by(store, what):
    return history(store).earlier("", what)


def test_a_run_under_a_promise_trains_alone_and_after_what_it_counted(store):
    plan, runs = counted_by(store, ONE), history(store)

    def refused(run, counted):
        with pytest.raises(InputError, match="another run is training"), runs.training(run, ONE, counted):
            pass

    with runs.training(KEY_A, ONE, plan):
        refused(KEY_B, None)
        refused(KEY_B, plan)
    with runs.training(KEY_A, ONE, None), runs.training(KEY_B, ONE, None):
        refused(KEY_C, plan)
    released(store, KEY_B, ONE)
    with (
        pytest.raises(InputError, match="released something since"),
        history(store).training(KEY_A, ONE, plan),
    ):
        pass
    released(store, KEY_A, ONE)
    with history(store).training(KEY_A, ONE, plan):  # it goes on: who came since has counted it
        pass


def test_a_note_that_is_damaged_in_between_is_seen_before_a_round_is_spent(store):
    released(store, KEY_B, ONE)
    plan = counted_by(store, ONE)
    file = store.root / "history" / KEY_B / "edges.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    with (
        pytest.raises(InputError, match="released something since"),
        history(store).training(KEY_A, ONE, plan),
    ):
        pass


def test_a_job_that_has_begun_is_planned_by_what_it_counted_then(store):
    history(store).note(KEY_A, ONE, job="nightly", before="then")
    assert history(store).before("nightly") is None, "nothing was released"
    released(store, KEY_A, ONE)
    assert history(store).before("nightly") == "then" and history(store).before("other") is None


def test_what_a_run_named_is_kept_when_it_goes_on_under_other_names(store):
    released(store, KEY_A, ONE)
    released(store, KEY_A, text(b"a", b"b", b"c", names=(("path", "x"), ("path", "y"), ("path", "z"))))
    assert counts(store, KEY_B, text(b"1", b"2", b"3")) == [1, 1, 1]


def test_runs_that_do_not_say_whose_text_they_saw_count_for_every_secret(store, tmp_path):
    for run, table in ((KEY_A, "1" * 64), (KEY_B, "2" * 64), (KEY_B, "3" * 64), (KEY_C, "3" * 64)):
        folder = store.root / "runs" / table  # as an older hush left them
        folder.mkdir(parents=True, exist_ok=True)
        (folder / run).touch()
    (store.work_dir(KEY_C) / "releases.jsonl").write_text('{"run": "x", "rounds": 9}\n')  # released nothing
    (store.work_dir(KEY_B) / "releases.jsonl").write_text('{"run": "x", "rounds": 9}\n{"release": 0')
    earlier = history(store).earlier("d" * 64, ONE)
    assert earlier.unknown == 2 and earlier.counts.tolist() == [2, 2, 2]
    for damage in ("run.json", "texts.parquet", "edges.parquet"):
        released(store, damage[0] * 64, text(b"q", names=(("path", "q"),), edges=((0, 0),)))
        file = store.root / "history" / (damage[0] * 64) / damage
        file.write_bytes(file.read_bytes()[:-3])
    assert history(store).earlier("d" * 64, ONE).unknown == 5
    released(store, "f" * 64, ONE)
    assert history(store).earlier("d" * 64, ONE).unknown == 5
    (tmp_path / "keys" / "identity.key").unlink()  # names and hashes of another key cannot be compared
    assert history(store).earlier("d" * 64, ONE).unknown == 6


def test_a_run_whose_work_folder_was_deleted_still_counts(store):
    released(store, KEY_A, ONE)
    (store.work_dir(KEY_A) / "releases.jsonl").unlink()
    assert counts(store, KEY_B, ONE) == [1, 1, 1]


def test_runs_are_listed_by_when_they_were_noted(store):
    for run, then in ((KEY_A, 2_000_000_000), (KEY_B, 1_000_000_000)):
        released(store, run, ONE)
        os.utime(store.root / "history" / run, (then, then))
    names = [history(store).public_name(run) for run in (KEY_B, KEY_A)]
    listed = history(store).listed()
    assert listed["key"].to_list() == names and listed["noted"].dt.year().to_list() == [2001, 2033]


def test_a_run_whose_note_was_deleted_is_one_that_does_not_say_whose_text_it_saw(store):
    """What its ledger tells is enough to know that there was one; what released nothing is none."""
    for run, releases in ((KEY_A, 1), (KEY_B, 0)):
        released(store, run, ONE, releases)
        shutil.rmtree(store.root / "history" / run)
    earlier, name = history(store).earlier("d" * 64, ONE), history(store).public_name(KEY_A)
    assert earlier.unknown == 1 and earlier.counts.tolist() == [1, 1, 1]
    assert history(store).listed()["key", "rounds", "released", "noted"].rows() == [(name, None, 1, None)]
    assert history(store).all_names() == {name} <= history(store).keys()
    shutil.rmtree(store.root / "history")
    assert history(store).earlier("d" * 64, ONE).unknown == 1
    released(store, KEY_A, ONE)  # the same run, started again: it notes what it sees
    assert history(store).earlier("d" * 64, ONE).unknown == 0 and counts(store, KEY_B, ONE) == [1, 1, 1]


def test_renaming_an_entry_and_one_line_break_before_its_file_hide_no_run(store):
    """No name and no chunk is what it was; nor where the file is cut by another chunk_bytes."""
    released(store, KEY_A, all_of(*in_pieces(MODULE), name="alpha"))
    for size in (256, 100, 1024):
        shifted = all_of(*in_pieces(b"\n" + MODULE, size), name="beta")
        found = history(store).earlier(KEY_B, shifted)
        assert found.counts.tolist() == [1] and found.profiles["same_promise"].to_list() == [False]
        if size == 256:
            assert found.profiles["examples"].to_list() == [len(in_pieces(MODULE))], (
                "all draws of the run count"
            )
    other = MODULE.replace(b"order", b"quote").replace(b"book", b"feed").replace(b"price", b"level")
    assert history(store).earlier(KEY_B, all_of(*in_pieces(other), name="gamma")).counts.tolist() == [0]


@pytest.mark.parametrize("kind", ["path", "folder_of_another_package"])
def test_a_file_that_moved_out_of_its_globs_with_a_line_break_before_it_is_found_too(
    store, monkeypatch, kind
):
    monkeypatch.setitem(ENTRIES, kind, PathSecret)
    names = ((kind, "alpha"),)
    edges = [(n, 0) for n in range(1 + len(in_pieces(MODULE)))]
    released(store, KEY_A, text(b"kept", *in_pieces(MODULE), names=names, edges=edges))
    moved = in_pieces(b"\n" + MODULE)
    plain = np.array([False] + [True] * len(moved))
    now = text(b"kept", *moved, names=names, edges=((0, 0),), rates=[0.5] + [0.0] * len(moved),
               without_noise=moved, plain=plain)  # fmt: skip
    earlier = history(store).earlier(KEY_B, now)
    assert earlier.noise_free.tolist() == [True]
    assert set(earlier.now_untagged["example"]) <= set(range(1, len(moved) + 1))
    released(store, KEY_B, now)
    gone = history(store).earlier(KEY_C, text(b"kept", names=names, edges=((0, 0),)))
    assert gone.noise_free.all() and not gone.now_untagged.height, "nor does its end give the bound back"


def test_a_record_without_passages_is_read(store):
    """As the hush before this one left it."""
    released(store, KEY_A, ONE)
    folder = store.root / "history" / KEY_A
    facts = json.loads((folder / "run.json").read_bytes())
    del facts["tables"]["passages.parquet"]
    (folder / "run.json").write_text(json.dumps(facts | {"form": 5}))
    (folder / "passages.parquet").unlink()
    assert counts(store, KEY_B, ONE) == [1, 1, 1]


@pytest.mark.parametrize(
    "bare, used", [(True, {"without_noise": [b"kept"]}), (False, {"rates": [0.5, 0.5, 0.5]})]
)
def test_text_that_an_earlier_run_protected_and_that_is_used_untagged_now_ends_the_bound(store, bare, used):
    """A file of alpha moved out of its globs: its rows keep no bound, nor when the text is gone again."""
    before = text(b"a", b"b", b"kept", names=NAMES[:2], edges=((0, 0), (1, 1), (2, 0)))
    released(store, KEY_A, before)
    now = text(b"a", b"b", b"kept", **{"rates": [0.5, 0.5, 0.0], **MOVED, **used})
    earlier = history(store).earlier(KEY_B, now)
    assert earlier.noise_free.tolist() == [True, False] and earlier.now_untagged["secret_id"].to_list() == [0]
    assert earlier.counts.tolist() == [1, 1]
    dropped = text(b"a", b"b", b"kept", rates=[0.5, 0.5, 0.0], **MOVED)
    assert not history(store).earlier(KEY_B, dropped).noise_free.any(), "it is left out of training"
    released(store, KEY_B, now)
    gone = history(store).earlier(KEY_C, text(b"a", b"b", **MOVED))
    counted = [2, 1, 1, 1] if bare else [2, 1, 2, 1]
    assert not gone.now_untagged.height and gone.profiles["examples"].to_list() == counted
    assert gone.noise_free.tolist() == [bare, False], "what was drawn is counted by now"


def _plain(name):
    """The name of the file that a hidden part is of."""
    return name[1:].rpartition(".")[0] if name.startswith(".") else name


def test_the_note_is_on_the_disk_before_it_is_named_and_holds_no_text(store, monkeypatch):
    calls, noted = [], history(store)
    for word in ("fsync", "replace"):
        real = getattr(os, word)
        name = (
            (lambda d: _plain(os.path.basename(os.readlink(f"/proc/self/fd/{d}"))))
            if word == "fsync"
            else None
        )

        def hooked(*args, real=real, word=word, name=name):
            calls.append((word, name(args[0]) if name else args[1].name))
            return real(*args)

        monkeypatch.setattr(os, word, hooked)
    noted.note(KEY_A, text(b"a secret text", b"b", b"c"))
    assert calls == [
        ("fsync", "name"), ("replace", "name"), ("fsync", KEY_A),
        ("fsync", "texts.parquet"), ("replace", "texts.parquet"), ("fsync", KEY_A),
        ("fsync", "edges.parquet"), ("replace", "edges.parquet"), ("fsync", KEY_A),
        ("fsync", "files.parquet"), ("replace", "files.parquet"), ("fsync", KEY_A),
        ("fsync", "words.parquet"), ("replace", "words.parquet"), ("fsync", KEY_A),
        ("fsync", "items.parquet"), ("replace", "items.parquet"), ("fsync", KEY_A),
        ("fsync", "passages.parquet"), ("replace", "passages.parquet"), ("fsync", KEY_A),
        ("fsync", "run.json"), ("replace", "run.json"), ("fsync", KEY_A),
        ("fsync", "history"), ("fsync", "store"),
    ]  # fmt: skip
    folder = store.root / "history" / KEY_A
    assert {p.name for p in folder.iterdir()} == {
        "name", "run.json", "texts.parquet", "edges.parquet", "files.parquet", "words.parquet",
        "items.parquet", "passages.parquet",
    }  # fmt: skip
    assert all(p.stat().st_mode & 0o077 == 0 for p in (folder, *folder.iterdir()))
    data = b"".join(p.read_bytes() for p in folder.iterdir())
    assert (
        b"secret text" not in data
        and len(json.loads((folder / "run.json").read_bytes())["secrets"]["name"]) == 3
    )


def test_a_value_named_late_in_a_file_that_was_learned_without_noise_is_bare_though_its_chunks_are_others(
    store,
):
    before = cut(b"of al", b"pha x the toke", b"n 77 end", tagged=[(0, 0)], names=ALPHA, plain=[1, 2])
    released(store, KEY_A, before)
    now = cut(b"of al", b"pha x the ", b"token 77", b" end", tagged=[(0, 0), (2, 1)], names=(*ALPHA, LATE))
    found = history(store).earlier(KEY_B, now)
    assert found.noise_free.tolist() == [False, True], (
        "alpha was named then: what is plain of its file does not hold it"
    )
    # the file is edited since: what was found is noted by name, so that it stays found
    edited = cut(b"of al", b"pha y the ", b"token 77", b" end", tagged=[(0, 0), (2, 1)], names=(*ALPHA, LATE))
    assert history(store).earlier(KEY_B, edited).noise_free.tolist() == [False, True]


def test_the_models_that_runs_ended_in_are_known_in_their_order(store):
    runs = history(store)
    for run, digest in ((KEY_B, "1" * 64), (KEY_A, "2" * 64)):
        released(store, run, ONE)
        runs.note_model(run, digest)
        os.utime(store.root / "history" / run / "model.sha256", ns=(int(digest[0]) * 10**9,) * 2)
    assert runs.models() == [(runs.public_name(KEY_B), "1" * 64), (runs.public_name(KEY_A), "2" * 64)]
    assert set(runs.named("settings")["name"]) == {"path alpha", "0123456789ab", "ba9876543210"}
    assert runs.named("of another job").is_empty()


def quiet(store, run, what):
    """A run without certified rounds: noted, and trained on untagged text."""
    history(store).note_without_rounds(run, what, job="quiet", before="then")


NO_ROUNDS = {"rates": [0.0] * 4, "sigma": 0.0, "rounds": 0}


def test_nothing_is_new_where_every_tagged_text_was_tagged_in_some_run_before(store):
    """Removed, renamed, copied, under a further entry, or as it was two runs ago: no secret's text is new."""
    assert not history(store).trained_before(ONE), "there was no run"
    released(store, KEY_A, ONE)
    released(store, KEY_B, text(b"a2", b"b", b"c"))
    edges, names = ((0, 0), (1, 0), (1, 1)), (*NAMES, ("path", "added"))
    for same in (
        ONE,
        text(b"a2", b"b", b"c"),
        text(b"a", b"a", names=names, edges=edges),
        text(b"c", edges=((0, 0),)),
    ):
        assert history(store).trained_before(same)
    for new in (text(b"a3", b"b", b"c"), text(b"a", b"b", b"c", b"plain", edges=((0, 0), (3, 0)))):
        assert not history(store).trained_before(new)


def test_text_that_was_used_without_noise_is_no_text_that_was_trained_before(store):
    """Named since: the run that noted it as found by its text had promised nothing of it."""
    released(store, KEY_A, text(b"a", edges=((0, 0),), without_noise=[b"late"]))
    named = text(b"late", names=(("path", "late"),), edges=((0, 0),))
    assert history(store).earlier(KEY_B, named).noise_free.tolist() == [True]
    assert not history(store).trained_before(named)


def test_a_run_without_rounds_is_none_of_the_promised_and_what_it_trained_on_plainly_is_told(store):
    released(store, KEY_A, ONE)
    before = history(store).earlier(KEY_B, ONE)
    quiet(store, KEY_B, text(b"a", b"b", b"c", b"new", without_noise=[b"new"], **NO_ROUNDS))
    after = history(store).earlier(KEY_C, ONE)
    assert after.runs.equals(before.runs) and after.profiles.equals(before.profiles)
    assert not after.noise_free.any()
    assert history(store).before("quiet") == "then", "started again, it goes on as it was planned"
    late = (*NAMES, ("path", "late"))
    named = text(b"a", b"b", b"c", b"new", names=late, edges=((0, 0), (1, 1), (2, 2), (3, 3)))
    assert history(store).earlier(KEY_C, named).noise_free.tolist() == [False, False, False, True]
    new = text(b"z", edges=((0, 0),))
    quiet(store, KEY_C, text(b"z", edges=((0, 0),), rates=[0.0], sigma=0.0, rounds=0))
    assert not history(store).trained_before(new), "tagged there, and trained on by no round"
    file = store.root / "history" / KEY_B / "texts.parquet"
    file.write_bytes(file.read_bytes()[:-3])
    assert history(store).earlier(KEY_A, ONE).unknown == 1, "what it trained on is not known any more"


def test_the_model_of_a_run_without_rounds_holds_the_releases_of_the_one_that_it_goes_on_from(store):
    released(store, KEY_A, ONE)
    history(store).note_model(KEY_A, "1" * 64)
    for run, of in ((KEY_B, history(store).public_name(KEY_A)), (KEY_C, "")):
        quiet(store, run, text(b"a", b"b", b"c", b"new", **NO_ROUNDS))
        history(store).note_model(run, run, of=of)
    first = history(store).public_name(KEY_A)
    assert sorted(history(store).models()) == sorted([(first, "1" * 64), (first, KEY_B), ("", KEY_C)])


def test_a_value_named_late_in_a_file_that_was_edited_since_was_learned_without_noise(store):
    """Its words stood in text that was used so; another value beside the same words is new."""
    released(store, KEY_A, text(b"a", edges=((0, 0),), without_noise=[b"# settings\nkey = " + TOKEN + b"\n"]))

    def bare(value, run=KEY_B):
        line = b"timeout = 5\nkey = " + value
        start = len(line) - len(value)
        named = text(line, names=(("credentials", "c/github-pat:00112233aabb"),), edges=((0, 0),),
                     occurrences=places((0, 0, start, len(line))))  # fmt: skip
        return history(store).earlier(run, named).noise_free.tolist()

    assert bare(b"ghp_another7Kp0VbYcWords") == [False]
    assert bare(TOKEN) == [True]
    again = text(b"all is other", names=(("credentials", "c/github-pat:00112233aabb"),), edges=((0, 0),))
    assert history(store).earlier(KEY_B, again).noise_free.tolist() == [True], "the next edit hides nothing"


def test_words_are_noted_by_the_first_run_that_used_them_and_count_for_all(store):
    """Half of the value in one run, half in another; neither notes what was noted before."""
    halves = [b"secretword", b"otherword9"]
    released(store, KEY_A, text(b"a", edges=((0, 0),), without_noise=halves[:1]))
    both = text(b"secretword-otherword9", names=(("literals", "l/1:00112233aabb"),), edges=((0, 0),),
                occurrences=places((0, 0, 0, 21)))  # fmt: skip
    assert history(store).earlier(KEY_C, both).noise_free.tolist() == [False]
    released(store, KEY_B, text(b"a", edges=((0, 0),), without_noise=halves))
    noted = [pl.read_parquet(store.root / "history" / run / "words.parquet").height for run in (KEY_A, KEY_B)]
    assert noted == [1, 1]
    assert history(store).earlier(KEY_C, both).noise_free.tolist() == [True]


def test_a_run_of_other_settings_stays_counted_when_its_secret_is_gone(store):
    """Its secret was one of a run of today's settings, whose noise may have followed from it; a job of its own was
    nobody's."""
    one, two, three = (((kind, name),) for kind, name in NAMES)
    first = {"edges": ((0, 0),)}
    other = replace(text(b"b", names=two, **first), settings="others")
    released(store, KEY_A, other)
    now = text(b"a", names=one, **first)
    assert history(store).earlier(KEY_C, now).runs.height == 0
    released(store, KEY_B, text(b"a", b"b", names=one + two, edges=((0, 0), (1, 1))))
    earlier = history(store).earlier(KEY_C, now)
    assert sorted(earlier.runs["settings"]) == ["others", "settings"]
    assert earlier.counts.tolist() == [1]
    alike, unlike = by_settings(earlier, "settings", promised=True)
    assert (alike.height, unlike.height) == (0, 1), "no product: somebody may have seen a model before"
    alone = text(b"c", names=three, **first)
    assert history(store).earlier(KEY_C, alone).runs.height == 0
