"""Who trained on what before: counted by text and by name, whatever was renamed, and never forgotten."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest

from hush_core.training.ledger import ReleaseLedger
from hush_core.training.run_history import RunHistory, RunText
from tasks.runtime.environment import home
from tasks.runtime.store import Store

KEY_A, KEY_B, KEY_C = "a" * 64, "b" * 64, "c" * 64
NAMES = (("path", "alpha"), ("credentials", "creds/rule:0123456789ab"), ("literals", "names/3:ba9876543210"))


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    home().create()
    return Store(home().store)


def history(store):
    return RunHistory(store.root, key=home().identity_key(), identity=home().fingerprint("identity"))


def text(*texts, names=NAMES, rates=None, edges=((0, 0), (1, 1), (2, 2))):
    """Example i holds secret i unless `edges` say otherwise."""
    frame = pl.DataFrame(edges, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    rows = [(n, kind, name) for n, (kind, name) in enumerate(names)]
    secrets = pl.DataFrame(rows, schema=["secret_id", "kind", "name"], orient="row")
    return RunText(
        list(texts), np.full(len(texts), 0.5) if rates is None else np.array(rates), frame, secrets
    )


def released(store, run, what, releases=1):
    """A run as the trainer makes it: noted, then `releases` rounds."""
    witness = history(store).note(run, what)
    with ReleaseLedger(store.work_dir(run) / "releases.jsonl", run=run, rounds=9, witness=witness) as ledger:
        for _ in range(releases):
            ledger.count()


ONE = text(b"a", b"b", b"c", b"plain")


def counts(store, run, what):
    return history(store).earlier(run, what).runs.tolist()


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


def test_a_run_that_released_nothing_does_not_count(store):
    released(store, KEY_A, ONE, releases=0)
    history(store).note(KEY_B, ONE)
    assert counts(store, KEY_C, ONE) == [0, 0, 0]


def test_only_secrets_that_a_batch_could_hold_are_trained_on(store):
    released(store, KEY_A, text(b"a", b"b", b"c", b"plain", rates=[0.5, 0.0, 0.5, 1.0]))
    assert counts(store, KEY_B, ONE) == [1, 0, 1]


def test_by_name_where_all_text_has_changed(store):
    """Another commit cuts other chunks. Of a keyed name the digest counts: rules, lines and entries move."""
    released(store, KEY_A, ONE)
    renamed = (("path", "alpha"), ("literals", "tokens/9:0123456789ab"), ("rare_words", "rare/ba9876543210"))
    assert counts(store, KEY_B, text(b"x", b"y", b"z", names=renamed)) == [1, 1, 1]
    others = (("path", "beta"), ("codeowners", "alpha"), ("credentials", "creds/rule:0123456789ac"))
    assert counts(store, KEY_B, text(b"x", b"y", b"z", names=others)) == [0, 0, 0]


def test_by_text_where_all_names_have_changed(store):
    """An entry that was renamed, or added since: the earlier run drew its text, tagged or not."""
    released(store, KEY_A, ONE)
    fresh = (("path", "beta"), ("path", "gamma"), ("path", "delta"))
    assert counts(store, KEY_B, text(b"new", b"a", b"plain", names=fresh)) == [0, 1, 1]


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
    assert earlier.unknown == 2 and earlier.runs.tolist() == [2, 2, 2]
    for damage in ("run.json", "texts.u64"):
        released(store, damage[0] * 64, text(b"q", names=(("path", "q"),), edges=((0, 0),)))
        file = store.root / "history" / (damage[0] * 64) / damage
        file.write_bytes(file.read_bytes()[:-3])
    assert history(store).earlier("d" * 64, ONE).unknown == 4
    released(store, "f" * 64, ONE)
    assert history(store).earlier("d" * 64, ONE).unknown == 4
    (tmp_path / "keys" / "identity.key").unlink()  # names and hashes of another key cannot be compared
    assert history(store).earlier("d" * 64, ONE).unknown == 5


def test_a_run_whose_work_folder_was_deleted_still_counts(store):
    released(store, KEY_A, ONE)
    (store.work_dir(KEY_A) / "releases.jsonl").unlink()
    assert counts(store, KEY_B, ONE) == [1, 1, 1]


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
        ("fsync", "texts.u64"), ("replace", "texts.u64"), ("fsync", KEY_A),
        ("fsync", "run.json"), ("replace", "run.json"), ("fsync", KEY_A),
        ("fsync", "history"), ("fsync", "store"),
    ]  # fmt: skip
    folder = store.root / "history" / KEY_A
    assert {p.name for p in folder.iterdir()} == {"run.json", "texts.u64"}
    assert all(p.stat().st_mode & 0o077 == 0 for p in (folder, *folder.iterdir()))
    data = b"".join(p.read_bytes() for p in folder.iterdir())
    assert b"secret text" not in data and len(json.loads((folder / "run.json").read_bytes())["secrets"]) == 3
